//! Whether estimates go by the figures that the user had measured.

use cipherloom::machine::Calibration;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What the command says, with these measured figures in the user's cache.
fn said(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cipherloom"));
    command.current_dir(folder).args(arguments).env("XDG_CACHE_HOME", folder.join("cache"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
}

/// The standard place of a cache is another one elsewhere.
#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn estimates_with_a_given_number_of_threads_go_by_the_kept_figures() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir_all(folder.join("cache/cipherloom")).unwrap();
    let built_in = Calibration::default().to_json();
    let kept = built_in.replace("\"measured\": false", "\"measured\": true").replace("15000.0", "1e9");
    assert!(Calibration::from_json(kept.as_bytes()).unwrap().measured);
    fs::write(folder.join("cache/cipherloom/calibration.json"), kept).unwrap();
    fs::create_dir(folder.join("books")).unwrap();
    fs::write(folder.join("books/one.txt"), b"It was a bright cold day in April").unwrap();
    said(folder, &["keygen", "-o", "key.json"]);
    let encrypt = ["encrypt", "books", "sealed", "--key", "key.json", "--threads", "1"];
    for shows in [
        &["plan", "books", "--threads", "1"][..],
        &["plan", "books", "--threads", "1", "--json"],
        &[&encrypt[..], &["--dry-run"]].concat(),
        &[&encrypt[..], &["--verbose"]].concat(),
    ] {
        let said = said(folder, shows);
        assert!(said.contains("figures are measured on this machine"), "{shows:?}: {said}");
        assert!(
            said.contains("1.00 s with one thread") || said.contains("_seconds\":1.0"),
            "{shows:?}: {said}"
        );
    }
    // Where nobody sees an estimate and nothing depends on it, the file is not even read.
    fs::write(folder.join("cache/cipherloom/calibration.json"), "{").unwrap();
    let quiet = said(folder, &["verify", "sealed", "--key", "key.json", "--threads", "1"]);
    assert!(!quiet.contains("calibration"), "{quiet}");
    let loud = said(folder, &["verify", "sealed", "--key", "key.json"]);
    assert!(loud.contains("the stored calibration cannot be used"), "{loud}");
}
