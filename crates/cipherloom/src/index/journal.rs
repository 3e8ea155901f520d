//! Journals: what the shares of one run have made, while machines that know nothing of each other work on them. At the run's end
//! one of them merges all journals into the next generation of the index.
//!
//! ```text
//! DST/.cipherloom/index/journals/<16 digits of the root's SHA-256>-<16 random digits>
//! ```
//!
//! A journal is a part of an index under a label of its own, which names the root that the run has found. So it belongs to one
//! tree and to one generation of it: none of another tree, and none that was merged before and put back, is taken for it. A run that
//! was killed leaves its journals to the next one.

use super::entry::{Defaults, IndexEntry, IndexKind, Malformed, is_path, split};
use super::part::{PART_LIMIT, PartBuilder, PartRecords};
use super::place::{IndexFiles, IndexPlace};
use super::root::Digest;
use super::sealed::{self, file_limit, hex};
use super::writer::seal_for_readers;
use crate::Error;
use crate::error::IndexFault;
use crate::format::Format;
use std::cmp::Ordering;
use std::iter::Peekable;
use std::sync::Arc;
use std::vec::IntoIter;
use zeroize::Zeroizing;

/// The folder of the journals.
pub(super) const JOURNALS: &str = ".cipherloom/index/journals";

const LABEL: &[u8] = b"\0cipherloom index journal 1";

/// What a journal of a run that has found this root is sealed with.
fn label(root: &Digest) -> Vec<u8> {
    [LABEL, root].concat()
}

/// What the names of such journals begin with.
fn prefix(root: &Digest) -> String {
    format!("{JOURNALS}/{}-", hex(&root[..8]))
}

/// Writes the journals of one share.
#[derive(Debug)]
pub(crate) struct JournalWriter {
    files: IndexFiles,
    format: Format,
    root: Digest,
    builder: PartBuilder,
    last: Vec<u8>,
}

impl JournalWriter {
    /// For a run that has found this root at this place. `suffix`: what most names have behind those of their plaintexts.
    pub(crate) fn begin<'p>(
        place: impl Into<IndexPlace<'p>>,
        format: &Format,
        suffix: &[u8],
        root: Digest,
    ) -> Result<JournalWriter, Error> {
        let key_id = format.key_id().ok_or(IndexFault::Unsupported("a keyset"))?;
        let builder = PartBuilder::new(Defaults { suffix: suffix.to_owned(), key_id });
        let files = IndexFiles::for_journals(place.into());
        Ok(JournalWriter { files, format: format.clone(), root, builder, last: Vec::new() })
    }

    /// Adds an entry. They come in the index's order.
    pub(crate) fn push(&mut self, entry: &IndexEntry) -> Result<(), Error> {
        let follows = self.last.is_empty() || split(&self.last) < split(&entry.path);
        if !(is_path(&entry.path) && follows) {
            return Err(Error::internal("a journal's entries are not paths in their order"));
        }
        self.last.clone_from(&entry.path);
        let Self { files, format, root, builder, .. } = self;
        builder.add(entry, |bytes, _| write(files, format, root, bytes))
    }

    /// Returns when all of it is on stable storage.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let Self { files, format, root, builder, .. } = &mut self;
        builder.end(|bytes, _| write(files, format, root, bytes))?;
        if self.last.is_empty() { Ok(()) } else { self.files.sync_journals() }
    }
}

fn write(files: &IndexFiles, format: &Format, root: &Digest, bytes: &mut Vec<u8>) -> Result<(), Error> {
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(Error::Random)?;
    let file = seal_for_readers(format, &label(root), bytes, PART_LIMIT)?;
    files.create(&format!("{}{}", prefix(root), hex(&name)), &file)
}

/// The journals that follow one root, all of which a key has opened.
#[derive(Debug, Clone)]
pub(crate) struct Journals {
    files: Arc<IndexFiles>,
    format: Format,
    root: Digest,
    /// The first path of each, and where the journal is; in the index's order.
    found: Vec<(Vec<u8>, String)>,
    /// Where those are that follow another root.
    stale: Vec<String>,
}

impl Journals {
    /// Opens each of them.
    ///
    /// # Errors
    /// [`IndexFault::NotOpened`] and [`IndexFault::Damaged`] with the path of a journal; [`Error::Io`], [`Error::Store`].
    pub(super) fn open(files: Arc<IndexFiles>, format: &Format, root: &Digest) -> Result<Journals, Error> {
        let prefix = prefix(root);
        let is_current = |path: &String| path.starts_with(&prefix);
        let (mut current, stale) = files.list(JOURNALS)?.into_iter().partition::<Vec<_>, _>(is_current);
        // Others are being written.
        current.retain(|path| path.len() == prefix.len() + 16);
        let mut journals = Journals { files, format: format.clone(), root: *root, found: Vec::new(), stale };
        for path in current {
            // One without entries has nothing to say.
            if let Some(journal) = journals.read(path)? {
                journals.found.push((journal.next.path, journal.path));
            }
        }
        journals.found.sort_unstable_by(|(one, _), (other, _)| split(one).cmp(&split(other)));
        Ok(journals)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// All entries, in the index's order. One that several journals list comes once.
    pub(crate) fn entries(&self) -> JournalEntries {
        let waiting = self.found.clone().into_iter().peekable();
        JournalEntries { journals: self.clone(), waiting, open: Vec::new() }
    }

    /// Removes what has been merged, and what no run can merge any more. What remains is no harm.
    pub(crate) fn remove(self) {
        for path in self.found.into_iter().map(|(_, path)| path).chain(self.stale) {
            self.files.remove(&path);
        }
    }

    /// Opens a journal; `None` if it is gone or lists nothing.
    fn read(&self, path: String) -> Result<Option<OpenJournal>, Error> {
        let Some(file) = self.files.read(&path, file_limit(PART_LIMIT))? else { return Ok(None) };
        let opened = sealed::open(&self.format, &label(&self.root), &file).and_then(|plaintext| {
            let mut records = PartRecords::new(plaintext).map_err(|Malformed| malformed())?;
            let next = records.next().map_err(|Malformed| malformed())?;
            Ok(next.map(|next| (next, records)))
        });
        let opened = opened.map_err(|error| error.at(&self.files.path(&path)))?;
        Ok(opened.map(|(next, records)| OpenJournal { path, next, records }))
    }
}

/// A journal that is being read.
#[derive(Debug)]
struct OpenJournal {
    path: String,
    next: IndexEntry,
    records: PartRecords<Zeroizing<Vec<u8>>>,
}

impl OpenJournal {
    /// Takes the entry that is due; `None` in the place of the journal after the last one.
    fn take(mut self) -> Result<(IndexEntry, Option<OpenJournal>), Error> {
        let Some(next) = self.records.next().map_err(|Malformed| malformed())? else {
            return Ok((self.next, None));
        };
        if self.next.order(&next) != Ordering::Less {
            return Err(malformed());
        }
        let taken = std::mem::replace(&mut self.next, next);
        Ok((taken, Some(self)))
    }
}

fn malformed() -> Error {
    IndexFault::Damaged("a journal's entries").into()
}

/// Goes through all journals at once. Shares are ranges of a sorted listing, so few are open at a time. An error is the last
/// item.
#[derive(Debug)]
pub(crate) struct JournalEntries {
    journals: Journals,
    waiting: Peekable<IntoIter<(Vec<u8>, String)>>,
    open: Vec<OpenJournal>,
}

impl JournalEntries {
    fn advance(&mut self) -> Result<Option<IndexEntry>, Error> {
        loop {
            let least = self.open.iter().map(|journal| &journal.next.path);
            let least = least.min_by(|one, other| split(one).cmp(&split(other)));
            let is_due =
                |(first, _): &(Vec<u8>, String)| least.is_none_or(|least| split(first) <= split(least));
            let Some((_, path)) = self.waiting.next_if(is_due) else { break };
            let gone =
                Error::from(IndexFault::Damaged("a journal is missing")).at(&self.journals.files.path(&path));
            self.open.push(self.journals.read(path)?.ok_or(gone)?);
        }
        let mut due: Option<IndexEntry> = None;
        let least = self.open.iter().map(|journal| journal.next.path.clone());
        let Some(least) = least.min_by(|one, other| split(one).cmp(&split(other))) else { return Ok(None) };
        for journal in std::mem::take(&mut self.open) {
            if journal.next.path != least {
                self.open.push(journal);
                continue;
            }
            let path = self.journals.files.path(&journal.path);
            let (entry, rest) = journal.take().map_err(|error| error.at(&path))?;
            if due.as_ref().is_some_and(|due| !is_same(due, &entry)) {
                let fault = IndexFault::Damaged("a journal lists another file than another journal");
                return Err(Error::from(fault).at(&path));
            }
            due.get_or_insert(entry);
            self.open.extend(rest);
        }
        Ok(due)
    }
}

impl Iterator for JournalEntries {
    type Item = Result<IndexEntry, Error>;

    fn next(&mut self) -> Option<Result<IndexEntry, Error>> {
        let next = self.advance();
        if !matches!(next, Ok(Some(_))) {
            (self.open, self.waiting) = (Vec::new(), Vec::new().into_iter().peekable());
        }
        next.transpose()
    }
}

/// Whether both list one thing. A folder's time may have changed between two shares.
fn is_same(one: &IndexEntry, other: &IndexEntry) -> bool {
    match (&one.kind, &other.kind) {
        (IndexKind::File(one), IndexKind::File(other)) => one.identity == other.identity,
        (IndexKind::Folder { .. }, IndexKind::Folder { .. }) => true,
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests;
