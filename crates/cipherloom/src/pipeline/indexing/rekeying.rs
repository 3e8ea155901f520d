//! Re-keying an encrypted tree with its index: each file is compared with the index before it is re-keyed, and the new generation
//! lists the re-keyed streams. What failed, or was not as the index lists it, stays listed as it was in place, and is not listed
//! elsewhere.
//!
//! A run that was killed leaves the old index, some files as it lists them, and some that were re-keyed. The header of such a file
//! shows the key's holder which stream it has taken the place of, and where (`format/succession.rs`). So the next run tells it from
//! any other file that the key opens.

use super::checking::Checking;
use super::items::bytes_of;
use super::streams::{Found, Origin, Seen, StreamEnds, read_exactly};
use crate::Error;
use crate::error::IndexFault;
use crate::files::Input;
use crate::format::{Format, Predecessor};
use crate::index::{Anchor, FOLDER, Index, IndexKind, IndexWriter, Replacing, digest, has_index};
use crate::pipeline::in_place::is_done;
use crate::pipeline::job::{Job, Work};
use crate::pipeline::tally::Tally;
use crate::pipeline::translation::{Buffers, Passage};
use crate::report::Observer;
use crate::tree::{Attributes, Tree};
use std::fs::File;
use std::path::Path;

/// The index of a tree that is being re-keyed, and the one that is being written.
pub(super) struct Rekeying<'r> {
    tree: &'r Tree,
    /// What seals.
    to: &'r Format,
    pub(super) checking: Checking,
    pub(super) writer: IndexWriter,
    /// Whether both indexes are one.
    pub(super) is_in_place: bool,
}

impl<'r> Rekeying<'r> {
    /// Opens both indexes and reports what is missing. `root`: the folder of the outputs.
    pub(super) fn begin<K>(
        tree: &'r Tree,
        job: &'r Job,
        root: &Path,
        is_in_place: bool,
        tally: &Tally<'_, K>,
    ) -> Result<Rekeying<'r>, Error> {
        let (Work::Rekey { from, to }, Some(index_use)) = (&job.work, &job.index) else {
            return Err(IndexFault::Unsupported("a job that re-keys").into());
        };
        let absent = || Error::from(IndexFault::Absent).at(&tree.root);
        let anchor = index_use.anchor.as_deref();
        let (mut writer, index, anchor) = if is_in_place {
            // Nothing is made where there is no index: not even the lock, which would look like the beginning of one.
            if !has_index(root) {
                let check = |anchor: Anchor| anchor.check(None).map_err(|error| error.at(&root.join(FOLDER)));
                anchor.map(Anchor::read).transpose()?.map_or(Ok(()), check)?;
                return Err(absent());
            }
            // A run that was stopped has sealed it with the new key.
            let writer = IndexWriter::begin(root, to, b"", Replacing::Rekeyed(from), anchor)?;
            let index = writer.previous().cloned().ok_or_else(absent)?;
            (writer, index, None)
        } else {
            let anchor = anchor.map(Anchor::read).transpose()?;
            let index = Index::open(&*tree.root, from)?;
            if let Some(anchor) = &anchor {
                anchor.check(index.as_ref()).map_err(|error| error.at(&tree.root.join(FOLDER)))?;
            }
            let index = index.ok_or_else(absent)?;
            (IndexWriter::begin(root, to, b"", Replacing::Opened, None)?, index, anchor)
        };
        if let Some(suffix) = find_suffix(&index)? {
            writer.set_suffix(&suffix);
        }
        let checking = Checking::compared(index, tree, job, index_use, anchor, tally)?;
        Ok(Rekeying { tree, to, checking, writer, is_in_place })
    }

    /// The stream that the index lists at an entry's path, with that path.
    pub(super) fn predecessor(&self, entry: u32) -> Result<Predecessor, Error> {
        let identity = self.checking.listed_stream(entry).ok_or(IndexFault::Replaced { by: None })?;
        let path = bytes_of(&self.tree.relative_path(self.tree.entries.get(entry)));
        Ok(digest(&[&identity[..], &path].concat()))
    }

    /// What is to be noted of an output that this run did not make; nothing if the index lists it already. Fails if it is not
    /// authentic, and if no earlier run has made it of the listed file.
    pub(super) fn confirm(
        &self,
        entry: u32,
        (input, attributes): (Input, Attributes),
        run_len: usize,
        buffers: &mut Buffers,
        observer: &dyn Observer,
    ) -> Result<Option<Seen>, Error> {
        let len = input.len();
        if self.is_in_place && self.checking.compare(entry, input.file(), len).is_ok() {
            return if is_done(self.to, &input, buffers)? { Ok(None) } else { Err(Error::SourceChanged) };
        }
        if self.checking.listed_stream(entry).is_none() {
            return Err(IndexFault::Replaced { by: None }.into());
        }
        let format = self.of_successor(entry, input.file(), len)?;
        let Some(format) = format.filter(|format| self.is_in_place || self.is_current(format.key_id()))
        else {
            let replaced = IndexFault::Replaced { by: None };
            return Err(if self.is_in_place { replaced } else { IndexFault::Unproven }.into());
        };
        let key_id = format.key_id().ok_or(IndexFault::Unsupported("a keyset"))?;
        // Another key may open what somebody else put behind the header.
        let verify = Work::Verify(format);
        let (passage, present) = Passage::begin(&verify, run_len, input, None, buffers)?;
        let translation = &passage.translation;
        passage.advance(0..translation.segments, buffers, present, observer)?;
        let plaintext_len = translation.plaintext_len;
        let identity = StreamEnds::read(passage.input().file(), len)?.identity()?;
        passage.finish(self.is_in_place)?;
        let origin = match self.is_in_place {
            true => Origin::Made,
            false => Origin::Found(Box::new(Found { plaintext_len, len, attributes })),
        };
        Ok(Some(Seen { identity, key_id, origin, version: None }))
    }

    /// Whether this is the key that seals.
    pub(super) fn is_current(&self, key_id: Option<u32>) -> bool {
        key_id == self.to.key_id()
    }

    /// The new format with that key alone with which a run has begun this stream in the place of the one that the index lists.
    fn of_successor(&self, entry: u32, file: &File, len: u64) -> Result<Option<Format>, Error> {
        let predecessor = self.predecessor(entry)?;
        let mut begin = [0; StreamEnds::BEGIN];
        let begin = &mut begin[..len.min(StreamEnds::BEGIN as u64) as usize];
        read_exactly(file, begin, 0)?;
        self.to.of_successor(&predecessor, begin)
    }
}

/// What the index's first file has behind its plaintext's name. Most have the same.
fn find_suffix(index: &Index) -> Result<Option<Vec<u8>>, Error> {
    for entry in index.entries() {
        let entry = entry?;
        if let IndexKind::File(file) = &entry.kind {
            return Ok(entry.path.strip_prefix(&*file.plaintext).map(<[u8]>::to_vec));
        }
    }
    Ok(None)
}
