//! A tree of files that are known by name: a share of a larger tree that somebody else has listed.

use super::dropped::{Dropped, Process};
use super::temporary::is_temporary;
use super::walk::empty_tree;
use super::{Attributes, Directory, Link, Tree, Unlisted, attributes};
use crate::index::is_reserved;
use crate::{Error, error::LocationFault};
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

impl Tree {
    /// The tree of these `files` alone, relative paths below the folder `root`: a share of a listing made elsewhere. Each
    /// is looked at again. Gives up when `is_stopped` says so.
    ///
    /// # Errors
    /// If `root` cannot be read or is no folder; [`Error::Stopped`]. What is no regular file below `root` (or is below
    /// a symbolic link) goes to [`Tree::unlisted`].
    pub fn named(root: &Path, files: &[PathBuf], is_stopped: &dyn Fn() -> bool) -> Result<Tree, Error> {
        let metadata = fs::metadata(root).map_err(|error| Error::io("read the source", error))?;
        if !metadata.is_dir() {
            return Err(Error::io("read the source", ErrorKind::NotADirectory.into()));
        }
        let mut tree = empty_tree(root.to_owned(), attributes(&metadata), false);
        let mut known = HashMap::from([(PathBuf::new(), 0)]);
        // Parents before their children, and a folder's files together, as in a listing.
        let mut files: Vec<&PathBuf> = files.iter().collect();
        files.sort_unstable_by_key(|file| (file.parent(), file.file_name()));
        files.dedup();
        let process = Process::this();
        for file in files {
            if is_stopped() {
                return Err(Error::Stopped);
            }
            if let Err(error) = add(&mut tree, &mut known, file, process) {
                tree.unlisted.push(Unlisted { path: root.join(file), error });
            }
        }
        Ok(tree)
    }
}

fn add(
    tree: &mut Tree,
    known: &mut HashMap<PathBuf, u32>,
    file: &Path,
    process: Process,
) -> Result<(), Error> {
    let is_below = file.components().all(|component| matches!(component, Component::Normal(_)));
    let name = file.file_name().filter(|_| is_below).ok_or(LocationFault::OutsideFolder)?.to_owned();
    if file.iter().any(is_reserved) {
        tree.passed_over.index += 1;
        return Ok(());
    }
    let metadata = look_at(tree, file)?;
    if metadata.is_symlink() {
        let directory = directory(tree, known, file.parent().unwrap_or(Path::new("")))?;
        tree.links.push(Link { directory, name });
        return Ok(());
    }
    if metadata.is_dir() {
        return Err(Error::io("read the file", ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(Error::NeitherFileNorFolder);
    }
    if is_temporary(&name) {
        tree.passed_over.leftovers += 1;
        return Ok(());
    }
    let directory = directory(tree, known, file.parent().unwrap_or(Path::new("")))?;
    let attributes: Attributes = attributes(&metadata);
    tree.dropped.add(Dropped::of_metadata(&metadata, process));
    tree.entries.push(directory, &name, metadata.len(), &attributes);
    Ok(())
}

/// The folder's index, after it and all above it have been added.
fn directory(tree: &mut Tree, known: &mut HashMap<PathBuf, u32>, path: &Path) -> Result<u32, Error> {
    if let Some(index) = known.get(path) {
        return Ok(*index);
    }
    directory(tree, known, path.parent().unwrap_or(Path::new("")))?;
    let metadata = look_at(tree, path)?;
    if !metadata.is_dir() {
        // A symbolic link to a folder: nothing below it is the tree's.
        return Err(Error::io("read the folder", ErrorKind::NotADirectory.into()));
    }
    let index = tree.directories.len() as u32;
    tree.directories.push(Directory { path: path.to_owned(), attributes: attributes(&metadata) });
    known.insert(path.to_owned(), index);
    Ok(index)
}

fn look_at(tree: &Tree, relative: &Path) -> Result<Metadata, Error> {
    // Not following a link, as the listing does not.
    fs::symlink_metadata(tree.root.join(relative)).map_err(|error| Error::io("read the attributes", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Selection;

    #[test]
    fn named_files_are_a_part_of_the_listing() {
        const LEFT: &str = "a/.cipherloom-0123456789abcdef";
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        for (name, content) in [("a/b/deep", "12345"), ("a/other", "123"), ("top", "1"), (LEFT, "")] {
            fs::write(root.join(name), content).unwrap();
        }
        let names = ["top", "a/b/deep", "a/b/deep", LEFT].map(PathBuf::from);
        let tree = Tree::named(root, &names, &|| false).unwrap();
        let whole = Tree::list(root, &Selection::default()).unwrap();
        let mut paths: Vec<_> = tree.entries.iter().map(|entry| tree.relative_path(entry)).collect();
        paths.sort();
        assert_eq!(paths, [PathBuf::from("a/b/deep"), PathBuf::from("top")]);
        assert_eq!((tree.passed_over.leftovers, whole.passed_over.leftovers), (1, 1));
        assert_eq!((tree.total_bytes(), whole.total_bytes()), (6, 9));
        let folders: Vec<_> = tree.directories.iter().map(|directory| directory.path.clone()).collect();
        assert_eq!(folders, ["", "a", "a/b"].map(PathBuf::from));
    }

    #[test]
    fn what_leads_out_of_the_tree_or_is_not_there_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("one"), b"1").unwrap();
        fs::create_dir(root.join("folder")).unwrap();
        let mut names =
            ["one", "missing", "../one", "/etc/passwd", "folder", "", "."].map(PathBuf::from).to_vec();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("folder", root.join("link")).unwrap();
            fs::write(root.join("folder/two"), b"2").unwrap();
            names.push(PathBuf::from("link/two"));
        }
        let failed = names.len() - 1;
        #[cfg(unix)]
        names.push(PathBuf::from("link"));
        let tree = Tree::named(root, &names, &|| false).unwrap();
        assert_eq!((tree.entries.len(), tree.unlisted.len()), (1, failed));
        assert_eq!(tree.links.len(), usize::from(cfg!(unix)), "a link is one, as in a listing");
        assert!(matches!(Tree::named(root, &names, &|| true), Err(Error::Stopped)));
    }
}
