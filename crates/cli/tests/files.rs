//! Files that transcripts cannot make: redirected ones, devices, keys of runs that could not start.
#![cfg(unix)]

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A folder with `key.json` and `a.txt`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), b"some words").unwrap();
    let made = cipherloom(folder.path(), "keygen -o key.json").output().unwrap();
    assert!(made.status.success());
    folder
}

fn cipherloom(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cipherloom"));
    command.current_dir(folder).args(arguments.split_whitespace()).stdin(Stdio::null());
    command.env("XDG_CACHE_HOME", "/nonexistent");
    command
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_file_never_feeds_on_its_own_output() {
    let folder = folder();
    let path = folder.path().join("a.txt");
    let appending = || OpenOptions::new().append(true).open(&path).unwrap();
    for arguments in ["encrypt a.txt - --key key.json", "decrypt a.txt - --key key.json"] {
        let output = cipherloom(folder.path(), arguments).stdout(appending()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(told(&output).contains("a.txt: standard output goes to the same file"), "{}", told(&output));
    }
    let mut command = cipherloom(folder.path(), "encrypt - - --key key.json");
    let output = command.stdin(File::open(&path).unwrap()).stdout(appending()).output().unwrap();
    assert!(told(&output).contains("standard input: standard output goes"), "{}", told(&output));
    assert_eq!(fs::read(&path).unwrap(), b"some words");
    let other = File::create(folder.path().join("other")).unwrap();
    assert!(
        cipherloom(folder.path(), "encrypt a.txt - --key key.json").stdout(other).status().unwrap().success()
    );
}

#[test]
fn a_device_or_fifo_is_never_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let folder = folder();
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for arguments in [
        "encrypt a.txt fifo --key key.json --if-exists overwrite",
        "encrypt - fifo --key key.json --if-exists overwrite",
        "encrypt a.txt fifo --key key.json --if-exists skip",
        "encrypt a.txt /dev/null --key key.json",
    ] {
        let output = cipherloom(folder.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(told(&output).contains("a device, FIFO or socket"), "{}", told(&output));
    }
    assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());
}

#[test]
fn a_run_that_cannot_start_leaves_no_new_key_behind() {
    let folder = folder();
    fs::create_dir(folder.path().join("books")).unwrap();
    fs::write(folder.path().join("books/b.txt"), b"words").unwrap();
    for arguments in [
        "encrypt books /proc/foo --new-key new.json",
        "encrypt - nodir/x --new-key new.json",
        "encrypt - a.txt --new-key new.json",
    ] {
        let output = cipherloom(folder.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}: {}", told(&output));
        assert!(!folder.path().join("new.json").exists(), "{arguments}");
    }
    // One under which something was made stays, even if other outputs failed.
    fs::write(folder.path().join("books/c.txt"), b"words").unwrap();
    fs::create_dir(folder.path().join("out")).unwrap();
    fs::write(folder.path().join("out/c.txt"), b"there").unwrap();
    let output = cipherloom(folder.path(), "encrypt books out --new-key new.json").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(folder.path().join("new.json").exists());
}

#[test]
fn a_stream_that_is_authentic_is_said_to_be() {
    let folder = folder();
    assert!(cipherloom(folder.path(), "encrypt a.txt a.enc --key key.json").status().unwrap().success());
    let sealed = File::open(folder.path().join("a.enc")).unwrap();
    let output = cipherloom(folder.path(), "verify - --key key.json").stdin(sealed).output().unwrap();
    assert!(told(&output).starts_with("verified 1 file, "), "{}", told(&output));
}
