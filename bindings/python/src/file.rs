//! `SealedFile`: an encrypted file that can be read anywhere, segment by segment. The Python front makes a file of it.

use crate::buffer::Lent;
use crate::errors::exception;
use crate::keyset::Keyset;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// An encrypted file, opened; its length is authentic.
#[pyclass(frozen, module = "cipherloom._native")]
pub(crate) struct SealedFile {
    /// Apart from the object, to which Python gives memory aligned to 16 bytes: a cipher's keys ask for more.
    file: Box<cipherloom::SealedFile>,
    path: PathBuf,
}

#[pymethods]
impl SealedFile {
    #[new]
    fn open(py: Python<'_>, path: PathBuf, key: &Keyset, aad: &Bound<'_, PyAny>) -> PyResult<SealedFile> {
        let aad = Lent::get(aad)?.to_vec();
        let format = key.format();
        let file = py.detach(|| cipherloom::SealedFile::open(&path, format, &aad));
        Ok(SealedFile { file: Box::new(file.map_err(|error| exception(&error, Some(&path)))?), path })
    }

    /// Length of the plaintext in bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.file.len()
    }

    /// The segment that holds the byte at `position`: where it begins, and its plaintext; empty at the end.
    fn read_segment_at<'py>(&self, py: Python<'py>, position: u64) -> PyResult<(u64, Bound<'py, PyBytes>)> {
        let segment = py.detach(|| self.file.read_segment_at(position));
        let (start, plaintext) = segment.map_err(|error| exception(&error, Some(&self.path)))?;
        Ok((start, PyBytes::new(py, &plaintext)))
    }
}
