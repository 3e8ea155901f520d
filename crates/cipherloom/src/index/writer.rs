//! Writes a generation of an index: its parts as they become complete, then the root.

use super::anchor::Anchor;
use super::entry::{Defaults, IndexEntry, is_path, split};
use super::folder::ROOT;
use super::journal::Journals;
use super::part::{PART_LIMIT, PartBuilder};
use super::place::{IndexFiles, IndexPlace, part_path};
use super::reader::Index;
use super::root::{Digest, PartReference, ROOT_LIMIT, Root};
use super::sealed::{self, digest, file_limit, seal};
use crate::Error;
use crate::error::IndexFault;
use crate::format::Format;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A generation that is being written. Dropped before [`IndexWriter::finish`], it leaves the one before in force.
#[derive(Debug)]
pub(crate) struct IndexWriter {
    files: Arc<IndexFiles>,
    format: Format,
    key_id: u32,
    previous: Option<(Index, Vec<u8>)>,
    /// Whether there is an index that was not opened.
    replaces_unopened: bool,
    anchor: Option<Anchor>,
    /// Parts of the generation before, by their content.
    known: HashMap<Digest, PartReference>,
    builder: PartBuilder,
    /// The last entry's path.
    last: Vec<u8>,
    parts: Vec<PartReference>,
}

/// Which index may be replaced.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Replacing<'f> {
    /// None.
    Nothing,
    /// One that the key opens; the new one is its next generation.
    Opened,
    /// One that the key opens, or the one of this format, which sealed it before.
    Rekeyed(&'f Format),
    /// Any; one that the key does not open ends with its tree's identifier.
    Any,
}

impl IndexWriter {
    /// Locks the index at this place, if it is in a folder, and opens the generation that there is. `format` seals the new one.
    ///
    /// # Errors
    /// As [`Index::open`]; [`IndexFault::Present`]; [`IndexFault::Unsupported`] for a format without keysets; what
    /// [`Anchor::check`] says.
    pub(crate) fn begin<'p>(
        place: impl Into<IndexPlace<'p>>,
        format: &Format,
        suffix: &[u8],
        replacing: Replacing<'_>,
        anchor: Option<&Path>,
    ) -> Result<IndexWriter, Error> {
        let files = Arc::new(IndexFiles::for_writing(place.into())?);
        IndexWriter::begin_in(files, format, suffix, replacing, anchor)
    }

    pub(super) fn begin_in(
        files: Arc<IndexFiles>,
        format: &Format,
        suffix: &[u8],
        replacing: Replacing<'_>,
        anchor: Option<&Path>,
    ) -> Result<IndexWriter, Error> {
        let key_id = format.key_id().ok_or(IndexFault::Unsupported("a keyset"))?;
        files.begin_generation()?;
        let mut is_same_key = true;
        let open = |format| Index::newest(Arc::clone(&files), format);
        let (previous, replaces_unopened) = match (open(format), replacing) {
            (Err(error), Replacing::Any) if is_unreadable(&error) => (None, true),
            (Err(error), Replacing::Rekeyed(before)) if is_unreadable(&error) => {
                is_same_key = false;
                (open(before)?, false)
            }
            (previous, _) => (previous?, false),
        };
        if matches!(replacing, Replacing::Nothing) && previous.is_some() {
            return Err(Error::from(IndexFault::Present).at(&files.path(ROOT)));
        }
        let anchor = anchor.map(Anchor::read).transpose()?;
        if let Some(anchor) = &anchor {
            // Whoever replaces an index that no key opens begins another anchor, too.
            anchor.check(previous.as_ref().map(|(index, _)| index))?;
        }
        let parts = previous.iter().flat_map(|(index, _)| &index.root().parts);
        // Keys of two keysets may have one identifier.
        let is_usable = |part: &&PartReference| is_same_key && part.key_id == key_id;
        let known = parts.filter(is_usable).map(|part| (part.content, *part)).collect();
        let builder = PartBuilder::new(Defaults { suffix: suffix.to_owned(), key_id });
        Ok(IndexWriter {
            files,
            format: format.clone(),
            key_id,
            previous,
            replaces_unopened,
            anchor,
            known,
            builder,
            last: Vec::new(),
            parts: Vec::new(),
        })
    }

    /// The generation before, if there is one.
    pub(crate) fn previous(&self) -> Option<&Index> {
        self.previous.as_ref().map(|(index, _)| index)
    }

    /// The journals that follow the generation before.
    ///
    /// # Errors
    /// If a journal does not open, with its path; [`IndexFault::Absent`] if there is no generation before.
    pub(crate) fn journals(&self) -> Result<Journals, Error> {
        let (index, _) = self.previous.as_ref().ok_or(IndexFault::Absent)?;
        Journals::open(Arc::clone(&self.files), &self.format, index.digest())
    }

    /// What names have behind those of their plaintexts, unless entries say otherwise. To be called before the first entry.
    pub(crate) fn set_suffix(&mut self, suffix: &[u8]) {
        self.builder = PartBuilder::new(Defaults { suffix: suffix.to_owned(), key_id: self.key_id });
    }

    /// Adds an entry. They come in the index's order.
    pub(crate) fn push(&mut self, entry: &IndexEntry) -> Result<(), Error> {
        let follows = self.last.is_empty() || split(&self.last) < split(&entry.path);
        if !(is_path(&entry.path) && follows) {
            return Err(Error::internal("an index's entries are not paths in their order"));
        }
        self.last.clone_from(&entry.path);
        let mut end =
            End { files: &self.files, format: &self.format, key_id: self.key_id, known: &self.known };
        self.builder.push(entry, |bytes, entries| end.part(bytes, entries, &mut self.parts))
    }

    /// Writes this generation and begins the next one. No other process gets the lock in between. `suffix`: that of its parts.
    ///
    /// # Errors
    /// [`IndexFault::Overtaken`] in a store, if another run has written one in between.
    pub(crate) fn go_on(self, suffix: &[u8]) -> Result<IndexWriter, Error> {
        let (files, format) = (Arc::clone(&self.files), self.format.clone());
        let anchor = self.anchor.as_ref().map(|anchor| anchor.path().to_owned());
        let written = self.finish()?;
        let next =
            IndexWriter::begin_in(Arc::clone(&files), &format, suffix, Replacing::Opened, anchor.as_deref())?;
        match next.previous().map(Index::root) {
            Some(root) if *root == written => Ok(next),
            _ => Err(Error::from(IndexFault::Overtaken).at(&files.path(ROOT))),
        }
    }

    /// Leaves the generation before in force, if there is one, and has the anchor remember it.
    pub(crate) fn keep(self) -> Result<Option<Root>, Error> {
        let Some((index, _)) = self.previous else { return Ok(None) };
        if let Some(anchor) = self.anchor {
            anchor.write(index.root(), index.digest())?;
        }
        Ok(Some(index.root().clone()))
    }

    /// Writes the root, from which on the new generation is in force, and removes what only earlier ones had.
    pub(crate) fn finish(mut self) -> Result<Root, Error> {
        let mut end =
            End { files: &self.files, format: &self.format, key_id: self.key_id, known: &self.known };
        self.builder.end(|bytes, entries| end.part(bytes, entries, &mut self.parts))?;
        let before = self.previous.as_ref().map(|(index, _)| index);
        let mut tree = [0; 16];
        match before {
            Some(index) => tree = index.root().tree,
            None => getrandom::fill(&mut tree).map_err(Error::Random)?,
        }
        let root = Root {
            tree,
            generation: before.map_or(0, |index| index.root().generation) + 1,
            time: now(),
            previous: before.map_or(Digest::default(), |index| *index.digest()),
            parts: self.parts,
        };
        let mut plaintext = root.write();
        if plaintext.len() > ROOT_LIMIT {
            return Err(IndexFault::Unsupported("fewer entries").into());
        }
        let file = seal_for_readers(&self.format, sealed::ROOT, &mut plaintext, ROOT_LIMIT)?;
        if let Some((_, found)) = &self.previous {
            self.files.check_root(found)?;
        }
        let mut kept: HashSet<Digest> = root.parts.iter().map(|part| part.name).collect();
        if let Some((index, _)) = &self.previous {
            kept.extend(index.root().parts.iter().map(|part| part.name));
        }
        self.files.replace_root(&file, self.previous.as_ref().map(|(_, file)| &**file))?;
        // Another key may open what this one did not.
        if !self.replaces_unopened {
            self.files.remove_other_parts(&kept);
        }
        if let Some(anchor) = self.anchor {
            anchor.write(&root, &digest(&file))?;
        }
        Ok(root)
    }
}

/// How a part is written.
struct End<'w> {
    files: &'w IndexFiles,
    format: &'w Format,
    key_id: u32,
    known: &'w HashMap<Digest, PartReference>,
}

impl End<'_> {
    fn part(
        &mut self,
        bytes: &mut Vec<u8>,
        entries: u32,
        parts: &mut Vec<PartReference>,
    ) -> Result<(), Error> {
        let content = digest(bytes);
        // What the generation before has need not be written again, if it is there.
        if let Some(known) = self.known.get(&content)
            && self
                .files
                .read(&part_path(&known.name), u64::from(known.len))
                .ok()
                .flatten()
                .is_some_and(|file| digest(&file) == known.name)
        {
            parts.push(*known);
            return Ok(());
        }
        let file = seal_for_readers(self.format, sealed::PART, bytes, PART_LIMIT)?;
        let name = digest(&file);
        self.files.write_part(&name, &file)?;
        let len = u32::try_from(file.len()).map_err(|_| Error::internal("a part of an index is too long"))?;
        parts.push(PartReference { name, len, content, key_id: self.key_id, entries });
        Ok(())
    }
}

/// Seals a file of the index, unless it becomes longer than what readers take. `limit`: the most bytes of its plaintext.
pub(super) fn seal_for_readers(
    format: &Format,
    label: &[u8],
    plaintext: &mut Vec<u8>,
    limit: usize,
) -> Result<Vec<u8>, Error> {
    let file = seal(format, label, plaintext)?;
    if file.len() as u64 > file_limit(limit) {
        return Err(IndexFault::Unsupported("a key with larger segments").into());
    }
    Ok(file)
}

/// Whether an index that cannot be read for this reason may be replaced by one that is made from the files.
fn is_unreadable(error: &Error) -> bool {
    matches!(error.without_path(), Error::Index(IndexFault::NotOpened | IndexFault::Damaged(_)))
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
