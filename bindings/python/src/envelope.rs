//! A keyset under a data key that a key management service made: sealed and opened in memory.
//!
//! The form is C2SP chunked encryption (Cobblestone-256) of the keyset's JSON, bound to the envelope's context, so that
//! any library with that format opens it with the data key.

use crate::buffer::Lent;
use crate::errors::OrRaise;
use crate::keyset::Keyset;
use cipherloom::key::{self, RawKey};
use cipherloom::{
    Format,
    internal::{Work, translate_stream},
    report::Unobserved,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

/// The keyset's JSON, encrypted with the data key of 32 bytes.
#[pyfunction]
pub(crate) fn seal_keyset<'py>(
    py: Python<'py>,
    keyset: &Keyset,
    data_key: &Bound<'py, PyAny>,
    context: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let format = under(data_key, context)?;
    let json = keyset.json();
    let sealed = translated(Work::Encrypt(format), json.as_bytes())?;
    Ok(PyBytes::new(py, &sealed))
}

/// The keyset that [`seal_keyset`] sealed.
#[pyfunction]
pub(crate) fn open_keyset<'py>(
    sealed: &Bound<'py, PyAny>,
    data_key: &Bound<'py, PyAny>,
    context: &Bound<'py, PyAny>,
) -> PyResult<Keyset> {
    let format = under(data_key, context)?;
    let json = translated(Work::Decrypt(format), &Lent::get(sealed)?.to_vec())?;
    Keyset::new(key::Keyset::parse(&json).or_raise(None)?)
}

fn under(data_key: &Bound<'_, PyAny>, context: &Bound<'_, PyAny>) -> PyResult<Format> {
    let data_key = Zeroizing::new(Lent::get(data_key)?.to_vec());
    let context = Lent::get(context)?.to_vec();
    RawKey::from_bytes(&data_key).and_then(|key| Format::cobblestone(&key, &context)).or_raise(None)
}

fn translated(work: Work, mut source: &[u8]) -> PyResult<Zeroizing<Vec<u8>>> {
    // Room for all of it, so that no part is left behind in memory that a growing vector gave back.
    let mut sink = Zeroizing::new(Vec::with_capacity(source.len() * 2 + 4096));
    translate_stream(&work, &[], &mut source, &mut *sink, &Unobserved).or_raise(None)?;
    Ok(sink)
}
