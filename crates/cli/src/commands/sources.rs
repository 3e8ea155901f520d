//! What a run reads: a file or folder, files from a list (`--files-from`), several sources as `cp` takes them, standard input,
//! or a place in a store.

use super::stores;
use crate::arguments::{StoreArguments, TreeArguments};
use crate::exit_code::usage;
use crate::output;
use anyhow::Context;
use cipherloom::{Selection, Tree, address};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// What the run reads.
pub enum Source {
    Tree(Tree),
    /// What there is in a store.
    Listing(stores::Found),
    StandardInput,
}

impl Source {
    /// What was listed, if these are files.
    pub fn tree(&self) -> Option<&Tree> {
        match self {
            Source::Tree(tree) => Some(tree),
            Source::Listing(_) | Source::StandardInput => None,
        }
    }

    /// Lists it.
    pub fn look(arguments: &TreeArguments, stores: &StoreArguments) -> anyhow::Result<Source> {
        if let Some(tree) = list(arguments)? {
            return Ok(Source::Tree(tree));
        }
        if arguments.source() == Path::new("-") {
            return Ok(Source::StandardInput);
        }
        stores::refuse_misspelt(arguments.source())?;
        if address::is_address(arguments.source()) {
            return stores::look(arguments, stores).map(Source::Listing);
        }
        let path = address::without_scheme(arguments.source());
        let tree = Tree::list(path, &arguments.selection()?);
        tree.map(Source::Tree).with_context(|| output::printable(path))
    }
}

/// The tree of several sources or of a list of files; `None` for a single source without a list.
fn list(arguments: &TreeArguments) -> anyhow::Result<Option<Tree>> {
    let list = match (&arguments.files_from, &arguments.files_from0) {
        (Some(path), _) => Some((path, b'\n')),
        (None, Some(path)) => Some((path, 0)),
        (None, None) => None,
    };
    match (arguments.sources.as_slice(), list) {
        ([_], None) => Ok(None),
        ([root], Some((path, end))) => {
            let root = local(root, "--files-from names files below a folder")?;
            if !root.is_dir() {
                return Err(usage(format!(
                    "{}: --files-from names files below a folder, which SRC must be",
                    output::printable(root)
                )));
            }
            let contents = read(path)?;
            listed(root, &contents, end, &arguments.selection()?).map(Some)
        }
        (_, Some(_)) => Err(usage("--files-from names files below one folder; give one SRC")),
        (sources, None) => several(sources, &arguments.selection()?).map(Some),
    }
}

/// Several sources go to a folder that is there, as with `cp`: a mistyped last name makes none.
pub fn refuse_missing_folder(tree: &Tree, destination: &Path) -> anyhow::Result<()> {
    if tree.is_several && !destination.is_dir() {
        return Err(usage(format!(
            "{}: several sources go to a folder that exists; make it first",
            output::printable(destination)
        )));
    }
    Ok(())
}

fn local<'p>(source: &'p Path, what: &str) -> anyhow::Result<&'p Path> {
    if source == Path::new("-") || address::is_address(source) {
        return Err(usage(format!(
            "{}: {what}; standard input and stores are read one by one",
            output::printable(source)
        )));
    }
    Ok(address::without_scheme(source))
}

fn several(sources: &[PathBuf], selection: &Selection) -> anyhow::Result<Tree> {
    let mut root: Option<(&Path, PathBuf)> = None;
    let mut names: Vec<&OsStr> = Vec::with_capacity(sources.len());
    for source in sources {
        let source = local(source, "several sources are files and folders")?;
        let name = source.file_name().ok_or_else(|| {
            usage(format!(
                "{}: one of several sources needs a name for its outputs",
                output::printable(source)
            ))
        })?;
        let parent =
            source.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let canonical = fs::canonicalize(parent).with_context(|| output::printable(parent))?;
        match &root {
            None => root = Some((parent, canonical)),
            Some((_, first)) if *first == canonical => {}
            Some((first, _)) => {
                return Err(usage(format!(
                    "{}: not in {}, where the first source is; several sources are all in one folder, so run once for \
                     each folder",
                    output::printable(source),
                    output::printable(first)
                )));
            }
        }
        names.push(name);
    }
    names.sort_unstable();
    names.dedup();
    let (root, _) = root.ok_or_else(|| usage("no source is given"))?;
    Tree::list_several(root, names, selection).with_context(|| output::printable(root))
}

fn read(list: &Path) -> anyhow::Result<Vec<u8>> {
    let mut contents = Vec::new();
    if list == Path::new("-") {
        io::stdin()
            .lock()
            .read_to_end(&mut contents)
            .context("standard input: cannot read the list of files")?;
    } else {
        contents = fs::read(list)
            .with_context(|| format!("{}: cannot read the list of files", output::printable(list)))?;
    }
    Ok(contents)
}

/// Every line is a path, whatever it begins with: there are no comments, for names may look like some.
fn listed(root: &Path, list: &[u8], end: u8, selection: &Selection) -> anyhow::Result<Tree> {
    let mut files = Vec::new();
    let mut excluded = 0;
    for line in list.split(|byte| *byte == end).filter(|line| !line.is_empty()) {
        let path = below(root, &path_of(line)?);
        if selection.takes(&path) {
            files.push(path);
        } else {
            excluded += 1;
        }
    }
    let mut tree = Tree::named(root, &files, &|| false).with_context(|| output::printable(root))?;
    tree.passed_over.excluded += excluded;
    Ok(tree)
}

/// The path below `root`: `./a` is `a`, and an absolute one may lead below an absolute root.
fn below(root: &Path, path: &Path) -> PathBuf {
    let path = if path.is_absolute() { path.strip_prefix(root).unwrap_or(path) } else { path };
    path.components().filter(|component| *component != Component::CurDir).collect()
}

#[cfg(unix)]
fn path_of(line: &[u8]) -> anyhow::Result<PathBuf> {
    Ok(PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(line)))
}

#[cfg(not(unix))]
fn path_of(line: &[u8]) -> anyhow::Result<PathBuf> {
    let line = std::str::from_utf8(line).map_err(|_| usage("the list of files is not UTF-8"))?;
    Ok(PathBuf::from(line.trim_end_matches('\r')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_list_are_below_the_source() {
        for (path, expected) in
            [("a/b", "a/b"), ("./a", "a"), ("a/./b", "a/b"), ("/r/s/a", "a"), ("/x", "/x"), ("../a", "../a")]
        {
            assert_eq!(below(Path::new("/r/s"), Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
