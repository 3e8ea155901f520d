//! Ctrl-C in the midst of a tree: what is half written leaves no trace, and the words say how to go on.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Whether the process hears SIGINT (`/proc/PID/status`, `SigCgt`).
fn hears(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 1 << (2 - 1) != 0
}

#[test]
fn ctrl_c_stops_a_tree_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("small"), b"done before").unwrap();
    // Without blocks on the disk, and far more than is written before the signal.
    File::create(source.join("large")).unwrap().set_len(64 << 30).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_cipherloom"))
        .args(["encrypt", "source", "sealed", "--new-key", "key.json", "--threads", "1"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !hears(&child) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(50));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("stopped; what was complete stands; run again with --if-exists skip"), "{told}");
    assert!(folder.path().join("key.json").exists(), "the key of what stands");
    for entry in fs::read_dir(folder.path().join("sealed")).unwrap() {
        assert_eq!(entry.unwrap().file_name(), "small");
    }
}
