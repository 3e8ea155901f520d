//! The rules for a source file by itself: its name, its length, and that it says what it is.

use super::{Source, Violation};

/// About 250 lines is the aim; above this a file holds more than one idea.
const MOST_LINES: usize = 400;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "common", "misc", "helper", "helpers"];

/// Checks every Rust file.
pub(crate) fn check(sources: &[Source]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in sources {
        violations.extend(name_and_length(source));
        let opening = source.text.lines().find(|line| !line.starts_with("#!") && !line.trim().is_empty());
        if !opening.is_some_and(|line| line.starts_with("//!")) {
            let words = "a file opens with `//!`: what it is, and why";
            violations.push(Violation::new(&source.path, words));
        }
    }
    violations
}

/// Checks shaders, scripts and styles, whose comments open with `//` or `/*`.
pub(crate) fn check_others(sources: &[Source]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for source in sources {
        violations.extend(name_and_length(source));
        let opening = source.text.trim_start_matches("\"use strict\";").trim_start();
        if !["//", "/*"].iter().any(|comment| opening.starts_with(comment)) {
            let words = "a file opens with a comment: what it is, and why";
            violations.push(Violation::new(&source.path, words));
        }
    }
    violations
}

fn name_and_length(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    let lines = source.text.lines().count();
    if lines > MOST_LINES {
        let words = format!("{lines} lines; above {MOST_LINES} a file holds more than one idea, so split it");
        violations.push(Violation::new(&source.path, words));
    }
    let parts = source.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    if let Some(name) = parts.into_iter().find(|part| EMPTY_NAMES.contains(part)) {
        violations.push(Violation::new(&source.path, format!("`{name}` says nothing; name the idea")));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(path: &str, text: &str) -> Vec<String> {
        check(&[Source { path: path.into(), text: text.into() }])
            .into_iter()
            .map(|found| found.words)
            .collect()
    }

    #[test]
    fn a_long_file_is_caught() {
        assert!(words("crates/a/src/b.rs", &"//! b\n".repeat(MOST_LINES)).is_empty());
        assert!(words("crates/a/src/b.rs", &"//! b\n".repeat(MOST_LINES + 1))[0].contains("401 lines"));
    }

    #[test]
    fn an_empty_name_is_caught() {
        assert!(words("crates/a/src/util.rs", "//! b")[0].contains("`util`"));
        assert!(words("crates/a/src/helpers/mod.rs", "//! b")[0].contains("`helpers`"));
        assert!(words("crates/a/src/utility_bill.rs", "//! b").is_empty());
    }

    #[test]
    fn shaders_and_scripts_keep_the_same_rules() {
        let words = |path: &str, text: &str| {
            let source = Source { path: path.into(), text: text.into() };
            check_others(&[source]).into_iter().map(|found| found.words).collect::<Vec<_>>()
        };
        assert!(words("lab/shaders/a.wgsl", &"// b\n".repeat(MOST_LINES)).is_empty());
        assert!(words("lab/shaders/a.wgsl", &"// b\n".repeat(MOST_LINES + 1))[0].contains("401 lines"));
        assert!(words("lab/report/a.js", "\"use strict\";\n// b").is_empty());
        assert!(words("web/src/util.ts", "// b")[0].contains("`util`"));
        assert!(words("web/src/a.ts", "import b;")[0].contains("opens with"));
    }

    #[test]
    fn a_file_says_what_it_is() {
        assert!(words("crates/a/src/b.rs", "use c;")[0].contains("opens with"));
        assert!(words("crates/a/src/b.rs", "#![no_main]\n//! b\n").is_empty());
    }
}
