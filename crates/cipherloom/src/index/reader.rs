//! Reads an index, one part at a time.

use super::entry::{IndexEntry, Malformed, split};
use super::folder::{IndexFolder, PREVIOUS, ROOT};
use super::name_lists::NameLists;
use super::part::{PART_LIMIT, PartRecords};
use super::place::{IndexFiles, IndexPlace, part_path};
use super::root::{Digest, PartReference, ROOT_LIMIT, Root};
use super::sealed::{self, digest, file_limit};
use super::writer::is_unreadable;
use crate::Error;
use crate::error::IndexFault;
use crate::format::Format;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// A tree's index, whose root a key has opened.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    files: Arc<IndexFiles>,
    /// The other copy, of a tree with hidden names.
    other: Option<Arc<IndexFiles>>,
    format: Format,
    root: Root,
    /// SHA-256 of the root's file.
    digest: Digest,
}

impl Index {
    /// Opens the index at this place; `None` if there is none.
    ///
    /// # Errors
    /// [`IndexFault::NotOpened`], [`IndexFault::InUse`], [`IndexFault::NotAFile`]; [`Error::Io`].
    pub(crate) fn open<'p>(
        place: impl Into<IndexPlace<'p>>,
        format: &Format,
    ) -> Result<Option<Index>, Error> {
        Index::open_newest(place.into(), format, false)
    }

    /// The same, for those who foresee what a run does that replaces it.
    ///
    /// # Errors
    /// As [`Index::open`]; [`IndexFault::CopyNotOpened`].
    pub(crate) fn open_to_replace(place: IndexPlace<'_>, format: &Format) -> Result<Option<Index>, Error> {
        Index::open_newest(place, format, true)
    }

    fn open_newest(
        place: IndexPlace<'_>,
        format: &Format,
        is_replaced: bool,
    ) -> Result<Option<Index>, Error> {
        let Some(files) = IndexFiles::for_reading(place)? else { return Ok(None) };
        Index::newest(Arc::new(files), format, is_replaced).map(|index| index.map(|(index, _)| index))
    }

    /// Whether the tree in this folder has hidden names, also while a run is writing its index; `None` if it has no index that a
    /// key opens.
    pub(crate) fn hides_names(tree: &Path, format: &Format) -> Option<bool> {
        let files = Arc::new(IndexFiles::Folder(IndexFolder::unlocked(tree)));
        match Index::newest(files, format, false) {
            Ok(index) => index.map(|(index, _)| index.root.hides_names),
            Err(error) => {
                matches!(error.without_path(), Error::Index(IndexFault::CopiesOfTwoTrees)).then_some(true)
            }
        }
    }

    /// The newest generation, with the content of its root's file, which the next one is to follow; `None` if there is none.
    pub(super) fn newest_to_replace(
        files: Arc<IndexFiles>,
        format: &Format,
    ) -> Result<Option<(Index, Vec<u8>)>, Error> {
        Index::newest(files, format, true)
    }

    /// The newest generation. That of the second copy, if it is the newer one or nothing else can be read: a run that is killed
    /// leaves the second copy as the older one. `is_replaced`: not because the first one cannot be read just now.
    fn newest(
        files: Arc<IndexFiles>,
        format: &Format,
        is_replaced: bool,
    ) -> Result<Option<(Index, Vec<u8>)>, Error> {
        let first = Index::newest_in(Arc::clone(&files), format);
        let Some(copy) = files.copy().map(Arc::new) else { return first };
        let second = match Index::newest_in(Arc::clone(&copy), format) {
            Ok(Some(second)) if second.0.root.hides_names => Some(second),
            // It may be all that is left.
            Err(error) if matches!((&first, error.without_path()), (Ok(None), Error::Io { .. })) => {
                return Err(error);
            }
            _ => None,
        };
        match (first, second) {
            // Whichever somebody has put there: names that only the other one knows are not to be lost.
            (Ok(Some((first, _))), Some((second, _))) if first.root.tree != second.root.tree => {
                Err(Error::from(IndexFault::CopiesOfTwoTrees)
                    .at(files.folder().map_or(Path::new(""), IndexFolder::tree)))
            }
            (Ok(Some((first, file))), second) => {
                let is_newer =
                    |(second, _): &(Index, Vec<u8>)| second.root.generation > first.root.generation;
                let other = first.root.hides_names.then_some(copy);
                Ok(Some(match second.filter(is_newer) {
                    Some((second, file)) => (Index { other: Some(files), ..second }, file),
                    None => (Index { other, ..first }, file),
                }))
            }
            (Err(error), Some(_)) if is_replaced && matches!(error.without_path(), Error::Io { .. }) => {
                Err(error)
            }
            // A run with other keys may have sealed it, which was killed before it came to the second one.
            (Err(error), Some((second, _)))
                if is_replaced && is_unreadable(&error) && !second.is_successor_of(&files)? =>
            {
                Err(Error::from(IndexFault::CopyNotOpened).at(&files.path(ROOT)))
            }
            (_, Some((second, file))) => Ok(Some((Index { other: Some(files), ..second }, file))),
            (first, None) => first,
        }
    }

    fn newest_in(files: Arc<IndexFiles>, format: &Format) -> Result<Option<(Index, Vec<u8>)>, Error> {
        format.key_id().ok_or(IndexFault::Unsupported("a keyset"))?;
        let Some(file) = files.read(ROOT, file_limit(ROOT_LIMIT))? else {
            return match files.read(PREVIOUS, file_limit(ROOT_LIMIT))? {
                Some(_) => Err(Error::from(IndexFault::Damaged("its root is missing")).at(&files.path(ROOT))),
                None => Ok(None),
            };
        };
        let opened = sealed::open(format, sealed::ROOT, &file)
            .and_then(|root| Root::read(&root).map_err(|Malformed| IndexFault::Damaged("its root").into()));
        let root = opened.map_err(|error| error.at(&files.path(ROOT)))?;
        if root.hides_names && matches!(*files, IndexFiles::Store(_)) {
            return Err(IndexFault::Unsupported("a folder where names are hidden").into());
        }
        let index = Index { files, other: None, format: format.clone(), root, digest: digest(&file) };
        Ok(Some((index, file)))
    }

    /// Whether the root before, in a copy whose root is damaged, is the one that this generation follows: no other run has written
    /// there since.
    fn is_successor_of(&self, files: &IndexFiles) -> Result<bool, Error> {
        let before = files.read(PREVIOUS, file_limit(ROOT_LIMIT))?;
        Ok(before.map_or(Digest::default(), |file| digest(&file)) == self.root.previous)
    }

    /// The copy that it was read from.
    pub(super) fn files(&self) -> &IndexFiles {
        &self.files
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    pub(crate) fn digest(&self) -> &Digest {
        &self.digest
    }

    /// What is wrong with the copies of the index of a tree with hidden names.
    pub(crate) fn find_damaged_copies(&self) -> Vec<Error> {
        let Some(other) = &self.other else { return Vec::new() };
        [&self.files, other].into_iter().filter_map(|files| self.check_copy(files).err()).collect()
    }

    /// Those of the lists of hidden names that are not as the index needs them.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub(crate) fn find_damaged_lists(&self) -> Result<Vec<Error>, Error> {
        let Some(folder) = self.files.folder().filter(|_| self.root.hides_names) else {
            return Ok(Vec::new());
        };
        let mut lists = NameLists::new();
        for entry in self.entries() {
            lists.push(&entry?);
        }
        let at = |path: PathBuf| Error::from(IndexFault::NameList).at(&folder.tree().join(path));
        Ok(lists.find_damaged(folder.tree(), &self.format).into_iter().map(at).collect())
    }

    fn check_copy(&self, files: &Arc<IndexFiles>) -> Result<(), Error> {
        let at = |path: &str, problem| Err(Error::from(IndexFault::Copy(problem)).at(&files.path(path)));
        match files.read(ROOT, file_limit(ROOT_LIMIT))?.map(|file| digest(&file)) {
            // A run was killed before it had made the second one, and has listed nothing yet.
            None if self.root.parts.is_empty() && files.folder().is_some_and(IndexFolder::is_copy) => {
                return Ok(());
            }
            None => return at(ROOT, "its root is missing"),
            Some(found) if found == self.digest => {}
            // A run was killed before it had written the second one.
            Some(found)
                if found == self.root.previous && files.folder().is_some_and(IndexFolder::is_copy) =>
            {
                return Ok(());
            }
            Some(_) if Index::newest_in(Arc::clone(files), &self.format).is_err() => {
                return at(ROOT, "its root is damaged, or under another key");
            }
            Some(_) => return at(ROOT, "it is not the newest generation"),
        }
        for part in &self.root.parts {
            let path = part_path(&part.name);
            if files.read(&path, u64::from(part.len))?.is_none_or(|file| digest(&file) != part.name) {
                return at(&path, "a part is missing, or is not the one that was written");
            }
        }
        Ok(())
    }

    /// All entries, in the index's order.
    pub(crate) fn entries(&self) -> Entries {
        let parts = self.root.parts.clone().into_iter();
        let (files, format) = (Arc::clone(&self.files), self.format.clone());
        let (other, hides_names) = (self.other.clone(), self.root.hides_names);
        Entries { files, other, format, parts, hides_names, open: None, last: Vec::new() }
    }
}

/// Goes through an index; only what is authentic and in order comes out. An error is the last item.
#[derive(Debug)]
pub(crate) struct Entries {
    files: Arc<IndexFiles>,
    other: Option<Arc<IndexFiles>>,
    format: Format,
    parts: std::vec::IntoIter<PartReference>,
    hides_names: bool,
    /// The part that is being read, and how many entries it still has.
    open: Option<(PartRecords<Zeroizing<Vec<u8>>>, u32)>,
    /// The last entry's path; empty before the first.
    last: Vec<u8>,
}

impl Entries {
    fn advance(&mut self) -> Result<Option<IndexEntry>, Error> {
        let malformed = || Error::from(IndexFault::Damaged("a part's entries"));
        loop {
            if let Some((records, left)) = &mut self.open {
                match (records.next().map_err(|Malformed| malformed())?, *left) {
                    (Some(entry), 1..) => {
                        *left -= 1;
                        let follows = self.last.is_empty() || split(&self.last) < split(&entry.path);
                        if !(follows && entry.has_name_if(self.hides_names)) {
                            return Err(malformed());
                        }
                        self.last.clone_from(&entry.path);
                        return Ok(Some(entry));
                    }
                    (None, 0) => self.open = None,
                    _ => return Err(malformed()),
                }
            }
            let Some(part) = self.parts.next() else { return Ok(None) };
            let plaintext = self.read(&part)?;
            let records = PartRecords::new(plaintext).map_err(|Malformed| malformed())?;
            self.open = Some((records, part.entries));
        }
    }

    /// Reads a part, of which nothing is used before all of it is what the root says; from the other copy, if this one has it not.
    fn read(&self, part: &PartReference) -> Result<Zeroizing<Vec<u8>>, Error> {
        let read = self.read_from(&self.files, part);
        match &self.other {
            Some(other) => read.or_else(|error| self.read_from(other, part).map_err(|_| error)),
            None => read,
        }
    }

    fn read_from(&self, files: &IndexFiles, part: &PartReference) -> Result<Zeroizing<Vec<u8>>, Error> {
        let path = part_path(&part.name);
        let open = || {
            let limit = u64::from(part.len).min(file_limit(PART_LIMIT));
            let missing = || Error::from(IndexFault::Damaged("a part is missing"));
            let file = files.read(&path, limit)?.ok_or_else(missing)?;
            if file.len() as u64 != u64::from(part.len) || digest(&file) != part.name {
                return Err(IndexFault::Damaged("a part is not the one that was written").into());
            }
            sealed::open(&self.format, sealed::PART, &file)
        };
        open().map_err(|error| error.at(&files.path(&path)))
    }
}

impl Iterator for Entries {
    type Item = Result<IndexEntry, Error>;

    fn next(&mut self) -> Option<Result<IndexEntry, Error>> {
        let next = self.advance();
        if !matches!(next, Ok(Some(_))) {
            (self.open, self.parts) = (None, Vec::new().into_iter());
        }
        next.transpose()
    }
}
