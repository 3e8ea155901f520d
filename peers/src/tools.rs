//! Python environments, the programs over Tink, and the servers that stand in for object stores.

use crate::{Program, debian, place};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The S3 gateway as a Go module. Pinned: what a server accepts is part of what the tests say.
const VERSITYGW: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const AZURITE: &str = "azurite@3.37.0";
const FAKE_GCS: &str = "github.com/fsouza/fake-gcs-server@v1.52.2";

/// The interpreter of a Python environment at `environment` with the requirements in the file `wanted`; made anew if that file
/// changed.
///
/// # Errors
/// If the environment cannot be made.
pub fn python_environment(environment: &Path, wanted: &Path) -> Result<PathBuf> {
    let text =
        std::fs::read_to_string(wanted).with_context(|| format!("cannot read {}", wanted.display()))?;
    let _lock = place::lock("python-environments.lock")?;
    let interpreter = environment.join("bin/python");
    let installed = environment.join("installed.txt");
    if interpreter.exists() && std::fs::read_to_string(&installed).is_ok_and(|old| old == text) {
        return Ok(interpreter);
    }
    Program::new("python3").args(["-m", "venv", "--clear"]).arg(environment).run()?;
    Program::new(&interpreter)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(wanted)
        .fetch()?;
    std::fs::write(&installed, text).with_context(|| format!("cannot write {}", installed.display()))?;
    Ok(interpreter)
}

/// The Go program over tink-go and age's library.
///
/// # Errors
/// If it cannot be built.
pub fn go_peer() -> Result<PathBuf> {
    go_build("peers/go", &[], ".", &place::make_folder("interop")?.join("go-peer"))
}

/// The folder with age's own programs, of the version that the Go program uses: `age`, `age-inspect`, `age-keygen` and the
/// plugins `age-plugin-batchpass` and `age-plugin-pq`.
///
/// # Errors
/// If they cannot be built.
pub fn age() -> Result<PathBuf> {
    let folder = place::make_folder("interop/age")?;
    for package in
        ["cmd/age", "cmd/age-inspect", "cmd/age-keygen", "cmd/age-plugin-batchpass", "extra/age-plugin-pq"]
    {
        let name = package.rsplit('/').next().unwrap_or(package);
        go_build("peers/go", &[], &format!("filippo.io/age/{package}"), &folder.join(name))?;
    }
    Ok(folder)
}

/// Builds a package of the Go module in `folder`, below the repository's root.
pub(crate) fn go_build(folder: &str, options: &[&str], package: &str, built: &Path) -> Result<PathBuf> {
    let _lock = place::lock("go-build.lock")?;
    Program::new("go")
        .folder(place::root().join(folder))
        .arg("build")
        .args(options)
        .arg("-o")
        .arg(built)
        .arg(package)
        .fetch()?;
    Ok(built.to_owned())
}

/// The folder with the Java program over Tink and the libraries it needs, built by Maven.
///
/// # Errors
/// If it cannot be built.
pub fn java_peer() -> Result<PathBuf> {
    let built = place::make_folder("interop")?.join("java");
    if !built.join("classes/Peer.class").exists() {
        maven("peers/java", "package", &format!("-Dfolder={}", built.display()))?;
    }
    Ok(built)
}

/// Has Maven do something in `folder`, below the repository's root.
pub(crate) fn maven(folder: &str, goal: &str, setting: &str) -> Result<()> {
    let maven = Program::new("mvn").folder(place::root().join(folder));
    maven.args(["--quiet", "--batch-mode", goal, setting]).fetch()
}

/// The S3 gateway, built from the Go proxy's source of the version [`versitygw_version`] gives.
///
/// # Errors
/// If it cannot be built.
pub fn versitygw() -> Result<PathBuf> {
    go_install(VERSITYGW, "versitygw")
}

/// The emulator of Google Cloud Storage. It takes a minute and a half of processor time to build.
///
/// # Errors
/// If it cannot be built.
pub fn fake_gcs() -> Result<PathBuf> {
    go_install(FAKE_GCS, "fake-gcs-server")
}

/// A Go program of this module and version.
fn go_install(module: &str, name: &str) -> Result<PathBuf> {
    let folder = place::make_folder(&format!("tools/{name}-{}", version(module)))?;
    let program = folder.join(name);
    let _lock = place::lock(&format!("{name}.lock"))?;
    if !program.exists() {
        Program::new("go").args(["install", module]).environment("GOBIN", &folder).fetch()?;
    }
    Ok(program)
}

/// Azure's emulator for blobs, from npm.
///
/// # Errors
/// If it cannot be installed.
pub fn azurite() -> Result<PathBuf> {
    debian::ensure(&[("npm", "npm")])?;
    let folder = place::make_folder(&format!("tools/azurite-{}", version(AZURITE)))?;
    let program = folder.join("node_modules/.bin/azurite-blob");
    let _lock = place::lock("azurite.lock")?;
    if !program.exists() {
        let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", "."];
        Program::new("npm").folder(&folder).args(install).arg(AZURITE).fetch()?;
    }
    Ok(program)
}

/// The version of the S3 gateway.
#[must_use]
pub fn versitygw_version() -> &'static str {
    version(VERSITYGW)
}

fn version(module: &str) -> &str {
    module.rsplit('@').next().unwrap_or_default()
}
