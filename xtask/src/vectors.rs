//! `cargo xtask vectors`: checks the files in `vectors/` with tools of other origin.
//!
//! Each folder there has an origin, a generator and an independent verifier in another language. A generator is
//! `generate.py` or a Go module in `generate/`; a verifier is `verify.py`, `verify.sh` or a Go module in `verify/`.
//! A folder without a generator holds published vectors, which its README names.

use crate::interop;
use anyhow::{Context, Result, ensure};
use cipherloom_peers::{Program, place};
use std::path::{Path, PathBuf};

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Make the vectors anew before they are verified
    #[arg(long)]
    regenerate: bool,
    /// Only these folders of vectors/
    #[arg(value_name = "ORIGIN")]
    origins: Vec<String>,
}

/// Verifies (and with `regenerate` makes) the vectors of every origin.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folders = folders(&options.origins)?;
    let python = interop::python()?;
    for folder in &folders {
        if options.regenerate
            && let Some(generator) = script(folder, "generate", &python)
        {
            generator.run()?;
        }
        let verifier = script(folder, "verify", &python);
        verifier.with_context(|| format!("{} has no verifier", folder.display()))?.run()?;
    }
    println!("vectors: {} origins verified", folders.len());
    Ok(())
}

fn folders(wanted: &[String]) -> Result<Vec<PathBuf>> {
    let root = place::root().join("vectors");
    let mut folders = Vec::new();
    for entry in root.read_dir().with_context(|| format!("cannot list {}", root.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && (wanted.is_empty() || wanted.contains(&name)) {
            folders.push(path);
        }
    }
    folders.sort();
    ensure!(!folders.is_empty(), "no such folder in vectors/: {}", wanted.join(", "));
    Ok(folders)
}

/// The program of this role in a folder of vectors, run in that folder.
fn script(folder: &Path, role: &str, python: &Path) -> Option<Program> {
    let file = |ending: &str| Some(folder.join(format!("{role}{ending}"))).filter(|path| path.exists());
    if let Some(script) = file(".py") {
        return Some(Program::new(python).folder(folder).arg(script));
    }
    if let Some(script) = file(".sh") {
        return Some(Program::new("bash").folder(folder).arg(script));
    }
    let module = file("")?;
    Some(Program::new("go").folder(module).args(["run", "."]).arg(folder))
}
