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
use super::sealed::{self, file_limit, hex, seal_for_readers};
use crate::Error;
use crate::error::IndexFault;
use crate::format::Format;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
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
    above: Above,
}

/// What a share has added so far. Its folders come long before its files in the index's order, those of other shares between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Above {
    /// Folders, each in the one before: few, which many shares have.
    Ancestors,
    /// Folders beside each other, which hardly another share has.
    Siblings,
    /// Files.
    Nothing,
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
        let builder = PartBuilder::new(Defaults { suffix: suffix.to_owned(), key_id, hides_names: false });
        let files = IndexFiles::for_journals(place.into());
        Ok(JournalWriter {
            files,
            format: format.clone(),
            root,
            builder,
            last: Vec::new(),
            above: Above::Ancestors,
        })
    }

    /// Adds an entry. They come in the index's order. The folders above the share get journals of their own: else a merge would
    /// have each share's journal open from its beginning on.
    pub(crate) fn push(&mut self, entry: &IndexEntry) -> Result<(), Error> {
        let is_folder = matches!(entry.kind, IndexKind::Folder { .. });
        if self.last == entry.path && is_folder && self.above == Above::Nothing {
            // A bucket may have an object and others below its path. In a folder, there is only the file.
            return Ok(());
        }
        let follows = self.last.is_empty() || split(&self.last) < split(&entry.path);
        if !(is_path(&entry.path) && follows) {
            return Err(Error::internal("a journal's entries are not paths in their order"));
        }
        let (parent, _) = split(&entry.path);
        let (is_next, above) = match self.above {
            Above::Nothing => (true, Above::Nothing),
            _ if !is_folder => (false, Above::Nothing),
            Above::Ancestors if parent == self.last => (true, Above::Ancestors),
            Above::Ancestors => (false, Above::Siblings),
            Above::Siblings => (parent == split(&self.last).0, Above::Siblings),
        };
        self.above = above;
        self.last.clone_from(&entry.path);
        let Self { files, format, root, builder, .. } = self;
        let mut write = |bytes: &mut Vec<u8>, _| write(files, format, root, bytes);
        if !is_next {
            builder.end(&mut write)?;
        }
        builder.add(entry, write)
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
    /// [`IndexFault::Journal`] with the path of a journal; [`Error::Io`], [`Error::Store`].
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

    /// All entries, in the index's order. A path that several journals list comes once.
    pub(crate) fn entries(&self) -> JournalEntries {
        let waiting = self.found.clone().into_iter().peekable();
        JournalEntries { journals: self.clone(), waiting, open: BinaryHeap::new() }
    }

    /// Removes what has been merged, and what no run can merge any more. What remains is no harm.
    pub(crate) fn remove(self) {
        for path in self.found.into_iter().map(|(_, path)| path).chain(self.stale) {
            self.files.remove(&path);
        }
    }

    /// Opens a journal; `None` if it is gone or lists nothing.
    fn read(&self, path: String) -> Result<Option<OpenJournal>, Error> {
        let open = || -> Result<_, Error> {
            let Some(file) = self.files.read(&path, file_limit(PART_LIMIT))? else { return Ok(None) };
            let plaintext = sealed::open(&self.format, &label(&self.root), &file)?;
            let mut records = PartRecords::new(plaintext).map_err(|Malformed| malformed())?;
            let next = records.next().map_err(|Malformed| malformed())?;
            Ok(next.map(|next| (next, records)))
        };
        let opened = open().map_err(|error| match error.without_path() {
            Error::Index(IndexFault::NotOpened) => IndexFault::Journal("no key opens it").into(),
            Error::Index(IndexFault::Damaged(reason)) => IndexFault::Journal(reason).into(),
            _ => error,
        });
        let opened = opened.map_err(|error: Error| error.at(&self.files.path(&path)))?;
        Ok(opened.map(|(next, records)| OpenJournal { path, next, records }))
    }
}

/// A journal that is being read. The one whose next entry comes first in the index's order is the greatest.
#[derive(Debug)]
struct OpenJournal {
    path: String,
    next: IndexEntry,
    records: PartRecords<Zeroizing<Vec<u8>>>,
}

impl Ord for OpenJournal {
    fn cmp(&self, other: &OpenJournal) -> Ordering {
        other.next.order(&self.next)
    }
}

impl PartialOrd for OpenJournal {
    fn partial_cmp(&self, other: &OpenJournal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OpenJournal {
    fn eq(&self, other: &OpenJournal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for OpenJournal {}

impl OpenJournal {
    /// Takes the entry that is due; `None` in the place of the journal after the last one.
    fn take(mut self) -> Result<(IndexEntry, Option<OpenJournal>), Malformed> {
        let Some(next) = self.records.next()? else { return Ok((self.next, None)) };
        if self.next.order(&next) != Ordering::Less {
            return Err(Malformed);
        }
        let taken = std::mem::replace(&mut self.next, next);
        Ok((taken, Some(self)))
    }
}

fn malformed() -> Error {
    IndexFault::Journal("its entries are malformed").into()
}

/// Goes through all journals at once: entries, and whether journals list different things at their paths. Shares are ranges of
/// a sorted listing, so few are open at a time, but for those that list folders alone. An error is the last item.
#[derive(Debug)]
pub(crate) struct JournalEntries {
    journals: Journals,
    waiting: Peekable<IntoIter<(Vec<u8>, String)>>,
    open: BinaryHeap<OpenJournal>,
}

impl JournalEntries {
    /// Whether objects are listed, which may have the paths of folders.
    pub(crate) fn is_in_store(&self) -> bool {
        matches!(*self.journals.files, IndexFiles::Store(_))
    }

    fn advance(&mut self) -> Result<Option<(IndexEntry, bool)>, Error> {
        let Some(mut due) = self.take(None)? else { return Ok(None) };
        let mut is_disputed = false;
        while let Some(other) = self.take(Some(&due.path))? {
            match (&due.kind, &other.kind) {
                // An object; the folder is only there for others.
                (IndexKind::Folder { .. }, IndexKind::File(_)) if self.is_in_store() => due = other,
                (IndexKind::File(_), IndexKind::Folder { .. }) if self.is_in_store() => {}
                _ => is_disputed |= !is_same(&due, &other),
            }
        }
        Ok(Some((due, is_disputed)))
    }

    /// Takes the first entry that is left in any journal. `path`: only if it has this path.
    fn take(&mut self, path: Option<&[u8]>) -> Result<Option<IndexEntry>, Error> {
        loop {
            let least = self.open.peek().map(|journal| &journal.next.path);
            let is_due =
                |(first, _): &(Vec<u8>, String)| least.is_none_or(|least| split(first) <= split(least));
            let Some((_, path)) = self.waiting.next_if(is_due) else { break };
            let gone = Error::from(IndexFault::Journal("it is gone")).at(&self.journals.files.path(&path));
            self.open.push(self.journals.read(path)?.ok_or(gone)?);
        }
        let is_wanted = |journal: &OpenJournal| path.is_none_or(|path| journal.next.path == path);
        if !self.open.peek().is_some_and(is_wanted) {
            return Ok(None);
        }
        let Some(journal) = self.open.pop() else { return Ok(None) };
        let (entry, rest) = journal.take().map_err(|Malformed| malformed())?;
        self.open.extend(rest);
        Ok(Some(entry))
    }
}

impl Iterator for JournalEntries {
    type Item = Result<(IndexEntry, bool), Error>;

    fn next(&mut self) -> Option<Result<(IndexEntry, bool), Error>> {
        let next = self.advance();
        if !matches!(next, Ok(Some(_))) {
            (self.open, self.waiting) = (BinaryHeap::new(), Vec::new().into_iter().peekable());
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
