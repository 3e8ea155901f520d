//! The files of an index. All of them are reached relative to the tree's root and through no link, and replaced in one rename.

use super::journal::JOURNALS;
use super::root::Digest;
use crate::Error;
use crate::error::IndexFault;
use crate::files::{
    Draft, IfExists, OpenedRoot, open_file_below, read_up_to, remove_file_below, remove_leftovers_below,
    sync_folders,
};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const LOCK: &str = ".cipherloom/index/lock";
pub(super) const ROOT: &str = ".cipherloom/index/root";
pub(super) const PREVIOUS: &str = ".cipherloom/index/root.previous";
pub(super) const PARTS: &str = ".cipherloom/index/parts";

/// Where the files of an index are, and those of its second copy: an accident to the one does not take the other along.
const INDEX: &str = ".cipherloom/index";
const COPY: &str = "00/.cipherloom/copy";

/// The files of a tree's index, locked as long as this exists.
#[derive(Debug)]
pub(super) struct IndexFolder {
    tree: PathBuf,
    /// Open and locked; `None` where nothing can be locked.
    _lock: Option<File>,
    /// Whether the lock is this process's alone.
    is_locked_alone: bool,
    /// Gives the tree's root its permissions back when it is dropped.
    _opened: Option<OpenedRoot>,
    /// Whether this is the second copy.
    is_copy: bool,
}

/// Whether the tree in this folder has an index, as far as that can be seen without its key. Something else in its place
/// counts: opening the index then reports it.
#[must_use]
pub fn has_index(tree: &Path) -> bool {
    [ROOT, PREVIOUS].iter().any(|name| !matches!(open(tree, Path::new(name)), Ok(None))) || has_copy(tree)
}

/// Whether the tree in this folder has a second copy of its index, as one with hidden names has.
pub(crate) fn has_copy(tree: &Path) -> bool {
    matches!(open(tree, &copied(Path::new(ROOT))), Ok(Some(_)))
}

impl IndexFolder {
    /// The index of the tree in this folder; `None` if there is none.
    pub(super) fn for_reading(tree: &Path) -> Result<Option<IndexFolder>, Error> {
        let lock = open(tree, Path::new(LOCK))?;
        let is_in_use =
            || matches!(lock.as_ref().map(File::try_lock_shared), Some(Err(TryLockError::WouldBlock)));
        if is_in_use() {
            return Err(in_use(tree));
        }
        let folder = IndexFolder { _lock: lock, ..IndexFolder::unlocked(tree) };
        // What is in the place of a file is reported when that is read.
        Ok(has_index(tree).then_some(folder))
    }

    /// The folder of a tree, for reading what no run locks.
    pub(super) fn unlocked(tree: &Path) -> IndexFolder {
        IndexFolder {
            tree: tree.to_owned(),
            _lock: None,
            is_locked_alone: false,
            _opened: None,
            is_copy: false,
        }
    }

    /// The second copy of this index, which has the same lock; `None` if this is that copy.
    pub(super) fn copy(&self) -> Option<IndexFolder> {
        let IndexFolder { is_locked_alone, .. } = *self;
        let copy = IndexFolder { is_copy: true, is_locked_alone, ..IndexFolder::unlocked(&self.tree) };
        (!self.is_copy).then_some(copy)
    }

    pub(super) fn is_copy(&self) -> bool {
        self.is_copy
    }

    /// The tree that has this index.
    pub(super) fn tree(&self) -> &Path {
        &self.tree
    }

    /// Where a file of the index is, relative to the tree.
    fn place<'p>(&self, relative: &'p Path) -> Cow<'p, Path> {
        if self.is_copy { Cow::Owned(copied(relative)) } else { Cow::Borrowed(relative) }
    }

    /// The index of the tree in this folder, which is there or is to be made.
    pub(super) fn for_writing(tree: &Path) -> Result<IndexFolder, Error> {
        let mut opened = None;
        // Making it changes the folder's time, even where it is there.
        let is_made = matches!(open(tree, Path::new(LOCK)), Ok(Some(_)));
        let lock = match if is_made { Ok(()) } else { make_lock(tree) } {
            // The tree's root may be read-only because that of its source is.
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
                opened = OpenedRoot::open(tree)?;
                make_lock(tree)
            }
            made => made,
        };
        let lock = lock.map_err(|error| match error {
            Error::LinkInDestination => Error::from(IndexFault::NotAFile),
            error => error,
        });
        lock.map_err(|error| error.at(&tree.join(LOCK)))?;
        let lock = open(tree, Path::new(LOCK))?;
        let is_locked_alone = match lock.as_ref().map(File::try_lock) {
            // Somebody has just removed it.
            Some(Err(TryLockError::WouldBlock)) | None => return Err(in_use(tree)),
            Some(Ok(())) => true,
            // A file system without locks: nothing that another run may need is removed there.
            Some(Err(TryLockError::Error(_))) => false,
        };
        Ok(IndexFolder { _lock: lock, is_locked_alone, _opened: opened, ..IndexFolder::unlocked(tree) })
    }

    /// The path of one of the files, for messages.
    pub(super) fn path(&self, relative: &str) -> PathBuf {
        self.tree.join(self.place(Path::new(relative)))
    }

    /// A file's content; `None` if it is not there. One that is longer than `limit` is damaged.
    pub(super) fn read(&self, relative: &Path, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        let relative = &self.place(relative);
        let Some(file) = open(&self.tree, relative)? else { return Ok(None) };
        let read = || -> io::Result<Option<Vec<u8>>> {
            let len = file.metadata()?.len();
            if len > limit {
                return Ok(None);
            }
            let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
            let read = read_up_to(&file, &mut bytes, 0)?;
            bytes.truncate(read);
            Ok(Some(bytes))
        };
        let at = |error: Error| error.at(&self.tree.join(relative));
        let bytes = read().map_err(|error| at(Error::io("read the file", error)))?;
        bytes.map(Some).ok_or_else(|| at(IndexFault::Damaged("a file is longer than any index has").into()))
    }

    /// Whether there is a file of this length.
    pub(super) fn has_file(&self, relative: &Path, len: u64) -> bool {
        let file = open(&self.tree, &self.place(relative)).ok().flatten();
        file.and_then(|file| file.metadata().ok()).is_some_and(|found| found.len() == len)
    }

    /// Writes a file, or replaces it. Its content is on stable storage first: what only the generation before had is removed soon.
    pub(super) fn write(&self, relative: &Path, bytes: &[u8]) -> Result<(), Error> {
        self.write_file(&self.place(relative), bytes, true)
    }

    /// The same for a file of the tree that can be made again: it may be damaged after a power cut.
    pub(super) fn write_soon(&self, relative: &Path, bytes: &[u8]) -> Result<(), Error> {
        self.write_file(relative, bytes, false)
    }

    fn write_file(&self, relative: &Path, bytes: &[u8], is_stable: bool) -> Result<(), Error> {
        let write = || {
            let draft = Draft::begin_below(&self.tree, relative, IfExists::Overwrite)?;
            draft.write_at(bytes, 0)?;
            if is_stable {
                draft.sync()?;
            }
            draft.publish()
        };
        write().map_err(|error| error.at(&self.tree.join(relative)))
    }

    /// Has the names of all that was written forced to stable storage.
    pub(super) fn sync(&self) -> Result<(), Error> {
        let (parts, index) = (self.place(Path::new(PARTS)), self.place(Path::new(INDEX)));
        let folders = [&*parts, &*index].into_iter().filter(|folder| self.tree.join(folder).is_dir());
        sync_folders(&self.tree, folders, &self.tree).map_err(|error| error.at(&self.path(PARTS)))
    }

    /// Has the names of journals forced to stable storage.
    pub(super) fn sync_journals(&self) -> Result<(), Error> {
        sync_folders(&self.tree, [Path::new(JOURNALS)], &self.tree)
            .map_err(|error| error.at(&self.path(JOURNALS)))
    }

    /// The paths of the files in a folder of the index whose names are text.
    pub(super) fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        let path = self.path(folder);
        let at = |error| Error::io("read the folder", error).at(&path);
        let names = match std::fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names.map_err(at)?,
        };
        let mut paths = Vec::new();
        for name in names {
            // What is being written has a name of another form.
            let name = name.map_err(at)?.file_name().into_string().ok();
            paths.extend(name.filter(|name| !name.starts_with('.')).map(|name| format!("{folder}/{name}")));
        }
        Ok(paths)
    }

    /// Removes a file, unless another process may need it. If that fails, it stays.
    pub(super) fn remove(&self, path: &str) {
        if self.is_locked_alone {
            let _ = remove_file_below(&self.tree, &self.place(Path::new(path)));
        }
    }

    /// Fails if another run has replaced the root that this one has read. A lock does not exclude that: on some file systems each
    /// machine has its own.
    pub(super) fn check_root(&self, found: &[u8], limit: u64) -> Result<(), Error> {
        if self.read(Path::new(ROOT), limit)?.as_deref() == Some(found) {
            return Ok(());
        }
        Err(Error::from(IndexFault::Overtaken).at(&self.path(ROOT)))
    }

    /// Removes the parts that are not in `kept`, and what killed runs left, unless another process may be using them. What remains
    /// is no harm.
    pub(super) fn remove_other_parts(&self, kept: &HashSet<Digest>) {
        let Some(names) = self.is_locked_alone.then(|| std::fs::read_dir(self.path(PARTS)).ok()).flatten()
        else {
            return;
        };
        for folder in [INDEX, PARTS] {
            remove_leftovers_below(&self.tree, &self.place(Path::new(folder)));
        }
        for name in names.flatten().map(|item| item.file_name()) {
            let digest = name.to_str().and_then(part_digest);
            if digest.is_some_and(|digest| !kept.contains(&digest)) {
                let _ = remove_file_below(&self.tree, &self.place(Path::new(PARTS)).join(&name));
            }
        }
    }
}

/// Where the second copy has a file of the index.
fn copied(relative: &Path) -> PathBuf {
    relative.strip_prefix(INDEX).map_or_else(|_| relative.to_owned(), |name| Path::new(COPY).join(name))
}

/// What a name says, if it is a part's.
fn part_digest(name: &str) -> Option<Digest> {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if name.len() != 64 || !name.bytes().all(is_digit) {
        return None;
    }
    let mut digest = Digest::default();
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&name[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(digest)
}

fn in_use(tree: &Path) -> Error {
    Error::from(IndexFault::InUse).at(&tree.join(LOCK))
}

fn make_lock(tree: &Path) -> Result<(), Error> {
    let make = |if_exists| Draft::begin_below(tree, Path::new(LOCK), if_exists)?.publish();
    match make(IfExists::Fail) {
        Ok(()) | Err(Error::OutputExists) => Ok(()),
        // Where a name can only be given by replacing.
        Err(Error::NamesNotAtomic) if open(tree, Path::new(LOCK))?.is_some() => Ok(()),
        Err(Error::NamesNotAtomic) => make(IfExists::Overwrite),
        Err(error) => Err(error),
    }
}

/// Opens a regular file below the tree's root; `None` if there is nothing.
fn open(tree: &Path, relative: &Path) -> Result<Option<File>, Error> {
    let path = tree.join(relative);
    // Where opening a FIFO waits for its other end.
    if std::fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Err(Error::from(IndexFault::NotAFile).at(&path));
    }
    let opened = match open_file_below(tree, relative) {
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        // A link, or a file in a folder's place.
        Err(Error::SourceChanged) => Err(IndexFault::NotAFile.into()),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
            Err(IndexFault::NotAFile.into())
        }
        Ok(file) if !file.metadata().is_ok_and(|found| found.is_file()) => Err(IndexFault::NotAFile.into()),
        opened => opened,
    };
    opened.map(Some).map_err(|error| error.at(&path))
}
