//! Where a book's output goes, and whether it may; and that the key file is neither book nor output.

use super::{Job, Publication};
use crate::Error;
use crate::package::Package;
use cipherloom::internal::engine::lock;
use cipherloom::{IfExists, internal::Published};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The outputs of a run.
pub(super) struct Outputs<'j> {
    job: &'j Job,
    /// Those that a book was begun for.
    claimed: Mutex<HashSet<PathBuf>>,
    /// Those that are there.
    pub(super) published: Published,
}

impl<'j> Outputs<'j> {
    pub(super) fn new(job: &'j Job) -> Outputs<'j> {
        Outputs { job, claimed: Mutex::default(), published: Published::default() }
    }

    /// Whether the output of `source` is to be made; an error if it must not.
    pub(super) fn claim(&self, source: &Publication, output: &Path) -> Result<bool, Error> {
        let job = self.job;
        if !lock(&self.claimed).insert(output.to_owned()) {
            return Err(Error::SameOutput);
        }
        if is_same_place(output, &job.key_file) {
            return Err(Error::KeyFileIsOutput);
        }
        let is_source = |there| std::fs::canonicalize(&source.path).is_ok_and(|source| source == there);
        if std::fs::canonicalize(output).is_ok_and(is_source) {
            return Err(cipherloom::Error::SameFile.into());
        }
        self.check(output)?;
        // A link to somewhere takes the name as a file does, but is no output of an earlier run.
        match job.if_exists {
            IfExists::Overwrite => Ok(true),
            IfExists::Skip if self.published.finds(&job.out, relative(job, output))? => Ok(false),
            _ if output.symlink_metadata().is_ok() => Err(cipherloom::Error::OutputExists.into()),
            _ => Ok(true),
        }
    }

    /// An error if the file system takes `output` for another output of this run.
    pub(super) fn check(&self, output: &Path) -> Result<(), Error> {
        Ok(self.published.check(&self.job.out, relative(self.job, output))?)
    }
}

/// The output's path: the source's name with the extension of what it becomes.
pub(super) fn output_path(job: &Job, source: &Publication, package: &Package) -> PathBuf {
    let mut name = source.path.file_stem().unwrap_or_default().to_owned();
    name.push(".");
    name.push(package.kind.extension());
    job.out.join(&source.folder).join(name)
}

/// The output's path below the output folder.
pub(super) fn relative<'o>(job: &Job, output: &'o Path) -> &'o Path {
    output.strip_prefix(&job.out).unwrap_or(output)
}

/// An error if the key file is one of the publications.
pub(super) fn key_file_is_no_source(job: &Job) -> Result<(), Error> {
    let Ok(keys) = std::fs::canonicalize(&job.key_file) else { return Ok(()) };
    let len = keys.metadata().map_or(0, |metadata| metadata.len());
    // Of thousands of publications only those of this length need be looked at.
    let mut alike = job.sources.iter().filter(|source| source.size == len);
    match alike.any(|source| std::fs::canonicalize(&source.path).is_ok_and(|path| path == keys)) {
        true => Err(Error::KeyFileIsSource),
        false => Ok(()),
    }
}

/// Whether two names, of files that need not be there, are of one place.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let folder = |path: &Path| std::fs::canonicalize(std::path::absolute(path).ok()?.parent()?).ok();
    let by_name =
        || one.file_name() == other.file_name() && folder(one).is_some() && folder(one) == folder(other);
    let by_file = || match (std::fs::canonicalize(one), std::fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    by_name() || by_file()
}
