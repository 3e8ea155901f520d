//! The index of an encrypted tree in the hands of whoever divides a run among machines: what is listed already, what the machines
//! have made, and the generation that lists both.

use crate::age::Keys;
use crate::errors::OrRaise;
use crate::plain::plain;
use crate::stores::index_at;
use cipherloom::Error;
use cipherloom::internal::engine::lock;
use cipherloom::internal::{self, IndexPlace, list_recorded_files};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Path, path in the encrypted tree, bytes of plaintext and of ciphertext, when the source was changed, what identifies the stream.
type Recorded<'py> = (OsString, OsString, u64, u64, Option<(i64, u32)>, Bound<'py, PyBytes>);

/// The files that an index lists, one after the other.
#[pyclass(frozen)]
pub(crate) struct RecordedFiles {
    /// `None` after the last one, and after an error: they hold the index's lock.
    files: Mutex<Option<internal::RecordedFiles>>,
    place: PathBuf,
}

#[pymethods]
impl RecordedFiles {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Recorded<'py>>> {
        let next = py.detach(|| {
            let mut files = lock(&self.files);
            let next = files.as_mut()?.next();
            if !matches!(next, Some(Ok(_))) {
                *files = None;
            }
            next
        });
        let Some(file) = next.transpose().or_raise(Some(&self.place))? else { return Ok(None) };
        let identity = PyBytes::new(py, &file.identity);
        let (path, encrypted_path) = (file.path.into_os_string(), file.encrypted_path.into_os_string());
        Ok(Some((path, encrypted_path, file.size, file.encrypted_size, file.modified, identity)))
    }

    /// Leaves the rest.
    fn close(&self) {
        lock(&self.files).take();
    }
}

/// The index of one run. Nobody else writes it until the run has ended, where it is in a folder.
#[pyclass(frozen)]
pub(crate) struct Gathering {
    index: Mutex<Option<internal::Gathering>>,
    place: PathBuf,
}

#[pymethods]
impl Gathering {
    /// Opens the index at a path or address; makes an empty one if there is none.
    #[new]
    #[pyo3(signature = (place, key, suffix, max_segment_size = None, anchor = None))]
    fn begin(
        py: Python<'_>,
        place: PathBuf,
        key: Keys,
        suffix: OsString,
        max_segment_size: Option<u32>,
        anchor: Option<PathBuf>,
    ) -> PyResult<Gathering> {
        let format = key.format(max_segment_size)?;
        let begin = |at: IndexPlace<'_>| internal::Gathering::begin(at, &format, &suffix, anchor.as_deref());
        let index = py.detach(|| at_place(&place, begin)).or_raise(Some(&place))?;
        Ok(Gathering { index: Mutex::new(Some(index)), place })
    }

    /// What the journals of this run are to name.
    fn root<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let root = self.with(internal::Gathering::found_root).or_raise(Some(&self.place))?;
        Ok(PyBytes::new(py, &root))
    }

    /// What the index lists.
    fn recorded(&self) -> PyResult<RecordedFiles> {
        let recorded = self.with(|index| Ok(index.recorded())).or_raise(Some(&self.place))?;
        Ok(RecordedFiles { files: Mutex::new(Some(recorded)), place: self.place.clone() })
    }

    /// Writes the generation that also lists what the journals do. `made`: the outputs of this run. Returns the generation's
    /// numbers, and the outputs that it does not list because journals are gone or differ.
    fn finish<'py>(
        &self,
        py: Python<'py>,
        made: Vec<PathBuf>,
    ) -> PyResult<(Bound<'py, PyAny>, Vec<OsString>)> {
        let index = lock(&self.index).take().ok_or_else(ended).or_raise(Some(&self.place))?;
        let (finished, unlisted) = py.detach(|| index.finish(&made)).or_raise(Some(&self.place))?;
        Ok((plain(py, &finished)?, unlisted.into_iter().map(PathBuf::into_os_string).collect()))
    }

    /// Leaves the index as it is.
    fn close(&self) {
        lock(&self.index).take();
    }
}

impl Gathering {
    fn with<T>(&self, get: impl FnOnce(&internal::Gathering) -> Result<T, Error>) -> Result<T, Error> {
        get(lock(&self.index).as_ref().ok_or_else(ended)?)
    }
}

fn ended() -> Error {
    Error::internal("the run over this index has ended")
}

/// The numbers of the index at a path or address, and the files that it lists; `None` if there is no index.
#[pyfunction]
#[pyo3(signature = (place, key, max_segment_size = None, anchor = None))]
pub(crate) fn list_recorded<'py>(
    py: Python<'py>,
    place: PathBuf,
    key: Keys,
    max_segment_size: Option<u32>,
    anchor: Option<PathBuf>,
) -> PyResult<Option<(Bound<'py, PyAny>, RecordedFiles)>> {
    let format = key.format(max_segment_size)?;
    let list = |at: IndexPlace<'_>| list_recorded_files(at, &format, anchor.as_deref());
    let Some((report, files)) = py.detach(|| at_place(&place, list)).or_raise(Some(&place))? else {
        return Ok(None);
    };
    Ok(Some((plain(py, &report)?, RecordedFiles { files: Mutex::new(Some(files)), place })))
}

fn at_place<T>(place: &Path, work: impl FnOnce(IndexPlace<'_>) -> Result<T, Error>) -> Result<T, Error> {
    match index_at(place)? {
        Some(store) => work(IndexPlace::Store(&store)),
        None => work(IndexPlace::Folder(place)),
    }
}
