//! `cargo xtask layers`: who may import whom, and what a source file may look like.
//!
//! The rules themselves are tables: `crates.rs` between crates, `rooms.rs` between the library's modules, `house.rs`
//! for files and folders. `source.rs` and `paths.rs` find the paths that a Rust source names.

mod crates;
mod house;
mod paths;
mod rooms;
mod source;

use crate::place;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// A broken rule: where, and what it says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// File, or file and line.
    place: String,
    /// Which rule, and what breaks it.
    words: String,
}

impl Violation {
    fn new(place: impl Into<String>, words: impl Into<String>) -> Violation {
        Violation { place: place.into(), words: words.into() }
    }
}

/// Checks every rule over the whole repository.
///
/// # Errors
/// If a rule is broken; every violation has been printed before.
pub(crate) fn run() -> Result<()> {
    let root = place::root();
    let mut violations = crates::check()?;
    let sources = sources(&root)?;
    let others = other_sources(&root)?;
    violations.extend(house::check(&sources));
    violations.extend(house::check_others(&others));
    violations.extend(rooms::check(&sources));
    for violation in &violations {
        println!("{}: {}", violation.place, violation.words);
    }
    if !violations.is_empty() {
        bail!("{} broken rules of the house; ARCHITECTURE.md says who may import whom", violations.len());
    }
    println!("layers: {} source files keep the rules of the house", sources.len() + others.len());
    Ok(())
}

/// A source file: its path from the repository's root, with slashes, and its text.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    path: String,
    text: String,
}

/// Every Rust file under the folders that hold ours, in order of path.
fn sources(root: &Path) -> Result<Vec<Source>> {
    found(root, &["crates", "bindings", "lab", "xtask", "fuzz"], &["rs"])
}

/// Shaders and scripts: they have no modules to be checked, but the same length and an opening that says what they are.
fn other_sources(root: &Path) -> Result<Vec<Source>> {
    found(root, &["crates", "lab", "web"], &["wgsl", "ts", "mjs", "js", "css"])
}

/// Files of these kinds under these folders, without what was built or comes from others.
fn found(root: &Path, folders: &[&str], kinds: &[&str]) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|name| root.join(name)).collect();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().with_context(|| format!("cannot list {}", folder.display()))? {
            let path = entry?.path();
            let is_kind = |kind: &&str| path.extension().is_some_and(|extension| extension == *kind);
            if path.is_dir() && !NOT_OURS.iter().any(|name| path.ends_with(name)) {
                folders.push(path);
            } else if path.is_file() && kinds.iter().any(is_kind) {
                let text = std::fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                let relative = path.strip_prefix(root).unwrap_or(&path);
                found.push(Source { path: relative.to_string_lossy().replace('\\', "/"), text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Folders of what was built, and of what others wrote.
const NOT_OURS: [&str; 4] = ["target", "dist", "node_modules", "vendor"];
