//! GMP, the usual library for long integers, beside our own: a C program that loads whatever build of it there is.
//!
//! Builds differ: the `gmpy2` wheel brings one that chooses code for the processor when it starts (MULX and ADX), and
//! Debian's older one is slower. Every build found is measured, and answers compare with the fastest.

use super::Factor;
use crate::external::{Server, Source, number};
use crate::measure::Contestant;
use crate::record::Sample;
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

const PROGRAM: Source = Source {
    name: "gmp",
    text: include_str!("../../../peers/gmp.c"),
    flags: &["-D_GNU_SOURCE", "-ldl"],
    packages: "gcc and libc6-dev",
};

/// Names the interpreter whose `gmpy2` is measured; `python3` if unset.
pub(super) const PYTHON: &str = "CIPHERLOOM_LAB_PYTHON";

/// The libraries that come with the wheel, one a line.
const FIND: &str = "import gmpy2, pathlib
for path in (pathlib.Path(gmpy2.__file__).parents[1] / 'gmpy2.libs').glob('libgmp*.so*'): print(path)";

/// A build of GMP in a process of its own.
pub(super) struct Gmp {
    /// `gmp (gmpy2)` or `gmp (system)`.
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
    let wheel = wheel().unwrap_or_default();
    start(
        "gmp (gmpy2)",
        &wheel,
        &format!("install Python's gmpy2, or name an interpreter that has it in {PYTHON}"),
    );
    start("gmp (system)", "libgmp.so.10", "install libgmp10");
    (found, lacking)
}

fn wheel() -> Option<String> {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let output = Command::new(python).args(["-c", FIND]).output().ok()?;
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
        server.ask(&order(a, b))?;
        let count = number(&server.ask("product")?, "bytes")?;
        server.bytes(count as usize)
    }

    /// A contestant that multiplies these factors.
    pub(super) fn contestant(&self, a: &Factor, b: &Factor, turn_ns: u64) -> Timed {
        Timed { server: Rc::clone(&self.server), order: order(a, b), turn_ns, repeats: 0 }
    }
}

fn order(a: &[u32], b: &[u32]) -> String {
    let digits = |words: &[u32]| words.iter().rev().map(|word| format!("{word:08x}")).collect::<String>();
    format!("set {} {} {}", a.len(), digits(a), digits(b))
}

pub(super) struct Timed {
    server: Rc<RefCell<Server>>,
    order: String,
    turn_ns: u64,
    repeats: u64,
}

impl Timed {
    fn time(&mut self, repeats: u64) -> anyhow::Result<Sample> {
        let mut server = self.server.borrow_mut();
        server.ask(&self.order)?;
        let answer = server.ask(&format!("time {repeats}"))?;
        Ok(Sample { wall_ns: number(&answer, "wall_ns")?, cpu_ns: number(&answer, "cpu_ns")?, repeats })
    }
}

impl Contestant for Timed {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut server = self.server.borrow_mut();
        server.ask(&self.order)?;
        let count = number(&server.ask("product")?, "bytes")?;
        server.bytes(count as usize)
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        while self.repeats == 0 {
            let mut repeats = 1;
            let mut sample = self.time(repeats)?;
            while sample.wall_ns < self.turn_ns / 2 {
                repeats *= 2;
                sample = self.time(repeats)?;
            }
            self.repeats = ((self.turn_ns as f64 / sample.wall().max(1.0)).round() as u64).max(1);
        }
        self.time(self.repeats)
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

    #[test]
    fn the_order_has_the_highest_word_first() {
        assert_eq!(order(&[1, 0xab], &[2, 3]), "set 2 000000ab00000001 0000000300000002");
    }
}
