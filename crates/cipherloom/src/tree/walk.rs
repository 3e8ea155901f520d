//! Lists a tree, parents before children, without recursion so that depth costs no stack. Many folders are read by several
//! threads, and so are the attributes of many items of one.

use super::dropped::{Dropped, Process};
use super::items::{Item, Items, Kind, Look, Place};
use super::temporary::is_temporary;
use super::{Attributes, Directory, EntryList, Link, Selection, Tree, Unlisted, attributes};
use crate::Error;
use crate::engine::{Leader, Ticket, Workers};
use crate::index::is_reserved;
use crate::location::split;
use crate::report::{Observer, Unobserved};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// How many folders are read side by side. Each holds a file descriptor until it and those next in it are listed.
const FOLDERS: usize = 32;

/// How many items a thread takes. One takes it about a microsecond; to start a thread takes 30.
const ITEMS_TAKEN: usize = 256;

/// How many such pieces of a folder are read ahead of their attributes: it bounds what the listing needs beside its result.
const PIECES: usize = 16;

/// While there are fewer folders side by side, and fewer pieces of one, the calling thread lists them alone.
const MANY_FOLDERS: usize = 16;
const MANY_PIECES: usize = 4;

/// More threads than these wait for each other in the kernel.
const MOST_THREADS: usize = 8;

impl Tree {
    /// As [`Tree::list`], but gives up when the observer says so; it is asked from time to time.
    ///
    /// # Errors
    /// As [`Tree::list`]; [`Error::Stopped`].
    pub fn list_observed(
        source: &Path,
        selection: &Selection,
        observer: &dyn Observer,
    ) -> Result<Tree, Error> {
        // The root may be named through a link: the user pointed at it.
        let metadata = fs::metadata(source).map_err(|error| Error::io("read the source", error))?;
        if metadata.is_file() {
            return single_file(source, &metadata, selection);
        }
        if !metadata.is_dir() {
            return Err(Error::NeitherFileNorFolder);
        }
        let mut tree = empty_tree(source.to_owned(), attributes(&metadata), false);
        Listing::new(selection, observer).go_on(&mut tree, 0)?;
        Ok(tree)
    }

    /// The tree of these files and folders, which are all in the folder `root`, with everything below them. A symbolic link
    /// among them is passed over like any other.
    ///
    /// # Errors
    /// If `root` cannot be read; trouble with what is in it goes to [`Tree::unlisted`].
    pub fn list_several<'n>(
        root: &Path,
        names: impl IntoIterator<Item = &'n OsStr>,
        selection: &Selection,
    ) -> Result<Tree, Error> {
        let metadata = fs::metadata(root).map_err(|error| Error::io("read the source", error))?;
        let mut tree = empty_tree(root.to_owned(), attributes(&metadata), false);
        tree.is_several = true;
        let listing = Listing::new(selection, &Unobserved);
        for name in names {
            let found = match fs::symlink_metadata(root.join(name)) {
                Ok(found) => {
                    let look = || Ok(Look::of(&found, listing.process));
                    find(selection, Path::new(""), name.to_owned(), Ok(found.file_type().into()), look)
                }
                Err(error) => Found::Unread(name.into(), error),
            };
            tree.take(0, found);
        }
        listing.go_on(&mut tree, 1)?;
        Ok(tree)
    }
}

/// What a listing goes by.
struct Listing<'l> {
    selection: &'l Selection,
    observer: &'l dyn Observer,
    process: Process,
    /// How many threads there are; asked where there is much to list.
    threads: OnceLock<usize>,
}

/// What a thread does for a listing.
enum Task {
    /// Opens the folder of this path, in a folder that is open or by its path, and lists its beginning.
    Begin(PathBuf, Option<Place>),
    /// Lists these items of the folder of this path.
    Items(Arc<Path>, Vec<Item>),
}

/// What a task has found, and the folder that it has opened.
type Listed = (Vec<Found>, Option<Folder>);

impl<'l> Listing<'l> {
    fn new(selection: &'l Selection, observer: &'l dyn Observer) -> Listing<'l> {
        Listing { selection, observer, process: Process::this(), threads: OnceLock::new() }
    }

    /// Lists the folders from the one of this index on, and those below them. Folders side by side follow each other. What is
    /// below them comes next, before the folders beside their parents: a path is resolved several times as fast while the
    /// kernel has the folders on its way in the processor's cache, and whole levels of a large tree would displace each other.
    fn go_on(&self, tree: &mut Tree, next: usize) -> Result<(), Error> {
        let root = tree.root.clone();
        let work = |task| match task {
            Task::Begin(path, place) => {
                let mut folder = Folder::open(&root, path, place.as_ref());
                let items = folder.read(ITEMS_TAKEN);
                (self.find_all(&folder.path, &items), Some(folder))
            }
            Task::Items(path, items) => (self.find_all(&path, &items), None),
        };
        let workers = Workers::new(1, self.observer);
        workers.run_pool(&work, |leader| self.list(tree, next, leader))?;
        self.check()
    }

    fn list(
        &self,
        tree: &mut Tree,
        next: usize,
        leader: &mut Leader<'_, '_, Task, Listed>,
    ) -> Result<(), Error> {
        // The next one is the last.
        let mut left: Vec<usize> = (next..tree.directories.len()).rev().collect();
        // The first of the folders that come next, which are being read.
        let mut begun: Vec<(usize, Ticket)> = Vec::new();
        loop {
            while begun.len() < FOLDERS
                && let Some(folder) = left.pop()
            {
                let path = tree.directories[folder].path.clone();
                begun.push((folder, leader.give(Task::Begin(path, None))));
            }
            if begun.is_empty() {
                return Ok(());
            }
            if begun.len() >= MANY_FOLDERS {
                leader.start(|| self.threads());
            }
            let mut below = Vec::new();
            for (folder, ticket) in std::mem::take(&mut begun) {
                let known = tree.directories.len();
                let begin = leader.take(ticket)?;
                let place = self.list_folder(tree, folder, begin, leader)?;
                for folder in known..tree.directories.len() {
                    // The others are opened by their paths: few handles are kept.
                    if begun.len() < FOLDERS {
                        let path = tree.directories[folder].path.clone();
                        begun.push((folder, leader.give(Task::Begin(path, place.clone()))));
                    } else {
                        below.push(folder);
                    }
                }
            }
            left.extend(below.into_iter().rev());
        }
    }

    /// Lists a folder of which the beginning was read; returns where those in it can be opened.
    fn list_folder(
        &self,
        tree: &mut Tree,
        index: usize,
        (found, folder): Listed,
        leader: &mut Leader<'_, '_, Task, Listed>,
    ) -> Result<Option<Place>, Error> {
        self.check()?;
        let directory = u32::try_from(index).expect("fewer than 2^32 folders fit into memory");
        let mut take = |found: Vec<Found>| found.into_iter().for_each(|found| tree.take(directory, found));
        take(found);
        let Some(mut folder) = folder else { return Ok(None) };
        if folder.items.is_some() {
            let path: Arc<Path> = folder.path.as_path().into();
            let mut pieces = VecDeque::new();
            while folder.items.is_some() || !pieces.is_empty() {
                self.check()?;
                while pieces.len() < PIECES && folder.items.is_some() {
                    let items = folder.read(ITEMS_TAKEN);
                    pieces.push_back(leader.give_first(Task::Items(Arc::clone(&path), items)));
                }
                if pieces.len() >= MANY_PIECES {
                    leader.start(|| self.threads());
                }
                if let Some(piece) = pieces.pop_front() {
                    take(leader.take(piece)?.0);
                }
            }
        }
        if let Some(error) = folder.error {
            let path = tree.root.join(folder.path);
            tree.unlisted.push(Unlisted { path, error: Error::io("read the folder", error) });
        }
        Ok(folder.place)
    }

    fn find_all(&self, relative: &Path, items: &[Item]) -> Vec<Found> {
        let find = |item: &Item| {
            find(self.selection, relative, item.name(), item.kind(), || item.look(self.process))
        };
        items.iter().map(find).collect()
    }

    fn threads(&self) -> usize {
        *self.threads.get_or_init(|| {
            std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS))
        })
    }

    fn check(&self) -> Result<(), Error> {
        if self.observer.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// A folder whose items are being read.
struct Folder {
    /// Its path relative to the root.
    path: PathBuf,
    /// `None` when all are read.
    items: Option<Items>,
    /// Where those in it can be opened.
    place: Option<Place>,
    /// Why it could not be read, or not on.
    error: Option<io::Error>,
}

impl Folder {
    fn open(root: &Path, path: PathBuf, place: Option<&Place>) -> Folder {
        let items = match (place, path.file_name()) {
            (Some(place), Some(name)) => Items::below(place, name),
            _ => Items::of(&root.join(&path)),
        };
        match items {
            Ok(items) => Folder { path, place: Some(items.place()), items: Some(items), error: None },
            Err(error) => Folder { path, items: None, place: None, error: Some(error) },
        }
    }

    /// The next items, at most `most`.
    fn read(&mut self, most: usize) -> Vec<Item> {
        let mut read = Vec::new();
        while read.len() < most
            && let Some(items) = &mut self.items
        {
            match items.next() {
                Some(Ok(item)) => read.push(item),
                Some(Err(error)) => (self.items, self.error) = (None, Some(error)),
                None => self.items = None,
            }
        }
        read
    }
}

fn single_file(source: &Path, metadata: &Metadata, selection: &Selection) -> Result<Tree, Error> {
    let (folder, name) = split(source)?;
    let folder_metadata = fs::metadata(folder).map_err(|error| Error::io("read the folder", error))?;
    let mut tree = empty_tree(folder.to_owned(), attributes(&folder_metadata), true);
    if selection.takes_file(Path::new(name)) {
        tree.dropped.add(Dropped::of_metadata(metadata, Process::this()));
        tree.entries.push(0, name, metadata.len(), &attributes(metadata));
    } else {
        tree.passed_over.excluded += 1;
    }
    Ok(tree)
}

pub(super) fn empty_tree(root: PathBuf, attributes: Attributes, is_single_file: bool) -> Tree {
    Tree {
        root,
        directories: vec![Directory { path: PathBuf::new(), attributes }],
        entries: EntryList::default(),
        links: Vec::new(),
        passed_over: super::PassedOver::default(),
        dropped: Dropped::default(),
        unlisted: Vec::new(),
        is_single_file,
        is_several: false,
    }
}

/// What an item of a folder is to the listing.
enum Found {
    Folder(PathBuf, Attributes),
    File(OsString, Look),
    Link(OsString),
    Special,
    Leftover,
    /// The tree's index.
    Index,
    Excluded,
    /// Its attributes could not be read.
    Unread(PathBuf, io::Error),
}

/// Judges an item of the folder `relative`, and looks at what is taken. `kind` fails where the file system does not say it
/// with the name, and the name has vanished meanwhile.
fn find(
    selection: &Selection,
    relative: &Path,
    name: OsString,
    kind: io::Result<Kind>,
    look: impl FnOnce() -> io::Result<Look>,
) -> Found {
    let kind = match kind {
        Ok(kind) => kind,
        Err(error) => return Found::Unread(relative.join(name), error),
    };
    if !selection.takes_everything() {
        let path = relative.join(&name);
        let out =
            if kind == Kind::Folder { selection.leaves_out(&path) } else { !selection.takes_file(&path) };
        if out {
            return Found::Excluded;
        }
    }
    match kind {
        _ if is_reserved(&name) => Found::Index,
        Kind::Link => Found::Link(name),
        Kind::Regular if is_temporary(&name) => Found::Leftover,
        Kind::Special => Found::Special,
        Kind::Folder | Kind::Regular => match look() {
            Ok(look) if kind == Kind::Folder => Found::Folder(relative.join(name), look.attributes),
            Ok(look) => Found::File(name, look),
            Err(error) => Found::Unread(relative.join(name), error),
        },
    }
}

impl Tree {
    /// Adds an item of this folder.
    fn take(&mut self, directory: u32, found: Found) {
        match found {
            Found::Folder(path, attributes) => self.directories.push(Directory { path, attributes }),
            Found::File(name, Look { size, attributes, dropped }) => {
                self.dropped.add(dropped);
                self.entries.push(directory, &name, size, &attributes);
            }
            Found::Link(name) => self.links.push(Link { directory, name }),
            Found::Special => self.passed_over.special += 1,
            Found::Leftover => self.passed_over.leftovers += 1,
            Found::Index => self.passed_over.index += 1,
            Found::Excluded => self.passed_over.excluded += 1,
            Found::Unread(path, error) => {
                let (path, error) = (self.root.join(path), Error::io("read the attributes", error));
                self.unlisted.push(Unlisted { path, error });
            }
        }
    }
}

#[cfg(test)]
mod tests;
