//! What a run does with the index of the encrypted tree: workers note which streams they made or found, and the run's end writes
//! the index or reports how the tree differs from it.
//!
//! A stream is known by its header and its last bytes. A file that this run did not write goes into an index only if a key opens
//! its first segment.

mod checking;
mod ending;
mod gathering;
mod hidden;
mod items;
mod journal;
mod listing;
mod output_names;
mod rekeying;
mod round;
mod streams;
mod writing;

pub use checking::Expectations;
pub use gathering::{Gathering, RecordedFile, RecordedFiles, list_recorded_files};
pub use hidden::reveal;
pub(super) use items::{Item, Items, Place, bytes_of, folders_with_files, read_link};
pub use journal::version_mark;
pub use listing::{
    find_damaged_copies, list_index, list_index_to_replace, list_indexed_files, select_indexed_files,
};
pub use output_names::refuse_other_names;
pub(super) use output_names::{output_folders, written_names};
pub(super) use round::{Edits, Round, stream_key};
pub use streams::{Seen, StreamEnds};

use super::hidden_names::HiddenNames;
use super::job::{IndexMode, IndexUse, Job};
use super::tally::Tally;
use super::translation::Buffers;
use crate::Error;
use crate::engine::lock;
use crate::error::IndexFault;
use crate::format::Predecessor;
use crate::index::{HiddenName, IndexWriter, JournalWriter, Replacing, Root};
use crate::report::{IndexReport, Observer};
use crate::tree::{Attributes, Tree};
use checking::Checking;
use output_names::{Blocked, blocked_by_names, new_names};
use rekeying::Rekeying;
use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

/// A run's use of an index.
pub struct Indexing<'r> {
    tree: &'r Tree,
    job: &'r Job,
    /// The encrypted tree, which the index describes.
    root: &'r Path,
    purpose: Purpose<'r>,
    /// By entry, what goes into the index.
    seen: Vec<OnceLock<Seen>>,
    /// Entries that are not as the index lists them.
    held: Mutex<Vec<u32>>,
    /// What a synchronization adds to what it writes.
    round: Option<Round<'r>>,
    /// Where the ciphertexts are, if names are hidden, and what is not made.
    names: HiddenNames,
    blocked: Blocked,
}

enum Purpose<'r> {
    Write(Box<IndexWriter>),
    Check(Box<Checking>),
    Carry(Box<Rekeying<'r>>),
    Journal(Box<JournalWriter>),
}

impl<'r> Indexing<'r> {
    /// Locks and opens the index that the job uses. `None` if it uses none, or there is none to compare with; or one that cannot
    /// be used, which is reported then. `is_in_place`: each file is replaced where it is.
    ///
    /// # Errors
    /// [`Error::Index`] if the job needs an index and there is none, or none that can be used; [`Error::Store`], [`Error::Io`].
    pub fn begin<K: Send>(
        tree: &'r Tree,
        job: &'r Job,
        is_in_place: bool,
        tally: &Tally<'_, K>,
    ) -> Result<Option<Indexing<'r>>, Error> {
        let Some(index_use @ IndexUse { mode, anchor, hides_names, .. }) = &job.index else {
            return Ok(None);
        };
        if tree.is_single_file {
            return Err(IndexFault::Unsupported("a folder, not a single file").into());
        }
        job.check_hidden_names()?;
        let opening = job.work.opening();
        let suffix = job.suffix.as_encoded_bytes();
        let anchor = anchor.as_deref();
        let (mut names, mut blocked) = (index_use.names.clone(), Blocked::default());
        let needs_keyset = || Error::from(IndexFault::Unsupported("a job that encrypts or verifies"));
        let (root, purpose) = match *mode {
            IndexMode::Update => {
                let (Some(root), Some(format)) = (job.destination.as_deref(), job.work.sealing()) else {
                    return Err(needs_keyset());
                };
                let (place, replacing) = (index_use.place(root), Replacing::Opened);
                let purpose = match index_use.journal {
                    Some(found) => {
                        Purpose::Journal(Box::new(JournalWriter::begin(place, format, suffix, found)?))
                    }
                    None => {
                        let writer = IndexWriter::begin(place, format, suffix, replacing, anchor)?;
                        let writer = writer.with_hidden_names(*hides_names, false)?;
                        if *hides_names {
                            (names, blocked) = new_names(tree, job, format, writer.previous())?;
                        }
                        Purpose::Write(Box::new(writer))
                    }
                };
                (root, purpose)
            }
            IndexMode::Rebuild { replace, .. } => {
                let format = opening.ok_or_else(needs_keyset)?;
                let replacing = if replace { Replacing::Any } else { Replacing::Nothing };
                let place = index_use.place(&tree.root);
                let writer = IndexWriter::begin(place, format, suffix, replacing, anchor)?;
                let writer = writer.with_hidden_names(*hides_names, true)?;
                (&*tree.root, Purpose::Write(Box::new(writer)))
            }
            IndexMode::Sync(_) => return Err(Error::internal("a synchronization begins its own index")),
            IndexMode::Check { .. } => {
                let Some(checking) = Checking::begin(tree, job, tally)? else { return Ok(None) };
                (&*tree.root, Purpose::Check(Box::new(checking)))
            }
            IndexMode::Carry => {
                let root = job.destination.as_deref().ok_or_else(needs_keyset)?;
                let rekeying = Rekeying::begin(tree, job, root, is_in_place, tally)?;
                if *hides_names && !is_in_place {
                    blocked = blocked_by_names(tree, job, &names, &rekeying.writer)?;
                }
                (root, Purpose::Carry(Box::new(rekeying)))
            }
        };
        let seen = match &purpose {
            Purpose::Write(_) | Purpose::Carry(_) | Purpose::Journal(_) => tree.entries.len(),
            Purpose::Check(_) => 0,
        };
        let seen = (0..seen).map(|_| OnceLock::new()).collect();
        let (held, round) = (Mutex::default(), None);
        Ok(Some(Indexing { tree, job, root, purpose, seen, held, round, names, blocked }))
    }

    /// Which stream an output is that this run has written, before it gets its name; `None` if nobody asks.
    pub(super) fn see(&self, ends: &StreamEnds) -> Result<Option<Seen>, Error> {
        match (&self.purpose, self.job.work.sealing()) {
            (Purpose::Write(_) | Purpose::Carry(_) | Purpose::Journal(_), Some(format)) => {
                Seen::made(ends, format)
            }
            _ => Ok(None),
        }
    }

    /// Notes the stream of an entry.
    pub fn add(&self, entry: u32, seen: Option<Seen>) {
        if let (Some(place), Some(seen)) = (self.seen.get(entry as usize), seen) {
            let _ = place.set(seen);
        }
    }

    /// The stream whose place the output of an entry takes, which must be the one that the index lists; where a journal is written,
    /// the version of the source; else `None`.
    pub(super) fn predecessor(
        &self,
        entry: u32,
        file: &File,
        len: u64,
    ) -> Result<Option<Predecessor>, Error> {
        match &self.purpose {
            Purpose::Carry(rekeying) => {
                rekeying.checking.compare(entry, file, len)?;
                rekeying.predecessor(entry).map(Some)
            }
            Purpose::Journal(_) => Ok(Some(self.version_of(entry))),
            Purpose::Write(_) | Purpose::Check(_) => Ok(None),
        }
    }

    /// Notes the output of an entry that was skipped, if a key opens it; if it was re-keyed, when all of it is authentic and has
    /// taken the place of what the index lists; where a journal is written, if a run has made it of this version of the source.
    pub(super) fn confirm(
        &self,
        entry: u32,
        run_len: usize,
        buffers: &mut Buffers,
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        if matches!(self.purpose, Purpose::Check(_)) {
            return Ok(());
        }
        let path = self.names.of(entry).map_or_else(
            || {
                let listed = self.tree.entries.get(entry);
                self.tree.directories[listed.directory() as usize].path.join(&buffers.name)
            },
            HiddenName::path,
        );
        // It is the output that is not as it should be.
        let at = |error: Error| match error {
            Error::Stopped => error,
            error => error.at(&self.root.join(&path)),
        };
        let (input, attributes) = streams::open_output(self.root, &path).map_err(at)?;
        let seen = match &self.purpose {
            Purpose::Carry(rekeying) => {
                match rekeying.confirm(entry, (input, attributes), run_len, buffers, observer) {
                    // Who finds this in the source asks where else the index lists it.
                    Err(error @ Error::Index(IndexFault::Replaced { .. })) => return Err(error),
                    confirmed => confirmed.map_err(at)?,
                }
            }
            purpose => {
                let confirm = || -> Result<Seen, Error> {
                    let seen = match purpose {
                        Purpose::Journal(_) => self.recognise(entry, &input, buffers)?,
                        _ => self.open(input.file(), input.len(), Some(attributes), buffers)?.0,
                    };
                    input.check_unchanged(false)?;
                    Ok(seen)
                };
                Some(confirm().map_err(at)?)
            }
        };
        let key_id = seen.as_ref().map(|seen| seen.key_id);
        self.add(entry, seen);
        match &self.purpose {
            // The index lists it, but the run has not done with it what it was to do.
            Purpose::Carry(rekeying) if key_id.is_some() && !rekeying.is_current(key_id) => {
                Err(at(IndexFault::NotPrimary.into()))
            }
            _ => Ok(()),
        }
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
                let (seen, plaintext_len) = self.open(file, len, None, buffers)?;
                Ok((Some(seen), plaintext_len))
            }
            Purpose::Check(checking) => {
                checking.compare(entry, file, len)?;
                Ok((None, 0))
            }
            Purpose::Carry(_) | Purpose::Journal(_) => {
                Err(Error::internal("this run reads all of each file"))
            }
        }
    }

    /// Finds the key that opens a file's first segment. `attributes`: those of a file that was not listed. With the stream comes how
    /// many bytes of plaintext it has.
    fn open(
        &self,
        file: &File,
        len: u64,
        attributes: Option<Attributes>,
        buffers: &mut Buffers,
    ) -> Result<(Seen, u64), Error> {
        let format = self.job.work.sealing().or(self.job.work.opening());
        let format = format.ok_or_else(|| Error::internal("an index without a format"))?;
        let wanted = u64::from(format.largest_segment()).min(len);
        let begin = buffers.main.first(usize::try_from(wanted).expect("a segment fits into memory"))?;
        streams::read_exactly(file, begin, 0)?;
        let ends = StreamEnds::read(file, len)?;
        Seen::open(format, &buffers.associated_data, begin, &ends, attributes)
    }

    /// Fails with [`Error::Index`] if an entry is another stream than the index lists.
    pub(super) fn compare(&self, entry: u32, file: &File, len: u64) -> Result<(), Error> {
        match &self.purpose {
            Purpose::Check(checking) => checking.compare(entry, file, len),
            Purpose::Carry(rekeying) => rekeying.checking.compare(entry, file, len),
            Purpose::Write(_) | Purpose::Journal(_) => Ok(()),
        }
    }

    /// For comparing entries elsewhere; `None` if nothing is compared.
    #[must_use]
    pub fn expectations(&self) -> Option<Expectations> {
        match &self.purpose {
            Purpose::Check(checking) => Some(checking.expected.clone()),
            Purpose::Carry(rekeying) => Some(rekeying.checking.expected.clone()),
            Purpose::Write(_) | Purpose::Journal(_) => None,
        }
    }

    /// Keeps an entry back that is not as the index lists it.
    pub fn hold(&self, entry: u32) {
        lock(&self.held).push(entry);
    }

    /// Whether a run that was stopped writes the index of what it has done. Else it is repeated, and comes to all of that again.
    #[must_use]
    pub fn outlives_a_stop(&self) -> bool {
        match &self.purpose {
            Purpose::Carry(rekeying) => rekeying.is_in_place,
            Purpose::Journal(_) => true,
            Purpose::Write(_) | Purpose::Check(_) => false,
        }
    }
}

pub(super) fn report_of(root: &Root) -> IndexReport {
    IndexReport {
        generation: root.generation,
        time: root.time,
        entries: root.entries(),
        ..IndexReport::default()
    }
}
