//! What a run reads: lists of files, several sources; and what it says of what was dropped.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs it with this standard input and expects this exit code; returns what it said.
#[track_caller]
fn run(folder: &Path, arguments: &str, input: &[u8], code: i32) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cipherloom"));
    command.current_dir(folder).args(arguments.split_whitespace()).env("XDG_CACHE_HOME", "/nonexistent");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that reads no input may have ended.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments}: {}", told(&output));
    output
}

/// The files below a folder, sorted.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir_all(path.join("books/letters")).unwrap();
    for name in ["books/a.txt", "books/letters/b.txt", "books/letters/new\nline", "c.txt"] {
        fs::write(path.join(name), "some words").unwrap();
    }
    run(path, "keygen -o key.json", b"", 0);
    folder
}

#[test]
fn a_list_names_the_files() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("list"), "./letters/b.txt\n\na.txt\n").unwrap();
    run(path, "encrypt books one -k key.json --files-from list", b"", 0);
    assert_eq!(files(&path.join("one")), ["a.txt", "letters/b.txt"]);
    // As from `find -print0`, over standard input.
    let zeros = b"letters/new\nline\0a.txt\0";
    run(path, "encrypt books two -k key.json --files-from0 - --exclude *.txt", zeros, 0);
    assert_eq!(files(&path.join("two")), ["letters/new\nline"]);
    let missing = run(path, "encrypt books three -k key.json --files-from -", b"a.txt\nnone\n../c.txt\n", 3);
    assert!(told(&missing).contains("books/none: "), "{}", told(&missing));
    assert!(told(&missing).contains("2 FAILED"), "{}", told(&missing));
    assert_eq!(files(&path.join("three")), ["a.txt"]);
    run(path, "verify one -k key.json --files-from -", b"a.txt\n", 0);
    for arguments in [
        "encrypt c.txt out -k key.json --files-from list",
        "encrypt - out -k key.json --files-from list",
        "encrypt s3://bucket/x out -k key.json --files-from list",
        "encrypt books c.txt out -k key.json --files-from list",
        "encrypt books out -k key.json --files-from list --files-from0 list",
    ] {
        run(path, arguments, b"", 2);
    }
    assert!(!path.join("out").exists());
}

#[test]
fn several_sources_go_to_a_folder_that_is_there() {
    let folder = folder();
    let path = folder.path();
    let refused = run(path, "encrypt books c.txt out -k key.json", b"", 2);
    assert!(told(&refused).contains("out: several sources need an existing folder"), "{}", told(&refused));
    fs::create_dir(path.join("out")).unwrap();
    run(path, "encrypt books/ c.txt ./c.txt out -k key.json --bind-path", b"", 0);
    assert_eq!(
        files(&path.join("out")),
        ["books/a.txt", "books/letters/b.txt", "books/letters/new\nline", "c.txt"]
    );
    run(path, "verify out/books out/c.txt -k key.json --bind-path", b"", 0);
    fs::create_dir(path.join("back")).unwrap();
    run(path, "decrypt out/books out/c.txt back -k key.json --bind-path", b"", 0);
    assert_eq!(fs::read_to_string(path.join("back/books/a.txt")).unwrap(), "some words");
    // What is missing fails by itself.
    fs::create_dir(path.join("most")).unwrap();
    let missing = run(path, "encrypt books none most -k key.json", b"", 3);
    assert!(told(&missing).contains("./none: "), "{}", told(&missing));
    for arguments in [
        "encrypt books c.txt books -k key.json",
        "encrypt books c.txt . -k key.json",
        "encrypt books c.txt . -k key.json --if-exists overwrite",
        "encrypt books books/a.txt most -k key.json",
        "encrypt books - most -k key.json",
        "encrypt books s3://bucket/x most -k key.json",
        "encrypt books .. most -k key.json",
    ] {
        assert!(!told(&run(path, arguments, b"", 2)).is_empty());
    }
    assert_eq!(fs::read_to_string(path.join("c.txt")).unwrap(), "some words");
    // In place, too.
    run(path, "keygen -o new.json", b"", 0);
    let rekey = "rekey out/books out/c.txt out -k key.json --to new.json --bind-path --if-exists overwrite";
    run(path, rekey, b"", 0);
    run(path, "verify out -k new.json --bind-path", b"", 0);
}

#[test]
fn a_suffix_that_would_stay_is_hinted_at() {
    let folder = folder();
    let path = folder.path();
    run(path, "encrypt books sealed -k key.json --suffix .enc", b"", 0);
    let hinted = run(path, "decrypt sealed one -k key.json", b"", 0);
    assert!(told(&hinted).starts_with("hint: every name ends in .enc"), "{}", told(&hinted));
    for arguments in ["decrypt sealed two -k key.json --suffix .enc", "decrypt sealed three -k key.json -q"] {
        assert!(!told(&run(path, arguments, b"", 0)).contains("hint"), "{arguments}");
    }
}

#[test]
fn what_is_not_carried_over_is_counted() {
    let folder = folder();
    let path = folder.path();
    fs::hard_link(path.join("books/a.txt"), path.join("books/twin.txt")).unwrap();
    File::create(path.join("books/sparse")).unwrap().set_len(1 << 20).unwrap();
    let said = told(&run(path, "encrypt books sealed -k key.json", b"", 0));
    assert!(said.contains("; not carried over: 2 hard links, 1 file with holes"), "{said}");
    let output = run(path, "encrypt books again -k key.json --json", b"", 0);
    let text = String::from_utf8(output.stdout).unwrap();
    let summary: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(
        summary["dropped"],
        serde_json::json!({ "owners": 0, "hard_links": 2, "holes": 1, "set_id": 0 })
    );
    assert!(!told(&run(path, "verify sealed -k key.json", b"", 0)).contains("carried"));
    // In place, the file itself loses it.
    fs::hard_link(path.join("sealed/a.txt"), path.join("outside")).unwrap();
    run(path, "keygen -o new.json", b"", 0);
    let rekey = "rekey sealed sealed -k key.json --to new.json --if-exists overwrite";
    let said = told(&run(path, rekey, b"", 0));
    assert!(said.contains("; not carried over: 1 hard link"), "{said}");
    assert!(!told(&run(path, "rekey sealed other -k new.json --to key.json", b"", 0)).contains("carried"));
}
