//! Where keys must not lie: a new key inside the tree that it encrypts would be sealed under itself, and a key beside its
//! ciphertexts goes wherever they go. No output replaces a key, and no tree is put under a second key.

use crate::arguments::{EncryptArguments, FormatArguments, OutputArguments, TreeArguments};
use crate::exit_code::{no_key, usage};
use crate::{keys, output};
use cipherloom::format::{RECOGNISE_LEN, Recognised, recognise};
use cipherloom::key::wrapped;
use cipherloom::{Entry, IfExists, Job, Link, Links, Tree, address};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// How many files of a folder are looked at to know whether it holds encrypted ones.
const SAMPLES: usize = 64;

/// Refuses to make a key in the source or destination of the run that it is for.
pub fn refuse_new_key(path: &Path, arguments: &EncryptArguments) -> anyhow::Result<()> {
    let key = output::printable(path);
    if is_inside_any(path, &arguments.tree.sources) {
        return Err(usage(format!(
            "{key}: the new key would be inside SRC and encrypted with itself; put it outside of SRC and DST"
        )));
    }
    if is_inside(path, &arguments.output.destination) {
        return Err(usage(format!(
            "{key}: the new key would be inside DST, beside the files that it opens; put it outside of SRC and DST"
        )));
    }
    Ok(())
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
        let FormatArguments { identity, passphrase_file, .. } = format;
        for (what, path) in [("the identity file", identity), ("the passphrase file", passphrase_file)] {
            secrets.extend(path.clone().map(|path| (what, path)));
        }
        secrets.retain(|(_, path)| path != Path::new("-"));
        Secrets(secrets)
    }

    /// Warns of secrets in the source or destination of a run that encrypts.
    pub fn warn_of_places(&self, tree: &TreeArguments, output: &OutputArguments) {
        for (what, path) in &self.0 {
            let name = output::printable(path);
            if is_inside_any(path, &tree.sources) {
                output::warn(format_args!(
                    "{name}: {what} is inside SRC, so its copy in DST opens nothing; keep a copy elsewhere"
                ));
            } else if is_inside(path, &output.destination) && !wrapped::is_wrapped(&head(path)) {
                output::warn(format_args!(
                    "{name}: {what} is inside DST, beside the files that it opens; move it elsewhere"
                ));
            }
        }
    }

    /// Refuses a run whose output would replace a secret. `tree`: what is read, unless that is a single stream or in a store.
    ///
    /// # Errors
    /// A usage error if so.
    pub fn refuse_replacing(&self, tree: Option<&Tree>, job: &Job<'_>) -> anyhow::Result<()> {
        let Some(destination) = job.destination.as_deref() else { return Ok(()) };
        if destination == Path::new("-") || address::is_address(destination) || self.0.is_empty() {
            return Ok(());
        }
        if let Some(name) = &job.single_name {
            return self.refuse_output(&destination.join(name));
        }
        let Some(tree) = tree else { return self.refuse_output(destination) };
        if job.if_exists != IfExists::Overwrite {
            return Ok(());
        }
        // Outputs go through no link, so that a secret which one of them replaces has its name.
        let resolved: Vec<PathBuf> = self.0.iter().map(|(_, path)| address::resolve(path)).collect();
        let names: Vec<&OsStr> = resolved.iter().filter_map(|path| path.file_name()).collect();
        let of_entry = |entry: &Entry| {
            job.names_output(&entry.name).map(|name| tree.relative_path(entry).with_file_name(name))
        };
        let of_link = |link: &Link| tree.directories[link.directory as usize].path.join(&link.name);
        let links = if job.links == Links::Skip { &[][..] } else { &tree.links };
        for output in tree.entries.iter().filter_map(of_entry).chain(links.iter().map(of_link)) {
            let has_name =
                |name: &&OsStr| output.file_name().is_some_and(|own| own.eq_ignore_ascii_case(name));
            if names.iter().any(has_name) {
                self.refuse_output(&destination.join(&output))?;
            }
        }
        Ok(())
    }

    fn refuse_output(&self, output: &Path) -> anyhow::Result<()> {
        match self.0.iter().find(|(_, path)| is_same_file(path, output)) {
            None => Ok(()),
            Some((what, _)) => Err(usage(format!(
                "{}: the output would replace {what}; choose another DST",
                output::printable(output)
            ))),
        }
    }
}

/// What a key is called that the run makes.
pub const NEW_KEY: &str = "the new key";

/// Warns of files of content keys in the folder with the books that they open.
pub fn warn_of_content_keys<'p>(folder: &Path, secrets: impl Iterator<Item = &'p Path>) {
    for path in secrets.filter(|path| is_inside(path, folder)) {
        let name = output::printable(path);
        output::warn(format_args!("{name}: these keys are inside --out, beside the books that they open"));
    }
}

/// Warns of a key that was made among encrypted files. A wrapped one needs its passphrase or identity as well.
pub fn warn_of_encrypted_neighbours(path: &Path) {
    if wrapped::is_wrapped(&head(path)) {
        return;
    }
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(listing) = fs::read_dir(folder) else { return };
    let is_file = |item: &fs::DirEntry| item.file_type().is_ok_and(|kind| kind.is_file());
    let mut files = listing.flatten().filter(is_file).take(SAMPLES);
    if files.any(|item| is_tink_stream(&item.path())) {
        output::warn(format_args!(
            "{}: this folder holds encrypted files; whoever gets it gets their key, too, so move the key elsewhere",
            output::printable(path)
        ));
    }
}

/// Refuses to add files to a destination that is under another key, as this file there is.
pub fn refuse_mixed_keys(other: Option<&Path>) -> anyhow::Result<()> {
    match other {
        None => Ok(()),
        Some(path) => Err(no_key(format!(
            "{}: encrypted with another key; refusing to mix keys in DST (--allow-mixed-keys to do so anyway)",
            output::printable(path)
        ))),
    }
}

fn is_tink_stream(path: &Path) -> bool {
    let length = fs::metadata(path).map_or(0, |metadata| metadata.len());
    recognise(&head(path), length).iter().any(|finding| matches!(finding.what, Recognised::Tink { .. }))
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

/// Whether `path` lies below the folder `tree`; never in a store.
fn is_inside(path: &Path, tree: &Path) -> bool {
    let tree = address::without_scheme(tree);
    if tree == Path::new("-") || address::is_address(tree) {
        return false;
    }
    let (path, tree) = (address::resolve(path), address::resolve(tree));
    path != tree && path.starts_with(&tree)
}

/// Whether both paths lead to one file, or would. A file system may know a file by several names.
fn is_same_file(one: &Path, other: &Path) -> bool {
    address::resolve(one) == address::resolve(other)
        || identity(one).is_some_and(|one| identity(other) == Some(one))
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
