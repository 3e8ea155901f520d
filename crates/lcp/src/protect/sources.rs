//! Which publications a run is about: those named, and those found in folders.

use super::Source;
use crate::Error;
use cipherloom::{Selection, Tree};
use std::path::{Path, PathBuf};

/// Extensions of publications, for those found in folders; what is named is taken whatever its name.
const EXTENSIONS: [&str; 7] = ["epub", "webpub", "audiobook", "divina", "lpf", "rpf", "pdf"];

/// The publications, and how many other files were passed over in folders.
#[derive(Debug, Default)]
pub struct Found {
    /// The publications.
    pub sources: Vec<Source>,
    /// Files in folders that are none, by their extension.
    pub passed_over: u64,
    /// Folders and files that could not be looked at, with the reason.
    pub unlisted: Vec<(PathBuf, cipherloom::Error)>,
}

/// Looks at all that was named; `out` is where outputs go. One of several that is not there does not stop the others.
///
/// # Errors
/// With its path: the only one named cannot be listed, or `out` lies in a folder that is searched
/// ([`Error::NestedOutput`]).
pub fn find(named: &[PathBuf], out: &Path) -> Result<Found, (PathBuf, Error)> {
    let mut found = Found::default();
    for named_path in named {
        let tree = match Tree::list(named_path, &Selection::default()) {
            Ok(tree) => tree,
            Err(error) if named.len() > 1 => {
                found.unlisted.push((named_path.clone(), error));
                continue;
            }
            Err(error) => return Err((named_path.clone(), error.into())),
        };
        if !tree.is_single_file && lies_in(out, named_path) {
            return Err((named_path.clone(), Error::NestedOutput));
        }
        for entry in &tree.entries {
            if !tree.is_single_file && !is_publication(Path::new(&entry.name)) {
                found.passed_over += 1;
                continue;
            }
            let folder = &tree.directories[entry.directory as usize].path;
            let folder = if tree.is_single_file { PathBuf::new() } else { folder.clone() };
            let path = match tree.is_single_file {
                true => named_path.clone(),
                false => named_path.join(&folder).join(&entry.name),
            };
            let root = (!tree.is_single_file).then(|| named_path.clone());
            found.sources.push(Source { path, size: entry.size, folder, root });
        }
        found.unlisted.extend(tree.unlisted.into_iter().map(|unlisted| (unlisted.path, unlisted.error)));
    }
    Ok(found)
}

fn is_publication(name: &Path) -> bool {
    let extension = name.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
}

/// Outputs inside a folder that is searched would be sources of the next run.
fn lies_in(out: &Path, folder: &Path) -> bool {
    let Ok(folder) = std::fs::canonicalize(folder) else { return false };
    let absolute = std::path::absolute(out).unwrap_or_else(|_| out.to_owned());
    let nearest = absolute.ancestors().find_map(|ancestor| std::fs::canonicalize(ancestor).ok());
    nearest.is_some_and(|nearest| nearest.starts_with(folder))
}
