//! Lists a tree, parents before children, without recursion so that depth costs no stack. Many folders are read by several
//! threads, and so are the attributes of many items of one.

use super::dropped::{Dropped, Process};
use super::items::{Item, Items, Kind, Look, Place};
use super::temporary::is_temporary;
use super::{Attributes, Directory, Entry, Inode, Link, Selection, Tree, Unlisted};
use crate::Error;
use crate::engine::Workers;
use crate::index::is_reserved;
use crate::location::split;
use crate::report::{Observer, Unobserved};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How many folders are read side by side. Each holds a file descriptor until it and those next in it are listed.
const FOLDERS: usize = 32;

/// How many items of a folder are read before their attributes are: it bounds what the listing needs beside its result.
const ITEMS: usize = 16_384;

/// How many items a thread takes. One takes it about a microsecond; to start a thread takes 30.
const ITEMS_TAKEN: usize = 256;

/// Fewer folders are read, and fewer items looked at, by the calling thread alone.
const MANY_FOLDERS: usize = 16;
const MANY_ITEMS: usize = 4 * ITEMS_TAKEN;

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

impl<'l> Listing<'l> {
    fn new(selection: &'l Selection, observer: &'l dyn Observer) -> Listing<'l> {
        Listing { selection, observer, process: Process::this(), threads: OnceLock::new() }
    }

    /// Lists the folders from the one of this index on, and those below them. Folders side by side follow each other. What is
    /// below them comes next, before the folders beside their parents: a path is resolved several times as fast while the
    /// kernel has the folders on its way in the processor's cache, and whole levels of a large tree would displace each other.
    fn go_on(&self, tree: &mut Tree, next: usize) -> Result<(), Error> {
        // The next one is the last.
        let mut left: Vec<ToList> = (next..tree.directories.len()).rev().map(|index| (index, None)).collect();
        while !left.is_empty() {
            let mut folders = left.split_off(left.len().saturating_sub(FOLDERS));
            folders.reverse();
            let mut begun = self.begin(tree, &folders)?.into_iter();
            let mut below = Vec::new();
            for folder in &folders {
                let known = tree.directories.len();
                let begun = begun.next().unwrap_or_else(|| (Vec::new(), Folder::open(tree, folder)));
                let place = self.list_folder(tree, folder.0, begun)?;
                below.extend((known..tree.directories.len()).map(|index| (index, place.clone())));
            }
            // Those that do not come next are opened by their paths: few handles are kept.
            below.iter_mut().skip(FOLDERS).for_each(|(_, place)| *place = None);
            left.extend(below.into_iter().rev());
        }
        self.check()
    }

    /// Reads the beginning of each of these folders, or of none if they are few.
    fn begin(&self, tree: &Tree, folders: &[ToList]) -> Result<Vec<(Vec<Found>, Folder)>, Error> {
        if folders.len() < MANY_FOLDERS {
            return Ok(Vec::new());
        }
        self.each(folders.len(), |number| {
            let relative = &tree.directories[folders[number].0].path;
            let mut folder = Folder::open(tree, &folders[number]);
            let items = folder.read(ITEMS_TAKEN);
            (items.iter().map(|item| self.find(relative, item)).collect(), folder)
        })
    }

    /// Lists a folder, whose beginning may have been read; returns where those in it can be opened.
    fn list_folder(
        &self,
        tree: &mut Tree,
        index: usize,
        (found, mut folder): (Vec<Found>, Folder),
    ) -> Result<Option<Place>, Error> {
        let relative = tree.directories[index].path.clone();
        let directory = u32::try_from(index).expect("fewer than 2^32 folders fit into memory");
        found.into_iter().for_each(|found| tree.take(directory, found));
        while folder.items.is_some() {
            self.check()?;
            let items = folder.read(ITEMS);
            if items.len() < MANY_ITEMS {
                items.iter().for_each(|item| tree.take(directory, self.find(&relative, item)));
                continue;
            }
            let pieces: Vec<_> = items.chunks(ITEMS_TAKEN).collect();
            let find = |number: usize| -> Vec<Found> {
                pieces[number].iter().map(|item| self.find(&relative, item)).collect()
            };
            self.each(pieces.len(), find)?
                .into_iter()
                .flatten()
                .for_each(|found| tree.take(directory, found));
        }
        if let Some(error) = folder.error {
            let path = tree.root.join(relative);
            tree.unlisted.push(Unlisted { path, error: Error::io("read the folder", error) });
        }
        Ok(folder.place)
    }

    fn find(&self, relative: &Path, item: &Item) -> Found {
        find(self.selection, relative, item.name(), item.kind(), || item.look(self.process))
    }

    /// What `work` gives for each number below `count`, from several threads.
    fn each<T: Send + Sync>(&self, count: usize, work: impl Fn(usize) -> T + Sync) -> Result<Vec<T>, Error> {
        let threads = *self.threads.get_or_init(|| {
            std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS))
        });
        let results: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
        Workers::new(threads, self.observer).run_each(
            count,
            || (),
            |number, ()| _ = results[number].get_or_init(|| work(number)),
        )?;
        // One is missing if the run was stopped.
        results.into_iter().map(OnceLock::into_inner).collect::<Option<_>>().ok_or(Error::Stopped)
    }

    fn check(&self) -> Result<(), Error> {
        if self.observer.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// The index of a folder that is to be listed, and where it can be opened by its name.
type ToList = (usize, Option<Place>);

/// A folder whose items are being read.
struct Folder {
    /// `None` when all are read.
    items: Option<Items>,
    /// Where those in it can be opened.
    place: Option<Place>,
    /// Why it could not be read, or not on.
    error: Option<io::Error>,
}

impl Folder {
    fn open(tree: &Tree, (index, place): &ToList) -> Folder {
        let relative = &tree.directories[*index].path;
        let items = match (place, relative.file_name()) {
            (Some(place), Some(name)) => Items::below(place, name),
            _ => Items::of(&tree.root.join(relative)),
        };
        match items {
            Ok(items) => Folder { place: Some(items.place()), items: Some(items), error: None },
            Err(error) => Folder { items: None, place: None, error: Some(error) },
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
        tree.entries.push(Entry {
            directory: 0,
            name: name.to_owned(),
            size: metadata.len(),
            attributes: attributes(metadata),
        });
    } else {
        tree.passed_over.excluded += 1;
    }
    Ok(tree)
}

pub(super) fn empty_tree(root: PathBuf, attributes: Attributes, is_single_file: bool) -> Tree {
    Tree {
        root,
        directories: vec![Directory { path: PathBuf::new(), attributes }],
        entries: Vec::new(),
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
                self.entries.push(Entry { directory, name, size, attributes });
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

pub(crate) fn attributes(metadata: &Metadata) -> Attributes {
    let (inode, has_other_names) = inode(metadata);
    Attributes {
        permissions: permissions(metadata),
        modified: metadata.modified().ok(),
        changed: changed(metadata),
        inode,
        has_other_names,
    }
}

/// Which file this is, and whether it has several names.
#[cfg(unix)]
fn inode(metadata: &Metadata) -> (Option<Inode>, bool) {
    use std::os::unix::fs::MetadataExt;
    let inode = Inode { device: metadata.dev(), number: metadata.ino() };
    (metadata.is_file().then_some(inode), metadata.is_file() && metadata.nlink() > 1)
}

#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> (Option<Inode>, bool) {
    (None, false)
}

/// See [`Attributes`].
#[cfg(unix)]
pub(crate) fn changed(metadata: &Metadata) -> Option<(i64, i64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(not(unix))]
pub(crate) fn changed(_metadata: &Metadata) -> Option<(i64, i64)> {
    None
}

/// Without the bits that let a program run as somebody else: an output is not the program that these were given to. The
/// sticky bit of a folder stays, which keeps its users from removing each other's files.
#[cfg(unix)]
pub(super) fn kept_mode(mode: u32, is_folder: bool) -> u32 {
    mode & !if is_folder { 0o6000 } else { 0o7000 }
}

#[cfg(unix)]
fn permissions(metadata: &Metadata) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(kept_mode(metadata.permissions().mode(), metadata.is_dir()))
}

#[cfg(not(unix))]
fn permissions(metadata: &Metadata) -> fs::Permissions {
    metadata.permissions()
}

#[cfg(test)]
mod tests;
