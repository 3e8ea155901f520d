//! Which files a check is about: those named, and the publications and licences found in folders.

use crate::Error;
use cipherloom::{Selection, Tree};
use std::path::{Path, PathBuf};

/// What is looked for in folders.
const EXTENSIONS: [&str; 8] =
    ["*.epub", "*.webpub", "*.audiobook", "*.divina", "*.lcpa", "*.lcpdi", "*.lcpdf", "*.lcpl"];

/// A path at which nothing could be listed, or nothing was found, and why.
pub type Unlistable = (PathBuf, Error);

/// The files to check.
#[derive(Debug, Default)]
pub struct Findings {
    /// Those named, and those found; of one folder in the order of their paths.
    pub files: Vec<PathBuf>,
    /// Folders that could not be listed whole.
    pub unlisted: Vec<Unlistable>,
}

/// Looks at all that was named; what is no folder is taken whatever its name.
///
/// # Errors
/// With its path, the first folder that cannot be listed at all, or has nothing to check ([`Error::NothingToCheck`]).
pub fn find_protected(named: &[PathBuf]) -> Result<Findings, Unlistable> {
    let mut findings = Findings::default();
    for path in named {
        if !path.is_dir() {
            findings.files.push(path.clone());
            continue;
        }
        list(path, &mut findings).map_err(|error| (path.clone(), error))?;
    }
    Ok(findings)
}

fn list(folder: &Path, findings: &mut Findings) -> Result<(), Error> {
    let tree = Tree::list(folder, &Selection::new(&EXTENSIONS.map(String::from), &[])?)?;
    let (first, is_whole) = (findings.files.len(), tree.unlisted.is_empty());
    findings.files.extend(tree.entries.iter().map(|entry| folder.join(tree.relative_path(entry))));
    findings.files[first..].sort_unstable();
    findings
        .unlisted
        .extend(tree.unlisted.into_iter().map(|unlisted| (unlisted.path, unlisted.error.into())));
    if findings.files.len() == first && is_whole {
        return Err(Error::NothingToCheck { known: EXTENSIONS.map(|glob| &glob[1..]).join(", ") });
    }
    Ok(())
}
