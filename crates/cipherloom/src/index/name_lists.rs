//! Lists of hidden names: by them, the names of a tree's files are found again if both copies of its index are lost. Each folder
//! has the list of its files, so a list that is lost costs the names of one file in 256, and no content.
//!
//! ```text
//! DST/ab/names | number of records (4) | records | zeros |                   sealed as the files of an index
//! record       | hidden name (16) | shared | rest's length | rest |       the plaintext's path, as in a part of an index
//! ```

use super::entry::{
    IndexEntry, IndexKind, Malformed, is_path, put_bytes, put_number, take_array, take_bytes, take_number,
};
use super::folder::IndexFolder;
use super::hidden::{HiddenName, folder_path};
use super::sealed::{self, file_limit, seal_for_readers};
use crate::Error;
use crate::error::IndexFault;
use crate::format::Format;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const FILE: &str = "names";

/// The most bytes of a list's plaintext.
const LIMIT: usize = 16 << 20;

/// The lists of a tree.
#[derive(Debug)]
pub(crate) struct NameLists(Vec<List>);

#[derive(Debug, Clone, Default)]
struct List {
    count: u32,
    records: Vec<u8>,
    /// The last record's path.
    last: Vec<u8>,
}

/// Whether a path in an encrypted tree is that of a list.
pub(crate) fn is_name_list(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == FILE)
        && (0..=u8::MAX).any(|folder| path.parent() == Some(&*folder_path(folder)))
}

/// Whether the tree in this folder has a list that a key opens.
pub(crate) fn has_name_lists(tree: &Path, format: &Format) -> bool {
    let folder = IndexFolder::unlocked(tree);
    (0..=u8::MAX).any(|number| matches!(open(&folder, format, number), Ok(Some(_))))
}

/// The paths that the lists of the tree in this folder give to its files. With them come those lists that cannot be read.
pub(crate) fn read_name_lists(tree: &Path, format: &Format) -> (HashMap<HiddenName, Vec<u8>>, Vec<PathBuf>) {
    let folder = IndexFolder::unlocked(tree);
    let (mut paths, mut faults) = (HashMap::new(), Vec::new());
    for number in 0..=u8::MAX {
        let is_read = match open(&folder, format, number) {
            Ok(Some(plaintext)) => read(&plaintext, number, &mut paths).is_ok(),
            Ok(None) => true,
            Err(_) => false,
        };
        faults.extend((!is_read).then(|| path(number)));
    }
    (paths, faults)
}

impl NameLists {
    pub(crate) fn new() -> NameLists {
        NameLists(vec![List::default(); 256])
    }

    /// Adds an entry of the index. They come in the index's order.
    pub(crate) fn push(&mut self, entry: &IndexEntry) {
        let IndexKind::File(file) = &entry.kind else { return };
        let Some(name) = file.name else { return };
        let list = &mut self.0[usize::from(name.folder())];
        let shared = entry.path.iter().zip(&list.last).take_while(|(own, other)| own == other).count();
        list.records.extend_from_slice(&name.0);
        put_number(&mut list.records, shared as u64);
        put_bytes(&mut list.records, &entry.path[shared..]);
        list.last.clone_from(&entry.path);
        list.count += 1;
    }

    /// Whether two files have one name. Looks at one list at a time.
    pub(super) fn has_twice(&self) -> bool {
        (0..=u8::MAX).zip(&self.0).any(|(number, list)| {
            let mut paths = HashMap::new();
            read(&list.plaintext(), number, &mut paths).is_err() || paths.len() != list.count as usize
        })
    }

    /// Replaces the lists that are not these. Returns what is wrong with those that cannot be written.
    pub(super) fn write(&self, folder: &IndexFolder, format: &Format) -> Vec<Error> {
        let lists = (0..=u8::MAX).zip(&self.0);
        let others = lists.filter(|(number, list)| !list.is_at(folder, format, *number));
        others.filter_map(|(number, list)| list.write(folder, format, number).err()).collect()
    }

    /// Writes the lists that the tree in this folder has not. Returns what is wrong with those that cannot be written.
    pub(super) fn write_missing(
        folder: &IndexFolder,
        format: &Format,
        entries: impl Iterator<Item = Result<IndexEntry, Error>>,
    ) -> Result<Vec<Error>, Error> {
        let is_missing = |number: u8| std::fs::symlink_metadata(folder.tree().join(path(number))).is_err();
        let missing: Vec<u8> = (0..=u8::MAX).filter(|number| is_missing(*number)).collect();
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let mut lists = NameLists::new();
        for entry in entries {
            lists.push(&entry?);
        }
        let lists = missing.into_iter().map(|number| (number, &lists.0[usize::from(number)]));
        let needed = lists.filter(|(_, list)| list.count > 0);
        Ok(needed.filter_map(|(number, list)| list.write(folder, format, number).err()).collect())
    }

    /// The lists of the tree in this folder that do not have all that these have. They have more if a run was killed before it had
    /// written its index.
    pub(super) fn find_damaged(&self, tree: &Path, format: &Format) -> Vec<PathBuf> {
        let folder = IndexFolder::unlocked(tree);
        let is_damaged = |number: u8, list: &List| {
            let (mut wanted, mut found) = (HashMap::new(), HashMap::new());
            let is_read = match open(&folder, format, number) {
                Ok(Some(plaintext)) => read(&plaintext, number, &mut found).is_ok(),
                Ok(None) => true,
                Err(_) => false,
            };
            let is_made = read(&list.plaintext(), number, &mut wanted).is_ok();
            !(is_read && is_made && wanted.iter().all(|(name, path)| found.get(name) == Some(path)))
        };
        let lists = (0..=u8::MAX).zip(&self.0);
        lists.filter(|(number, list)| is_damaged(*number, list)).map(|(number, _)| path(number)).collect()
    }
}

impl List {
    fn plaintext(&self) -> Vec<u8> {
        [&self.count.to_be_bytes()[..], &self.records].concat()
    }

    fn write(&self, folder: &IndexFolder, format: &Format, number: u8) -> Result<(), Error> {
        let (mut plaintext, path) = (self.plaintext(), path(number));
        if plaintext.len() > LIMIT {
            return Err(Error::from(IndexFault::NameList).at(&folder.tree().join(path)));
        }
        let file = seal_for_readers(format, sealed::NAMES, &mut plaintext, LIMIT)?;
        folder.write_soon(&path, &file)
    }

    /// Whether the tree has this list, under the primary key: others may be disabled when a tree was re-keyed.
    fn is_at(&self, folder: &IndexFolder, format: &Format, number: u8) -> bool {
        let Ok(file) = folder.read(&path(number), file_limit(LIMIT)) else { return false };
        let Some(file) = file else { return self.count == 0 };
        let begin_len = file.len().min(usize::try_from(format.begin_len()).unwrap_or(usize::MAX));
        let begin = &file[..begin_len];
        let is_current = format.opens_with_primary(sealed::NAMES, begin, begin_len == file.len());
        let is_this = |found: &[u8]| {
            found.strip_prefix(&*self.plaintext()).is_some_and(|zeros| zeros.iter().all(|byte| *byte == 0))
        };
        is_current.unwrap_or(false)
            && sealed::open(format, sealed::NAMES, &file).is_ok_and(|found| is_this(&found))
    }
}

fn path(number: u8) -> PathBuf {
    folder_path(number).join(FILE)
}

/// The plaintext of a list; `None` if there is no such file.
fn open(
    folder: &IndexFolder,
    format: &Format,
    number: u8,
) -> Result<Option<zeroize::Zeroizing<Vec<u8>>>, Error> {
    let file = folder.read(&path(number), file_limit(LIMIT))?;
    file.map(|file| sealed::open(format, sealed::NAMES, &file)).transpose()
}

fn read(mut bytes: &[u8], number: u8, paths: &mut HashMap<HiddenName, Vec<u8>>) -> Result<(), Malformed> {
    let rest = &mut bytes;
    let count = u32::from_be_bytes(*take_array(rest)?);
    let mut last = Vec::new();
    for _ in 0..count {
        let name = HiddenName(*take_array(rest)?);
        let shared = usize::try_from(take_number(rest)?).map_err(|_| Malformed)?;
        last.truncate(last.get(..shared).ok_or(Malformed)?.len());
        last.extend_from_slice(take_bytes(rest)?);
        if name.folder() != number || !is_path(&last) {
            return Err(Malformed);
        }
        paths.insert(name, last.clone());
    }
    if rest.iter().all(|byte| *byte == 0) { Ok(()) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{IndexFile, IndexWriter, Replacing};
    use crate::key::{Keyset, Template};
    use crate::machine::Backend;

    fn named(path: &[u8], name: u8) -> IndexEntry {
        let kind = IndexKind::File(IndexFile {
            plaintext: path.to_vec(),
            size: 5,
            ciphertext_len: 61,
            mode: 0o600,
            modified: None,
            identity: [1; 16],
            key_id: 1,
            inode: None,
            digest: None,
            name: Some(HiddenName([name; 16])),
            version: None,
        });
        IndexEntry { path: path.to_vec(), kind }
    }

    #[test]
    fn no_two_files_have_one_hidden_name() {
        let folder = tempfile::tempdir().unwrap();
        let format = Format::tink(Keyset::generate(Template::default()).unwrap(), Backend::best()).unwrap();
        for (name, is_written) in [(1, false), (2, true)] {
            let writer = IndexWriter::begin(folder.path(), &format, b"", Replacing::Opened, None).unwrap();
            let mut writer = writer.with_hidden_names(true, false).unwrap();
            for entry in [named(b"a", 1), named(b"b", name)] {
                writer.push(&entry).unwrap();
            }
            assert_eq!(writer.finish().is_ok(), is_written);
        }
    }
}
