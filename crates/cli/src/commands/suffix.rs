//! Decrypting a tree whose names all end in the suffix that encryption gave them, without `--suffix`: the outputs would keep
//! it, so a hint says how to remove it. Nothing is asked, for scripts could not answer.

use crate::output;
use cipherloom::{Job, Tree, Work};
use std::collections::BTreeSet;
use std::path::Path;

/// Endings that mean an encrypted file wherever they are.
const KNOWN: [&str; 5] = ["enc", "encrypted", "crypt", "aes", "sealed"];

/// Says so if all names seem to have a suffix that would be kept.
pub fn hint(tree: &Tree, job: &Job<'_>) {
    if !matches!(job.work, Work::Decrypt(_)) || !job.suffix.is_empty() || job.single_name.is_some() {
        return;
    }
    if let Some(suffix) = shared(tree.entries.iter().map(|entry| Path::new(&entry.name))) {
        output::hint(format_args!(
            "every name ends in .{suffix}, and so will every output; --suffix .{suffix} removes it"
        ));
    }
}

/// The ending that all names share, if it is a known one or stands behind different others (`a.txt.x`, `b.pdf.x`).
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
