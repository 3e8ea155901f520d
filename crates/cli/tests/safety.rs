//! Keys and trees that would be lost, mixed or left open without a word: the command refuses, or says what it does.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A folder with `books` (three files), `key.json`, `other.json` and `sealed`, which is `books` under `key.json`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let books = folder.path().join("books");
    fs::create_dir_all(books.join("letters")).unwrap();
    for (name, words) in [("one", "some words"), ("two", ""), ("letters/three", "others")] {
        fs::write(books.join(name), words).unwrap();
    }
    for arguments in ["keygen -o key.json", "keygen -o other.json", "encrypt books sealed --key key.json"] {
        succeed(&folder, arguments);
    }
    folder
}

fn run(folder: &tempfile::TempDir, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cipherloom"));
    command.current_dir(folder.path()).args(arguments.split_whitespace()).stdin(Stdio::null());
    command.env("XDG_CACHE_HOME", "/nonexistent").env_remove("CIPHERLOOM_PASSPHRASE");
    command.output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn succeed(folder: &tempfile::TempDir, arguments: &str) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", told(&output));
    told(&output)
}

#[track_caller]
fn refused(folder: &tempfile::TempDir, arguments: &str, code: i32, words: &str) {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {}", told(&output));
    assert!(told(&output).contains(words), "{arguments}: {}", told(&output));
}

fn exists(folder: &tempfile::TempDir, path: &str) -> bool {
    folder.path().join(path).exists()
}

fn write_secret(path: &Path, contents: &[u8], mode: u32) {
    fs::write(path, contents).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn one_tree_is_not_put_under_two_keys() {
    let folder = folder();
    fs::write(folder.path().join("books/new"), "more").unwrap();
    let words = "encrypted with another key; refusing to mix keys in the destination";
    for arguments in [
        "encrypt books sealed --key other.json --if-exists skip",
        "encrypt books sealed --key other.json --if-exists skip --dry-run",
        "encrypt books sealed --key other.json",
        "encrypt books sealed --new-key fresh.json",
        "encrypt key.json sealed/ --key other.json",
    ] {
        refused(&folder, arguments, 4, words);
        assert!(!exists(&folder, "sealed/new") && !exists(&folder, "fresh.json"), "{arguments}");
    }
    // Below another path of the same tree, and with the paths bound.
    refused(&folder, "rekey sealed/letters sealed --key key.json --to other.json", 2, "inside");
    succeed(&folder, "rekey sealed resealed --key key.json --to other.json");
    refused(&folder, "rekey sealed resealed --key key.json --to key.json --if-exists skip", 4, words);
    // What replaces every file, and who insists.
    succeed(&folder, "encrypt books resealed --key key.json --if-exists overwrite");
    succeed(&folder, "encrypt books sealed --key other.json --if-exists skip --allow-mixed-keys");
    assert!(exists(&folder, "sealed/new"));
    // A file that is named as output may have neighbours under other keys.
    succeed(&folder, "encrypt books/one sealed/named --key other.json");
    refused(&folder, "encrypt books/one sealed/one --key other.json --if-exists skip", 4, words);
}

#[test]
fn a_new_key_lies_outside_of_both_trees() {
    let folder = folder();
    fs::create_dir(folder.path().join("out")).unwrap();
    std::os::unix::fs::symlink("books", folder.path().join("link")).unwrap();
    for (path, words) in [
        ("books/k.json", "inside SRC"),
        ("books/letters/../k.json", "inside SRC"),
        ("link/k.json", "inside SRC"),
        ("out/k.json", "inside DST"),
        ("nowhere/k.json", "inside DST"),
    ] {
        let destination = if path.starts_with("nowhere") { "nowhere" } else { "out" };
        refused(&folder, &format!("encrypt books {destination} --new-key {path}"), 2, words);
        assert!(!exists(&folder, path), "{path}");
    }
    // Beside a file that is named as output is where a key usually lies.
    succeed(&folder, "encrypt books/one one.enc --new-key beside.json");
}

#[test]
fn secrets_in_the_trees_are_warned_of() {
    let folder = folder();
    fs::copy(folder.path().join("key.json"), folder.path().join("books/key.json")).unwrap();
    let told = succeed(&folder, "encrypt books again --key books/key.json");
    assert!(told.contains("warning: books/key.json: the key file is inside SRC"), "{told}");
    fs::rename(folder.path().join("books/key.json"), folder.path().join("again/key.json")).unwrap();
    let told = succeed(&folder, "encrypt books again --key again/key.json --if-exists skip");
    assert!(told.contains("warning: again/key.json: the key file is inside DST"), "{told}");
    fs::create_dir(folder.path().join("new")).unwrap();
    fs::copy(folder.path().join("other.json"), folder.path().join("new/other.json")).unwrap();
    let told = succeed(&folder, "rekey sealed new --key key.json --to new/other.json");
    assert!(told.contains("warning: new/other.json: the key file of --to is inside DST"), "{told}");
    let told = succeed(&folder, "keygen -o sealed/another.json");
    assert!(told.contains("warning: sealed/another.json: this folder holds encrypted files"), "{told}");
    write_secret(&folder.path().join("words"), b"correct horse\n", 0o600);
    let told = succeed(&folder, "keygen -o sealed/wrapped.age --passphrase-file words");
    assert!(!told.contains("warning"), "{told}");
    let told = succeed(&folder, "keygen -o books/key.json");
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn a_key_of_the_environment_is_warned_of_too() {
    let folder = folder();
    fs::copy(folder.path().join("key.json"), folder.path().join("books/key.json")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cipherloom"));
    command.current_dir(folder.path()).args(["encrypt", "books", "again"]).stdin(Stdio::null());
    let output = command.env("CIPHERLOOM_KEY", "books/key.json").output().unwrap();
    let warning = "warning: books/key.json: the key file is inside SRC";
    assert!(output.status.success() && told(&output).contains(warning), "{}", told(&output));
}

#[test]
fn no_output_replaces_a_secret_of_the_run() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    write_secret(&at("words"), b"correct horse\n", 0o600);
    succeed(&folder, "keygen -o wrapped.age --passphrase-file words");
    fs::hard_link(at("key.json"), at("hard")).unwrap();
    std::os::unix::fs::symlink("key.json", at("soft")).unwrap();
    succeed(&folder, "encrypt books/one one.enc --key key.json");
    let before = ["key.json", "other.json", "words", "wrapped.age"].map(|name| fs::read(at(name)).unwrap());
    for (arguments, what) in [
        ("encrypt books/one k.json --new-key k.json", "k.json: the output would replace the new key"),
        ("encrypt - books/../k.json --new-key k.json", "would replace the new key"),
        ("encrypt books/one key.json --key key.json", "key.json: the output would replace the key file"),
        ("encrypt - key.json --key key.json", "would replace the key file"),
        ("encrypt books/one hard --key key.json", "would replace the key file"),
        ("encrypt books/one soft --key key.json", "would replace the key file"),
        ("encrypt books/one words --key wrapped.age --passphrase-file words", "the passphrase file"),
        ("decrypt one.enc key.json --key key.json", "would replace the key file"),
        ("decrypt - key.json --key key.json", "would replace the key file"),
        ("rekey one.enc other.json --key key.json --to other.json", "the key file of --to"),
    ] {
        refused(&folder, &format!("{arguments} --if-exists overwrite"), 2, what);
        assert!(!exists(&folder, "k.json"), "{arguments}");
    }
    // In a folder, too.
    fs::create_dir_all(at("named/letters")).unwrap();
    fs::write(at("named/letters/key.json"), "words").unwrap();
    fs::create_dir_all(at("keys/letters")).unwrap();
    fs::copy(at("key.json"), at("keys/letters/key.json")).unwrap();
    let encrypt = "encrypt named keys --key keys/letters/key.json --if-exists overwrite";
    let words = "keys/letters/key.json: the output would replace the key file";
    refused(&folder, encrypt, 2, words);
    succeed(&folder, &format!("{encrypt} --suffix .enc"));
    // A link that is copied, too.
    fs::remove_file(at("named/letters/key.json")).unwrap();
    std::os::unix::fs::symlink("words", at("named/letters/key.json")).unwrap();
    refused(&folder, &format!("{encrypt} --suffix .enc --links copy"), 2, words);
    let after = ["key.json", "other.json", "words", "wrapped.age"].map(|name| fs::read(at(name)).unwrap());
    assert_eq!(before, after);
    assert_eq!(before[0], fs::read(at("keys/letters/key.json")).unwrap());
}

#[test]
fn a_dry_run_says_and_exits_what_the_run_would() {
    let folder = folder();
    fs::write(folder.path().join("books/new"), "more").unwrap();
    for (if_exists, code, words) in [
        ("skip", 0, "skips     3 files, whose outputs exist"),
        ("fail", 3, "fails     3 files"),
        ("overwrite", 0, "files     4 files"),
    ] {
        let command = format!("encrypt books sealed --key key.json --if-exists {if_exists}");
        let output = run(&folder, &format!("{command} --dry-run -v"));
        let printed = String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{if_exists}: {printed}");
        assert!(printed.contains(words), "{printed}");
        assert!(printed.contains("books/new -> sealed/new"), "{printed}");
        assert_eq!(printed.contains("books/one -> sealed/one"), if_exists == "overwrite", "{printed}");
        let exists = "sealed/one: the output exists already";
        assert_eq!(told(&output).contains(exists), if_exists == "fail", "{}", told(&output));
        let real = run(&folder, &command);
        assert_eq!(real.status.code(), Some(code), "{if_exists}: {}", told(&real));
        let _ = fs::remove_file(folder.path().join("sealed/new"));
    }
    fs::remove_file(folder.path().join("books/new")).unwrap();
    for arguments in ["encrypt books sealed --key key.json", "encrypt books/one sealed/one --key key.json"] {
        refused(&folder, &format!("{arguments} --dry-run"), 1, "the output exists already");
    }
    let output = run(&folder, "decrypt sealed books --key key.json --if-exists skip --dry-run --json");
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&plan["skipped"], &plan["failed"], &plan["entries"]), (&3.into(), &0.into(), &0.into()));
    refused(&folder, "decrypt sealed opened --key key.json --suffix .enc --dry-run", 1, "does not end in");
}

#[test]
fn nothing_to_encrypt_is_no_success() {
    let folder = folder();
    let words = "books: there is nothing to be encrypted";
    refused(&folder, "encrypt books out --key key.json --include typo -q", 1, words);
    refused(&folder, "encrypt books out --new-key fresh.json --include typo", 1, words);
    assert!(!exists(&folder, "fresh.json") && !exists(&folder, "out"));
    fs::create_dir(folder.path().join("empty")).unwrap();
    refused(&folder, "encrypt empty out --key key.json", 1, "there is nothing to be encrypted");
    for command in ["encrypt empty out", "decrypt empty out", "verify empty"] {
        succeed(&folder, &format!("{command} --key key.json --allow-empty"));
    }
}

#[test]
fn a_raw_decryption_of_other_formats_is_refused() {
    let folder = folder();
    write_secret(&folder.path().join("raw.hex"), b"000102030405060708090a0b0c0d0e0f\n", 0o600);
    write_secret(&folder.path().join("words"), b"correct horse\n", 0o600);
    let raw = "--format raw --cipher aes-128-ctr --raw-key raw.hex";
    refused(&folder, &format!("decrypt sealed out {raw}"), 2, "begins as a Tink stream does");
    refused(&folder, &format!("decrypt sealed/one out.txt {raw}"), 2, "insist with --assume-raw");
    succeed(&folder, &format!("decrypt sealed/one out.txt {raw} --assume-raw"));
    let openssl = "--format openssl --cipher aes-128-ctr --passphrase-file words --pbkdf2-iterations 1000";
    succeed(&folder, &format!("encrypt books ssl {openssl}"));
    for raw in [raw.to_owned(), format!("{raw} --iv {}", "00".repeat(16))] {
        refused(&folder, &format!("decrypt ssl/one out {raw}"), 5, "which --format openssl opens");
        refused(&folder, &format!("decrypt ssl/one - {raw}"), 5, "which --format openssl opens");
    }
    succeed(&folder, "keygen -o key.age --passphrase-file words");
    refused(&folder, &format!("decrypt key.age out {raw}"), 5, "age file");
    succeed(&folder, &format!("encrypt books really-raw {raw}"));
    let told = succeed(&folder, &format!("decrypt really-raw opened {raw}"));
    assert!(!told.contains("Tink"), "{told}");
}

#[test]
fn openssl_gets_many_iterations_and_says_how_to_read_them() {
    let folder = folder();
    write_secret(&folder.path().join("words"), b"correct horse\n", 0o600);
    let cbc = "--format openssl --cipher aes-256-cbc --passphrase-file words";
    let told = succeed(&folder, &format!("encrypt books/one one.enc {cbc}"));
    let line = "openssl enc -d -aes-256-cbc -pbkdf2 -iter 600000 -in FILE";
    assert!(told.contains(line), "{told}");
    succeed(&folder, &format!("decrypt one.enc one.txt {cbc}"));
    assert_eq!(fs::read(folder.path().join("one.txt")).unwrap(), b"some words");
    let told = succeed(&folder, &format!("encrypt books/one few.enc {cbc} --pbkdf2-iterations 10000"));
    assert!(told.contains("warning: 10000 iterations"), "{told}");
    assert!(told.contains("-iter 10000"), "{told}");
    succeed(&folder, &format!("decrypt few.enc few.txt {cbc} --pbkdf2-iterations 10000"));
    let told = succeed(&folder, &format!("encrypt books/one quiet.enc {cbc} --quiet"));
    assert_eq!(told, "");
    let ctr = cbc.replace("cbc", "ctr");
    succeed(&folder, &format!("encrypt books/one ctr.enc {ctr}"));
    refused(&folder, &format!("decrypt ctr.enc ctr.txt {ctr}"), 2, "cannot tell a wrong number");
    succeed(&folder, &format!("decrypt ctr.enc ctr.txt {ctr} --pbkdf2-iterations 600000"));
}

#[test]
fn another_key_than_expected_is_refused() {
    let folder = folder();
    let made = succeed(&folder, "keygen -o mine.json");
    let fingerprint = made.split("fingerprint ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    assert_eq!(fingerprint.len(), 32, "{made}");
    let inspected = run(&folder, "inspect mine.json");
    assert!(String::from_utf8(inspected.stdout).unwrap().contains(&fingerprint));
    let inspected = run(&folder, "inspect mine.json --json");
    let told: serde_json::Value = serde_json::from_slice(&inspected.stdout).unwrap();
    assert_eq!(told["findings"][0]["fingerprint"], fingerprint.as_str());
    let upper = fingerprint.to_uppercase();
    succeed(&folder, &format!("encrypt books mine --key mine.json --expect-key {upper}"));
    let words = "holds another key than expected";
    refused(&folder, &format!("encrypt books out --key other.json --expect-key {fingerprint}"), 4, words);
    refused(&folder, &format!("decrypt sealed out --key key.json --expect-key {fingerprint}"), 4, words);
    refused(
        &folder,
        &format!("rekey mine out --key mine.json --to other.json --expect-key {fingerprint}"),
        4,
        words,
    );
    refused(&folder, "verify mine --key mine.json --expect-key 1234", 2, "is no fingerprint");
    refused(
        &folder,
        &format!("encrypt books out --new-key n.json --expect-key {fingerprint}"),
        2,
        "leave it out",
    );
    assert!(!exists(&folder, "out") && !exists(&folder, "n.json"));
    // Wrapping does not change it.
    write_secret(&folder.path().join("words"), b"correct horse\n", 0o600);
    let made = succeed(&folder, "keygen -o wrapped.age --passphrase-file words");
    let fingerprint = made.split("fingerprint ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let key = format!("--key wrapped.age --passphrase-file words --expect-key {fingerprint}");
    succeed(&folder, &format!("encrypt books out {key}"));
}

#[test]
fn small_things_are_said_rightly() {
    let folder = folder();
    // A passphrase file from Windows.
    write_secret(&folder.path().join("crlf"), b"correct horse\r\n", 0o600);
    write_secret(&folder.path().join("lf"), b"correct horse\n", 0o600);
    let told = succeed(&folder, "keygen -o wrapped.age --passphrase-file crlf");
    assert!(
        told.contains("warning: crlf: the carriage return at the end of the first line is not part"),
        "{told}"
    );
    // Others may read a wrapped key: that is what it is wrapped for.
    fs::set_permissions(folder.path().join("wrapped.age"), Permissions::from_mode(0o644)).unwrap();
    let told = succeed(&folder, "encrypt books wrapped --key wrapped.age --passphrase-file lf");
    assert!(!told.contains("warning"), "{told}");
    fs::set_permissions(folder.path().join("key.json"), Permissions::from_mode(0o644)).unwrap();
    let told = succeed(&folder, "verify sealed --key key.json");
    assert!(told.contains("warning: key.json: others may read"), "{told}");
    // Verification copies nothing, and so no links.
    std::os::unix::fs::symlink("one", folder.path().join("sealed/link")).unwrap();
    let told = succeed(&folder, "verify sealed --key key.json");
    assert!(told.contains("1 link passed over") && !told.contains("--links"), "{told}");
    // Standard input has no name to get in a folder.
    for destination in ["sealed", "nowhere/"] {
        for more in ["", " --if-exists overwrite"] {
            refused(
                &folder,
                &format!("encrypt - {destination} --key key.json{more}"),
                2,
                "name a file in it",
            );
        }
    }
    refused(&folder, "encrypt books http://example.org/x --key key.json", 2, "http:// is not a known scheme");
    refused(&folder, "encrypt https:/example.org/x out --key key.json", 2, "https:// is not a known scheme");
    // What a killed run left is no content.
    fs::write(folder.path().join("books/.cipherloom-0123456789abcdef"), "half").unwrap();
    let told = succeed(&folder, "encrypt books out --key key.json");
    assert!(told.contains("1 leftover of killed runs passed over"), "{told}");
    assert!(!exists(&folder, "out/.cipherloom-0123456789abcdef"));
}

#[test]
fn a_damaged_identity_is_called_so() {
    let folder = folder();
    let recipient = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
    succeed(&folder, &format!("keygen -o theirs.age --recipient {recipient}"));
    let mut locked = fs::File::create(folder.path().join("identity")).unwrap();
    locked.write_all(b"-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n").unwrap();
    refused(
        &folder,
        "verify sealed --key theirs.age --identity identity",
        4,
        "identity: not an age identity: it is encrypted, and damaged",
    );
}
