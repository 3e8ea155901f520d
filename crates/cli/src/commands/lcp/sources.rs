//! Which publications a run is about: those named, and those found in folders.

use crate::exit_code::usage;
use crate::output;
use anyhow::Context;
use cipherloom::{Selection, Tree};
use cipherloom_lcp::protect::Source;
use std::path::{Path, PathBuf};

/// Extensions of publications, for those found in folders; what is named is taken whatever its name.
const EXTENSIONS: [&str; 7] = ["epub", "webpub", "audiobook", "divina", "lpf", "rpf", "pdf"];

/// The publications, and how many other files were passed over in folders.
pub struct Found {
    pub sources: Vec<Source>,
    pub passed_over: u64,
    /// Folders and files that could not be looked at, with the reason.
    pub unlisted: Vec<(PathBuf, cipherloom::Error)>,
}

/// Looks at all that the user named; `out` is where outputs go.
pub fn find(named: &[PathBuf], out: &Path) -> anyhow::Result<Found> {
    let mut found = Found { sources: Vec::new(), passed_over: 0, unlisted: Vec::new() };
    for path in named {
        let tree = match Tree::list(path, &Selection::default()) {
            Ok(tree) => tree,
            // One that is not there does not stop the others.
            Err(error) if named.len() > 1 => {
                found.unlisted.push((path.clone(), error));
                continue;
            }
            Err(error) => return Err(error).with_context(|| output::printable(path)),
        };
        if !tree.is_single_file {
            refuse_nested(path, out)?;
        }
        for entry in &tree.entries {
            if !tree.is_single_file && !is_publication(Path::new(&entry.name)) {
                found.passed_over += 1;
                continue;
            }
            let folder = &tree.directories[entry.directory as usize].path;
            let folder = if tree.is_single_file { PathBuf::new() } else { folder.clone() };
            let path = if tree.is_single_file { path.clone() } else { path.join(&folder).join(&entry.name) };
            found.sources.push(Source { path, size: entry.size, folder });
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
fn refuse_nested(folder: &Path, out: &Path) -> anyhow::Result<()> {
    let Ok(folder_path) = std::fs::canonicalize(folder) else { return Ok(()) };
    let absolute = std::path::absolute(out).unwrap_or_else(|_| out.to_owned());
    let nearest = absolute.ancestors().find_map(|ancestor| std::fs::canonicalize(ancestor).ok());
    match nearest {
        Some(nearest) if nearest.starts_with(&folder_path) => Err(usage(format!(
            "{}: the output folder lies inside this folder, so outputs would become sources; choose another --out",
            output::printable(folder)
        ))),
        _ => Ok(()),
    }
}
