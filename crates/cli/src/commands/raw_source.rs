//! A raw stream has no mark, so that any file decrypts as one, to nonsense. Of a Tink stream the first byte alone is a mark,
//! which one raw stream in 128 has too: several files that all have it are told from raw streams, a single one is not.

use super::sources::Source;
use crate::arguments::{FormatArguments, FormatName};
use crate::exit_code::usage;
use crate::output;
use cipherloom::format::{RECOGNISE_LEN, Recognised, recognise};
use cipherloom::{Entry, Tree};
use std::fs::File;
use std::io::{self, Read};

/// How many files are looked at, and from how many on they are believed.
const FILES: usize = 8;
const BELIEVED: usize = 3;

/// Refuses to decrypt as raw what are Tink streams, and warns where they look so.
pub fn refuse_tink(arguments: &FormatArguments, source: &Source) -> anyhow::Result<()> {
    let (FormatName::Raw, Source::Tree(tree)) = (arguments.format, source) else { return Ok(()) };
    let step = tree.entries.len().div_ceil(FILES).max(1);
    let sample: Vec<&Entry> = tree.entries.iter().step_by(step).collect();
    let looks_so = |entry: &&Entry| is_tink(tree, entry).unwrap_or(false);
    if sample.is_empty() || !sample.iter().all(looks_so) {
        return Ok(());
    }
    let path = output::printable(&tree.root.join(tree.relative_path(sample[0])));
    if sample.len() >= BELIEVED {
        return Err(usage(format!(
            "{path}: this and other files begin as Tink streams do, and as raw ones would come out as nonsense; \
             --format tink opens them"
        )));
    }
    output::warn(format_args!(
        "{path}: begins as a Tink stream does, which as a raw one comes out as nonsense; --format tink would open it"
    ));
    Ok(())
}

fn is_tink(tree: &Tree, entry: &Entry) -> io::Result<bool> {
    let mut head = Vec::new();
    let file = File::open(tree.root.join(tree.relative_path(entry)))?;
    file.take(RECOGNISE_LEN as u64).read_to_end(&mut head)?;
    Ok(recognise(&head, entry.size).iter().any(|finding| matches!(finding.what, Recognised::Tink { .. })))
}
