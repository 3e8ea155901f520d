//! The index of an encrypted folder: what a run does with it, and what it lists.

use crate::age::Keys;
use crate::errors::{InvalidRequest, OrRaise};
use crate::plain::plain;
use crate::request::{IndexOptions, Listed, Request};
use crate::tree;
use cipherloom::Error;
use cipherloom::error::IndexFault;
use cipherloom::internal::{
    IndexMode, IndexUse, Selection, Tree, Work, has_index, list_index, list_indexed_files, reveal,
};
use cipherloom::report::ListedEntry;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Lists the source of a run, and says how it uses the index. With it comes the suffix of files that the index names.
pub(crate) fn list_source(
    py: Python<'_>,
    request: &Request,
    source: &Path,
) -> PyResult<(Tree, Option<IndexUse>, Option<OsString>)> {
    let (selection, work) = (request.options.selection()?, request.work()?);
    let anchor = request.index.as_ref().and_then(|index| index.anchor.clone());
    let used = |mode, selection| Some(IndexUse { anchor: anchor.clone(), selection, ..IndexUse::new(mode) });
    if let (Some(IndexOptions { only, .. }), Work::Decrypt(format)) = (&request.index, &work) {
        let selection = Selection::new(only, &[]).or_raise(None)?;
        let (suffix, anchor) = (&request.options.suffix, anchor.as_deref());
        let listed = py.detach(|| list_indexed_files(source, format, &selection, suffix, anchor));
        let (tree, _, suffix) = listed.or_raise(Some(source))?;
        let mut index = used(IndexMode::Check { quick: false }, selection.clone());
        let revealed = py.detach(|| reveal(source, &work, &selection, &mut index)).or_raise(Some(source))?;
        return Ok((revealed.unwrap_or(tree), index, Some(suffix)));
    }
    let tree = tree::list(py, source, &selection)?;
    let has_keyset =
        [work.opening(), work.sealing()].into_iter().flatten().all(|format| format.key_id().is_some());
    let is_folder = !tree.is_single_file;
    if request.index.is_some() && !(has_keyset && is_folder) {
        let needed = if has_keyset { "a folder, not a single file" } else { "a keyset" };
        return Err(Error::from(IndexFault::Unsupported(needed))).or_raise(Some(source));
    }
    let mode = match (&request.index, &work) {
        (Some(index), _) => match index.use_as.as_str() {
            "update" => Some(IndexMode::Update),
            "rebuild" => Some(IndexMode::Rebuild { replace: index.replace, partial: index.skip_unopened }),
            "compare" if matches!(work, Work::Rekey { .. }) => Some(IndexMode::Carry),
            "compare" => Some(IndexMode::Check { quick: index.quick }),
            other => return Err(InvalidRequest::new_err(format!("no use of an index is called {other:?}"))),
        },
        (None, Work::Verify(_)) if has_keyset && is_folder => Some(IndexMode::Check { quick: false }),
        (None, Work::Rekey { .. }) if is_folder && tree.passed_over.index > 0 && has_index(&tree.root) => {
            Some(IndexMode::Carry)
        }
        (None, _) => None,
    };
    let mut index = mode.and_then(|mode| used(mode, selection.clone()));
    if let (Some(used), Some(IndexOptions { hide_names, .. })) = (&mut index, &request.index) {
        used.hides_names = *hide_names;
    }
    if is_folder {
        let revealed = py.detach(|| reveal(&tree.root, &work, &selection, &mut index));
        if let Some(revealed) = revealed.or_raise(Some(source))? {
            return Ok((revealed, index, None));
        }
    }
    Ok((tree, index, None))
}

/// How a run over a share of the source's objects, on one machine of several, uses the index.
pub(crate) fn of_share(request: &Request, objects: &[Listed]) -> PyResult<Option<IndexUse>> {
    let Some(IndexOptions { use_as, root, expected, .. }) = &request.index else { return Ok(None) };
    Ok(Some(match (use_as.as_str(), root) {
        ("journal", Some(root)) => IndexUse { journal: Some(*root), ..IndexUse::new(IndexMode::Update) },
        ("expect", None) => {
            let known = objects.iter().zip(expected);
            let known = known.filter_map(|((path, ..), identity)| Some((PathBuf::from(path), (*identity)?)));
            let expected = Some(Arc::new(known.collect()));
            IndexUse { expected, ..IndexUse::new(IndexMode::Check { quick: false }) }
        }
        (other, _) => {
            return Err(InvalidRequest::new_err(format!("no share's use of an index is called {other:?}")));
        }
    }))
}

/// What an index lists, one entry after the other.
#[pyclass(frozen)]
pub(crate) struct IndexEntries {
    entries: Mutex<Box<dyn Iterator<Item = Result<ListedEntry, Error>> + Send>>,
    source: PathBuf,
}

/// Path, path in the encrypted tree, kind, bytes of plaintext and of ciphertext, mode, time of the last change, target, key.
type Entry = (
    OsString,
    OsString,
    &'static str,
    u64,
    u64,
    Option<u32>,
    Option<(i64, u32)>,
    Option<OsString>,
    Option<u32>,
);

#[pymethods]
impl IndexEntries {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Entry>> {
        let next = py.detach(|| cipherloom::internal::engine::lock(&self.entries).next());
        let Some(entry) = next.transpose().or_raise(Some(&self.source))? else { return Ok(None) };
        Ok(Some((
            entry.path.into_os_string(),
            entry.encrypted_path.into_os_string(),
            match entry.kind {
                cipherloom::report::ListedKind::Folder => "folder",
                cipherloom::report::ListedKind::File => "file",
                cipherloom::report::ListedKind::Link => "link",
            },
            entry.size,
            entry.encrypted_size,
            entry.mode,
            entry.modified,
            entry.target.map(PathBuf::into_os_string),
            entry.key_id,
        )))
    }
}

/// The numbers of a folder's index, and what it lists.
#[pyfunction(name = "list_index")]
pub(crate) fn list_entries<'py>(
    py: Python<'py>,
    source: PathBuf,
    key: Keys,
    anchor: Option<PathBuf>,
    max_segment_size: Option<u32>,
) -> PyResult<(Bound<'py, PyAny>, IndexEntries)> {
    let format = key.format(max_segment_size)?;
    let listed = py.detach(|| list_index(source.as_path().into(), &format, anchor.as_deref()));
    let (report, entries) = listed.or_raise(Some(&source))?;
    Ok((plain(py, &report)?, IndexEntries { entries: Mutex::new(Box::new(entries)), source }))
}
