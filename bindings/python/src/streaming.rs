//! `StreamingAead`: Tink Streaming AEAD over bytes in memory, on several cores where that pays. The work is the library's
//! (`cipherloom::internal::memory`); here are the buffers: what Python lends, and the `bytes` that it gets. age has no associated data.

use crate::age::Keys;
use crate::buffer::Lent;
use crate::errors::OrRaise;
use crate::fresh;
use crate::machine;
use crate::watch::Watch;
use cipherloom::internal::memory::{self, Opening, Sealing};
use cipherloom::{Format, machine::Machine, plan::Operation};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use zeroize::Zeroize;

/// Encrypts and decrypts bytes in memory with a keyset, as Tink's primitive of this name does with streams.
#[pyclass(frozen, module = "cipherloom")]
pub(crate) struct StreamingAead {
    format: Format,
    machine: Machine,
    threads: Option<NonZeroUsize>,
}

#[pymethods]
impl StreamingAead {
    #[new]
    #[pyo3(signature = (key, *, threads = None))]
    fn new(py: Python<'_>, key: Keys, threads: Option<NonZeroUsize>) -> PyResult<StreamingAead> {
        Ok(StreamingAead { format: key.format(None)?, machine: machine::detect(py)?, threads })
    }

    /// The ciphertext of `data`, bound to the associated data.
    #[pyo3(signature = (data, aad = None))]
    #[expect(unsafe_code, reason = "answers for all bytes of the result")]
    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        aad: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (data, aad) = lent(data, aad)?;
        let sealing = Sealing::begin(&self.format, &aad).or_raise(None)?;
        let len = sealing.ciphertext_len(data.len() as u64);
        let threads = self.threads(Operation::Encrypt, data.len());
        let fill = |output: &mut [MaybeUninit<u8>]| {
            let watch = Watch::new(None);
            watch.during(py, || sealing.seal(&data, output, threads, &watch))?.or_raise(None)
        };
        // SAFETY: without an error all of the output holds the ciphertext.
        unsafe { fresh::bytes(py, length(len), fill) }
    }

    /// The plaintext of `data`; all of it is authentic, or there is none.
    #[pyo3(signature = (data, aad = None))]
    #[expect(unsafe_code, reason = "answers for all bytes of the result")]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        aad: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (data, aad) = lent(data, aad)?;
        let opening = Opening::begin(&self.format, &aad, &data).or_raise(None)?;
        let threads = self.threads(Operation::Decrypt, data.len());
        let fill = |output: &mut [MaybeUninit<u8>]| {
            let watch = Watch::new(None);
            let opened = watch.during(py, || opening.open(&data, output, threads, &watch));
            let opened = opened.and_then(|opened| opened.or_raise(None));
            // Segments that were authentic by themselves are not to be found in freed memory.
            let len = opened.inspect_err(|_| output.zeroize())?;
            assert_eq!(len, output.len(), "Tink's streams are as long as their ciphertext tells");
            Ok(())
        };
        // SAFETY: without an error all of the output holds plaintext, as was checked.
        unsafe { fresh::bytes(py, length(opening.plaintext_len()), fill) }
    }

    fn __repr__(&self) -> &'static str {
        "<cipherloom.StreamingAead>"
    }
}

impl StreamingAead {
    fn threads(&self, operation: Operation, len: usize) -> usize {
        if len <= memory::PIECE_LEN {
            return 1;
        }
        memory::threads(&self.machine, self.threads, &self.format, operation, len)
    }
}

fn lent(data: &Bound<'_, PyAny>, aad: Option<&Bound<'_, PyAny>>) -> PyResult<(Lent, Vec<u8>)> {
    let aad = aad.map(|aad| Ok::<_, PyErr>(Lent::get(aad)?.to_vec())).transpose()?.unwrap_or_default();
    Ok((Lent::get(data)?, aad))
}

/// A length that Python's allocator refuses if there is not so much memory.
fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(isize::MAX as usize)
}
