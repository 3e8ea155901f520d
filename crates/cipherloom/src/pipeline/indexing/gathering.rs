//! The index of a run over several machines, as the one sees it that divides the work: what is listed already, and at the end the
//! generation that lists what all of them have made.

use super::report_of;
use super::writing::merge;
use crate::Error;
use crate::format::Format;
use crate::index::{
    Index, IndexEntry, IndexKind, IndexPlace, IndexWriter, Journals, Replacing, StreamIdentity, path_of,
};
use crate::report::IndexReport;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The index of one run, locked where it is in a folder.
#[derive(Debug)]
pub struct Gathering {
    writer: IndexWriter,
    root: PathBuf,
    /// What runs have left that were killed.
    journals: Journals,
}

/// A file that an index or a journal lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFile {
    /// The plaintext's path.
    pub path: PathBuf,
    /// The ciphertext's path.
    pub encrypted_path: PathBuf,
    /// Bytes of plaintext.
    pub size: u64,
    /// Bytes of ciphertext.
    pub encrypted_size: u64,
    /// When the source was last changed, in seconds and nanoseconds since 1970, where that is known.
    pub modified: Option<(i64, u32)>,
    /// What identifies the stream.
    pub identity: StreamIdentity,
}

impl Gathering {
    /// Opens the index at `place`. If there is none, writes one that lists nothing: journals name the root that they follow.
    ///
    /// # Errors
    /// If the index, or a journal that follows it, cannot be used; [`Error::Io`], [`Error::Store`].
    pub fn begin(place: IndexPlace<'_>, format: &Format, suffix: &OsStr) -> Result<Gathering, Error> {
        let root = root_of(place);
        let suffix = suffix.as_encoded_bytes();
        let writer = IndexWriter::begin(place, format, suffix, Replacing::Opened, None)?;
        let writer = if writer.previous().is_some() { writer } else { writer.go_on(suffix)? };
        let journals = writer.journals()?;
        Ok(Gathering { writer, root, journals })
    }

    /// What the journals of this run name: the SHA-256 of the root's file.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub fn found_root(&self) -> Result<[u8; 32], Error> {
        self.writer
            .previous()
            .map(|index| *index.digest())
            .ok_or_else(|| Error::internal("an index without a root"))
    }

    /// All files that the index lists, and then those of the journals. An error is the last item.
    pub fn recorded(&self) -> impl Iterator<Item = Result<RecordedFile, Error>> + use<> {
        let listed = self.writer.previous().map(Index::entries).into_iter().flatten();
        files_of(listed.chain(self.journals.entries()))
    }

    /// Merges all journals into the next generation, and removes them. Without journals, the generation stays. `report` gets
    /// what the index lists otherwise than a journal.
    ///
    /// # Errors
    /// As [`Gathering::begin`]; [`IndexFault::Overtaken`](crate::error::IndexFault::Overtaken) in a store.
    pub fn finish(self, report: &dyn Fn(&Path, &Error)) -> Result<Option<IndexReport>, Error> {
        let Gathering { writer, root, .. } = self;
        let journals = writer.journals()?;
        if journals.is_empty() {
            return Ok(writer.keep()?.as_ref().map(report_of));
        }
        // A file that the index lists as another one stays as it was.
        let with_kind = |entry: IndexEntry| {
            let is_file = matches!(entry.kind, IndexKind::File(_));
            (entry, is_file)
        };
        let entries = journals.entries().map(|entry| entry.map(with_kind));
        let written = merge(writer, entries, true, &root, report)?.finish()?;
        journals.remove();
        Ok(Some(report_of(&written)))
    }
}

/// All files that the index at `place` lists; `None` if there is no index. An error is the last item.
///
/// # Errors
/// [`Error::Index`] if it cannot be used; [`Error::Io`], [`Error::Store`].
pub fn list_recorded_files(
    place: IndexPlace<'_>,
    format: &Format,
) -> Result<Option<impl Iterator<Item = Result<RecordedFile, Error>> + use<>>, Error> {
    Ok(Index::open(place, format)?.map(|index| files_of(index.entries())))
}

fn root_of(place: IndexPlace<'_>) -> PathBuf {
    match place {
        IndexPlace::Folder(root) => root.to_owned(),
        IndexPlace::Store(store) => store.address(""),
    }
}

fn files_of(
    entries: impl Iterator<Item = Result<IndexEntry, Error>>,
) -> impl Iterator<Item = Result<RecordedFile, Error>> {
    entries.filter_map(|entry| entry.and_then(recorded).transpose())
}

fn recorded(entry: IndexEntry) -> Result<Option<RecordedFile>, Error> {
    let IndexKind::File(file) = entry.kind else { return Ok(None) };
    Ok(Some(RecordedFile {
        path: path_of(&file.plaintext)?,
        encrypted_path: path_of(&entry.path)?,
        size: file.size,
        encrypted_size: file.ciphertext_len,
        modified: file.modified,
        identity: file.identity,
    }))
}
