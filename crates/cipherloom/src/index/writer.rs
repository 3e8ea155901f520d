//! Writes a generation of an index: its parts as they become complete, then the root.

use super::anchor::Anchor;
use super::entry::{Defaults, IndexEntry, IndexKind, is_path, split};
use super::folder::{PREVIOUS, ROOT};
use super::journal::Journals;
use super::name_lists::{NameLists, has_name_lists};
use super::part::{PART_LIMIT, PartBuilder};
use super::place::{IndexFiles, IndexPlace, part_path};
use super::reader::Index;
use super::root::{Digest, PartReference, ROOT_LIMIT, Root};
use super::sealed::{self, digest, file_limit, seal_for_readers};
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
    /// Of a tree with hidden names.
    names: Option<NameLists>,
    /// Paths of the folders that are listed, of such a tree.
    folders: HashSet<Vec<u8>>,
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
        let open = |format| Index::newest_to_replace(Arc::clone(&files), format);
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
        let hides_names = previous.as_ref().is_some_and(|(index, _)| index.root().hides_names);
        let builder = PartBuilder::new(Defaults { suffix: suffix.to_owned(), key_id, hides_names });
        let names = hides_names.then(NameLists::new);
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
            names,
            folders: HashSet::new(),
        })
    }

    /// Has the tree's files have hidden names, or the names of their plaintexts. A tree that gets hidden names begins with a
    /// generation that lists nothing: later runs come to the same names by it. `rebuilds`: not if its files are to be listed.
    ///
    /// # Errors
    /// [`IndexFault::OtherNames`] if the generation before says otherwise; as [`IndexWriter::finish`].
    pub(crate) fn with_hidden_names(
        mut self,
        hides_names: bool,
        rebuilds: bool,
    ) -> Result<IndexWriter, Error> {
        if self.previous.is_none()
            && !rebuilds
            && let Some(folder) = self.files.folder()
            && has_name_lists(folder.tree(), &self.format)
        {
            return Err(Error::from(IndexFault::NamesLost).at(folder.tree()));
        }
        match &self.previous {
            // A run that is to make such files is refused before.
            Some((index, _)) if index.root().hides_names != hides_names => {
                let fault = IndexFault::OtherNames { are_hidden: !hides_names };
                Err(Error::from(fault).at(&self.files.path(ROOT)))
            }
            None if hides_names => {
                self.names = Some(NameLists::new());
                self.set_suffix(b"");
                if rebuilds { Ok(self) } else { self.go_on(b"") }
            }
            _ => Ok(self),
        }
    }

    /// The generation before, if there is one.
    pub(crate) fn previous(&self) -> Option<&Index> {
        self.previous.as_ref().map(|(index, _)| index)
    }

    /// Whether the generation before is all under the key that seals this one.
    pub(crate) fn follows_same_key(&self) -> bool {
        let mut parts = self.previous.iter().flat_map(|(index, _)| &index.root().parts);
        parts.all(|part| self.known.contains_key(&part.content))
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
        let (suffix, hides_names) = (suffix.to_owned(), self.names.is_some());
        self.builder = PartBuilder::new(Defaults { suffix, key_id: self.key_id, hides_names });
    }

    /// Adds an entry. They come in the index's order.
    pub(crate) fn push(&mut self, entry: &IndexEntry) -> Result<(), Error> {
        let follows = self.last.is_empty() || split(&self.last) < split(&entry.path);
        if !(is_path(&entry.path) && follows && entry.has_name_if(self.names.is_some())) {
            return Err(Error::internal("an index's entries are not paths in their order"));
        }
        self.last.clone_from(&entry.path);
        if let Some(names) = &mut self.names {
            // No file system keeps a file from being a folder of others.
            let (folder, _) = split(&entry.path);
            if !(folder.is_empty() || self.folders.contains(folder)) {
                return Err(Error::internal("an index's entry is in no folder of it"));
            }
            if matches!(entry.kind, IndexKind::Folder { .. }) {
                self.folders.insert(entry.path.clone());
            }
            names.push(entry);
        }
        let mut end =
            End { files: &self.files, format: &self.format, key_id: self.key_id, known: &self.known };
        self.builder.push(entry, |bytes, entries| end.part(bytes, entries, &mut self.parts))
    }

    /// Writes the lists of hidden names, if there are some, when all entries were added. Returns what is wrong with those that
    /// cannot be written: nobody needs them as long as there is the index.
    pub(crate) fn write_names(&self) -> Vec<Error> {
        match (&self.names, self.files.folder()) {
            (Some(names), Some(folder)) => names.write(folder, &self.format),
            _ => Vec::new(),
        }
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

    /// Writes the lists of hidden names that are missing, for the generation before. Returns as [`IndexWriter::write_names`].
    pub(crate) fn write_missing_names(&self) -> Result<Vec<Error>, Error> {
        match (&self.names, self.files.folder(), self.previous()) {
            (Some(_), Some(folder), Some(index)) => {
                NameLists::write_missing(folder, &self.format, index.entries())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Leaves the generation before in force, if there is one, and has the anchor remember it.
    pub(crate) fn keep(self) -> Result<Option<Root>, Error> {
        let Some((index, file)) = self.previous else { return Ok(None) };
        if self.names.is_some() {
            renew_copies(&self.files, &self.format, &index, &file)?;
        }
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
        if self.names.as_ref().is_some_and(NameLists::has_twice) {
            return Err(Error::internal("an index gives two files one hidden name"));
        }
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
            hides_names: self.names.is_some(),
        };
        let mut plaintext = root.write();
        if plaintext.len() > ROOT_LIMIT {
            return Err(IndexFault::Unsupported("fewer entries").into());
        }
        let file = seal_for_readers(&self.format, sealed::ROOT, &mut plaintext, ROOT_LIMIT)?;
        if let Some((index, found)) = &self.previous {
            // Of the copy that was read.
            index.files().check_root(found)?;
        }
        let mut kept: HashSet<Digest> = root.parts.iter().map(|part| part.name).collect();
        if let Some((index, _)) = &self.previous {
            kept.extend(index.root().parts.iter().map(|part| part.name));
        }
        let previous = self.previous.as_ref().map(|(_, file)| &**file);
        self.files.replace_root(&file, previous)?;
        // Each of both copies is whole at any moment.
        let copy = self.names.as_ref().and_then(|_| self.files.copy());
        if let Some(copy) = &copy {
            copy_parts(&self.files, copy, &root)?;
            copy.replace_root(&file, previous)?;
        }
        // Another key may open what this one did not.
        if !self.replaces_unopened {
            self.files.remove_other_parts(&kept);
            copy.iter().for_each(|copy| copy.remove_other_parts(&kept));
        }
        if let Some(anchor) = self.anchor {
            anchor.write(&root, &digest(&file))?;
        }
        Ok(root)
    }
}

/// Has both copies of an index be of this generation, whose root has this file, and have all parts in their lengths: a run may
/// have been killed between them. No part is read if none is missing.
fn renew_copies(files: &IndexFiles, format: &Format, index: &Index, file: &[u8]) -> Result<(), Error> {
    let Some(copy) = files.copy() else { return Ok(()) };
    for (place, other) in [(files, &copy), (&copy, files)] {
        let found = place.read(ROOT, file_limit(ROOT_LIMIT)).ok().flatten();
        let has_root = found.is_some_and(|found| digest(&found) == *index.digest());
        let has_part = |part: &PartReference| {
            let path = part_path(&part.name);
            place.folder().is_some_and(|folder| folder.has_file(Path::new(&path), u64::from(part.len)))
        };
        if !(has_root && index.root().parts.iter().all(has_part)) {
            copy_parts(other, place, index.root())?;
        }
        if !has_root {
            let previous = other.read(PREVIOUS, file_limit(ROOT_LIMIT))?;
            place.replace_root(file, previous.as_deref())?;
            let earlier = previous.as_ref().and_then(|file| sealed::open(format, sealed::ROOT, file).ok());
            let earlier = earlier.and_then(|root| Root::read(&root).ok());
            let roots = earlier.iter().chain([index.root()]);
            let kept = roots.flat_map(|root| &root.parts).map(|part| part.name).collect();
            place.remove_other_parts(&kept);
        }
    }
    Ok(())
}

/// Gives the second copy of an index the parts of a generation that it lacks.
fn copy_parts(files: &IndexFiles, copy: &IndexFiles, root: &Root) -> Result<(), Error> {
    for part in &root.parts {
        let (path, len) = (part_path(&part.name), u64::from(part.len));
        let is_part = |file: &Vec<u8>| digest(file) == part.name;
        if copy.read(&path, len).ok().flatten().filter(is_part).is_none() {
            let file = files.read(&path, len)?.filter(is_part);
            let lost = || Error::internal("a part of an index was changed while it was written");
            copy.write_part(&part.name, &file.ok_or_else(lost)?)?;
        }
    }
    Ok(())
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

/// Whether an index that cannot be read for this reason may be replaced by one that is made from the files.
pub(crate) fn is_unreadable(error: &Error) -> bool {
    matches!(error.without_path(), Error::Index(IndexFault::NotOpened | IndexFault::Damaged(_)))
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
