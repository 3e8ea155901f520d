//! The Python package: a source distribution, and the wheel that is built from it. On Linux, zig is the linker, so that the wheel
//! runs with every C library since glibc 2.28.

use super::{Release, artifacts, bill, clean_root, copy, crates, empty, file_ending, file_name, work};
use anyhow::{Result, ensure};
use cipherloom_peers::{Program, place, python_environment};
use std::fs;

/// The oldest system that the wheel is for.
const PLATFORM: &str = "manylinux_2_28";

/// Makes both, has auditwheel look at the wheel, and installs it in the clean system.
pub(super) fn run(release: &Release) -> Result<()> {
    let python = python_environment(
        &place::target().join("release-venv"),
        &place::root().join("packaging/requirements.txt"),
    )?;
    let package = release.tree().join("bindings/python");
    crates::copy_licenses(&package)?;
    fs::write(package.join(bill::LICENSES), bill::licenses(release, &["bindings/python/Cargo.toml"])?)?;
    let maturin = |folder, action: &str| {
        Program::new(&python)
            .folder(folder)
            .args(["-m", "maturin", action])
            .environment("SOURCE_DATE_EPOCH", &release.time)
    };
    let made = empty("python")?;
    maturin(package, "sdist").arg("--out").arg(&made).run()?;
    let sources = file_ending(&made, ".tar.gz")?;
    Program::new("tar").folder(&made).arg("-xf").arg(&sources).run()?;
    let tree = made.join(file_name(&sources).trim_end_matches(".tar.gz"));
    // RUSTFLAGS keep away those of our .cargo/config.toml, which a user of the sources does not have.
    let flags = format!("--remap-path-prefix={}=/cipherloom", tree.display());
    let build = maturin(tree, "build")
        .args(["--release", "--target", &release.target, "--out"])
        .arg(&made)
        .environment("RUSTFLAGS", flags)
        // Has zig.
        .environment("CARGO_ZIGBUILD_PYTHON_PATH", &python)
        .environment("CARGO_TARGET_DIR", work("python-target"));
    match cfg!(target_os = "linux") {
        true => build.args(["--zig", "--compatibility", PLATFORM]).run()?,
        false => build.run()?,
    }
    let wheel = file_ending(&made, ".whl")?;
    Program::new(&python).args(["-m", "twine", "check", "--strict"]).arg(&wheel).arg(&sources).run()?;
    if cfg!(target_os = "linux") {
        let said = Program::new(&python).args(["-m", "auditwheel", "show"]).arg(&wheel).output()?;
        println!("{}", said.trim());
        ensure!(said.contains(PLATFORM), "auditwheel finds the wheel to be for other systems");
        clean_root::test("wheel.sh", &wheel)?;
    }
    for file in [&wheel, &sources] {
        copy(file, &artifacts().join(file_name(file)))?;
    }
    Ok(())
}
