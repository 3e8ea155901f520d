//! Where the files of an index are: in the folder of its tree, or in an object store, which another crate reaches.

use super::folder::{IndexFolder, PARTS, PREVIOUS, ROOT};
use super::root::{Digest, ROOT_LIMIT};
use super::sealed::{file_limit, hex};
use crate::Error;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A tree in an object store, as far as its index is concerned, for one run: it remembers which version of an object was
/// looked at or read last. Paths are relative to the tree, with `/` between names.
pub trait IndexStore: fmt::Debug + Send + Sync {
    /// The address of an object, for messages.
    fn address(&self, path: &str) -> PathBuf;

    /// Whether there is such an object.
    ///
    /// # Errors
    /// [`Error::Store`].
    fn look(&self, path: &str) -> Result<bool, Error>;

    /// An object's content; `None` if there is no such object.
    ///
    /// # Errors
    /// [`crate::error::IndexFault::Damaged`] if it is longer than `limit`; [`Error::Store`].
    fn read(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, Error>;

    /// Creates an object whose path nothing else has.
    ///
    /// # Errors
    /// [`Error::Store`].
    fn create(&self, path: &str, bytes: &[u8]) -> Result<(), Error>;

    /// Replaces an object by a conditional write: it must still be the version that was last looked at or
    /// read, or still be missing.
    ///
    /// # Errors
    /// [`crate::error::IndexFault::Overtaken`] if it is another one now; [`Error::Store`].
    fn replace(&self, path: &str, bytes: &[u8]) -> Result<(), Error>;

    /// The paths of all objects below a folder.
    ///
    /// # Errors
    /// [`Error::Store`].
    fn list(&self, folder: &str) -> Result<Vec<String>, Error>;

    /// Removes an object, which may be gone.
    ///
    /// # Errors
    /// [`Error::Store`].
    fn remove(&self, path: &str) -> Result<(), Error>;
}

/// Where a tree's index is.
#[derive(Debug, Clone, Copy)]
pub enum IndexPlace<'p> {
    /// In the folder of the tree.
    Folder(&'p Path),
    /// In an object store.
    Store(&'p Arc<dyn IndexStore>),
}

impl<'p, P: AsRef<Path> + ?Sized> From<&'p P> for IndexPlace<'p> {
    fn from(folder: &'p P) -> IndexPlace<'p> {
        IndexPlace::Folder(folder.as_ref())
    }
}

/// The files of an index while it is being read or written.
#[derive(Debug)]
pub(super) enum IndexFiles {
    /// Locked as long as this exists.
    Folder(IndexFolder),
    /// A store has no locks: its writes are conditional instead.
    Store(Arc<dyn IndexStore>),
}

impl IndexFiles {
    /// The index at this place; `None` if there is none.
    pub(super) fn for_reading(place: IndexPlace<'_>) -> Result<Option<IndexFiles>, Error> {
        match place {
            IndexPlace::Folder(tree) => Ok(IndexFolder::for_reading(tree)?.map(IndexFiles::Folder)),
            IndexPlace::Store(store) => Ok(Some(IndexFiles::Store(Arc::clone(store)))),
        }
    }

    /// The index at this place, which is there or is to be made.
    pub(super) fn for_writing(place: IndexPlace<'_>) -> Result<IndexFiles, Error> {
        match place {
            IndexPlace::Folder(tree) => IndexFolder::for_writing(tree).map(IndexFiles::Folder),
            IndexPlace::Store(store) => Ok(IndexFiles::Store(Arc::clone(store))),
        }
    }

    /// The same place for whoever only adds journals, which needs no lock.
    pub(super) fn for_journals(place: IndexPlace<'_>) -> IndexFiles {
        match place {
            IndexPlace::Folder(tree) => IndexFiles::Folder(IndexFolder::unlocked(tree)),
            IndexPlace::Store(store) => IndexFiles::Store(Arc::clone(store)),
        }
    }

    /// To be called before the root is read that a generation is to follow.
    pub(super) fn begin_generation(&self) -> Result<(), Error> {
        match self {
            IndexFiles::Folder(_) => Ok(()),
            IndexFiles::Store(store) => {
                // Its version is the condition for replacing it, and that of the root must not be older.
                store.look(PREVIOUS).map(drop).map_err(|error| error.at(&store.address(PREVIOUS)))
            }
        }
    }

    /// The second copy of an index in a folder, for trees that have one.
    pub(super) fn copy(&self) -> Option<IndexFiles> {
        match self {
            IndexFiles::Folder(folder) => folder.copy().map(IndexFiles::Folder),
            IndexFiles::Store(_) => None,
        }
    }

    /// The folder of the tree; `None` if that is in a store.
    pub(super) fn folder(&self) -> Option<&IndexFolder> {
        match self {
            IndexFiles::Folder(folder) => Some(folder),
            IndexFiles::Store(_) => None,
        }
    }

    /// The path or address of one of the files, for messages.
    pub(super) fn path(&self, relative: &str) -> PathBuf {
        match self {
            IndexFiles::Folder(folder) => folder.path(relative),
            IndexFiles::Store(store) => store.address(relative),
        }
    }

    /// A file's content; `None` if it is not there. One that is longer than `limit` is damaged.
    pub(super) fn read(&self, relative: &str, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        match self {
            IndexFiles::Folder(folder) => folder.read(Path::new(relative), limit),
            IndexFiles::Store(store) => {
                store.read(relative, limit).map_err(|error| error.at(&store.address(relative)))
            }
        }
    }

    /// Writes a part, which no generation needs yet.
    pub(super) fn write_part(&self, name: &Digest, bytes: &[u8]) -> Result<(), Error> {
        self.create(&part_path(name), bytes)
    }

    /// Writes a file under a name that nothing else has.
    pub(super) fn create(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        match self {
            IndexFiles::Folder(folder) => folder.write(Path::new(path), bytes),
            IndexFiles::Store(store) => {
                store.create(path, bytes).map_err(|error| error.at(&store.address(path)))
            }
        }
    }

    /// Has the names of journals forced to stable storage.
    pub(super) fn sync_journals(&self) -> Result<(), Error> {
        match self {
            IndexFiles::Folder(folder) => folder.sync_journals(),
            IndexFiles::Store(_) => Ok(()),
        }
    }

    /// The paths of the journals in this folder.
    pub(super) fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        match self {
            IndexFiles::Folder(index) => index.list(folder),
            IndexFiles::Store(store) => store.list(folder).map_err(|error| error.at(&store.address(folder))),
        }
    }

    /// Removes a file, unless another process may need it. If that fails, it stays.
    pub(super) fn remove(&self, path: &str) {
        match self {
            IndexFiles::Folder(folder) => folder.remove(path),
            IndexFiles::Store(store) => drop(store.remove(path)),
        }
    }

    /// Fails if another run has put a generation in force since this one has read the root `found`. In a store, replacing it does.
    pub(super) fn check_root(&self, found: &[u8]) -> Result<(), Error> {
        match self {
            IndexFiles::Folder(folder) => {
                // Which may take long.
                folder.sync()?;
                folder.check_root(found, file_limit(ROOT_LIMIT))
            }
            IndexFiles::Store(_) => Ok(()),
        }
    }

    /// Puts a generation in force, whose parts have been written. `previous`: the root's file of the one before, which is kept.
    ///
    /// In a store, a run that replaces one of both files makes every other run fail that looked at it before. So the root before
    /// is always the one that the root names.
    pub(super) fn replace_root(&self, root: &[u8], previous: Option<&[u8]>) -> Result<(), Error> {
        let files = previous.map(|previous| (PREVIOUS, previous)).into_iter().chain([(ROOT, root)]);
        match self {
            IndexFiles::Folder(folder) => {
                folder.sync()?;
                for (path, bytes) in files {
                    folder.write(Path::new(path), bytes)?;
                }
                if previous.is_none() {
                    // Of an index that no key opened: the new root does not follow it.
                    folder.remove(PREVIOUS);
                }
                folder.sync()
            }
            IndexFiles::Store(store) => {
                for (path, bytes) in files {
                    store.replace(path, bytes).map_err(|error| error.at(&store.address(path)))?;
                }
                Ok(())
            }
        }
    }

    /// Removes the parts that are not in `kept`, unless somebody may need them. What remains is no harm.
    ///
    /// In a store all of them stay: another run may have written parts that its root is to list, and a reader may be at work
    /// with an earlier root.
    pub(super) fn remove_other_parts(&self, kept: &HashSet<Digest>) {
        match self {
            IndexFiles::Folder(folder) => folder.remove_other_parts(kept),
            IndexFiles::Store(_) => {}
        }
    }
}

/// Where a part's file is.
pub(super) fn part_path(name: &Digest) -> String {
    format!("{PARTS}/{}", hex(name))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Format;
    use crate::engine::lock;
    use crate::error::IndexFault;
    use crate::index::{Index, IndexEntry, IndexKind, IndexWriter, Replacing, root::Root, sealed};
    use crate::key::{Keyset, Template};
    use crate::machine::Backend;
    use std::collections::{BTreeMap, HashMap};
    use std::sync::Mutex;

    /// A bucket: objects in their versions.
    pub(crate) type Objects = Arc<Mutex<BTreeMap<String, (u64, Vec<u8>)>>>;

    /// What one run sees of it.
    #[derive(Debug, Default)]
    pub(crate) struct Memory {
        objects: Objects,
        seen: Mutex<HashMap<String, Option<u64>>>,
    }

    impl Memory {
        pub(crate) fn of(objects: &Objects) -> Arc<dyn IndexStore> {
            Arc::new(Memory { objects: Arc::clone(objects), seen: Mutex::default() })
        }

        fn get(&self, path: &str) -> Option<Vec<u8>> {
            let found = lock(&self.objects).get(path).cloned();
            lock(&self.seen).insert(path.to_owned(), found.as_ref().map(|(version, _)| *version));
            found.map(|(_, bytes)| bytes)
        }
    }

    impl IndexStore for Memory {
        fn address(&self, path: &str) -> PathBuf {
            format!("s3://bucket/{path}").into()
        }

        fn look(&self, path: &str) -> Result<bool, Error> {
            Ok(self.get(path).is_some())
        }

        fn read(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, Error> {
            Ok(self.get(path).inspect(|bytes| assert!(bytes.len() as u64 <= limit)))
        }

        fn create(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
            assert!(lock(&self.objects).insert(path.to_owned(), (1, bytes.to_vec())).is_none(), "{path}");
            Ok(())
        }

        fn replace(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
            let mut objects = lock(&self.objects);
            let version = objects.get(path).map(|(version, _)| *version);
            if version != lock(&self.seen)[path] {
                return Err(IndexFault::Overtaken.into());
            }
            objects.insert(path.to_owned(), (version.unwrap_or(0) + 1, bytes.to_vec()));
            Ok(())
        }

        fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
            Ok(lock(&self.objects).keys().filter(|path| path.starts_with(folder)).cloned().collect())
        }

        fn remove(&self, path: &str) -> Result<(), Error> {
            lock(&self.objects).remove(path);
            Ok(())
        }
    }

    fn begin(objects: &Objects, format: &Format) -> IndexWriter {
        let store = Memory::of(objects);
        IndexWriter::begin(IndexPlace::Store(&store), format, b"", Replacing::Opened, None).unwrap()
    }

    fn add(mut writer: IndexWriter, link: &str) -> Result<u64, Error> {
        let kind = IndexKind::Link { target: b"target".to_vec() };
        writer.push(&IndexEntry { path: link.as_bytes().to_vec(), kind })?;
        Ok(writer.finish()?.generation)
    }

    fn links(objects: &Objects, format: &Format) -> Vec<Vec<u8>> {
        let index = Index::open(IndexPlace::Store(&Memory::of(objects)), format).unwrap().unwrap();
        index.entries().map(|entry| entry.unwrap().path).collect()
    }

    /// Somebody may have copied such a tree there.
    #[test]
    fn hidden_names_in_a_store_are_refused() {
        let format = Format::tink(Keyset::generate(Template::default()).unwrap(), Backend::best()).unwrap();
        let objects = Objects::default();
        let refused = |error: Error| matches!(error.without_path(), Error::Index(IndexFault::Unsupported(_)));
        assert!(refused(begin(&objects, &format).with_hidden_names(true, false).unwrap_err()));
        assert!(refused(Index::open(IndexPlace::Store(&Memory::of(&objects)), &format).unwrap_err()));
    }

    /// Of writers that have read the same generation, or none, one puts the next in force; the other one changes nothing.
    #[test]
    fn a_writer_in_a_store_fails_if_another_was_faster() {
        let format = Format::tink(Keyset::generate(Template::default()).unwrap(), Backend::best()).unwrap();
        let objects = Objects::default();
        assert!(Index::open(IndexPlace::Store(&Memory::of(&objects)), &format).unwrap().is_none());
        for generation in 1..=3 {
            let (faster, slower) = (begin(&objects, &format), begin(&objects, &format));
            let name = format!("faster {generation}");
            assert_eq!(add(faster, &name).unwrap(), generation);
            let before = lock(&objects).clone();
            let error = add(slower, "slower").unwrap_err();
            assert!(matches!(error.without_path(), Error::Index(IndexFault::Overtaken)), "{error}");
            assert!(error.path().is_some_and(|path| path.starts_with("s3://bucket/.cipherloom/index")));
            let after = lock(&objects).clone();
            assert!(before.iter().all(|(path, object)| after[path] == *object));
            assert_eq!(links(&objects, &format), [name.into_bytes()]);
        }
        // Two that two others have overtaken leave the root before as it is.
        let (first, second) = (begin(&objects, &format), begin(&objects, &format));
        assert_eq!(add(begin(&objects, &format), "a").unwrap(), 4);
        assert_eq!(add(begin(&objects, &format), "b").unwrap(), 5);
        assert!(add(first, "c").is_err() && add(second, "d").is_err());
        for (path, generation) in [(ROOT, 5), (PREVIOUS, 4)] {
            let file = lock(&objects)[path].1.clone();
            let root = sealed::open(&format, sealed::ROOT, &file).unwrap();
            assert_eq!(Root::read(&root).unwrap().generation, generation);
        }
    }
}
