//! What the command says that is built as the README's first command builds it, without the parts that take long to build: how
//! to get them.
#![cfg(not(any(feature = "notify", feature = "stores")))]

use std::process::Command;

fn assert_refused(arguments: &[&str], words: [&str; 2]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("book.pdf"), "%PDF-1.7\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cipherloom"));
    let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(words.iter().all(|words| told.contains(words)), "{told}");
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["book.pdf"], "nothing was written");
}

#[test]
fn a_bucket_is_refused() {
    let words = ["no object stores", "--features stores"];
    assert_refused(&["encrypt", "book.pdf", "s3://bucket/book", "--new-key", "key.json"], words);
    assert_refused(&["decrypt", "s3://bucket/book", "out", "--key", "key.json"], words);
}

#[test]
fn a_license_server_is_refused_before_a_book_is_protected() {
    let words = ["cannot notify license servers", "--features notify"];
    let notify = ["--notify", "https://lcp.example.com", "--notify-version", "v1"];
    assert_refused(&[&["lcp", "encrypt", "book.pdf", "--out", "out"], &notify[..]].concat(), words);
}
