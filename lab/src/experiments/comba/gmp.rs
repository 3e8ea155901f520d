//! GMP, the usual library for long integers, and FLINT, beside our own: a C program that loads whatever build of them there
//! is.
//!
//! Builds differ: the `gmpy2` wheel brings one that chooses code for the processor when it starts (MULX and ADX), and
//! Debian's older one is slower. Every build found is measured, and answers compare with the fastest.

use super::Factor;
use super::timed::{Timed, set_order};
use crate::external::{Server, Source, number};
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

const PROGRAM: Source = Source {
    name: "gmp",
    text: include_str!("../../../peers/gmp.c"),
    headers: &[],
    flags: &["-D_GNU_SOURCE", "-ldl"],
    packages: "gcc and libc6-dev",
};

/// Names the interpreter whose `gmpy2` is measured; `python3` if unset.
pub(super) const PYTHON: &str = "CIPHERLOOM_LAB_PYTHON";

/// The libraries that come with the wheels, one a line.
const FIND_GMP: &str = "import gmpy2, pathlib
for path in (pathlib.Path(gmpy2.__file__).parents[1] / 'gmpy2.libs').glob('libgmp*.so*'): print(path)";
const FIND_FLINT: &str = "import flint, pathlib
for path in (pathlib.Path(flint.__file__).parents[1] / 'python_flint.libs').glob('libflint*.so*'): print(path)";

/// A build of GMP or FLINT in a process of its own.
pub(super) struct Gmp {
    /// `gmp (gmpy2)`, `gmp (system)` or `flint`.
    pub(super) variant: &'static str,
    pub(super) version: String,
    server: Rc<RefCell<Server>>,
}

/// Every build that this machine has, and in words what it lacks.
pub(super) fn find(folder: &Path) -> (Vec<Gmp>, Vec<String>) {
    let program = match PROGRAM.compile("cc", folder) {
        Ok(program) => program,
        Err(reason) => return (Vec::new(), vec![format!("GMP is not measured: {reason}")]),
    };
    let (mut found, mut lacking) = (Vec::new(), Vec::new());
    let mut start = |variant, library: &str, remedy: &str| match Gmp::start(variant, &program, library) {
        Ok(gmp) => found.push(gmp),
        Err(error) => lacking.push(format!("`{variant}` is not measured ({error:#}); {remedy}")),
    };
    start(
        "gmp (gmpy2)",
        &wheel(FIND_GMP).unwrap_or_default(),
        &format!("install Python's gmpy2, or name an interpreter that has it in {PYTHON}"),
    );
    start("gmp (system)", "libgmp.so.10", "install libgmp10");
    // Debian 12 has FLINT 2, which multiplies by GMP.
    start(
        "flint",
        &wheel(FIND_FLINT).unwrap_or_default(),
        &format!("install Python's python-flint, or name an interpreter that has it in {PYTHON}"),
    );
    (found, lacking)
}

fn wheel(find: &str) -> Option<String> {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let output = Command::new(python).args(["-c", find]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.lines().next().map(str::to_owned)
}

impl Gmp {
    fn start(variant: &'static str, program: &Path, library: &str) -> anyhow::Result<Gmp> {
        anyhow::ensure!(!library.is_empty(), "no such library");
        let mut command = Command::new(program);
        command.arg(library).stderr(std::process::Stdio::null());
        let mut server = Server::start(variant, &mut command)?;
        let version = server.ask("version")?["version"].as_str().unwrap_or("unknown").to_owned();
        Ok(Gmp { variant, version, server: Rc::new(RefCell::new(server)) })
    }

    /// The product, as little-endian bytes.
    pub(super) fn product(&self, a: &Factor, b: &Factor) -> anyhow::Result<Vec<u8>> {
        let mut server = self.server.borrow_mut();
        server.ask(&set_order(a, b))?;
        let count = number(&server.ask("product")?, "bytes")?;
        server.bytes(count as usize)
    }

    /// A contestant that multiplies these factors.
    pub(super) fn contestant(&self, a: &Factor, b: &Factor, turn_ns: u64) -> Timed {
        Timed::new(&self.server, vec![set_order(a, b)], turn_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_told_with_its_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let program = PROGRAM.compile("cc", folder.path()).unwrap();
        assert!(Gmp::start("gmp (nowhere)", &program, "libno-such.so").is_err());
    }
}
