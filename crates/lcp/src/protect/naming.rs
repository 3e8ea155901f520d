//! Where a book's output goes, and whether it may.

use super::{Job, Source};
use crate::Error;
use crate::package::Package;
use cipherloom::IfExists;
use std::path::{Path, PathBuf};

/// The output's path: the source's name with the extension of what it becomes.
pub(super) fn output_path(job: &Job, source: &Source, package: &Package) -> PathBuf {
    let mut name = source.path.file_stem().unwrap_or_default().to_owned();
    name.push(".");
    name.push(package.kind.extension());
    job.out.join(&source.folder).join(name)
}

/// Whether the output is to be made; an error if it must not.
pub(super) fn has_way(
    job: &Job,
    source: &Source,
    output: &Path,
    claim: &dyn Fn(&Path) -> bool,
) -> Result<bool, Error> {
    if !claim(output) {
        return Err(Error::SameOutput);
    }
    let Ok(there) = std::fs::canonicalize(output) else { return Ok(true) };
    if std::fs::canonicalize(&source.path).is_ok_and(|source| source == there) {
        return Err(cipherloom::Error::SameFile.into());
    }
    match job.if_exists {
        IfExists::Overwrite => Ok(true),
        IfExists::Skip => Ok(false),
        IfExists::Fail => Err(cipherloom::Error::OutputExists.into()),
    }
}
