//! Which publications a run is about: those named, and those found in folders.

use super::Publication;
use crate::Error;
use cipherloom::internal::{Selection, Tree};
use std::path::{Path, PathBuf};

/// Extensions of publications, for those found in folders; what is named is taken whatever its name.
const EXTENSIONS: [&str; 7] = ["epub", "webpub", "audiobook", "divina", "lpf", "rpf", "pdf"];

/// The publications, and how many other files were passed over in folders.
#[derive(Debug, Default)]
pub struct FoundPublications {
    /// The publications.
    pub sources: Vec<Publication>,
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
pub fn find(named: &[PathBuf], out: &Path) -> Result<FoundPublications, Error> {
    let mut found = FoundPublications::default();
    for named_path in named {
        let tree = match Tree::list(named_path, &Selection::default()) {
            Ok(tree) => tree,
            Err(error) if named.len() > 1 => {
                found.unlisted.push((named_path.clone(), error));
                continue;
            }
            Err(error) => return Err(Error::from(error).at(named_path)),
        };
        if !tree.is_single_file && lies_in(out, named_path) {
            return Err(Error::NestedOutput.at(named_path));
        }
        found.passed_over += tree.passed_over.index;
        for entry in tree.entries.iter() {
            let (path, folder, root) = if tree.is_single_file {
                (named_path.clone(), PathBuf::new(), None)
            } else if is_publication(Path::new(entry.name())) {
                let folder = tree.directories[entry.directory() as usize].path.clone();
                (named_path.join(&folder).join(entry.name()), folder, Some(named_path.clone()))
            } else {
                found.passed_over += 1;
                continue;
            };
            found.sources.push(Publication { path, size: entry.size(), folder, root });
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
