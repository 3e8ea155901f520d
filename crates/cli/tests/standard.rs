//! Standard streams that are closed, full, or wait for ever.
#![cfg(target_os = "linux")]

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A folder with `key.json`, `a.txt`, and `a.enc` made from it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), b"some words").unwrap();
    for made in ["keygen -o key.json", "encrypt a.txt a.enc --key key.json -q"] {
        assert!(shell(folder.path(), &format!("\"$CIPHERLOOM\" {made}")).status.success());
    }
    folder
}

fn shell(folder: &Path, line: &str) -> Output {
    Command::new("sh")
        .args(["-c", line])
        .env("CIPHERLOOM", env!("CARGO_BIN_EXE_cipherloom"))
        .env("XDG_CACHE_HOME", "/nonexistent")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn content_never_goes_to_a_closed_standard_output() {
    let folder = folder();
    for line in [
        "echo x | \"$CIPHERLOOM\" encrypt - - --key key.json >&-",
        "\"$CIPHERLOOM\" decrypt - - --key key.json <a.enc >&-",
        "\"$CIPHERLOOM\" encrypt a.txt - --key key.json >&-",
        "\"$CIPHERLOOM\" decrypt a.enc - --key key.json >&-",
    ] {
        let output = shell(folder.path(), line);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(told(&output).contains("standard output is closed"), "{line}: {}", told(&output));
    }
    // Whoever wants to discard it says so.
    let output = shell(folder.path(), "\"$CIPHERLOOM\" decrypt a.enc - --key key.json >/dev/null");
    assert!(output.status.success(), "{}", told(&output));
}

#[test]
fn a_closed_standard_input_is_no_empty_one() {
    let folder = folder();
    for line in [
        "\"$CIPHERLOOM\" encrypt - out --key key.json <&-",
        "\"$CIPHERLOOM\" encrypt - - --key key.json <&-",
        "\"$CIPHERLOOM\" verify - --key key.json <&-",
    ] {
        let output = shell(folder.path(), line);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(told(&output).contains("standard input is closed"), "{line}: {}", told(&output));
        assert!(output.stdout.is_empty() && !folder.path().join("out").exists());
    }
    let output = shell(folder.path(), "\"$CIPHERLOOM\" encrypt - out --key key.json </dev/null");
    assert!(output.status.success(), "{}", told(&output));
}

#[test]
fn a_closed_standard_error_changes_neither_outputs_nor_exit_codes() {
    let folder = folder();
    let output = shell(folder.path(), "\"$CIPHERLOOM\" decrypt a.enc - --key key.json 2>&-");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"some words".as_slice()));
    let output = shell(folder.path(), "\"$CIPHERLOOM\" decrypt a.txt b.txt --key key.json 2>&-");
    assert_eq!(output.status.code(), Some(5));
    let output = shell(folder.path(), "\"$CIPHERLOOM\" encrypt a.txt c.enc --key key.json <&- >&- 2>&-");
    assert_eq!(output.status.code(), Some(0));
    assert!(shell(folder.path(), "\"$CIPHERLOOM\" verify c.enc --key key.json").status.success());
}

#[test]
fn what_a_full_standard_output_loses_is_told_once_and_is_no_success() {
    let folder = folder();
    fs::write(folder.path().join("none.epub"), b"no book").unwrap();
    for (line, code) in [
        ("lcp check none.epub", 1),
        ("lcp check none.epub none.epub --json", 1),
        ("inspect a.enc", 1),
        ("encrypt a.txt a2.enc --key key.json --json", 1),
        ("decrypt a.enc - --key key.json", 1),
        ("man", 1),
        ("--help", 1),
    ] {
        let output = shell(folder.path(), &format!("\"$CIPHERLOOM\" {line} >/dev/full"));
        assert_eq!(output.status.code(), Some(code), "{line}: {}", told(&output));
        if line != "--help" {
            assert_eq!(told(&output).matches("No space left").count(), 1, "{line}: {}", told(&output));
        }
    }
}

/// The verdict of a sound file is all that a check gives: without it the check was none.
#[test]
fn a_verdict_that_is_lost_is_no_success() {
    let folder = folder();
    let plain = shell(folder.path(), "\"$CIPHERLOOM\" devices");
    assert!(plain.status.success());
    let lost = shell(folder.path(), "\"$CIPHERLOOM\" devices >/dev/full");
    assert_eq!(lost.status.code(), Some(1), "{}", told(&lost));
}

#[test]
fn a_fifo_is_not_waited_for() {
    let folder = folder();
    assert!(Command::new("mkfifo").arg(folder.path().join("fifo")).status().unwrap().success());
    let output = shell(folder.path(), "timeout 60 \"$CIPHERLOOM\" inspect fifo");
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("fifo: a FIFO, socket or device"), "{}", told(&output));
}

#[test]
fn no_name_acts_on_the_terminal_and_json_keeps_every_byte() {
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let names: [&[u8]; 4] = [
        b"a\x1b[31m\ncipherloom: forged",
        "fdp.\u{202e}txt".as_bytes(),
        "c1\u{9b}2J".as_bytes(),
        b"not\xffutf8",
    ];
    for name in names {
        // No Tink stream, so that each is an error.
        fs::write(tree.join(std::ffi::OsStr::from_bytes(name)), b"nothing").unwrap();
    }
    let output = shell(folder.path(), "\"$CIPHERLOOM\" decrypt tree out --key key.json");
    let text = told(&output);
    assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
    assert!(text.lines().all(|line| !line.starts_with("cipherloom: forged")), "{text:?}");
    for shown in ["a\\u{1b}[31m\\ncipherloom: forged", "fdp.\\u{202e}txt", "c1\\u{9b}2J", "not\\xffutf8"] {
        assert!(text.contains(shown), "{shown}: {text:?}");
    }
    let output = shell(folder.path(), "\"$CIPHERLOOM\" decrypt tree out2 --key key.json --json");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{text:?}");
    // tree/not\xffutf8
    assert!(text.contains(r#""source":{"bytes":"dHJlZS9ub3T/dXRmOA=="}"#), "{text}");
    assert!(text.contains(r#""source":"tree/fdp.\u202etxt""#), "{text}");
}

#[test]
fn one_cause_is_told_ten_times_and_then_counted() {
    let folder = folder();
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for number in 0..30 {
        fs::write(tree.join(format!("file-{number}")), b"nothing").unwrap();
    }
    assert!(shell(folder.path(), "\"$CIPHERLOOM\" encrypt tree out --key key.json").status.success());
    let lines = |line: &str| {
        let output = shell(folder.path(), &format!("\"$CIPHERLOOM\" encrypt tree out --key key.json {line}"));
        assert_eq!(output.status.code(), Some(1));
        let all = told(&output) + std::str::from_utf8(&output.stdout).unwrap();
        (all.matches("the output exists already").count(), all)
    };
    let (count, all) = lines("");
    assert_eq!(count, 11, "{all}");
    assert!(
        all.contains("cipherloom: 20 more files failed with the same error (use --verbose to list them): the output exists"),
        "{all}"
    );
    assert_eq!(lines("--verbose").0, 30);
    assert_eq!(lines("--json").0, 30);
}

#[test]
fn an_appended_log_is_no_closed_output() {
    let folder = folder();
    let log =
        OpenOptions::new().read(true).append(true).create(true).open(folder.path().join("log")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cipherloom"))
        .args(["decrypt", "a.enc", "-", "--key", "key.json"])
        .current_dir(folder.path())
        .stdout(log)
        .status()
        .unwrap();
    assert!(output.success());
    assert_eq!(fs::read(folder.path().join("log")).unwrap(), b"some words");
}
