//! Refuses and warns of secrets in the wrong place. A new key inside the tree that it encrypts would be encrypted with
//! itself, a key beside its ciphertexts is copied along with them, and no output may replace a key.

use super::sources::is_store;
use crate::arguments::{EncryptArguments, FormatArguments, OutputArguments, SecretArguments, TreeArguments};
use crate::exit_code::usage;
use crate::keys;
use crate::output::{self, at};
use cipherloom::format::{RECOGNISE_LEN, Recognised, recognise};
use cipherloom::internal::location::{Location, parent, resolve};
use cipherloom::key::wrapped;
use cipherloom::{
    IfExists, Links,
    internal::{Entry, Job, Link, Tree},
};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// How many files of a folder are looked at to know whether it holds encrypted ones.
const SAMPLES: usize = 64;

/// How many files of a tree are looked at to know whether they are Tink streams.
const RAW_SAMPLES: usize = 8;

/// Refuses to make a key in the source or destination of the run that it is for.
pub fn refuse_new_key(path: &Path, arguments: &EncryptArguments) -> anyhow::Result<()> {
    let place = if is_inside_any(path, &arguments.tree.sources) {
        "SRC and encrypted with itself"
    } else if is_inside(path, &arguments.output.destination) {
        "DST, beside the files that it opens"
    } else {
        return Ok(());
    };
    let words = format_args!("the new key would be inside {place}");
    Err(usage(at(path, words), "put it outside of SRC and DST"))
}

/// The files with the secrets of a run, each with what it is.
pub struct Secrets(Vec<(&'static str, PathBuf)>);

impl Secrets {
    /// Of a run with these arguments. `others`: the files that are not named there, such as the key of `--to`.
    pub fn of(format: &FormatArguments, others: &[(&'static str, &Path)]) -> Secrets {
        let mut secrets: Vec<_> = others.iter().map(|(what, path)| (*what, path.to_path_buf())).collect();
        // A new key takes the place of one in the environment.
        if !secrets.iter().any(|(what, _)| *what == NEW_KEY) {
            secrets.extend(keys::named_key_file(format).map(|path| ("the key file", path)));
        }
        let SecretArguments { identity, passphrase_file } = &format.secrets;
        secrets.extend(identity.iter().map(|path| ("the identity file", path.clone())));
        secrets.extend(passphrase_file.iter().map(|path| ("the passphrase file", path.clone())));
        secrets.retain(|(_, path)| path != Path::new("-"));
        Secrets(secrets)
    }

    /// Warns of secrets in the source or destination of a run that encrypts.
    pub fn warn_of_places(&self, tree: &TreeArguments, output: &OutputArguments) {
        for (what, path) in &self.0 {
            let place = if is_inside_any(path, &tree.sources) {
                "SRC, so its copy in DST opens nothing; keep a copy elsewhere"
            } else if is_inside(path, &output.destination) && !wrapped::is_wrapped(&head(path)) {
                "DST, beside the files that it opens; move it elsewhere"
            } else {
                continue;
            };
            output::warn(at(path, format_args!("{what} is inside {place}")));
        }
    }

    /// Refuses a run whose output would replace a secret. `tree`: the source, unless that is a single stream or in a store.
    ///
    /// # Errors
    /// A usage error if so.
    pub fn refuse_replacing(&self, tree: Option<&Tree>, job: &Job) -> anyhow::Result<()> {
        let Some(destination) = job.destination.as_deref() else { return Ok(()) };
        if destination == Path::new("-") || is_store(destination) || self.0.is_empty() {
            return Ok(());
        }
        if let Some(name) = &job.single_name {
            return self.refuse_output(&destination.join(name));
        }
        let Some(tree) = tree else { return self.refuse_output(destination) };
        if job.if_exists != IfExists::Overwrite {
            return Ok(());
        }
        // Outputs are never written through links, so an output that replaces a secret has the secret's file name.
        let resolved: Vec<PathBuf> = self.0.iter().map(|(_, path)| resolve(path)).collect();
        let names: Vec<&OsStr> = resolved.iter().filter_map(|path| path.file_name()).collect();
        let may_replace = |name: &OsStr| names.iter().any(|secret| name.eq_ignore_ascii_case(secret));
        let of_entry = |entry: Entry<'_>| Some((entry.directory(), job.names_output(entry.name())?));
        let of_link = |link: &Link| (link.directory, link.name.clone());
        let links = if job.links == Links::Skip { &[][..] } else { &tree.links };
        let outputs = tree.entries.iter().filter_map(of_entry).chain(links.iter().map(of_link));
        for (folder, name) in outputs.filter(|(_, name)| may_replace(name)) {
            let folder = destination.join(&tree.directories[folder as usize].path);
            self.refuse_output(&folder.join(name))?;
        }
        Ok(())
    }

    fn refuse_output(&self, output: &Path) -> anyhow::Result<()> {
        let Some((what, _)) = self.0.iter().find(|(_, path)| is_same_file(path, output)) else {
            return Ok(());
        };
        Err(usage(at(output, format_args!("the output would replace {what}")), "choose another DST"))
    }
}

/// How messages call a key that the run makes.
pub const NEW_KEY: &str = "the new key";

/// Warns of files of content keys in the folder with the books that they open.
pub fn warn_of_content_keys<'p>(folder: &Path, secrets: impl Iterator<Item = &'p Path>) {
    for path in secrets.filter(|path| is_inside(path, folder)) {
        output::warn(at(path, "these keys are inside --out, beside the books that they open"));
    }
}

/// Warns of a key that was made among encrypted files. A wrapped one needs its passphrase or identity as well.
pub fn warn_of_encrypted_neighbours(path: &Path) {
    if wrapped::is_wrapped(&head(path)) {
        return;
    }
    let Ok(listing) = fs::read_dir(parent(path)) else { return };
    let is_file = |item: &fs::DirEntry| item.file_type().is_ok_and(|kind| kind.is_file());
    let mut files = listing.flatten().filter(is_file).take(SAMPLES);
    if files.any(|item| is_tink_stream(&item.path())) {
        let words = "this folder holds encrypted files; whoever gets it gets their key, too";
        output::warn(at(path, format_args!("{words}, so move the key elsewhere")));
    }
}

/// The first of a few files of the tree, if all of these look like Tink streams. One raw stream in 128 begins as those do.
pub fn looks_like_tink(tree: &Tree) -> Option<PathBuf> {
    let step = tree.entries.len().div_ceil(RAW_SAMPLES).max(1);
    let mut sample = tree.entries.iter().step_by(step).map(|entry| tree.root.join(tree.relative_path(entry)));
    let first = sample.next().filter(|path| is_tink_stream(path))?;
    sample.all(|path| is_tink_stream(&path)).then_some(first)
}

fn is_tink_stream(path: &Path) -> bool {
    let length = fs::metadata(path).map_or(0, |metadata| metadata.len());
    recognise(&head(path), length).iter().any(|finding| matches!(finding.what, Recognised::Tink { .. }))
}

/// Whether the file is an age file as text.
pub fn is_armored(path: &Path) -> bool {
    let begin = head(path);
    wrapped::is_wrapped(&begin) && !begin.starts_with(b"age-")
}

/// The file's first bytes; none of what cannot be read.
fn head(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(RECOGNISE_LEN as u64).read_to_end(&mut head));
    if read.is_err() { Vec::new() } else { head }
}

fn is_inside_any(path: &Path, trees: &[PathBuf]) -> bool {
    trees.iter().any(|tree| is_inside(path, tree))
}

/// Whether `path` is below the folder `tree`; a path is never in a store.
fn is_inside(path: &Path, tree: &Path) -> bool {
    let Ok(Location::Path(tree)) = Location::parse(tree) else { return false };
    let (path, tree) = (resolve(path), resolve(&tree));
    path != tree && path.starts_with(&tree)
}

/// Whether both paths lead to one file, or would. A file system may know a file by several names.
fn is_same_file(one: &Path, other: &Path) -> bool {
    resolve(one) == resolve(other) || identity(one).is_some_and(|one| identity(other) == Some(one))
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Elsewhere a file has no number to be known by.
#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<(u64, u64)> {
    None
}
