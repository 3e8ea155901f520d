//! What a tree's index lists, for those who want to see it or a part of the tree.

use crate::Error;
use crate::error::IndexFault;
use crate::format::Format;
use crate::index::{
    Anchor, HiddenName, Index, IndexEntry, IndexFile, IndexKind, IndexPlace, has_name_lists, path_of,
};
use crate::report::{IndexReport, ListedEntry, ListedKind};
use crate::tree::{Selection, Tree};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// The index of the encrypted tree at `place`, and all that it lists, in its order. An error is the last item. `anchor`:
/// the file that remembers the tree's newest generation, with which it is compared.
///
/// # Errors
/// [`Error::Index`] if there is no index, or it cannot be used, or `place` is a path but no folder; [`Error::Io`],
/// [`Error::Store`].
pub fn list_index(
    place: IndexPlace<'_>,
    format: &Format,
    anchor: Option<&Path>,
) -> Result<(IndexReport, impl Iterator<Item = Result<ListedEntry, Error>> + use<>), Error> {
    list_opened(place, format, anchor, |place, format| Index::open(place, format))
}

/// The same in a folder, for those who foresee what a run does that replaces the index.
///
/// # Errors
/// As [`list_index`]; if another key may have sealed the newer copy of the index.
pub fn list_index_to_replace(
    root: &Path,
    format: &Format,
) -> Result<impl Iterator<Item = Result<ListedEntry, Error>> + use<>, Error> {
    list_opened(root.into(), format, None, Index::open_to_replace).map(|(_, entries)| entries)
}

fn list_opened(
    place: IndexPlace<'_>,
    format: &Format,
    anchor: Option<&Path>,
    open: fn(IndexPlace<'_>, &Format) -> Result<Option<Index>, Error>,
) -> Result<(IndexReport, impl Iterator<Item = Result<ListedEntry, Error>> + use<>), Error> {
    let root = match place {
        IndexPlace::Store(store) => store.address(""),
        IndexPlace::Folder(root) => {
            let found = fs::metadata(root).map_err(|error| Error::io("read the source", error).at(root))?;
            if !found.is_dir() {
                return Err(Error::from(IndexFault::Unsupported("a folder, not a single file")).at(root));
            }
            root.to_owned()
        }
    };
    let index = open(place, format)?;
    if let Some(anchor) = anchor {
        Anchor::read(anchor)?.check(index.as_ref()).map_err(|error| error.at(&root))?;
    }
    let is_hidden = || matches!(place, IndexPlace::Folder(root) if has_name_lists(root, format));
    let missing = || if is_hidden() { IndexFault::NamesLost } else { IndexFault::Absent };
    let index = index.ok_or_else(|| Error::from(missing()).at(&root))?;
    let entries = index.entries().map(|entry| entry.and_then(|entry| listed(&entry)));
    Ok((super::report_of(index.root()), entries))
}

/// What is wrong with the two copies of an index, if the tree in the folder `root` has hidden names.
///
/// # Errors
/// As [`list_index`].
pub fn find_damaged_copies(root: &Path, format: &Format) -> Result<Vec<Error>, Error> {
    Ok(Index::open(root, format)?.map_or_else(Vec::new, |index| index.find_damaged_copies()))
}

/// Where the file of an entry is in its tree.
pub(super) fn place_of_listed(entry: &IndexEntry) -> Result<PathBuf, Error> {
    match &entry.kind {
        IndexKind::File(IndexFile { name: Some(name), .. }) => Ok(name.path()),
        _ => path_of(&entry.path),
    }
}

fn listed(entry: &IndexEntry) -> Result<ListedEntry, Error> {
    let mut listed = ListedEntry {
        path: path_of(entry.plaintext_path())?,
        encrypted_path: place_of_listed(entry)?,
        kind: ListedKind::Folder,
        size: 0,
        encrypted_size: 0,
        mode: None,
        modified: None,
        target: None,
        key_id: None,
    };
    match &entry.kind {
        IndexKind::Folder { mode, modified } => (listed.mode, listed.modified) = (Some(*mode), *modified),
        IndexKind::Link { target } => {
            (listed.kind, listed.target) = (ListedKind::Link, Some(path_of(target)?));
        }
        IndexKind::File(file) => {
            listed.kind = ListedKind::File;
            (listed.size, listed.encrypted_size) = (file.size, file.ciphertext_len);
            (listed.mode, listed.modified) = (Some(file.mode), file.modified);
            listed.key_id = Some(file.key_id);
        }
    }
    Ok(listed)
}

/// The files of an encrypted folder that its index lists and whose plaintexts' paths are taken: a tree of those that are there,
/// how many are listed, and the suffix that encryption added to their names. `suffix`: only those with this one; if empty, any.
///
/// # Errors
/// As [`list_index`]; if they have different suffixes.
pub fn list_indexed_files(
    root: &Path,
    format: &Format,
    selection: &Selection,
    suffix: &OsStr,
    anchor: Option<&Path>,
) -> Result<(Tree, usize, OsString), Error> {
    let (files, suffix) = select_indexed_files(root.into(), format, selection, suffix, anchor)?;
    let tree = Tree::named(root, &files, &|| false)?;
    Ok((tree, files.len(), suffix))
}

/// The paths of the same files, as the index of a tree at `place` lists them, and their suffix.
///
/// # Errors
/// As [`list_indexed_files`].
pub fn select_indexed_files(
    place: IndexPlace<'_>,
    format: &Format,
    selection: &Selection,
    suffix: &OsStr,
    anchor: Option<&Path>,
) -> Result<(Vec<PathBuf>, OsString), Error> {
    let mut files = Vec::new();
    let wanted = Some(suffix.to_owned()).filter(|suffix| !suffix.is_empty());
    let mut suffix = wanted.clone();
    let (_, entries) = list_index(place, format, anchor)?;
    for entry in entries {
        let entry = entry?;
        if entry.kind != ListedKind::File || !selection.takes(&entry.path) {
            continue;
        }
        let (path, encrypted) = (entry.path.as_os_str().as_encoded_bytes(), entry.encrypted_path.as_os_str());
        let is_hidden = HiddenName::of_path(&entry.encrypted_path).is_some();
        let own = if is_hidden { Some(&[][..]) } else { encrypted.as_encoded_bytes().strip_prefix(path) };
        let own = own.ok_or(IndexFault::Unsupported("files that are called as their plaintexts"))?;
        let own = path_of(own)?.into_os_string();
        if wanted.as_ref().is_some_and(|wanted| *wanted != own) {
            continue;
        }
        if *suffix.get_or_insert_with(|| own.clone()) != own {
            let needed = "the suffix of the files to select, for those that match have different ones";
            return Err(IndexFault::Unsupported(needed).into());
        }
        files.push(entry.encrypted_path);
    }
    Ok((files, suffix.unwrap_or_default()))
}
