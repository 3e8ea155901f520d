//! A raw stream has no mark, so that any file decrypts as one, to nonsense. Of a Tink stream the first byte alone is a mark,
//! which one raw stream in 128 has too: that is refused unless the user insists.

use super::sources::Source;
use crate::arguments::{FormatArguments, FormatName};
use crate::exit_code::usage;
use crate::output;
use cipherloom::format::{RECOGNISE_LEN, Recognised, recognise};
use cipherloom::{Entry, Tree};
use std::fs::File;
use std::io::{self, Read};

/// How many files are looked at.
const FILES: usize = 8;

/// Refuses to decrypt as raw what looks like Tink streams, unless `assume_raw`.
pub fn refuse_tink(arguments: &FormatArguments, assume_raw: bool, source: &Source) -> anyhow::Result<()> {
    let (FormatName::Raw, Source::Tree(tree), false) = (arguments.format, source, assume_raw) else {
        return Ok(());
    };
    let step = tree.entries.len().div_ceil(FILES).max(1);
    let sample: Vec<&Entry> = tree.entries.iter().step_by(step).collect();
    let looks_so = |entry: &&Entry| is_tink(tree, entry).unwrap_or(false);
    if sample.is_empty() || !sample.iter().all(looks_so) {
        return Ok(());
    }
    let path = output::printable(&tree.root.join(tree.relative_path(sample[0])));
    Err(usage(format!(
        "{path}: begins as a Tink stream does, which --format tink opens and raw turns into nonsense; if it is raw all the \
         same, insist with --assume-raw"
    )))
}

fn is_tink(tree: &Tree, entry: &Entry) -> io::Result<bool> {
    let mut head = Vec::new();
    let file = File::open(tree.root.join(tree.relative_path(entry)))?;
    file.take(RECOGNISE_LEN as u64).read_to_end(&mut head)?;
    Ok(recognise(&head, entry.size).iter().any(|finding| matches!(finding.what, Recognised::Tink { .. })))
}
