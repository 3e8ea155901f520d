//! Key files that change, where keys and passphrases come from, and re-keying in place.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn command(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cipherloom"));
    command.current_dir(folder).args(arguments.split_whitespace()).stdin(Stdio::null());
    command.env("XDG_CACHE_HOME", "/nonexistent");
    command.env_remove("CIPHERLOOM_KEY").env_remove("CIPHERLOOM_PASSPHRASE");
    command
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs it and expects this exit code; returns what it said.
#[track_caller]
fn run(folder: &Path, arguments: &str, code: i32) -> String {
    let output = command(folder, arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments}: {}", told(&output));
    told(&output)
}

#[track_caller]
fn run_with_input(folder: &Path, arguments: &str, input: &[u8], code: i32) -> Output {
    let mut command = command(folder, arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments}: {}", told(&output));
    output
}

/// A folder with `books`, and `sealed` under `old.json`; `new.json` is another key.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir_all(path.join("books/letters")).unwrap();
    fs::write(path.join("books/a.txt"), "some words").unwrap();
    fs::write(path.join("books/letters/b.txt"), "more words").unwrap();
    run(path, "encrypt books sealed --new-key old.json", 0);
    run(path, "keygen -o new.json", 0);
    folder
}

fn ids(folder: &Path, file: &str) -> Vec<String> {
    let output = command(folder, &format!("keys list {file}")).output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn a_folder_is_rekeyed_in_place_and_a_second_run_skips_what_is_done() {
    let folder = folder();
    let path = folder.path();
    let rekey = "rekey sealed sealed/ -k old.json --to new.json";
    let refused = run(path, rekey, 2);
    assert!(
        refused.contains("source and destination are the same\nhint: --if-exists overwrite"),
        "{refused}"
    );
    std::os::unix::fs::symlink("a.txt", path.join("sealed/link")).unwrap();
    // One file is done already, as after a run that was stopped.
    let one = "rekey sealed/a.txt sealed -k old.json --to new.json --if-exists overwrite";
    run(path, one, 0);
    let said = run(path, &format!("{rekey} --if-exists overwrite -v"), 0);
    assert!(said.contains("sealed/a.txt: skipped, it opens with the new key"), "{said}");
    assert!(
        said.contains("re-keyed 1 file,") && said.contains("; 1 skipped (they open with the new key"),
        "{said}"
    );
    assert!(!said.contains("link"), "{said}");
    run(path, "verify sealed -k new.json", 0);
    run(path, "verify sealed -k old.json", 5);
    assert!(fs::symlink_metadata(path.join("sealed/link")).unwrap().is_symlink());
    let said = run(path, &format!("{rekey} --if-exists overwrite"), 0);
    assert!(said.contains("re-keyed 0 files; 2 skipped"), "{said}");
    run(path, "decrypt sealed opened -k new.json", 0);
    assert_eq!(fs::read_to_string(path.join("opened/letters/b.txt")).unwrap(), "more words");
}

#[test]
fn a_key_file_gets_another_key_and_everything_stays_readable() {
    let folder = folder();
    let path = folder.path();
    let old = ids(path, "old.json")[0].clone();
    fs::set_permissions(path.join("old.json"), fs::Permissions::from_mode(0o400)).unwrap();
    let before = fs::read(path.join("old.json")).unwrap();
    let said = run(path, "keys add old.json --template aes128_gcm_hkdf_4kb", 0);
    assert!(said.contains("(AES128_GCM_HKDF_4KB), which decrypts"), "{said}");
    assert!(said.contains("old.json.old: the key file as it was"), "{said}");
    assert_eq!(fs::read(path.join("old.json.old")).unwrap(), before);
    assert_eq!(fs::metadata(path.join("old.json")).unwrap().permissions().mode() & 0o777, 0o400);
    let new = ids(path, "old.json").into_iter().find(|id| *id != old).unwrap();
    let refused = run(path, &format!("keys disable old.json {old}"), 4);
    assert!(refused.contains("is the primary key"), "{refused}");
    run(path, &format!("keys promote old.json {new}"), 0);
    run(path, "verify sealed -k old.json", 0);
    // One key file is enough for moving everything to its new primary key.
    run(path, "rekey sealed sealed -k old.json --to old.json --if-exists overwrite", 0);
    run(path, &format!("keys disable old.json {old}"), 0);
    run(path, "verify sealed -k old.json", 0);
    assert!(run(path, &format!("keys promote old.json {old}"), 4).contains("is not enabled"));
    run(path, &format!("keys enable old.json {old}"), 0);
    assert!(run(path, "keys promote old.json 1", 4).contains("key 1 of the keyset is not there"));
    assert!(path.join("old.json.old.4").exists());
    run(path, "keys add /dev/null", 2);
    run(path, "keys add missing.json", 4);
}

#[test]
fn a_passphrase_is_changed_and_the_old_one_opens_the_old_file_only() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("one"), "first\n").unwrap();
    fs::write(path.join("two"), "second\n").unwrap();
    run(path, "keygen -o key.age --passphrase-file one", 0);
    // Both from standard input, line by line.
    let lines = b"first\nthird\n";
    let arguments = "keys passphrase key.age --passphrase-file - --new-passphrase-file -";
    let said = told(&run_with_input(path, arguments, lines, 0));
    assert!(said.contains("key.age: changed the passphrase"), "{said}");
    run(path, "keys list key.age --passphrase-file one", 4);
    run(path, "keys list key.age.old --passphrase-file one", 0);
    run_with_input(path, "keys add key.age --passphrase-file -", b"third\n", 0);
    let listed = run_with_input(path, "keys list key.age --passphrase-file - --json", b"third\n", 0);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["wrapped"], "passphrase");
    assert_eq!(listed["keys"].as_array().unwrap().len(), 2);
    // The variable has the old passphrase: it is not taken for the new one.
    let mut change = command(path, "keys passphrase key.age");
    let output = change.env("CIPHERLOOM_PASSPHRASE", "third").output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", told(&output));
}

#[test]
fn each_of_two_wrapped_key_files_has_its_own_passphrase() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("one"), "first\n").unwrap();
    fs::write(path.join("two"), "second\n").unwrap();
    assert!(run(path, "keys passphrase old.json --new-passphrase-file one", 0).contains("wrapped with"));
    run(path, "keygen -o new.age --passphrase-file two", 0);
    let rekey = "rekey sealed resealed -k old.json --to new.age --passphrase-file one";
    run(path, rekey, 4);
    run(path, &format!("{rekey} --to-passphrase-file two"), 0);
    let idle = run(
        path,
        "rekey sealed out -k old.json --to new.json --passphrase-file one --to-passphrase-file two",
        2,
    );
    assert!(idle.contains("--to-passphrase-file has no effect"), "{idle}");
    // One passphrase for both, from standard input, is read once.
    run(path, "keygen -o same.age --passphrase-file one", 0);
    run_with_input(path, "rekey sealed again -k old.json --to same.age --passphrase-file -", b"first\n", 0);
}

#[test]
fn the_environment_names_the_key_file_where_no_option_does() {
    let folder = folder();
    let path = folder.path();
    let with_variable = |arguments: &str, value: &str| {
        command(path, arguments).env("CIPHERLOOM_KEY", value).output().unwrap().status.code().unwrap()
    };
    assert_eq!(with_variable("verify sealed", "old.json"), 0);
    assert_eq!(with_variable("verify sealed", "new.json"), 5);
    assert_eq!(with_variable("verify sealed -k old.json", "new.json"), 0);
    assert_eq!(with_variable("verify sealed", ""), 2);
    assert_eq!(with_variable("encrypt books fresh --new-key fresh.json", "new.json"), 0);
    run(path, "verify fresh -k fresh.json", 0);
    assert!(run(path, "verify sealed", 2).contains("CIPHERLOOM_KEY"));
}

#[test]
fn a_passphrase_from_standard_input_is_its_first_line_and_the_rest_is_content() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("one"), "first\n").unwrap();
    run(path, "keygen -o key.age --passphrase-file one", 0);
    run_with_input(path, "encrypt - sealed.bin -k key.age --passphrase-file -", b"first\nthe content\n", 0);
    let opened = run_with_input(path, "decrypt sealed.bin - -k key.age --passphrase-file -", b"first\n", 0);
    assert_eq!(opened.stdout, b"the content\n");
    let empty = run_with_input(path, "decrypt sealed.bin - -k key.age --passphrase-file -", b"", 4);
    assert!(told(&empty).contains("standard input: the passphrase is empty"), "{}", told(&empty));
}
