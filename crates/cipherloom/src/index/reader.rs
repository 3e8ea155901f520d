//! Reads an index, one part at a time.

use super::entry::{IndexEntry, Malformed, split};
use super::folder::{PREVIOUS, ROOT};
use super::part::{PART_LIMIT, PartRecords};
use super::place::{IndexFiles, IndexPlace, part_path};
use super::root::{Digest, PartReference, ROOT_LIMIT, Root};
use super::sealed::{self, digest, file_limit};
use crate::Error;
use crate::error::IndexFault;
use crate::format::Format;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A tree's index, whose root a key has opened.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    files: Arc<IndexFiles>,
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
        let Some(files) = IndexFiles::for_reading(place.into())? else { return Ok(None) };
        Index::newest(Arc::new(files), format).map(|index| index.map(|(index, _)| index))
    }

    /// The newest generation, with the content of its root's file; `None` if there is none.
    pub(super) fn newest(files: Arc<IndexFiles>, format: &Format) -> Result<Option<(Index, Vec<u8>)>, Error> {
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
        let index = Index { files, format: format.clone(), root, digest: digest(&file) };
        Ok(Some((index, file)))
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    pub(crate) fn digest(&self) -> &Digest {
        &self.digest
    }

    /// All entries, in the index's order.
    pub(crate) fn entries(&self) -> Entries {
        let parts = self.root.parts.clone().into_iter();
        let (files, format) = (Arc::clone(&self.files), self.format.clone());
        Entries { files, format, parts, open: None, last: Vec::new() }
    }
}

/// Goes through an index; only what is authentic and in order comes out. An error is the last item.
#[derive(Debug)]
pub(crate) struct Entries {
    files: Arc<IndexFiles>,
    format: Format,
    parts: std::vec::IntoIter<PartReference>,
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
                        if !self.last.is_empty() && split(&self.last) >= split(&entry.path) {
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

    /// Reads a part, of which nothing is used before all of it is what the root says.
    fn read(&self, part: &PartReference) -> Result<Zeroizing<Vec<u8>>, Error> {
        let path = part_path(&part.name);
        let open = || {
            let limit = u64::from(part.len).min(file_limit(PART_LIMIT));
            let missing = || Error::from(IndexFault::Damaged("a part is missing"));
            let file = self.files.read(&path, limit)?.ok_or_else(missing)?;
            if file.len() as u64 != u64::from(part.len) || digest(&file) != part.name {
                return Err(IndexFault::Damaged("a part is not the one that was written").into());
            }
            sealed::open(&self.format, sealed::PART, &file)
        };
        open().map_err(|error| error.at(&self.files.path(&path)))
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
