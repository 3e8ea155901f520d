//! `cipherloom rekey TREE TREE --if-exists overwrite`: re-keying where the files are.

use super::sources::Source;
use crate::exit_code::usage;
use cipherloom::{IfExists, Job, Links, is_in_place};

/// Looks whether SRC and DST are the same, and prepares the job for that.
///
/// # Errors
/// If they are and nothing may be overwritten.
pub fn prepare(job: &mut Job<'_>, source: &Source) -> anyhow::Result<()> {
    let Source::Tree(tree) = source else { return Ok(()) };
    if !is_in_place(tree, &Job { if_exists: IfExists::Overwrite, ..job.clone() }) {
        return Ok(());
    }
    if job.if_exists != IfExists::Overwrite {
        return Err(usage(
            "SRC and DST are the same; --if-exists overwrite re-keys in place: each file is replaced when its output is \
             complete, and a repeated run goes on where it was stopped",
        ));
    }
    // Links are there already, and none is passed over.
    job.links = Links::Copy;
    Ok(())
}
