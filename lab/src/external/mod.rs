//! Programs of other origin, and C that the lab itself brings: compiled when this machine can, asked line by line.
//!
//! What cannot be had is a reason in words, never an end of the experiment.

mod server;

pub use server::Server;
pub(crate) use server::number;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A C program of this repository, carried in the binary.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Its name, without ending.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The files that it includes: name and text.
    pub headers: &'static [(&'static str, &'static str)],
    /// What the compiler and linker need besides `-O2`.
    pub flags: &'static [&'static str],
    /// The Debian packages that bring what it includes and links.
    pub packages: &'static str,
}

impl Source {
    /// Compiles the program into `folder` with `compiler` (usually `cc`).
    ///
    /// # Errors
    /// In words with the remedy: no compiler, or no headers and libraries.
    pub fn compile(&self, compiler: &str, folder: &Path) -> Result<PathBuf, String> {
        self.compile_with(compiler, folder, &[])
    }

    /// The same with further arguments before those of the program itself.
    ///
    /// # Errors
    /// As [`Source::compile`].
    pub fn compile_with(&self, compiler: &str, folder: &Path, more: &[String]) -> Result<PathBuf, String> {
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let (source, program) = (folder.join(self.name).with_extension("c"), folder.join(self.name));
        let texts = self.headers.iter().map(|&(name, text)| (folder.join(name), text));
        for (path, text) in texts.chain([(source.clone(), self.text)]) {
            fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        let compiled = Command::new(compiler)
            .args(["-O2", "-o"])
            .args([&program, &source])
            .args(more)
            .args(self.flags)
            .output()
            .map_err(|error| format!("no C compiler `{compiler}` ({error}); install gcc"))?;
        if compiled.status.success() {
            return Ok(program);
        }
        let words = String::from_utf8_lossy(&compiled.stderr).into_owned();
        let reason = words.lines().find(|line| line.contains("error") || line.contains("cannot find"));
        let reason = reason.or(words.lines().next()).unwrap_or_default();
        Err(format!("{}.c does not compile ({reason}); install {}", self.name, self.packages))
    }
}

/// The first line that a program says about its version; nothing if it is not there.
#[must_use]
pub fn version(program: &str, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Source =
        Source { name: "good", text: "int main(void) { return 0; }", headers: &[], flags: &[], packages: "" };

    #[test]
    fn a_missing_compiler_and_missing_headers_are_told_with_their_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let told = GOOD.compile("no-such-compiler", folder.path()).unwrap_err();
        assert!(told.contains("`no-such-compiler`") && told.contains("install gcc"), "{told}");
        let source = Source {
            name: "headless",
            text: "#include <no/such/header.h>\nint main(void) { return 0; }",
            packages: "libno-such-dev",
            ..GOOD
        };
        let told = source.compile("cc", folder.path()).unwrap_err();
        assert!(told.contains("no/such/header.h") && told.contains("install libno-such-dev"), "{told}");
        let source = Source { flags: &["-lno_such_library"], packages: "libno-such-dev", ..GOOD };
        let told = source.compile("cc", folder.path()).unwrap_err();
        assert!(told.contains("no_such_library"), "{told}");
        assert!(GOOD.compile("cc", folder.path()).unwrap().is_file());
    }
}
