//! The C program with intel-ipsec-mb and OpenSSL: compiled when this machine can, asked line by line.

use crate::workload::{Cell, Mode};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

pub(crate) struct Peers {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peers {
    /// Compiles and starts the program, or says why it cannot.
    pub(crate) fn start() -> Result<Peers, String> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/peers.c");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
        let compiled = Command::new("cc")
            .arg("-O2")
            .arg("-o")
            .arg(&program)
            .arg(&source)
            .args(["-lIPSec_MB", "-lcrypto"])
            .output()
            .map_err(|error| format!("no C compiler `cc` ({error}); install gcc"))?;
        if !compiled.status.success() {
            let reason = String::from_utf8_lossy(&compiled.stderr).lines().next().unwrap_or("").to_owned();
            return Err(format!(
                "peers.c does not compile ({reason}); install libipsec-mb-dev and libssl-dev"
            ));
        }
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", program.display()))?;
        let input = child.stdin.take().expect("a piped stdin");
        let output = BufReader::new(child.stdout.take().expect("a piped stdout"));
        Ok(Peers { child, input, output })
    }

    /// The libraries that do `cell`.
    pub(crate) fn libraries(&mut self, cell: Cell) -> Vec<&'static str> {
        let mut all = vec!["openssl"];
        if matches!(cell.mode, Mode::CbcEncryptLanes | Mode::CbcEncryptUneven) {
            all.extend(["ipsec-mb-jobs", "ipsec-mb-burst"]);
        }
        all.retain(|library| !self.ask(&question("check", library, cell)).contains("error"));
        all
    }

    pub(crate) fn checksum(&mut self, library: &str, cell: Cell) -> u64 {
        let answer = self.ask(&question("check", library, cell));
        let digits = answer.split('"').nth(3).unwrap_or_default();
        u64::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("{library} answered {answer}"))
    }

    /// Nanoseconds per byte of one turn.
    pub(crate) fn time(&mut self, library: &str, cell: Cell, turn: Duration) -> f64 {
        let answer = self.ask(&format!("{} {}", question("time", library, cell), turn.as_millis()));
        let mut numbers =
            answer.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok());
        let (Some(bytes), Some(nanoseconds)) = (numbers.next(), numbers.next()) else {
            panic!("{library} answered {answer}")
        };
        let (bytes, nanoseconds): (f64, f64) = (bytes, nanoseconds);
        nanoseconds / bytes
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").expect("the peers' program listens");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("the peers' program answers");
        assert!(!answer.is_empty(), "the peers' program ended at: {line}");
        answer
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // Its input ends with this process at the latest; ended now, it need not be waited for long.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn question(verb: &str, library: &str, cell: Cell) -> String {
    let mode = match cell.mode {
        Mode::Ctr => "ctr",
        Mode::CbcDecrypt => "cbc-decrypt",
        _ => "cbc-encrypt",
    };
    let spread = u8::from(cell.mode.uneven());
    format!("{verb} {library} {mode} {} {} {} {spread}", cell.key_bits, cell.size, cell.entries())
}
