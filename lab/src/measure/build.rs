//! What was run: compiler, commit, and the versions of the libraries that are measured.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::process::Command;

/// The program that made a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The Rust compiler.
    pub compiler: String,
    /// The commit that is checked out; empty outside of a repository.
    pub commit: String,
    /// Whether files differed from the commit.
    pub uncommitted_changes: bool,
    /// Whether debug assertions were on: such times are worth nothing.
    pub is_debug: bool,
    /// Libraries and programs that are measured, with their versions.
    pub versions: BTreeMap<String, String>,
}

/// Crates that are measured, or whose code is in what is.
const CRATES: [&str; 8] =
    ["aes", "aws-lc-rs", "aws-lc-sys", "ring", "rayon", "num-bigint", "crypto-bigint", "cipherloom"];

/// Records are no part of the program: one that was just written must not make the next one dirty.
const STATUS: [&str; 5] = ["status", "--porcelain", "--", ".", ":!*/records/*.json"];

impl Build {
    /// Looks at this build.
    #[must_use]
    pub fn read() -> Build {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let git = |arguments: &[&str]| said(Command::new("git").current_dir(root).args(arguments));
        Build {
            compiler: said(Command::new("rustc").current_dir(root).arg("--version")),
            commit: git(&["rev-parse", "HEAD"]),
            uncommitted_changes: !git(&STATUS).is_empty(),
            is_debug: cfg!(debug_assertions),
            versions: locked(include_str!("../../Cargo.lock"), &CRATES),
        }
    }

    /// What differs between two builds, in words.
    #[must_use]
    pub fn differences(&self, other: &Build) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, left: &str, right: &str| {
            if left != right {
                found.push(format!("{what}: {left} | {right}"));
            }
        };
        compare("compiler", &self.compiler, &other.compiler);
        compare("commit", &self.commit, &other.commit);
        let words = |changed: bool| if changed { "with changes" } else { "as committed" };
        compare("files", words(self.uncommitted_changes), words(other.uncommitted_changes));
        for (name, version) in &self.versions {
            let theirs = other.versions.get(name).map_or("not told", String::as_str);
            compare(name, version, theirs);
        }
        found
    }
}

/// Versions of these crates in a `Cargo.lock`.
fn locked(lock: &str, names: &[&str]) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let field = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
            line.map(|value| value.trim_end_matches('"').to_owned())
        };
        if let (Some(name), Some(version)) = (field("name"), field("version"))
            && names.contains(&name.as_str())
        {
            // Two versions of one crate are both named.
            let entry = versions.entry(name).or_insert_with(String::new);
            *entry = if entry.is_empty() { version } else { format!("{entry}, {version}") };
        }
    }
    versions
}

/// What a program says on its standard output; empty if it cannot (a record without git is still a record).
fn said(command: &mut Command) -> String {
    let output = command.output().ok().filter(|output| output.status.success());
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_lock() {
        let lock =
            "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n\n[[package]]\nname = \"b\"\nversion = \"4\"\n";
        assert_eq!(locked(lock, &["a"]), BTreeMap::from([("a".to_owned(), "1.2.3".to_owned())]));
        assert!(Build::read().versions.contains_key("aws-lc-rs"));
    }
}
