//! Signals in the midst of things: what is half written leaves no trace, the words say how to go on, and the exit code
//! says which signal it was.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Signals with how a command ends at them.
const SIGNALS: [(&str, i32, &str); 3] =
    [("INT", 130, "stopped;"), ("TERM", 143, "stopped by SIGTERM;"), ("HUP", 129, "stopped by SIGHUP;")];

/// The command, with no signal ignored: what starts the tests may ignore some (`nohup`, a shell's `&`).
fn cipherloom(folder: &Path, line: &str) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_cipherloom")]);
    command.args(line.split(' ')).current_dir(folder).stdin(Stdio::null()).stderr(Stdio::piped());
    command.env("XDG_CACHE_HOME", "/nonexistent");
    command
}

/// Whether the process hears this signal (`/proc/PID/status`, `SigCgt`).
fn hears(child: &Child, signal: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 1 << (signal - 1) != 0
}

fn wait_until(child: &mut Child, what: &str, is_true: impl Fn(&Child) -> bool) {
    let start = Instant::now();
    while !is_true(child) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself before {what}");
        assert!(start.elapsed() < Duration::from_secs(60), "waited a minute for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// The end of a process that should end soon.
fn end(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

fn assert_stopped(output: &Output, code: i32, begin: &str, done: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{told}");
    assert_eq!(told.matches("stopped").count(), 1, "one message: {told}");
    assert!(told.contains(&format!("cipherloom: {begin}")) || told.contains(begin), "{told}");
    assert!(told.contains(done), "{told}");
}

#[test]
fn a_signal_stops_a_tree_and_says_how_to_go_on() {
    for (signal, code, begin) in SIGNALS {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::create_dir(&source).unwrap();
        // Without blocks on the disk; the largest is first, and the others take far longer than it.
        File::create(source.join("first")).unwrap().set_len(65 << 20).unwrap();
        for number in 0..OTHERS {
            File::create(source.join(number.to_string())).unwrap().set_len(64 << 20).unwrap();
        }
        let line = "encrypt source sealed --new-key key.json --threads 1";
        let mut child = cipherloom(folder.path(), line).spawn().unwrap();
        let first = folder.path().join("sealed/first");
        wait_until(&mut child, "one output is complete", |_| first.exists());
        send(&child, signal);
        let output = end(child);
        assert_stopped(
            &output,
            code,
            begin,
            "run again with --key FILE --if-exists skip in place of --new-key",
        );
        assert!(folder.path().join("key.json").exists(), "the key of what stands");
        let left: Vec<_> = fs::read_dir(folder.path().join("sealed")).unwrap().map(Result::unwrap).collect();
        assert!((1..OTHERS).contains(&left.len()), "{left:?}");
        assert!(left.iter().all(|entry| source.join(entry.file_name()).exists()), "{left:?}");
        let opened = cipherloom(folder.path(), "verify sealed --key key.json").output().unwrap();
        assert!(opened.status.success(), "{}", String::from_utf8_lossy(&opened.stderr));
    }
}

/// Files of the tree that is stopped, but for the first.
const OTHERS: usize = 50;

#[test]
fn a_signal_stops_the_protection_of_books() {
    for (signal, code, begin) in SIGNALS {
        let folder = tempfile::tempdir().unwrap();
        let books = folder.path().join("books");
        fs::create_dir(&books).unwrap();
        for number in 0..OTHERS {
            let mut book = File::create(books.join(format!("{number}.pdf"))).unwrap();
            book.write_all(b"%PDF-1.7\n").unwrap();
            book.set_len(32 << 20).unwrap();
        }
        let line = "lcp encrypt books --out out --key-file keys.jsonl --jobs 1";
        let mut child = cipherloom(folder.path(), line).spawn().unwrap();
        let out = folder.path().join("out");
        let complete = || fs::read_dir(&out).map_or(0, |entries| entries.count());
        wait_until(&mut child, "one book is complete", |_| complete() > 0);
        send(&child, signal);
        let output = end(child);
        assert_stopped(&output, code, begin, "to resume, run again with --if-exists skip");
        assert!((1..OTHERS).contains(&complete()), "{}", complete());
        let summary =
            String::from_utf8_lossy(&output.stderr).contains(&format!("protected {} book", complete()));
        assert!(summary, "{}", String::from_utf8_lossy(&output.stderr));
        let records = fs::read_to_string(folder.path().join("keys.jsonl")).unwrap();
        assert!(records.lines().count() >= complete(), "every book has its key");
    }
}

#[test]
fn a_signal_ends_the_wait_for_standard_input() {
    for (signal, code, begin) in SIGNALS {
        for (line, done) in [
            ("encrypt - out --new-key key.json", "nothing was written"),
            ("encrypt - - --new-key key.json", "the output may be incomplete; discard it"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut command = cipherloom(folder.path(), line);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(b"words").unwrap();
            // It has read all there is, and waits for more.
            wait_until(&mut child, "it reads", |_| rustix::io::ioctl_fionread(&stdin).unwrap() == 0);
            send(&child, signal);
            let output = end(child);
            assert_stopped(&output, code, begin, done);
            let left: Vec<_> =
                fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert!(left.iter().all(|name| name == "key.json"), "{line}: {left:?}");
            assert_eq!(left.len(), usize::from(line.starts_with("encrypt - -")), "no key of nothing");
            drop(stdin);
        }
    }
}

/// Whoever starts a program with `nohup` wants it to outlive the terminal.
#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let made = cipherloom(folder.path(), "keygen -o key.json").output().unwrap();
    assert!(made.status.success());
    let line = format!("trap '' HUP; exec {} encrypt - out --key key.json", env!("CARGO_BIN_EXE_cipherloom"));
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(folder.path()).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn().unwrap();
    wait_until(&mut child, "it hears SIGTERM", |child| hears(child, 15));
    assert!(!hears(&child, 1));
    send(&child, "HUP");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"words").unwrap();
    drop(stdin);
    let output = end(child);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A run that cannot stop by itself at once, since nobody reads what it has to say.
#[test]
fn a_second_signal_ends_a_run_whose_messages_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    // Verbose lines for more than a pipe holds.
    let long = "x".repeat(200);
    for number in 0..1000 {
        fs::write(source.join(format!("{long}-{number}")), b"").unwrap();
    }
    let mut child = cipherloom(folder.path(), "encrypt source sealed --new-key key.json -v").spawn().unwrap();
    let mut stderr: ChildStderr = child.stderr.take().unwrap();
    stderr.read_exact(&mut [0; 10]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    // Two that come before the process has run count as one.
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(60), "signals do not end it");
        send(&child, "TERM");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(child.wait().unwrap().code(), Some(143));
    drop(stderr);
}
