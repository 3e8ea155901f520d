//! Contestants: a pass over the entries in this process, or a library behind the C program.

use super::libraries::Pass;
use super::workload::{Cell, Entries};
use crate::external::{Server, Source, number};
use crate::measure::{Contestant, Stopwatch};
use crate::record::{Clock, Sample};
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The libraries in C.
pub(super) const PROGRAM: Source = Source {
    name: "ciphers",
    text: include_str!("../../../peers/ciphers.c"),
    flags: &["-DWITH_IPSEC_MB", "-lIPSec_MB", "-lcrypto"],
    packages: "gcc, libssl-dev and (on x86-64) libipsec-mb-dev",
};

/// The same where intel-ipsec-mb is missing.
pub(super) const WITHOUT_IPSEC_MB: Source = Source { flags: &["-lcrypto"], ..PROGRAM };

/// A cipher in this process. All share one set of entries, so that caches serve all alike.
pub(super) struct InProcess {
    pub(super) cell: Cell,
    pub(super) pass: Pass,
    pub(super) entries: Rc<RefCell<Entries>>,
    pub(super) turn: Duration,
}

impl Contestant for InProcess {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut entries = Entries::new(self.cell);
        (self.pass)(&mut entries.texts_mut())?;
        Ok(entries.content())
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        let mut entries = self.entries.borrow_mut();
        let mut texts = entries.texts_mut();
        let (watch, start, mut passes) = (Stopwatch::start(Clock::Thread), Instant::now(), 0);
        loop {
            (self.pass)(&mut texts)?;
            passes += 1;
            if start.elapsed() >= self.turn {
                return Ok(watch.stop(passes));
            }
        }
    }
}

/// A library behind the C program, which several contestants share.
pub(super) struct Peer {
    pub(super) server: Rc<RefCell<Server>>,
    pub(super) library: &'static str,
    pub(super) cell: Cell,
    pub(super) turn: Duration,
}

impl Peer {
    fn question(&self, verb: &str) -> String {
        use super::workload::Mode;
        let Cell { mode, key_bits, size } = self.cell;
        let name = match mode {
            Mode::Ecb => "ecb",
            Mode::Ctr => "ctr",
            Mode::CbcDecrypt => "cbc-decrypt",
            Mode::Gcm => "gcm",
            Mode::CbcEncryptOne | Mode::CbcEncryptLanes | Mode::CbcEncryptUneven => "cbc-encrypt",
        };
        let spread = u8::from(mode.is_uneven());
        format!("{verb} {} {name} {key_bits} {size} {} {spread}", self.library, self.cell.entries())
    }
}

impl Contestant for Peer {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut server = self.server.borrow_mut();
        let answer = server.ask(&self.question("result"))?;
        server.bytes(number(&answer, "bytes")? as usize)
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        let question = format!("{} {}", self.question("time"), self.turn.as_millis().max(1));
        let answer = self.server.borrow_mut().ask(&question)?;
        Ok(Sample {
            wall_ns: number(&answer, "wall")?,
            cpu_ns: number(&answer, "cpu")?,
            repeats: number(&answer, "passes")?,
        })
    }
}

/// What OpenSSL is to believe that the processor lacks (OPENSSL_ia32cap(3)): AES instructions and carry-less products;
/// or everything, which leaves the table-driven code of its early years.
const MASKS: [(&str, Option<&str>); 3] = [
    ("openssl", None),
    ("openssl, vector permutations", Some("~0x200000200000000")),
    ("openssl, tables", Some("0:0")),
];

/// The running C programs.
pub(super) struct Peers {
    servers: Vec<(&'static str, Rc<RefCell<Server>>)>,
    /// Versions of the libraries.
    pub(super) versions: Vec<(String, String)>,
}

impl Peers {
    /// Starts the program, once for each thing that OpenSSL is to believe.
    ///
    /// # Errors
    /// If it does not start.
    pub(super) fn start(program: &Path) -> anyhow::Result<Peers> {
        let mut servers = Vec::new();
        for (name, mask) in MASKS {
            let mut command = Command::new(program);
            if let Some(mask) = mask {
                command.env("OPENSSL_ia32cap", mask);
            }
            servers.push((name, Rc::new(RefCell::new(Server::start("the ciphers in C", &mut command)?))));
        }
        let answer = servers[0].1.borrow_mut().ask("version")?;
        let version = |name: &str| (name.to_owned(), answer[name].as_str().unwrap_or_default().to_owned());
        Ok(Peers { servers, versions: vec![version("openssl"), version("ipsec_mb")] })
    }

    /// The libraries that do `cell`.
    pub(super) fn all(&self, cell: Cell, has_ipsec_mb: bool, turn: Duration) -> Vec<(&'static str, Peer)> {
        use super::workload::Mode;
        let mut all = Vec::new();
        for (name, server) in &self.servers {
            // Without its instructions OpenSSL is of interest where the publication measured, not everywhere.
            if *name == "openssl" || matches!(cell.mode, Mode::Ecb | Mode::CbcEncryptOne) {
                all.push((*name, Peer { server: Rc::clone(server), library: "openssl", cell, turn }));
            }
        }
        let server = &self.servers[0].1;
        let mut add =
            |name, library| all.push((name, Peer { server: Rc::clone(server), library, cell, turn }));
        if cfg!(target_arch = "x86_64") && cell.key_bits == 128 {
            match cell.mode {
                Mode::Ecb | Mode::Ctr => {
                    add("intrinsics in a row", "intrinsics-row");
                    add("intrinsics, eight in flight", "intrinsics-eight");
                }
                Mode::CbcEncryptOne => add("intrinsics in a row", "intrinsics-row"),
                _ => {}
            }
        }
        if has_ipsec_mb {
            match cell.mode {
                Mode::Ctr | Mode::CbcDecrypt => add("ipsec-mb jobs", "ipsec-mb-jobs"),
                Mode::CbcEncryptLanes | Mode::CbcEncryptUneven => {
                    add("ipsec-mb jobs", "ipsec-mb-jobs");
                    add("ipsec-mb burst", "ipsec-mb-burst");
                }
                _ => {}
            }
        }
        all
    }
}
