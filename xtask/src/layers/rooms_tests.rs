//! Each rule between rooms catches what it is there for, and lets through what it allows.

use super::*;

fn broken(path: &str, text: &str) -> Vec<String> {
    let door = Source {
        path: format!("{LIBRARY}lib.rs"),
        text: "pub mod pipeline; pub use pipeline::{Run, Outcome}; pub use error::Error;".into(),
    };
    let source = Source { path: path.into(), text: text.into() };
    check(&[door, source]).into_iter().map(|violation| violation.words).collect()
}

fn in_room(file: &str, text: &str) -> Vec<String> {
    broken(&format!("{LIBRARY}{file}"), text)
}

fn catches(file: &str, text: &str, words: &str) {
    let found = in_room(file, text);
    assert!(found.iter().any(|violation| violation.contains(words)), "{file}: {text}: {found:?}");
}

#[test]
fn a_room_imports_only_what_stands_before_it() {
    catches("plan/mod.rs", "use crate::pipeline::Run;", "`plan` may not import `pipeline`");
    catches("format/tink.rs", "use crate::{key, plan::Plan};", "`format` may not import `plan`");
    catches("tree.rs", "fn f() { crate::machine::threads(); }", "`tree` may not import `machine`");
    catches("report.rs", "use crate::pipeline::Run;", "`report` may not import `pipeline`");
    assert!(
        in_room("pipeline/read.rs", "use crate::plan::Plan; use super::write; use crate::Error;").is_empty()
    );
}

#[test]
fn a_re_export_is_no_way_around() {
    catches("plan/mod.rs", "use crate::Run;", "`plan` may not import `pipeline`");
    catches("plan/mod.rs", "use super::Outcome;", "`plan` may not import `pipeline`");
    catches("plan/queue.rs", "use super::super::pipeline;", "`plan` may not import `pipeline`");
}

#[test]
fn plan_is_pure() {
    for named in ["std::fs::metadata(p)", "std::time::Instant::now()", "std::env::var(v)"] {
        catches("plan/mod.rs", &format!("fn f() {{ {named}; }}"), "`plan` is pure");
    }
    catches("plan/mod.rs", "use std::{thread, fmt};", "only `pipeline` runs threads");
    assert!(
        in_room("plan/mod.rs", "use std::{fmt, collections::BTreeMap}; use crate::tree::Entry;").is_empty()
    );
}

#[test]
fn format_never_sees_a_path() {
    catches("format/mod.rs", "fn open(path: &Path) {}", "`format` never sees a path");
    catches("format/raw.rs", "use std::path::PathBuf;", "`format` never sees a path");
    catches("format/raw.rs", "use std::fs;", "no files, no clock");
    assert!(in_room("format/mod.rs", "/// A Path.\nfn open(head: &[u8]) {}").is_empty());
}

#[test]
fn only_pipeline_opens_content_files_and_runs_threads() {
    catches("tree/mod.rs", "fn f() { std::fs::File::open(p); }", "only `pipeline` opens content files");
    catches("report.rs", "use std::fs::OpenOptions;", "only `pipeline` opens content files");
    catches("tree/mod.rs", "fn f() { std::fs::read(p); }", "only `pipeline` opens content files");
    catches("machine.rs", "fn f() { std::thread::spawn(g); }", "only `pipeline` runs threads");
    assert!(in_room("machine/measure.rs", "fn f() { std::thread::spawn(g); }").is_empty());
    assert!(in_room("machine.rs", "fn f() { std::thread::available_parallelism(); }").is_empty());
    assert!(in_room("tree/mod.rs", "fn f() { std::fs::read_dir(p); }").is_empty());
    assert!(in_room("pipeline/pool.rs", "use std::{thread, fs::File};").is_empty());
}

#[test]
fn only_key_format_and_pipeline_touch_secrets() {
    catches("report.rs", "use zeroize::Zeroizing;", "touch secrets");
    catches("tree/mod.rs", "use crate::key::Keyset;", "touch secrets");
    assert!(in_room("key/wrapped.rs", "use zeroize::Zeroizing; use crate::Error;").is_empty());
}

#[test]
fn a_new_room_needs_a_decision() {
    catches("attic.rs", "", "`attic` is not a room");
}

#[test]
fn kernels_have_no_files_no_clock_no_threads() {
    for named in
        ["std::fs::read(p)", "std::time::Instant::now()", "std::thread::spawn(f)", "cipherloom::run()"]
    {
        let found = broken(&format!("{KERNELS}ctr.rs"), &format!("fn f() {{ {named}; }}"));
        assert!(found.iter().any(|words| words.contains("only computes")), "{named}: {found:?}");
    }
    assert!(broken(&format!("{KERNELS}ctr.rs"), "use core::arch::x86_64::__m128i;").is_empty());
}

#[test]
fn long_integers_have_threads_but_no_files_and_no_clock() {
    let found = broken(&format!("{BIGNUM}serial.rs"), "use std::time::Instant; use std::fs;");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(broken(&format!("{BIGNUM}threads/pool.rs"), "use std::thread;").is_empty());
}

#[test]
fn tests_may_look_anywhere() {
    assert!(in_room("plan/mod.rs", "#[cfg(test)] mod tests { use std::fs; }").is_empty());
    assert!(in_room("plan/tests.rs", "use std::fs;").is_empty());
}
