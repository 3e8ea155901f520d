//! What a run does with the index of the encrypted tree: workers note which streams they made or found, and the run's end writes
//! the index or reports how the tree differs from it.
//!
//! A stream is known by its header and its last bytes, which are read back from the file that was just written or read. A file
//! that this run did not write goes into an index only if a key opens its first segment.

mod checking;
mod items;
mod listing;

pub use listing::{list_index, list_indexed_files};

use super::destination::OutputTree;
use super::job::{IndexMode, IndexUse, Job, Links};
use super::tally::Tally;
use super::translation::Buffers;
use crate::Error;
use crate::engine::lock;
use crate::error::IndexFault;
use crate::files::{Input, Source, open_file_below, read_up_to};
use crate::index::{
    FOLDER, Index, IndexEntry, IndexFile, IndexKind, IndexWriter, Replacing, Root, StreamIdentity, digest,
    path_of,
};
use crate::report::IndexReport;
use crate::tree::{Attributes, Tree, attributes};
use checking::Checking;
use items::{Item, Items, Place, mode, moment};
use std::cmp::Ordering;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// A run's use of an index.
pub(super) struct Indexing<'r> {
    tree: &'r Tree,
    job: &'r Job,
    /// The encrypted tree, which the index describes.
    root: &'r Path,
    purpose: Purpose,
    /// By entry, what goes into the index.
    seen: Vec<OnceLock<Seen>>,
    /// Entries that are not as the index lists them.
    held: Mutex<Vec<u32>>,
}

enum Purpose {
    Write(Box<IndexWriter>),
    Check(Box<Checking>),
}

/// A stream that was made or found.
#[derive(Debug)]
pub(super) struct Seen {
    identity: StreamIdentity,
    key_id: u32,
    /// Of a file that this run did not make of its source: what is known of it.
    found: Option<Box<Found>>,
}

/// A file of the encrypted tree.
#[derive(Debug)]
struct Found {
    plaintext_len: u64,
    len: u64,
    attributes: Attributes,
}

impl<'r> Indexing<'r> {
    /// Locks and opens the index that the job uses. `None` if it uses none, or there is none to compare with; or one that cannot
    /// be used, which is reported then.
    pub(super) fn begin(
        tree: &'r Tree,
        job: &'r Job,
        tally: &Tally<'_, u32>,
    ) -> Result<Option<Indexing<'r>>, Error> {
        let Some(IndexUse { mode, anchor, .. }) = &job.index else { return Ok(None) };
        if tree.is_single_file {
            return Err(IndexFault::Unsupported("a folder, not a single file").into());
        }
        let opening = job.work.opening();
        let suffix = job.suffix.as_encoded_bytes();
        let anchor = anchor.as_deref();
        let needs_keyset = || Error::from(IndexFault::Unsupported("a job that encrypts or verifies"));
        let (root, purpose) = match *mode {
            IndexMode::Update => {
                let (Some(root), Some(format)) = (job.destination.as_deref(), job.work.sealing()) else {
                    return Err(needs_keyset());
                };
                let replacing = Replacing::Opened;
                let writer = IndexWriter::begin(root, format, suffix, replacing, anchor)?;
                (root, Purpose::Write(Box::new(writer)))
            }
            IndexMode::Rebuild { replace } => {
                let format = opening.ok_or_else(needs_keyset)?;
                let replacing = if replace { Replacing::Any } else { Replacing::Nothing };
                let writer = IndexWriter::begin(&tree.root, format, suffix, replacing, anchor)?;
                (&*tree.root, Purpose::Write(Box::new(writer)))
            }
            IndexMode::Check { .. } => {
                let Some(checking) = Checking::begin(tree, job, tally)? else { return Ok(None) };
                (&*tree.root, Purpose::Check(Box::new(checking)))
            }
        };
        let seen = match &purpose {
            Purpose::Write(_) => tree.entries.len(),
            Purpose::Check(_) => 0,
        };
        let seen = (0..seen).map(|_| OnceLock::new()).collect();
        Ok(Some(Indexing { tree, job, root, purpose, seen, held: Mutex::default() }))
    }

    /// Which stream an output is that this run has written, before it gets its name; `None` if nobody asks.
    pub(super) fn see(&self, file: &File, len: u64) -> Result<Option<Seen>, Error> {
        match (&self.purpose, self.job.work.sealing().and_then(|format| format.key_id())) {
            (Purpose::Write(_), Some(key_id)) => {
                Ok(Some(Seen { identity: identity(file, len)?, key_id, found: None }))
            }
            _ => Ok(None),
        }
    }

    /// Notes an output of an entry.
    pub(super) fn add(&self, entry: u32, seen: Option<Seen>) {
        if let (Some(place), Some(seen)) = (self.seen.get(entry as usize), seen) {
            let _ = place.set(seen);
        }
    }

    /// Notes the output of an entry that was skipped, if a key opens it.
    pub(super) fn confirm(&self, entry: u32, buffers: &mut Buffers) -> Result<(), Error> {
        if !matches!(self.purpose, Purpose::Write(_)) {
            return Ok(());
        }
        let listed = &self.tree.entries[entry as usize];
        let below = &self.tree.directories[listed.directory as usize].path;
        let path = below.join(&buffers.name);
        let mut confirm = || {
            let file = open_file_below(self.root, &path).map_err(|error| match error {
                Error::SourceChanged => Error::LinkInDestination,
                error => error,
            })?;
            let metadata = file.metadata().map_err(|error| Error::io("read the attributes", error))?;
            if !metadata.is_file() {
                return Err(Error::OutputExists);
            }
            let attributes = attributes(&metadata);
            let input = Input::new(file, metadata.len(), &attributes);
            let (seen, _) = self.open(input.file(), input.len(), attributes, buffers)?;
            input.check_unchanged(false)?;
            Ok(seen)
        };
        // It is the output that is not as it should be.
        let seen = confirm().map_err(|error| error.at(&self.root.join(&path)))?;
        self.add(entry, Some(seen));
        Ok(())
    }

    /// Reads the beginning and the end of an entry of the encrypted tree. Returns what is to be noted of it, and how many bytes of
    /// plaintext it has.
    pub(super) fn look(
        &self,
        entry: u32,
        file: &File,
        len: u64,
        buffers: &mut Buffers,
    ) -> Result<(Option<Seen>, u64), Error> {
        match &self.purpose {
            Purpose::Write(_) => {
                let attributes = self.tree.entries[entry as usize].attributes.clone();
                let (seen, plaintext_len) = self.open(file, len, attributes, buffers)?;
                Ok((Some(seen), plaintext_len))
            }
            Purpose::Check(checking) => {
                checking.compare(entry, file, len)?;
                Ok((None, 0))
            }
        }
    }

    /// Finds the key that opens a file's first segment. With the stream comes how many bytes of plaintext it has.
    fn open(
        &self,
        file: &File,
        len: u64,
        attributes: Attributes,
        buffers: &mut Buffers,
    ) -> Result<(Seen, u64), Error> {
        let format = self.job.work.sealing().or(self.job.work.opening());
        let format = format.ok_or_else(|| Error::internal("an index without a format"))?;
        let wanted = u64::from(format.largest_segment()).min(len);
        let begin = buffers.main.first(usize::try_from(wanted).expect("a segment fits into memory"))?;
        read_exactly(file, begin, 0)?;
        let (key_id, layout) =
            format.opening_key(&buffers.associated_data, begin, begin.len() as u64 == len)?;
        let plaintext_len = layout.plaintext_len(len)?;
        let found = Some(Box::new(Found { plaintext_len, len, attributes }));
        Ok((Seen { identity: identity(file, len)?, key_id, found }, plaintext_len))
    }

    /// Fails with [`Error::Index`] if an entry is another stream than the index lists.
    pub(super) fn compare(&self, entry: u32, file: &File, len: u64) -> Result<(), Error> {
        match &self.purpose {
            Purpose::Check(checking) => checking.compare(entry, file, len),
            Purpose::Write(_) => Ok(()),
        }
    }

    /// Keeps an entry back that is not as the index lists it.
    pub(super) fn hold(&self, entry: u32) {
        lock(&self.held).push(entry);
    }

    /// Writes the index, or reports what was kept back; `None` if that failed, which is reported.
    pub(super) fn finish(self, outputs: Option<&OutputTree>, tally: &Tally<'_, u32>) -> Option<IndexReport> {
        let Indexing { tree, job, root, purpose, seen, held } = self;
        let held = held.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        match purpose {
            Purpose::Check(checking) => Some(checking.finish(tree, held, tally)),
            Purpose::Write(writer) => {
                let is_update = job.work.sealing().is_some();
                let written = if is_update || tally.report(0).failed == 0 {
                    let place = if is_update { Place::Output } else { Place::Source };
                    let items = Items::sorted(tree, job, place);
                    write(*writer, items, &Written { tree, job, root, outputs, seen: &seen, tally })
                } else {
                    // What failed would be missing from it, and nothing would show that.
                    Err(IndexFault::Unsupported("a tree in which nothing fails; none was written").into())
                };
                match written {
                    Ok(root) => Some(report_of(&root)),
                    Err(error) => {
                        let path = error.path().map_or_else(|| root.join(FOLDER), Path::to_owned);
                        tally.fail_other(&path, None, error.without_path());
                        None
                    }
                }
            }
        }
    }
}

fn report_of(root: &Root) -> IndexReport {
    IndexReport {
        generation: root.generation,
        time: root.time,
        entries: root.entries(),
        ..IndexReport::default()
    }
}

/// What the entries of a new generation are made of.
struct Written<'w> {
    tree: &'w Tree,
    job: &'w Job,
    root: &'w Path,
    outputs: Option<&'w OutputTree>,
    seen: &'w [OnceLock<Seen>],
    tally: &'w Tally<'w, u32>,
}

/// Writes what the run has seen. If that is outputs, what the index listed before stays in it, unless this run has replaced it.
fn write(mut writer: IndexWriter, items: Items<'_>, written: &Written<'_>) -> Result<Root, Error> {
    let keeps = items.place() == Place::Output;
    let before = writer.previous().filter(|_| keeps).map(Index::entries);
    let mut before = before.into_iter().flatten().peekable();
    for (item, path) in items {
        let Some((entry, is_found)) = written.entry(item, path)? else { continue };
        let mut known = None;
        let is_due = |listed: &Result<IndexEntry, Error>| {
            listed.as_ref().map_or(true, |listed| listed.order(&entry) != Ordering::Greater)
        };
        while let Some(listed) = before.next_if(is_due) {
            let listed = listed?;
            if listed.path == entry.path {
                known = Some(listed);
            } else {
                writer.push(&listed)?;
            }
        }
        match known {
            // This run found another file there than the index lists, which is for its owner to decide.
            Some(listed) if is_found && !is_same_file(&listed, &entry) => {
                let path = written.root.join(path_of(&entry.path)?);
                let fault = Error::from(IndexFault::Replaced { by: None });
                written.tally.fail_other(&path, None, &fault);
                writer.push(&listed)?;
            }
            _ => writer.push(&entry)?,
        }
    }
    for listed in before {
        writer.push(&listed?)?;
    }
    writer.finish()
}

fn is_same_file(one: &IndexEntry, other: &IndexEntry) -> bool {
    matches!((&one.kind, &other.kind), (IndexKind::File(one), IndexKind::File(other)) if one.identity == other.identity)
}

impl Written<'_> {
    /// The entry of an item at `path`, and whether it is a file that this run found and did not make; `None` if there is none.
    fn entry(&self, item: Item, path: Vec<u8>) -> Result<Option<(IndexEntry, bool)>, Error> {
        let mut is_found = false;
        let kind = match item {
            // Something else may have its name.
            Item::Folder(folder) if self.outputs.is_some_and(|outputs| outputs.is_refused(folder)) => {
                return Ok(None);
            }
            Item::Folder(folder) => {
                let attributes = &self.tree.directories[folder as usize].attributes;
                IndexKind::Folder { mode: mode(attributes), modified: moment(attributes) }
            }
            Item::Link(link) => match self.made_link(link) {
                Some(target) => IndexKind::Link { target: target.into_os_string().into_encoded_bytes() },
                None => return Ok(None),
            },
            Item::File(entry) => {
                let Some(seen) = self.seen[entry as usize].get() else { return Ok(None) };
                is_found = seen.found.is_some();
                IndexKind::File(self.file(entry, seen, &path)?)
            }
        };
        Ok(Some((IndexEntry { path, kind }, is_found)))
    }

    /// Where a link leads that is in the encrypted tree; `None` if it was passed over or is not the one of the source.
    fn made_link(&self, link: u32) -> Option<PathBuf> {
        let found = read_link(self.root, self.tree, link).ok()?;
        let is_made = || {
            self.job.links != Links::Skip
                && read_link(&self.tree.root, self.tree, link).is_ok_and(|target| target == found)
        };
        (self.job.work.sealing().is_none() || is_made()).then_some(found)
    }

    fn file(&self, entry: u32, seen: &Seen, path: &[u8]) -> Result<IndexFile, Error> {
        let Written { job, tree, .. } = self;
        let listed = &tree.entries[entry as usize];
        let (size, ciphertext_len, attributes) = match (&seen.found, job.work.sealing()) {
            (Some(found), _) => (found.plaintext_len, found.len, &found.attributes),
            (None, Some(format)) => {
                (listed.size, format.layout().ciphertext_len(listed.size), &listed.attributes)
            }
            (None, None) => return Err(Error::internal("a file of an index without a format")),
        };
        let suffix = job.suffix.as_encoded_bytes();
        Ok(IndexFile {
            // A name that has nothing in front of the suffix is its own plaintext's.
            plaintext: path
                .strip_suffix(suffix)
                .filter(|_| job.has_plaintext_name(path))
                .unwrap_or(path)
                .to_vec(),
            size,
            ciphertext_len,
            mode: mode(attributes),
            modified: moment(attributes),
            identity: seen.identity,
            key_id: seen.key_id,
        })
    }
}

/// Where the link leads that is in the place of the tree's below `root`.
fn read_link(root: &Path, tree: &Tree, link: u32) -> Result<PathBuf, Error> {
    let link = &tree.links[link as usize];
    let below = &tree.directories[link.directory as usize].path;
    Source::root(root)?.below(below)?.read_link(&link.name)
}

/// What identifies the stream in a file of `len` bytes.
fn identity(file: &File, len: u64) -> Result<StreamIdentity, Error> {
    const TAIL: u64 = 16;
    let mut bytes = [0; 40 + TAIL as usize];
    read_exactly(file, &mut bytes[..1], 0)?;
    let header = match bytes[0] {
        header @ (24 | 40) => usize::from(header),
        _ => {
            let problem = "its first byte is neither 24 nor 40";
            return Err(Error::NotThisFormat { format: "tink", problem });
        }
    };
    let tail = len.saturating_sub(header as u64).min(TAIL) as usize;
    read_exactly(file, &mut bytes[..header], 0)?;
    read_exactly(file, &mut bytes[header..header + tail], len - tail as u64)?;
    let mut identity = StreamIdentity::default();
    identity.copy_from_slice(&digest(&bytes[..header + tail])[..16]);
    Ok(identity)
}

fn read_exactly(file: &File, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
    match read_up_to(file, buffer, offset) {
        Ok(count) if count == buffer.len() => Ok(()),
        Ok(_) => Err(Error::SourceShrank),
        Err(error) => Err(Error::io("read the file", error)),
    }
}
