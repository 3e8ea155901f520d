//! What a run reads: a file or folder, files from a list (`--files-from`), several sources as `cp` takes them, standard input,
//! or objects of a store.

use super::stores;
use crate::arguments::{StoreArguments, TreeArguments};
use crate::escape;
use crate::exit_code::usage;
use crate::output::{self, at};
use anyhow::Context;
use cipherloom::internal::location::{Location, SourceKind, parent};
use cipherloom::internal::{Job, Selection, Tree, Work};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// What the run reads.
#[expect(clippy::large_enum_variant, reason = "there is one for each run")]
pub enum Source {
    Tree(Tree),
    /// A listing of a store.
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
        match Location::parse(arguments.source())? {
            Location::StandardStream => Ok(Source::StandardInput),
            Location::Store(_) => stores::look(arguments, stores).map(Source::Listing),
            Location::Path(path) => {
                let tree = Tree::list(&path, &arguments.selection()?);
                tree.map(Source::Tree).with_context(|| escape::path(&path))
            }
        }
    }

    /// What it is, as far as it decides where outputs go.
    pub fn kind(&self) -> SourceKind<'_> {
        match self {
            Source::Tree(tree) => tree.into(),
            Source::Listing(found) => found.into(),
            Source::StandardInput => SourceKind::StandardInput,
        }
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
                let words = "--files-from names files below a folder, which SRC must be";
                return Err(usage(at(&root, words), ""));
            }
            let contents = read(path)?;
            listed(&root, &contents, end, &arguments.selection()?).map(Some)
        }
        (_, Some(_)) => Err(usage("--files-from names files below one folder", "give one SRC")),
        (sources, None) => several(sources, &arguments.selection()?).map(Some),
    }
}

/// Whether this is an address in a store.
pub fn is_store(place: &Path) -> bool {
    Location::parse(place).is_ok_and(|place| place.is_store())
}

fn local(source: &Path, what: &str) -> anyhow::Result<PathBuf> {
    match Location::parse(source)? {
        Location::Path(path) => Ok(path),
        Location::StandardStream | Location::Store(_) => {
            Err(usage(at(source, what), "process standard input and stores one by one"))
        }
    }
}

fn several(sources: &[PathBuf], selection: &Selection) -> anyhow::Result<Tree> {
    let mut root: Option<(PathBuf, PathBuf)> = None;
    let mut names: Vec<OsString> = Vec::with_capacity(sources.len());
    for source in sources {
        let source = local(source, "several sources are files and folders")?;
        let unnamed = || usage(at(&source, "one of several sources needs a name for its outputs"), "");
        names.push(source.file_name().ok_or_else(unnamed)?.to_owned());
        let parent = parent(&source);
        let canonical = fs::canonicalize(parent).with_context(|| escape::path(parent))?;
        let (first, expected) = root.get_or_insert_with(|| (parent.to_owned(), canonical.clone()));
        if *expected != canonical {
            let words = format_args!("not in {}, where the first source is", escape::path(first));
            let hint = "several sources are all in one folder: run once for each folder";
            return Err(usage(at(&source, words), hint));
        }
    }
    names.sort_unstable();
    names.dedup();
    let (root, _) = root.ok_or_else(|| usage("no source is given", ""))?;
    Tree::list_several(&root, names.iter().map(OsString::as_os_str), selection)
        .with_context(|| escape::path(&root))
}

fn read(list: &Path) -> anyhow::Result<Vec<u8>> {
    let (name, read) = if list == Path::new("-") {
        let mut contents = Vec::new();
        ("standard input".to_owned(), io::stdin().lock().read_to_end(&mut contents).map(|_| contents))
    } else {
        (escape::path(list), fs::read(list))
    };
    read.with_context(|| format!("{name}: cannot read the list of files"))
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
    let mut tree = Tree::named(root, &files, &|| false).with_context(|| escape::path(root))?;
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
    Ok(PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(line)))
}

#[cfg(not(unix))]
fn path_of(line: &[u8]) -> anyhow::Result<PathBuf> {
    let line = std::str::from_utf8(line).map_err(|_| usage("the list of files is not UTF-8", ""))?;
    Ok(PathBuf::from(line.trim_end_matches('\r')))
}

/// Endings that mean an encrypted file wherever they are.
const KNOWN: [&str; 5] = ["enc", "encrypted", "crypt", "aes", "sealed"];

/// Prints how to remove a suffix, where decryption would keep one that all names have. It only prints, since scripts cannot
/// answer.
pub fn hint_at_suffix(tree: &Tree, job: &Job) {
    if !matches!(job.work, Work::Decrypt(_)) || !job.suffix.is_empty() || job.single_name.is_some() {
        return;
    }
    if let Some(suffix) = shared(tree.entries.iter().map(|entry| Path::new(entry.name()))) {
        output::hint(format_args!(
            "every name ends in .{suffix}, and so will every output; --suffix .{suffix} removes it"
        ));
    }
}

/// The ending that all names share, if it is a known one or follows different others (`a.txt.x`, `b.pdf.x`).
fn shared<'n>(names: impl Iterator<Item = &'n Path>) -> Option<String> {
    let mut shared: Option<&str> = None;
    let mut inner = BTreeSet::new();
    for name in names {
        let ending = name.extension()?.to_str()?;
        if shared.is_some_and(|shared| shared != ending) {
            return None;
        }
        shared = Some(ending);
        inner.insert(Path::new(name.file_stem()?).extension());
    }
    let is_known = |ending: &&str| KNOWN.contains(&ending.to_ascii_lowercase().as_str());
    let is_outer = inner.len() > 1 && !inner.contains(&None);
    shared.filter(|ending| is_known(ending) || is_outer).map(str::to_owned)
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

    #[test]
    fn an_ending_is_a_suffix_if_it_is_known_or_stands_behind_others() {
        let shared = |names: &[&str]| shared(names.iter().map(Path::new));
        assert_eq!(shared(&["a.txt.enc", "b.enc"]), Some("enc".into()));
        assert_eq!(shared(&["a.ENC"]), Some("ENC".into()));
        assert_eq!(shared(&["a.txt.x", "b.pdf.x"]), Some("x".into()));
        for none in
            [&["a.txt", "b.txt"][..], &["a.tar.gz", "b.tar.gz"], &["a.enc", "b"], &["a.enc", "b.txt"], &[]]
        {
            assert_eq!(shared(none), None, "{none:?}");
        }
    }
}
