//! `cargo xtask armv8`: on another processor, compiles and runs the kernels' tests and the README's demonstration for AArch64, and
//! compares the lab's ciphers in C, which have ARM intrinsics.
//!
//! A stage of `cargo xtask test long` alone, since it depends on Debian 12's arm64 packages: the one registry with a standard library
//! for AArch64. That must be of the compiler that uses it, hence Debian's (`rustc-web`) and not the pinned one. Every processor
//! that QEMU lends has the AES instructions, so `soft` and `armv8` both run. Nothing can be timed like this.
//!
//! ```text
//! target/armv8/apt/      lists and packages of amd64 and arm64, apart from the system's
//! target/armv8/sysroot/  Debian's compiler for this machine, its libraries for both
//! target/armv8/build/    what cargo builds with them
//! ```

use anyhow::{Context, Result, ensure};
use cipherloom_peers::{Program, debian, place};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// The linker with AArch64's C library (only the C++ compiler's package brings both), and the emulator.
const TOOLS: [&str; 2] = ["g++-aarch64-linux-gnu", "qemu-user"];

/// Builds and runs the tests of `crates/kernels` for AArch64.
pub(crate) fn run() -> Result<()> {
    ensure!(
        cfg!(all(target_arch = "x86_64", target_os = "linux")),
        "`cargo xtask armv8` emulates AArch64 on x86-64 Linux; on AArch64 itself run `cargo test`"
    );
    debian::ensure_packages(&TOOLS)?;
    let sysroot = sysroot()?;
    let tests = |arguments: &[&str]| cargo(&sysroot, "test", "cipherloom-kernels").args(arguments);
    tests(&["--lib", "--tests"]).run()?;
    // Backends that the processor lacks are left out of the tests, so their success alone says nothing of `armv8`.
    let told = tests(&["--test", "backends", "--", "--nocapture", "available"]).output()?;
    let backends = told.lines().find(|line| line.contains("backends here:")).unwrap_or("no backends named");
    ensure!(backends.contains("armv8"), "the emulated processor was not seen to have `armv8`: {backends}");
    println!("armv8: tests passed under emulation; {backends}");
    demonstrate(&sysroot)?;
    compare_ciphers()
}

/// Builds the whole command, a static executable, and runs the README's demonstration with it.
fn demonstrate(sysroot: &Path) -> Result<()> {
    cargo(sysroot, "build", "cipherloom-cli").args(["--features", "stores"]).run()?;
    let folder = made_folder("armv8/command")?;
    let executable = place::target().join("armv8/build").join(TARGET).join("debug/cipherloom");
    let emulate = r#"printf '#!/bin/sh\nexec qemu-aarch64 -cpu max "%s" "$@"\n' "$1" > cipherloom
        chmod +x cipherloom
        PATH="$PWD:$PATH" SAMPLES="$2/samples" exec sh "$2/packaging/tests/demo.sh""#;
    Program::new("sh").folder(folder).args(["-euc", emulate, "sh"]).arg(executable).arg(place::root()).run()
}

/// The lab's ciphers in C must give the same bytes under emulation as here, where the lab's tests check them.
fn compare_ciphers() -> Result<()> {
    let folder = made_folder("armv8/ciphers")?;
    let asked = folder.join("asked");
    let ciphers = ["intrinsics-row ecb", "intrinsics-row ctr", "intrinsics-row cbc-encrypt"];
    let ciphers = ciphers.into_iter().chain(["intrinsics-eight ecb", "intrinsics-eight ctr", "plain ctr"]);
    let lines: String = ciphers.map(|cipher| format!("result {cipher} 128 1040 33 1\n")).collect();
    std::fs::write(&asked, lines).with_context(|| format!("cannot write {}", asked.display()))?;
    let answers = |compiler: &str, runner: &[&str]| -> Result<Vec<u8>> {
        let program = folder.join(compiler);
        let sources = place::lab().join("peers/ciphers.c");
        let flags = ["-O2", "-static", "-DWITHOUT_OPENSSL", "-o"];
        Program::new(compiler).args(flags).args([&program, &sources]).run()?;
        let command = runner.iter().map(OsStr::new).chain([program.as_os_str()]).collect::<Vec<_>>();
        let output = Command::new(command[0]).args(&command[1..]).stdin(File::open(&asked)?).output()?;
        ensure!(output.status.success(), "{} ended with {}", program.display(), output.status);
        Ok(output.stdout)
    };
    let (here, emulated) =
        (answers("gcc", &[])?, answers("aarch64-linux-gnu-gcc", &["qemu-aarch64", "-cpu", "max"])?);
    ensure!(!here.is_empty() && here == emulated, "the lab's ciphers in C differ under emulation");
    ensure!(!here.windows(7).any(|word| word == b"\"error\""), "the lab's ciphers in C refuse a mode");
    println!("armv8: the lab's ciphers in C give the same {} bytes as on this processor", here.len());
    Ok(())
}

fn made_folder(name: &str) -> Result<PathBuf> {
    let folder = place::target().join(name);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// Debian's compiler on a package, for AArch64.
fn cargo(sysroot: &Path, action: &str, package: &str) -> Program {
    let variable = |name: &str| format!("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_{name}");
    Program::cargo()
        .folder(place::root())
        .args([action, "--locked", "--package", package, "--target", TARGET, "--target-dir"])
        .arg(place::target().join("armv8/build"))
        .environment("RUSTC", sysroot.join("usr/bin/rustc"))
        .environment("LD_LIBRARY_PATH", sysroot.join("usr/lib/x86_64-linux-gnu"))
        .environment(&variable("LINKER"), "aarch64-linux-gnu-gcc")
        .environment(&variable("RUNNER"), "qemu-aarch64 -cpu max")
}

/// The folder with Debian's compiler and the standard library of both architectures; unpacked there if it is not.
fn sysroot() -> Result<PathBuf> {
    let folder = place::target().join("armv8");
    let sysroot = folder.join("sysroot");
    if sysroot.exists() {
        return Ok(sysroot);
    }
    // What an interrupted run left may be of an older version than what Debian has now.
    let unfinished = folder.join("unpacking");
    for left in [&unfinished, &folder.join("apt")] {
        if left.exists() {
            std::fs::remove_dir_all(left).with_context(|| format!("cannot remove {}", left.display()))?;
        }
    }
    let apt = Apt { folder: made_folder("armv8/apt")? };
    for part in ["lists/partial", "cache/archives/partial"] {
        made_folder(&format!("armv8/apt/{part}"))?;
    }
    apt.program("apt-get").arg("update").run()?;
    let compiler = apt.dependency("libstd-rust-web-dev", "libstd-rust-web-")?;
    let code_generator = apt.dependency(&compiler, "libllvm")?;
    debian::ensure_packages(&[&code_generator])?;
    for package in ["rustc-web", &compiler, "libstd-rust-web-dev:amd64", "libstd-rust-web-dev:arm64"] {
        Program::new("dpkg").arg("--extract").arg(apt.download(package)?).arg(&unfinished).run()?;
    }
    std::fs::rename(&unfinished, &sysroot)
        .with_context(|| format!("cannot rename {} to {}", unfinished.display(), sysroot.display()))?;
    Ok(sysroot)
}

/// apt with lists of its own: the system is not made to know arm64, and fetching needs no root.
struct Apt {
    folder: PathBuf,
}

impl Apt {
    fn program(&self, name: &str) -> Program {
        Program::new(name)
            .arg("-qq")
            .arg(format!("-oDir::State::Lists={}", self.folder.join("lists").display()))
            .arg(format!("-oDir::Cache={}", self.folder.join("cache").display()))
            .args(["-oAPT::Architectures::=amd64", "-oAPT::Architectures::=arm64"])
            // The folder need not be open to apt's own user.
            .arg("-oAPT::Sandbox::User=root")
    }

    /// The package on which `package` depends and whose name starts with `prefix` and ends with its version.
    fn dependency(&self, package: &str, prefix: &str) -> Result<String> {
        let told = self.program("apt-cache").args(["depends", package]).output()?;
        told.lines()
            .filter_map(|line| line.trim().strip_prefix("Depends: "))
            .find(|name| name.starts_with(prefix))
            .map(str::to_owned)
            .with_context(|| format!("Debian's {package} depends on no {prefix}…:\n{told}"))
    }

    /// Fetches `package` into a folder of its own and gives the file.
    fn download(&self, package: &str) -> Result<PathBuf> {
        let folder = made_folder(&format!("armv8/apt/{package}"))?;
        self.program("apt-get").folder(&folder).args(["download", package]).run()?;
        let mut files = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|file| file.path());
        let package = files.find(|file| file.extension().is_some_and(|extension| extension == "deb"));
        package.with_context(|| format!("apt-get left no package in {}", folder.display()))
    }
}
