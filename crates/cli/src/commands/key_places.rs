//! Where keys must not lie: a new key inside the tree that it encrypts would be sealed under itself, and a key beside its
//! ciphertexts goes wherever they go. And no tree is put under a second key.

use crate::arguments::{EncryptArguments, FormatArguments, OutputArguments, TreeArguments};
use crate::exit_code::{no_key, usage};
use crate::output;
use cipherloom::address;
use cipherloom::format::{RECOGNISE_LEN, Recognised, recognise};
use cipherloom::key::wrapped;
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
            "{key}: the new key would lie in SRC and be encrypted under itself; put it outside of SRC and DST"
        )));
    }
    if is_inside(path, &arguments.output.destination) {
        return Err(usage(format!(
            "{key}: the new key would lie in DST, beside what it opens; put it outside of SRC and DST"
        )));
    }
    Ok(())
}

/// Warns of existing secrets in the source or destination of a run that encrypts. `to`: the other key of a re-keying.
pub fn warn_of_secrets(
    tree: &TreeArguments,
    output: &OutputArguments,
    format: &FormatArguments,
    to: Option<&Path>,
) {
    let FormatArguments { key, raw_key, identity, passphrase_file, .. } = format;
    let secrets = [key, raw_key, identity, passphrase_file].into_iter().filter_map(|path| path.as_deref());
    for path in secrets.chain(to) {
        let name = output::printable(path);
        if is_inside_any(path, &tree.sources) {
            output::warn(format_args!(
                "{name}: this secret lies in SRC; keep a copy elsewhere, its encrypted one opens nothing"
            ));
        } else if is_inside(path, &output.destination) && !wrapped::is_wrapped(&head(path)) {
            output::warn(format_args!(
                "{name}: this secret lies in DST, beside what it opens; move it elsewhere"
            ));
        }
    }
}

/// Warns of files of content keys in the folder with the books that they open.
pub fn warn_of_content_keys<'p>(folder: &Path, secrets: impl Iterator<Item = &'p Path>) {
    for path in secrets.filter(|path| is_inside(path, folder)) {
        let name = output::printable(path);
        output::warn(format_args!("{name}: these keys lie in --out, beside the books that they open"));
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
            "{}: does not open with this key, and DST would be under two keys; give the key of this file, choose another \
             DST, or insist with --allow-mixed-keys",
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
    let (path, tree) = (resolve(path), resolve(tree));
    path != tree && path.starts_with(&tree)
}

/// The absolute path without links; its last parts need not exist.
fn resolve(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(ancestor), absolute.strip_prefix(ancestor)) {
            return real.join(rest);
        }
    }
    absolute
}
