//! What the command does, as transcripts that a person has read: `cmd/*.md`, with exit codes after `?`.
//!
//! Where a folder `NAME.in` stands beside `NAME.md`, its commands run one after another in a copy of it; what then
//! differs from `NAME.out` fails too. `TRYCMD=overwrite cargo test -p cipherloom-cli` writes the transcripts anew: read
//! the difference before it is committed, and put `[..]` back where a run differs from the next.

#[test]
fn transcripts() {
    make_private("tests/cmd");
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        // No figures of the machine on which the tests run.
        .env("XDG_CACHE_HOME", "/nonexistent")
        .env("NO_COLOR", "1")
        .case("tests/cmd/*.md");
}

/// Git does not keep who may read a file: key files are for their owner alone, except for the one that is not.
#[cfg(unix)]
fn make_private(folder: &str) {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            make_private(path.to_str().unwrap());
        } else if path.extension().is_some_and(|extension| extension == "hex") {
            let mode = if path.ends_with("open-to-all.hex") { 0o644 } else { 0o600 };
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
    }
}

#[cfg(not(unix))]
fn make_private(_folder: &str) {}
