//! The other programs of the bench: built or installed under the build folder, with their versions for the record.

use anyhow::{Context, Error, Result};
use cipherloom_lab::experiments::many_files::PROGRAM;
use cipherloom_lab::external::Source;
use cipherloom_peers::{Program, age, debian, go_peer, place};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which peers to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Choice {
    /// Only this project and `cp`
    None,
    /// The published program, cpz, tink-go, age (library and command) and openssl
    Core,
    /// Also rage, 7-Zip and rclone (installs them)
    All,
}

/// Where the peers are, and what goes in: keys that all of them use.
pub(crate) struct Peers {
    pub(crate) cipherloom: PathBuf,
    pub(crate) published: PathBuf,
    pub(crate) go: PathBuf,
    pub(crate) rage: PathBuf,
    pub(crate) cpz: PathBuf,
    pub(crate) keyset: PathBuf,
    pub(crate) raw_key: PathBuf,
    pub(crate) age: PathBuf,
    pub(crate) identity: PathBuf,
    pub(crate) recipient: String,
    pub(crate) hybrid_identity: PathBuf,
    pub(crate) hybrid_recipient: String,
    pub(crate) versions: BTreeMap<String, String>,
    without_vaes: bool,
}

/// What AWS-LC is to believe that the processor lacks (OPENSSL_ia32cap(3)): SHA instructions, vectors of AES, and of carry-less
/// products.
const WITHOUT_VAES: &str = ":~0x60020000000";

/// The raw key, as the published program has it built in.
pub(crate) const RAW_KEY: &str = "000102030405060708090a0b0c0d0e0f";
/// The version of the parallel copier.
const CPZ: &str = "@3.2.1";
/// The published program's initialisation vector.
pub(crate) const PUBLISHED_VECTOR: &str = "0f0e0d0c0b0a09080706050403020100";

impl Peers {
    /// Builds or installs the peers; keys go to `folder`.
    ///
    /// # Errors
    /// If a peer of the choice cannot be had.
    pub(crate) fn prepare(choice: Choice, folder: &Path) -> Result<Peers> {
        debian::ensure(&[("openssl", "openssl")])?;
        debian::ensure_c_compiler()?;
        if choice == Choice::All {
            debian::ensure(&[("7z", "p7zip-full"), ("rclone", "rclone")])?;
        }
        let age = age()?;
        let (identity, hybrid_identity) = (folder.join("identity.txt"), folder.join("hybrid.txt"));
        let keygen = || Program::new(age.join("age-keygen"));
        keygen().arg("-o").arg(&identity).output()?;
        keygen().arg("-pq").arg("-o").arg(&hybrid_identity).output()?;
        let recipient_of = |identity: &Path| -> Result<String> {
            Ok(keygen().arg("-y").arg(identity).output()?.trim().to_owned())
        };
        let mut peers = Peers {
            cipherloom: place::release_build()?,
            published: published()?,
            go: go_peer()?,
            rage: if choice == Choice::All { installed("rage", "")? } else { PathBuf::from("rage") },
            cpz: if choice == Choice::None { PathBuf::from("cpz") } else { installed("cpz", CPZ)? },
            keyset: folder.join("key.json"),
            raw_key: folder.join("key.hex"),
            recipient: recipient_of(&identity)?,
            hybrid_recipient: recipient_of(&hybrid_identity)?,
            identity,
            hybrid_identity,
            age: age.join("age"),
            versions: BTreeMap::new(),
            without_vaes: false,
        };
        Program::new(&peers.cipherloom).args(["keygen", "-o"]).arg(&peers.keyset).output()?;
        std::fs::write(&peers.raw_key, RAW_KEY).context("cannot write the raw key")?;
        restrict(&peers.raw_key)?;
        peers.versions = peers.ask_versions(choice)?;
        Ok(peers)
    }

    /// From now on the command runs as on a processor that has AES-NI, but neither VAES nor SHA instructions.
    pub(crate) fn leave_out_vaes(&mut self) {
        self.without_vaes = true;
        let version = self.versions.entry("cipherloom".to_owned()).or_default();
        version.push_str(", without VAES and SHA instructions");
    }

    /// The subcommand `name` of the command.
    pub(crate) fn command(&self, name: &str) -> Program {
        let program = Program::new(&self.cipherloom).args([name, "--quiet"]);
        if self.without_vaes {
            program.args(["--backend", "aesni"]).environment("OPENSSL_ia32cap", WITHOUT_VAES)
        } else {
            program
        }
    }

    fn ask_versions(&self, choice: Choice) -> Result<BTreeMap<String, String>> {
        let mut versions = BTreeMap::new();
        let mut ask = |name: &str, program: Program| -> Result<()> {
            let line =
                program.output()?.lines().find(|line| !line.trim().is_empty()).unwrap_or("").to_owned();
            versions.insert(name.to_owned(), line);
            Ok(())
        };
        ask("cipherloom", Program::new(&self.cipherloom).arg("--version"))?;
        ask("cp", Program::new("cp").arg("--version"))?;
        ask("openssl", Program::new("openssl").arg("version"))?;
        ask("age", Program::new(&self.age).arg("--version"))?;
        ask("gcc", Program::new("gcc").arg("--version"))?;
        ask("go", Program::new("go").arg("version"))?;
        if choice != Choice::None {
            ask("cpz", Program::new(&self.cpz).arg("--version"))?;
        }
        if choice == Choice::All {
            ask("7z", Program::new("7z"))?;
            ask("rclone", Program::new("rclone").arg("--version"))?;
            ask("rage", Program::new(&self.rage).arg("--version"))?;
        }
        let modules = std::fs::read_to_string(place::root().join("peers/go/go.mod"))?;
        for line in modules.lines().filter(|line| line.starts_with('\t') && !line.contains("indirect")) {
            if let Some((name, version)) = line.trim().split_once(' ') {
                versions.insert(name.to_owned(), version.to_owned());
            }
        }
        Ok(versions)
    }
}

/// The published program, without the forms of it that need OpenMP.
fn published() -> Result<PathBuf> {
    let source = Source { flags: &["-pthread", "-lcrypto"], ..PROGRAM };
    source.compile("gcc", &place::make_folder("bench")?).map_err(Error::msg)
}

/// A program of crates.io, built into the build folder; `version` follows the name, as `@1.2.3`.
fn installed(name: &str, version: &str) -> Result<PathBuf> {
    let folder = place::target().join("tools").join(format!("{name}{version}"));
    let program = folder.join("bin").join(name);
    if !program.is_file() {
        Program::cargo()
            .folder(std::env::temp_dir())
            .args(["install", "--locked", "--root"])
            .arg(&folder)
            .arg(format!("{name}{version}"))
            .run()?;
    }
    Ok(program)
}

/// Keys are for the owner's eyes only, or the command warns.
fn restrict(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
            .context("cannot restrict the key")?;
    }
    Ok(())
}
