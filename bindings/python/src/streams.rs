//! Encrypted streams over Python's file objects, and encrypted files. The Python front makes `io` classes of them.

use crate::age::Keys;
use crate::buffer::Lent;
use crate::errors::{OrRaise, exception};
use crate::request::if_exists;
use cipherloom::Error;
use cipherloom::internal::{Draft, engine::lock};
use cipherloom::stream::{Decryptor, Encryptor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use zeroize::Zeroizing;

/// Bytes that are copied from Python at a time.
const PIECE: usize = 1 << 20;

/// Where ciphertext goes.
enum Sink {
    /// A file object of Python's.
    Object(Py<PyAny>),
    /// A file that has no name yet, and how much of it is written.
    Draft(Draft, u64),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Object(object) => Python::attach(|py| {
                let written = object.call_method1(py, "write", (PyBytes::new(py, bytes),))?;
                match written.extract::<Option<usize>>(py)? {
                    Some(count) if count <= bytes.len() => Ok(count),
                    Some(_) => Err(io::Error::other("write() returned more than it was given")),
                    None => Err(io::ErrorKind::WouldBlock.into()),
                }
            }),
            Sink::Draft(draft, written) => {
                draft.write_at(bytes, *written).map_err(|error| match error {
                    Error::Io { source, .. } => source,
                    error => io::Error::other(error),
                })?;
                *written += bytes.len() as u64;
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where ciphertext comes from: a file object of Python's, or a file.
enum Source {
    Object(Py<PyAny>),
    File(File),
}

impl Read for Source {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::Object(object) => Python::attach(|py| {
                let read = object.call_method1(py, "read", (target.len(),))?;
                if read.is_none(py) {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                let read = Lent::get(read.bind(py))?;
                let target = target.get_mut(..read.len());
                let target =
                    target.ok_or_else(|| io::Error::other("read() returned more than it was asked for"))?;
                read.copy_to(0, target);
                Ok(target.len())
            }),
            Source::File(file) => file.read(target),
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Source::Object(_) => Err(io::ErrorKind::Unsupported.into()),
            Source::File(file) => file.seek(to),
        }
    }
}

/// Encrypts what is written to it.
#[pyclass(frozen, module = "cipherloom._native")]
pub(crate) struct EncryptingStream {
    /// Apart from the object, to which Python gives memory aligned to 16 bytes: a cipher's keys ask for more. `None` when
    /// finished.
    encryptor: Mutex<Option<Box<Encryptor<Sink>>>>,
    path: Option<PathBuf>,
}

#[pymethods]
impl EncryptingStream {
    /// A stream that writes to a file object.
    #[new]
    fn new(key: Keys, associated_data: &Bound<'_, PyAny>, destination: Py<PyAny>) -> PyResult<Self> {
        Self::begin(&key, associated_data, Sink::Object(destination), None)
    }

    /// A stream into a file that gets its name with [`EncryptingStream::finish`].
    #[staticmethod]
    fn create(
        key: Keys,
        associated_data: &Bound<'_, PyAny>,
        path: PathBuf,
        if_exists: &str,
    ) -> PyResult<Self> {
        let draft = Draft::begin(&path, self::if_exists(if_exists)?).or_raise(Some(&path))?;
        Self::begin(&key, associated_data, Sink::Draft(draft, 0), Some(path))
    }

    /// Encrypts all of `data`. Returns its length.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let data = Lent::get(data)?;
        let written = py.detach(|| {
            // Locked without the interpreter's lock: the file object may run Python.
            let mut encryptor = lock(&self.encryptor);
            let Some(encryptor) = encryptor.as_mut() else { return Ok(None) };
            let mut piece = Zeroizing::new(vec![0; data.len().min(PIECE)]);
            for offset in (0..data.len()).step_by(PIECE) {
                let piece = &mut piece[..(data.len() - offset).min(PIECE)];
                data.copy_to(offset, piece);
                encryptor.write_all(piece)?;
            }
            Ok(Some(data.len()))
        });
        written
            .map_err(|error| raised(error, self.path.as_deref()))?
            .ok_or_else(|| PyValueError::new_err("I/O operation on closed file"))
    }

    /// Writes the end of the stream; a file gets its name.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let finished = py.detach(|| {
            let encryptor = lock(&self.encryptor).take();
            match encryptor.map(|encryptor| encryptor.finish()).transpose()? {
                Some(Sink::Draft(draft, _)) => draft.publish(),
                Some(Sink::Object(_)) | None => Ok(()),
            }
        });
        finished.map_err(|error| raised_by_library(error, self.path.as_deref()))
    }
}

impl EncryptingStream {
    fn begin(
        key: &Keys,
        associated_data: &Bound<'_, PyAny>,
        sink: Sink,
        path: Option<PathBuf>,
    ) -> PyResult<Self> {
        let associated_data = Lent::get(associated_data)?.to_vec();
        let encryptor = Encryptor::with_format(sink, &key.format(None)?, &associated_data);
        let encryptor = encryptor.or_raise(path.as_deref())?;
        Ok(EncryptingStream { encryptor: Mutex::new(Some(Box::new(encryptor))), path })
    }
}

/// Decrypts what it reads.
#[pyclass(frozen, module = "cipherloom._native")]
pub(crate) struct DecryptingStream {
    /// Apart from the object, as above.
    decryptor: Mutex<Box<Decryptor<Source>>>,
    path: Option<PathBuf>,
}

#[pymethods]
impl DecryptingStream {
    /// A stream that reads from a file object.
    #[new]
    fn new(
        py: Python<'_>,
        key: Keys,
        associated_data: &Bound<'_, PyAny>,
        source: Py<PyAny>,
    ) -> PyResult<Self> {
        Self::begin(py, &key, associated_data, None, || Ok(Source::Object(source)))
    }

    /// An encrypted file, which can be read anywhere: its length is authentic.
    #[staticmethod]
    fn open(py: Python<'_>, key: Keys, associated_data: &Bound<'_, PyAny>, path: PathBuf) -> PyResult<Self> {
        let file = || File::open(&path).map_err(|error| Error::io("open the file", error)).map(Source::File);
        let stream = Self::begin(py, &key, associated_data, Some(&path), file)?;
        stream.run(py, |decryptor| decryptor.len().map_err(io::Error::other))?;
        Ok(stream)
    }

    /// Up to `size` bytes of plaintext; none at its end.
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let plaintext = self.run(py, |decryptor| {
            let mut plaintext = Zeroizing::new(vec![0; size.min(PIECE)]);
            let count = decryptor.read(&mut plaintext)?;
            plaintext.truncate(count);
            Ok(plaintext)
        })?;
        Ok(PyBytes::new(py, &plaintext))
    }

    /// Moves to a position in the plaintext, as `io` does.
    fn seek(&self, py: Python<'_>, offset: i64, whence: u8) -> PyResult<u64> {
        let to = match whence {
            0 => u64::try_from(offset).ok().map(SeekFrom::Start),
            1 => Some(SeekFrom::Current(offset)),
            2 => Some(SeekFrom::End(offset)),
            _ => {
                let text = format!("invalid whence ({whence}, should be 0, 1 or 2)");
                return Err(PyValueError::new_err(text));
            }
        };
        let to = to.ok_or_else(|| PyValueError::new_err(format!("negative seek position {offset}")))?;
        self.run(py, |decryptor| decryptor.seek(to))
    }
}

impl DecryptingStream {
    fn begin(
        py: Python<'_>,
        key: &Keys,
        associated_data: &Bound<'_, PyAny>,
        path: Option<&Path>,
        source: impl FnOnce() -> Result<Source, Error> + Send,
    ) -> PyResult<Self> {
        let (format, associated_data) = (key.format(None)?, Lent::get(associated_data)?.to_vec());
        let decryptor = py.detach(|| Decryptor::with_format(source()?, &format, &associated_data));
        let decryptor = decryptor.map_err(|error| raised_by_library(error, path))?;
        Ok(DecryptingStream { decryptor: Mutex::new(Box::new(decryptor)), path: path.map(Path::to_owned) })
    }

    fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Decryptor<Source>) -> io::Result<T> + Send,
    ) -> PyResult<T> {
        // Locked without the interpreter's lock: the file object may run Python.
        let done = py.detach(|| work(&mut lock(&self.decryptor)));
        done.map_err(|error| raised(error, self.path.as_deref()))
    }
}

/// The exception for what a stream's reader or writer gave: the library's error, or a file object's own exception.
fn raised(error: io::Error, path: Option<&Path>) -> PyErr {
    if error.kind() == io::ErrorKind::InvalidInput && error.raw_os_error().is_none() {
        return PyValueError::new_err(error.to_string());
    }
    error.downcast::<Error>().map_or_else(PyErr::from, |error| raised_by_library(error, path))
}

fn raised_by_library(error: Error, path: Option<&Path>) -> PyErr {
    match error {
        Error::Io { source, .. } if source.get_ref().is_some_and(|inner| inner.is::<PyErr>()) => {
            source.into()
        }
        error => exception(&error, path),
    }
}
