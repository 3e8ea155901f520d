//! The archive of the command: a static executable (on Linux) with stores and what cargo-auditable records, completions, manual
//! and licenses. Two builds in different folders must give the same bytes.
//!
//! What makes them the same: paths mapped by rustc (`--remap-path-prefix`) and the C compiler (`-ffile-prefix-map`), no symbols,
//! the pinned compiler and locked dependencies; in the archive, sorted names, the commit's time, no owners, and a gzip header
//! without name and time.

use super::{Release, artifacts, bill, clean_root, copy, file_name, files, work};
use crate::tools;
use anyhow::{Context, Result, ensure};
use cipherloom_peers::Program;
use std::fs;
use std::path::{Path, PathBuf};

const AUDITABLE: &str = "0.7.7";
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "cipherloom.bash"), ("zsh", "_cipherloom"), ("fish", "cipherloom.fish")];
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Builds, packs and tests.
pub(super) fn run(release: &Release) -> Result<()> {
    let archive = pack(release, super::FIRST, &release.tree())?;
    if cfg!(target_os = "linux") {
        clean_root::test("archive.sh", &archive)?;
    }
    copy(&archive, &artifacts().join(file_name(&archive)))
}

/// Builds and packs all of it again, in another folder, and compares.
pub(super) fn reproduce(release: &Release) -> Result<()> {
    let folder = "in/another/folder";
    let again = pack(release, folder, &release.unpack(folder)?)?;
    let first = artifacts().join(file_name(&again));
    let is_same = fs::read(&first)? == fs::read(&again)?;
    ensure!(is_same, "two builds differ: {} and {}", first.display(), again.display());
    println!("the second build, in {}, gave the same bytes", again.display());
    Ok(())
}

/// Builds the sources in this tree and packs what is released.
fn pack(release: &Release, folder: &str, tree: &Path) -> Result<PathBuf> {
    let folder = work(folder);
    let executable = build(release, tree, &folder.join("target"))?;
    let staged = tree.join("staged").join(release.platform_name());
    stage(release, &executable, &staged)?;
    let stem = folder.join(release.platform_name()).display().to_string();
    let tar = Program::new("tar").folder(tree.join("staged"));
    if cfg!(windows) {
        // Windows' own tar writes zip archives.
        let archive = format!("{stem}.zip");
        tar.args(["-a", "-cf", &archive, &release.platform_name()]).run()?;
        return Ok(archive.into());
    }
    let time = format!("--mtime=@{}", release.time);
    let same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go=rX", &time];
    let tar = if cfg!(target_os = "linux") { tar.args(same) } else { tar };
    tar.args(["-cf", &format!("{stem}.tar"), &release.platform_name()]).run()?;
    Program::new("gzip").args(["--no-name", "--best", "--force", &format!("{stem}.tar")]).run()?;
    Ok(format!("{stem}.tar.gz").into())
}

fn build(release: &Release, tree: &Path, target: &Path) -> Result<PathBuf> {
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home
        .or_else(|| Some(std::env::home_dir()?.join(".cargo")))
        .context("no home folder, so no cargo home")?;
    let places = [(tree, "/cipherloom"), (target, "/target"), (cargo_home.as_path(), "/cargo")];
    let map = |flag: &str| places.map(|(path, name)| format!("{flag}={}={name}", path.display()));
    let flags = serde_json::to_string(&map("--remap-path-prefix"))?;
    Program::new(tools::cargo("cargo-auditable", AUDITABLE, &[])?)
        .folder(tree)
        .args(["auditable", "build", "--release", "--locked", "--package", "cipherloom-cli"])
        .args(["--features", "stores", "--target", &release.target, "--config"])
        // Joined with the flags of .cargo/config.toml, which RUSTFLAGS would replace.
        .arg(format!("target.{}.rustflags={flags}", release.target))
        .environment("CARGO_TARGET_DIR", target)
        .environment("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .environment("CFLAGS", if cfg!(windows) { String::new() } else { map("-ffile-prefix-map").join(" ") })
        .run()?;
    let name = format!("cipherloom{}", std::env::consts::EXE_SUFFIX);
    Ok(target.join(&release.target).join("release").join(name))
}

/// Puts the archive's files where it has them. No path of this machine is in the executable.
fn stage(release: &Release, executable: &Path, staged: &Path) -> Result<()> {
    let completions = staged.join("completions");
    fs::create_dir_all(&completions).with_context(|| format!("cannot create {}", completions.display()))?;
    copy(executable, &staged.join(file_name(executable)))?;
    for name in DOCUMENTS {
        copy(&release.tree().join(name), &staged.join(name))?;
    }
    let made = |arguments: &[&str]| Program::new(executable).args(arguments).output();
    fs::write(staged.join("cipherloom.1"), made(&["man"])?)?;
    for (shell, name) in COMPLETIONS {
        fs::write(completions.join(name), made(&["completions", shell])?)?;
    }
    fs::write(staged.join(bill::LICENSES), bill::licenses(release, &["crates/cli/Cargo.toml", "stores"])?)?;
    ensure!(files(staged)?.len() == DOCUMENTS.len() + 3, "{} has other files too", staged.display());
    Ok(())
}
