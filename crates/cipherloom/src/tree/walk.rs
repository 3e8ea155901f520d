//! Lists a tree, parents before children, without recursion so that depth costs no stack.

use super::dropped::{Dropped, Process};
use super::items::{Items, Kind, Look};
use super::temporary::is_temporary;
use super::{Attributes, Directory, Entry, Link, Selection, Tree, Unlisted};
use crate::Error;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// How many items are listed before it is asked again whether to stop.
const ITEMS_BETWEEN: usize = 1024;

pub(super) fn list(
    source: &Path,
    selection: &Selection,
    is_stopped: &dyn Fn() -> bool,
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
    list_from(&mut tree, 0, selection, is_stopped)?;
    Ok(tree)
}

pub(super) fn list_several(
    root: &Path,
    names: &mut dyn Iterator<Item = &OsStr>,
    selection: &Selection,
) -> Result<Tree, Error> {
    let metadata = fs::metadata(root).map_err(|error| Error::io("read the source", error))?;
    let mut tree = empty_tree(root.to_owned(), attributes(&metadata), false);
    tree.is_several = true;
    let process = Process::this();
    for name in names {
        let path = root.join(name);
        let place = Place { directory: 0, relative: Path::new(""), name: name.to_owned() };
        let added = fs::symlink_metadata(&path).map_err(|error| (path, error)).and_then(|found| {
            let kind = Ok(found.file_type().into());
            add(&mut tree, selection, place, kind, || Ok(Look::of(&found, process)))
        });
        if let Err((path, error)) = added {
            tree.unlisted.push(Unlisted { path, error: Error::io("read the attributes", error) });
        }
    }
    list_from(&mut tree, 1, selection, &|| false)?;
    Ok(tree)
}

/// Lists the folders from the one of this index on, and those below them.
fn list_from(
    tree: &mut Tree,
    mut next: usize,
    selection: &Selection,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), Error> {
    while next < tree.directories.len() {
        if is_stopped() {
            return Err(Error::Stopped);
        }
        if let Err(error) = list_directory(tree, next, selection, is_stopped) {
            let path = tree.root.join(&tree.directories[next].path);
            tree.unlisted.push(Unlisted { path, error: Error::io("read the folder", error) });
        }
        next += 1;
    }
    if is_stopped() { Err(Error::Stopped) } else { Ok(()) }
}

fn single_file(source: &Path, metadata: &Metadata, selection: &Selection) -> Result<Tree, Error> {
    let name = source.file_name().ok_or(Error::NeitherFileNorFolder)?.to_owned();
    let folder = match source.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let folder_metadata = fs::metadata(&folder).map_err(|error| Error::io("read the folder", error))?;
    let mut tree = empty_tree(folder, attributes(&folder_metadata), true);
    if selection.takes_file(Path::new(&name)) {
        tree.dropped.add(Dropped::of_metadata(metadata, Process::this()));
        tree.entries.push(Entry {
            directory: 0,
            name,
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

/// Ends early, without an error, if it is to stop; [`list`] asks again before it goes on.
fn list_directory(
    tree: &mut Tree,
    index: usize,
    selection: &Selection,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    let relative = tree.directories[index].path.clone();
    let process = Process::this();
    let directory = u32::try_from(index).map_err(|_| io::Error::other("more than 2^32 folders"))?;
    for (position, item) in Items::of(&tree.root.join(&relative))?.enumerate() {
        if position % ITEMS_BETWEEN == ITEMS_BETWEEN - 1 && is_stopped() {
            return Ok(());
        }
        // Here the folder itself cannot be read on. What goes wrong with one item concerns that one only.
        let item = item?;
        let place = Place { directory, relative: &relative, name: item.name() };
        if let Err((path, error)) = add(tree, selection, place, item.kind(), || item.look(process)) {
            tree.unlisted.push(Unlisted { path, error: Error::io("read the attributes", error) });
        }
    }
    Ok(())
}

/// Where an item of a folder stands.
struct Place<'p> {
    directory: u32,
    /// The folder's path below the root.
    relative: &'p Path,
    name: OsString,
}

/// Adds one item. `kind` fails where the file system does not say it with the name, and the name has vanished meanwhile.
fn add(
    tree: &mut Tree,
    selection: &Selection,
    place: Place<'_>,
    kind: io::Result<Kind>,
    look: impl FnOnce() -> io::Result<Look>,
) -> Result<(), (PathBuf, io::Error)> {
    let Place { directory, relative, name } = place;
    let whole_path = |root: &Path| root.join(relative).join(&name);
    let kind = kind.map_err(|error| (whole_path(&tree.root), error))?;
    if !selection.takes_everything() {
        let path = relative.join(&name);
        let out =
            if kind == Kind::Folder { selection.leaves_out(&path) } else { !selection.takes_file(&path) };
        if out {
            tree.passed_over.excluded += 1;
            return Ok(());
        }
    }
    match kind {
        Kind::Link => tree.links.push(Link { directory, name }),
        Kind::Regular if is_temporary(&name) => tree.passed_over.leftovers += 1,
        Kind::Special => tree.passed_over.special += 1,
        Kind::Folder | Kind::Regular => {
            let Look { size, attributes, dropped } =
                look().map_err(|error| (whole_path(&tree.root), error))?;
            if kind == Kind::Folder {
                tree.directories.push(Directory { path: relative.join(&name), attributes });
            } else {
                tree.dropped.add(dropped);
                tree.entries.push(Entry { directory, name, size, attributes });
            }
        }
    }
    Ok(())
}

pub(crate) fn attributes(metadata: &Metadata) -> Attributes {
    Attributes {
        permissions: permissions(metadata),
        modified: metadata.modified().ok(),
        changed: changed(metadata),
    }
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
mod tests {
    use super::*;

    #[test]
    fn lists_files_folders_and_counts_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/deep"), b"12345").unwrap();
        fs::write(root.join("top"), b"1").unwrap();
        // What a killed run leaves behind is no content; a name that only begins like it is.
        fs::write(root.join(".cipherloom-0123456789abcdef"), b"half of it").unwrap();
        fs::write(root.join(".cipherloom-notes"), b"").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("top", root.join("link")).unwrap();
            let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        }
        let tree = Tree::list(root, &Selection::default()).unwrap();
        assert_eq!(tree.total_bytes(), 6);
        let mut paths: Vec<_> = tree.entries.iter().map(|entry| tree.relative_path(entry)).collect();
        paths.sort();
        assert_eq!(paths, [".cipherloom-notes", "a/b/deep", "top"].map(PathBuf::from));
        assert_eq!(tree.passed_over.leftovers, 1);
        #[cfg(unix)]
        assert_eq!((tree.links.len(), tree.passed_over.special), (1, 1));
        for (index, directory) in tree.directories.iter().enumerate().skip(1) {
            let parent = directory.path.parent().unwrap();
            assert!(tree.directories[..index].iter().any(|earlier| earlier.path == parent));
        }
    }

    /// As on a file system that does not tell kinds with names, where looking for one comes too late for a name.
    #[test]
    fn a_name_that_vanishes_is_told_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("here");
        fs::write(&path, b"12").unwrap();
        let metadata = fs::metadata(&path).unwrap();
        let everything = Selection::default();
        let some = Selection::new(&["*e*".to_owned()], &[]).unwrap();
        for selection in [&everything, &some] {
            let mut tree = empty_tree(folder.path().to_owned(), attributes(&metadata), false);
            let gone = || io::Error::from(io::ErrorKind::NotFound);
            let mut add = |name: &str, kind, looked: io::Result<Look>| {
                let place = Place { directory: 0, relative: Path::new("a"), name: name.into() };
                add(&mut tree, selection, place, kind, || looked)
                    .map_err(|(path, error)| (path, error.kind()))
            };
            let told = |name: &str| Err((folder.path().join("a").join(name), io::ErrorKind::NotFound));
            let here = || Ok(Look::of(&metadata, Process::this()));
            assert_eq!(add("early", Err(gone()), here()), told("early"));
            assert_eq!(add("late", Ok(Kind::Regular), Err(gone())), told("late"));
            assert_eq!(add("here", Ok(Kind::Regular), here()), Ok(()));
            assert_eq!((tree.entries.len(), tree.total_bytes()), (1, 2));
        }
    }

    #[test]
    fn several_names_are_a_tree_without_what_lies_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        for name in ["a/b/deep", "top", "beside"] {
            fs::write(root.join(name), b"1").unwrap();
        }
        let names = ["a", "top", "missing"].map(OsStr::new);
        let tree = Tree::list_several(root, names, &Selection::default()).unwrap();
        let mut paths: Vec<_> = tree.entries.iter().map(|entry| tree.relative_path(entry)).collect();
        paths.sort();
        assert_eq!(paths, [PathBuf::from("a/b/deep"), PathBuf::from("top")]);
        let folders: Vec<_> = tree.directories.iter().map(|directory| directory.path.clone()).collect();
        assert_eq!(folders, ["", "a", "a/b"].map(PathBuf::from));
        assert_eq!((tree.unlisted.len(), tree.is_several), (1, true));
    }

    #[test]
    fn a_single_file_is_a_tree_of_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("one"), b"abc").unwrap();
        let tree = Tree::list(&folder.path().join("one"), &Selection::default()).unwrap();
        assert!(tree.is_single_file);
        assert_eq!(tree.relative_path(&tree.entries[0]), PathBuf::from("one"));
    }

    #[test]
    fn a_single_file_is_selected_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("one");
        fs::write(&file, b"abc").unwrap();
        let list = |selection: Selection| {
            let tree = Tree::list(&file, &selection).unwrap();
            (tree.entries.len(), tree.passed_over.excluded)
        };
        assert_eq!(list(Selection::new(&[], &["o*".into()]).unwrap()), (0, 1));
        assert_eq!(list(Selection::new(&["o*".into()], &[]).unwrap()), (1, 0));
        let shards =
            ["1/2", "2/2"].map(|shard| list(Selection::default().in_shard(Some(shard.parse().unwrap()))).0);
        assert_eq!(shards.iter().sum::<usize>(), 1);
    }
}
