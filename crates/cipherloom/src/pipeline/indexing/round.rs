//! A synchronization's part of the index: which outputs it may replace, and a generation that lists what one of its rounds did.

use super::output_names::{Blocked, new_names};
use super::streams::read_exactly;
use super::writing::Written;
use super::{Indexing, Items, Place, Purpose};
use crate::Error;
use crate::error::IndexFault;
use crate::files::open_file_below;
use crate::format::Format;
use crate::index::{ContentDigest, HiddenName, Index, IndexEntry, IndexWriter};
use crate::pipeline::destination::OutputTree;
use crate::pipeline::hidden_names::HiddenNames;
use crate::pipeline::job::Job;
use crate::pipeline::tally::Tally;
use crate::tree::Tree;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, OnceLock};
use zeroize::Zeroizing;

/// What a round knows of its entries.
pub(in crate::pipeline) struct Round<'r> {
    /// By entry, whether the index lists none of this name.
    pub(in crate::pipeline) is_unlisted: &'r [bool],
    /// By entry, whether its output in a store is still the version that the index lists.
    pub(in crate::pipeline) has_listed_version: &'r [bool],
    /// By entry, the digest of its content; empty if none was computed.
    pub(in crate::pipeline) digests: &'r [Option<ContentDigest>],
}

/// What changes in an index beside what the workers made.
#[derive(Default)]
pub(in crate::pipeline) struct Edits {
    /// Entries that take the place of those at their paths, in the index's order.
    pub(in crate::pipeline) entries: Vec<IndexEntry>,
    /// Paths of entries that are listed no longer.
    pub(in crate::pipeline) dropped: HashSet<Vec<u8>>,
}

impl<'r> Indexing<'r> {
    /// For a round that adds to the generation of `writer`.
    pub(in crate::pipeline) fn for_round(
        tree: &'r Tree,
        job: &'r Job,
        root: &'r Path,
        writer: IndexWriter,
        round: Round<'r>,
    ) -> Result<Indexing<'r>, Error> {
        // The comparison has found what is in the way.
        let names = match job.work.sealing().filter(|_| job.hides_names()) {
            Some(format) => new_names(tree, job, format, writer.previous())?.0,
            None => HiddenNames::default(),
        };
        let seen = (0..tree.entries.len()).map(|_| OnceLock::new()).collect();
        let (purpose, held) = (Purpose::Write(Box::new(writer)), Mutex::default());
        let (round, blocked) = (Some(round), Blocked::default());
        Ok(Indexing { tree, job, root, purpose, seen, held, round, names, blocked })
    }

    /// Whether the index lists nothing of the name of a synchronization's entry.
    #[must_use]
    pub fn is_unlisted(&self, entry: u32) -> bool {
        self.round.as_ref().is_some_and(|round| round.is_unlisted[entry as usize])
    }

    /// Whether the output of a synchronization's entry in a store is still the version that the index lists.
    #[must_use]
    pub fn has_listed_version(&self, entry: u32) -> bool {
        self.round.as_ref().is_some_and(|round| round.has_listed_version[entry as usize])
    }

    /// Whether the output of an entry was written.
    pub(in crate::pipeline) fn is_written(&self, entry: u32) -> bool {
        self.seen[entry as usize].get().is_some()
    }

    /// Refuses to replace a file that the index does not list and that no key opens, and whatever is no file. `bound`: what the
    /// entry's stream binds.
    pub(in crate::pipeline) fn may_replace(
        &self,
        entry: u32,
        name: &OsStr,
        bound: &[u8],
    ) -> Result<(), Error> {
        if !self.is_unlisted(entry) {
            return Ok(());
        }
        let below = &self.tree.directories[self.tree.entries.get(entry).directory() as usize].path;
        let path = self.names.of(entry).map_or_else(|| below.join(name), HiddenName::path);
        let foreign = || Error::from(IndexFault::Foreign);
        let file = open_file_below(self.root, &path).map_err(|_| foreign())?;
        let format = self.job.work.sealing().ok_or_else(foreign)?;
        let opened = stream_key(format, &file, bound).map_err(|_| foreign())?;
        opened.map(|_| ()).ok_or_else(foreign)
    }

    /// Lists in the next generation what the one before lists, with these edits, and what the round made. Finishing the writer that
    /// it returns puts the generation in force.
    pub(in crate::pipeline) fn list_round(
        self,
        outputs: Option<&OutputTree>,
        tally: &Tally<'_, u32>,
        edits: Edits,
    ) -> Result<IndexWriter, Error> {
        let Indexing { tree, job, root, purpose, seen, round, names, .. } = self;
        let Purpose::Write(writer) = purpose else {
            return Err(Error::internal("a round does not write its index"));
        };
        let digests = round.map_or(&[][..], |round| round.digests);
        let items = Items::sorted(tree, job, Place::Output);
        let report = |path: &Path, error: &Error| tally.fail_other(path, None, error);
        let (seen, names, blocked) = (&*seen, &names, Blocked::default());
        let written = Written { tree, job, root, outputs, seen, digests, names, blocked, report: &report };
        let writer = write(*writer, items, &written, edits)?;
        written.write_names(&writer);
        Ok(writer)
    }
}

fn write(
    mut writer: IndexWriter,
    items: Items<'_>,
    written: &Written<'_>,
    edits: Edits,
) -> Result<IndexWriter, Error> {
    let mut before = writer.previous().map(Index::entries).into_iter().flatten().peekable();
    let mut edited = edits.entries.into_iter().peekable();
    let made = items.map(|(item, path)| written.entry(item, path)).filter_map(Result::transpose);
    let mut made = made.map(|entry| entry.map(|(entry, _)| entry)).peekable();
    loop {
        let follows_edited = |made: &Result<IndexEntry, Error>| {
            let edited = edited.peek();
            made.as_ref()
                .map_or(true, |made| edited.is_none_or(|edited| made.order(edited) != Ordering::Greater))
        };
        let next = match made.next_if(follows_edited) {
            Some(made) => Some(made?),
            None => edited.next(),
        };
        let is_due = |listed: &Result<IndexEntry, Error>| match (listed, &next) {
            (Ok(listed), Some(next)) => listed.order(next) != Ordering::Greater,
            _ => true,
        };
        while let Some(listed) = before.next_if(is_due) {
            let listed = listed?;
            let is_replaced = next.as_ref().is_some_and(|next| next.path == listed.path);
            if !is_replaced && !edits.dropped.contains(&listed.path) {
                writer.push(&listed)?;
            }
        }
        match next {
            Some(next) => writer.push(&next)?,
            None => return Ok(writer),
        }
    }
}

/// Which key opens a file's first segment; `None` if none does, or it is no regular file. `bound`: what its stream binds.
pub(in crate::pipeline) fn stream_key(
    format: &Format,
    file: &File,
    bound: &[u8],
) -> Result<Option<u32>, Error> {
    let metadata = file.metadata().map_err(|error| Error::io("read the attributes", error))?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let wanted = u64::from(format.largest_segment()).min(metadata.len());
    let mut begin = Zeroizing::new(vec![0; usize::try_from(wanted).expect("a segment fits into memory")]);
    read_exactly(file, &mut begin, 0)?;
    Ok(format.opening_key(bound, &begin, wanted == metadata.len()).ok().map(|(key_id, _)| key_id))
}
