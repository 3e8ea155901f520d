//! The index of a run over several machines, as the one sees it that divides the work: what is listed already, and at the end the
//! generation that lists what all of them have made.

use super::{bytes_of, report_of};
use crate::Error;
use crate::error::IndexFault;
use crate::format::Format;
use crate::index::{
    Anchor, Index, IndexEntry, IndexKind, IndexPlace, IndexWriter, JournalEntries, Replacing, StreamIdentity,
    path_of, split,
};
use crate::report::IndexReport;
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The index of one run, locked where it is in a folder.
#[derive(Debug)]
pub struct Gathering {
    writer: IndexWriter,
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

/// What an index lists of files. An error is the last item.
pub type RecordedFiles = Box<dyn Iterator<Item = Result<RecordedFile, Error>> + Send>;

impl Gathering {
    /// Opens the index at `place`. If there is none, writes one that lists nothing: journals name the root that they follow. What
    /// a killed run has left is merged into a generation, so that its journals cannot be taken for those of this run.
    /// `anchor`: the file that remembers the newest generation, which is compared now and renewed at the end.
    ///
    /// # Errors
    /// If the index, or a journal that follows it, cannot be used, or the anchor knows another one; [`Error::Io`], [`Error::Store`].
    pub fn begin(
        place: IndexPlace<'_>,
        format: &Format,
        suffix: &OsStr,
        anchor: Option<&Path>,
    ) -> Result<Gathering, Error> {
        let suffix = suffix.as_encoded_bytes();
        let writer = IndexWriter::begin(place, format, suffix, Replacing::Opened, anchor)?;
        let mut writer = writer.with_hidden_names(false, false)?;
        if writer.previous().is_none() {
            return Ok(Gathering { writer: writer.go_on(suffix)? });
        }
        let journals = writer.journals()?;
        if !journals.is_empty() {
            for entry in merge(listed(&writer), journals.entries()) {
                let (entry, origin) = entry?;
                // The run looks at what is disputed.
                if !matches!(origin, Origin::Disputed) {
                    writer.push(&entry)?;
                }
            }
            writer = writer.go_on(suffix)?;
            journals.remove();
        }
        Ok(Gathering { writer })
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

    /// All files that the index lists, in its order.
    pub fn recorded(&self) -> RecordedFiles {
        Box::new(files_of(listed(&self.writer)))
    }

    /// Merges all journals into the next generation, and removes them. Without journals, the generation stays. `made`: the
    /// outputs that the run has made. With the generation come those that no journal lists, or journals list differently: the
    /// index does not list them.
    ///
    /// # Errors
    /// As [`Gathering::begin`]; [`IndexFault::Overtaken`].
    pub fn finish(mut self, made: &[PathBuf]) -> Result<(Option<IndexReport>, Vec<PathBuf>), Error> {
        let journals = self.writer.journals()?;
        if journals.is_empty() && made.is_empty() {
            return Ok((self.writer.keep()?.as_ref().map(report_of), Vec::new()));
        }
        let mut made: Vec<Vec<u8>> = made.iter().map(|path| bytes_of(path)).collect();
        made.sort_unstable_by(|one, other| split(one).cmp(&split(other)));
        let mut made = made.into_iter().peekable();
        let mut unlisted = Vec::new();
        for entry in merge(listed(&self.writer), journals.entries()) {
            let (entry, origin) = entry?;
            while let Some(path) = made.next_if(|path| split(path) < split(&entry.path)) {
                unlisted.push(path_of(&path)?);
            }
            let is_made = made.next_if(|path| *path == entry.path).is_some();
            let is_known = match origin {
                Origin::Journal => true,
                Origin::Index => !is_made,
                Origin::Disputed => false,
            };
            if is_known {
                self.writer.push(&entry)?;
            } else {
                // The next run looks at it.
                unlisted.push(path_of(&entry.path)?);
            }
        }
        for path in made {
            unlisted.push(path_of(&path)?);
        }
        let written = self.writer.finish()?;
        journals.remove();
        Ok((Some(report_of(&written)), unlisted))
    }
}

/// What the generation lists that the writer has found.
fn listed(writer: &IndexWriter) -> impl Iterator<Item = Result<IndexEntry, Error>> + use<> {
    writer.previous().map(Index::entries).into_iter().flatten()
}

/// Where an entry comes from.
enum Origin {
    Index,
    Journal,
    /// Journals that list different things at its path.
    Disputed,
}

/// The entries of an index, and in their places those of journals; but an object stays, whose path is that of a folder for others.
fn merge(
    listed: impl Iterator<Item = Result<IndexEntry, Error>>,
    journals: JournalEntries,
) -> impl Iterator<Item = Result<(IndexEntry, Origin), Error>> {
    let is_in_store = journals.is_in_store();
    let is_folder = |entry: &IndexEntry| matches!(entry.kind, IndexKind::Folder { .. });
    let (mut listed, mut journals) = (listed.peekable(), journals.peekable());
    std::iter::from_fn(move || {
        let (order, stays) = match (listed.peek(), journals.peek()) {
            (Some(Ok(listed)), Some(Ok((made, _)))) => {
                (listed.order(made), is_in_store && is_folder(made) && !is_folder(listed))
            }
            (Some(Err(_)), _) | (_, None) => (Ordering::Less, false),
            (_, Some(_)) => (Ordering::Greater, false),
        };
        if order == Ordering::Less || order == Ordering::Equal && stays {
            journals.next_if(|_| order == Ordering::Equal);
            return listed.next().map(|entry| Ok((entry?, Origin::Index)));
        }
        if order == Ordering::Equal {
            listed.next();
        }
        let made = journals.next()?;
        let origin = |is_disputed| if is_disputed { Origin::Disputed } else { Origin::Journal };
        Some(made.map(|(entry, is_disputed)| (entry, origin(is_disputed))))
    })
}

/// The numbers of the index at `place`, and all files that it lists; `None` if there is no index. `anchor`: the file that
/// remembers the newest generation; it is compared and renewed.
///
/// # Errors
/// [`Error::Index`] if it cannot be used, or is missing and there is an anchor; [`Error::Io`], [`Error::Store`].
pub fn list_recorded_files(
    place: IndexPlace<'_>,
    format: &Format,
    anchor: Option<&Path>,
) -> Result<Option<(IndexReport, RecordedFiles)>, Error> {
    let index = Index::open(place, format)?;
    if index.as_ref().is_some_and(|index| index.root().hides_names) {
        return Err(IndexFault::OtherNames { are_hidden: true }.into());
    }
    if let Some(anchor) = anchor.map(Anchor::read).transpose()? {
        anchor.check(index.as_ref())?;
        let index = index.as_ref().ok_or(IndexFault::Absent)?;
        anchor.write(index.root(), index.digest())?;
    }
    Ok(index.map(|index| (report_of(index.root()), Box::new(files_of(index.entries())) as RecordedFiles)))
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

#[cfg(test)]
mod tests;
