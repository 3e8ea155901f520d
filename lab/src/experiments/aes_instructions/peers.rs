//! Contestants behind the C program: libraries of others, AES instructions by way of intrinsics, and plain C; the latter two for
//! 32 bits too.

use super::workload::{Cell, Mode};
use crate::external::{Server, Source, number};
use crate::measure::Contestant;
use crate::record::Sample;
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

/// The C program without intel-ipsec-mb.
pub(super) const PROGRAM: Source = Source {
    name: "ciphers",
    text: include_str!("../../../peers/ciphers.c"),
    headers: &[
        ("aes_tables.h", include_str!("../../../peers/aes_tables.h")),
        ("ciphers_intrinsics.h", include_str!("../../../peers/ciphers_intrinsics.h")),
        ("ciphers_ipsec_mb.h", include_str!("../../../peers/ciphers_ipsec_mb.h")),
        ("ciphers_openssl.h", include_str!("../../../peers/ciphers_openssl.h")),
        ("random.h", include_str!("../../../peers/random.h")),
    ],
    flags: &["-lcrypto"],
    packages: "gcc and libssl-dev",
};

/// The same with it.
const WITH_IPSEC_MB: Source = Source {
    flags: &["-DWITH_IPSEC_MB", "-lIPSec_MB", "-lcrypto"],
    packages: "gcc, libssl-dev and (on x86-64) libipsec-mb-dev",
    ..PROGRAM
};

/// Intrinsics and plain C alone, for 32 bits.
const NARROW: Source = Source {
    flags: &["-m32", "-msse2", "-DWITHOUT_OPENSSL"],
    packages: "gcc-multilib (Debian's gcc-12-multilib where cross compilers are installed)",
    ..PROGRAM
};

/// Names the folder of another intel-ipsec-mb, which holds `include` and `lib`.
const ANOTHER_IPSEC_MB: &str = "CIPHERLOOM_LAB_IPSEC_MB";

/// A library behind the C program, which several contestants share.
pub(super) struct Peer {
    pub(super) server: Rc<RefCell<Server>>,
    pub(super) library: &'static str,
    pub(super) cell: Cell,
    pub(super) turn: Duration,
}

impl Peer {
    fn question(&self, verb: &str) -> String {
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
const MASKS: [(&str, &str); 2] =
    [("openssl, vector permutations", "~0x200000200000000"), ("openssl, tables", "0:0")];

type Running = Rc<RefCell<Server>>;

/// The running C programs.
pub(super) struct Peers {
    usual: Running,
    has_ipsec_mb: bool,
    /// OpenSSL without some of the processor's instructions.
    masked: Vec<(&'static str, Running)>,
    /// For 32 bits.
    narrow: Option<Running>,
    /// With another intel-ipsec-mb.
    another: Option<Running>,
    /// Versions of the libraries.
    pub(super) versions: Vec<(String, String)>,
    /// What this machine lacks, in words.
    pub(super) lacking: Vec<String>,
}

impl Peers {
    /// Compiles the program in every form that this machine can make, and starts it.
    ///
    /// # Errors
    /// In words, if there is not even OpenSSL.
    pub(super) fn start(folder: &Path) -> Result<Peers, String> {
        let mut lacking = Vec::new();
        let (program, has_ipsec_mb) = match WITH_IPSEC_MB.compile("cc", folder) {
            Ok(program) => (program, true),
            Err(reason) => {
                lacking.push(format!("without intel-ipsec-mb: {reason}"));
                (PROGRAM.compile("cc", folder)?, false)
            }
        };
        let usual = running(&mut Command::new(&program))?;
        let mut masked = Vec::new();
        for (name, mask) in MASKS {
            masked.push((name, running(Command::new(&program).env("OPENSSL_ia32cap", mask))?));
        }
        let mut versions = vec![
            ("openssl".to_owned(), version(&usual, "openssl")?),
            ("ipsec_mb".to_owned(), version(&usual, "ipsec_mb")?),
        ];
        let mut narrow = None;
        if cfg!(target_arch = "x86_64") {
            match NARROW.compile("cc", &folder.join("narrow")) {
                Ok(program) => narrow = Some(running(&mut Command::new(program))?),
                Err(reason) => lacking.push(format!("without 32 bits: {reason}")),
            }
        }
        let mut another = None;
        match std::env::var_os(ANOTHER_IPSEC_MB) {
            Some(place) => {
                let flags = search_flags(Path::new(&place));
                let program = WITH_IPSEC_MB.compile_with("cc", &folder.join("another"), &flags)?;
                let server = running(&mut Command::new(program))?;
                versions.push(("ipsec_mb, the other".to_owned(), version(&server, "ipsec_mb")?));
                another = Some(server);
            }
            None => lacking.push(format!(
                "without a second version of intel-ipsec-mb: {ANOTHER_IPSEC_MB} names no folder (see the lab's README)"
            )),
        }
        Ok(Peers { usual, has_ipsec_mb, masked, narrow, another, versions, lacking })
    }

    /// Those that do `cell`, by name; what they lack they say themselves when they are asked.
    pub(super) fn all(&self, cell: Cell, turn: Duration) -> Vec<(String, Peer)> {
        let mut all = Vec::new();
        let mut add = |name: &str, server: &Running, library| {
            all.push((name.to_owned(), Peer { server: Rc::clone(server), library, cell, turn }));
        };
        add("openssl", &self.usual, "openssl");
        // Without its instructions OpenSSL is of interest where the publication measured, not everywhere.
        if matches!(cell.mode, Mode::Ecb | Mode::CbcEncryptOne) {
            self.masked.iter().for_each(|(name, server)| add(name, server, "openssl"));
        }
        let is_published = matches!(cell.mode, Mode::Ecb | Mode::Ctr | Mode::CbcEncryptOne);
        for (server, bits) in [(Some(&self.usual), ""), (self.narrow.as_ref(), NARROW_SUFFIX)] {
            let Some(server) = server.filter(|_| is_published && cell.key_bits == 128) else { continue };
            // A chain has one block in flight, and on 64 MB tables take seconds for what 1 MB says too.
            if cell.mode != Mode::CbcEncryptOne && HAS_INTRINSICS {
                add(&format!("{EIGHT}{bits}"), server, "intrinsics-eight");
            }
            if HAS_INTRINSICS {
                add(&format!("{ROW}{bits}"), server, "intrinsics-row");
            }
            if cell.size <= 1 << 20 {
                add(&format!("{PLAIN}{bits}"), server, "plain");
            }
        }
        let ipsec_mb = Some(&self.usual).filter(|_| self.has_ipsec_mb);
        for (server, name) in
            [(ipsec_mb, "ipsec-mb"), (self.another.as_ref(), "ipsec-mb, the other version,")]
        {
            let Some(server) = server else { continue };
            if cell.mode.is_in_lanes() {
                add(&format!("{name} burst"), server, "ipsec-mb-burst");
            }
            if cell.mode.is_in_lanes() || matches!(cell.mode, Mode::Ctr | Mode::CbcDecrypt) {
                add(&format!("{name} jobs"), server, "ipsec-mb-jobs");
            }
        }
        all
    }
}

const HAS_INTRINSICS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
/// One block after the other, as published.
pub(super) const ROW: &str = "intrinsics in a row";
pub(super) const EIGHT: &str = "intrinsics, eight in flight";
/// Without AES instructions, as published.
pub(super) const PLAIN: &str = "plain C";
/// What the same for 32 bits is called.
pub(super) const NARROW_SUFFIX: &str = ", 32 bits";

fn running(command: &mut Command) -> Result<Running, String> {
    let server = Server::start("the ciphers in C", command).map_err(|error| format!("{error:#}"))?;
    Ok(Rc::new(RefCell::new(server)))
}

fn version(server: &Running, library: &str) -> Result<String, String> {
    let answer = server.borrow_mut().ask("version").map_err(|error| format!("{error:#}"))?;
    Ok(answer[library].as_str().unwrap_or_default().to_owned())
}

/// Where compiler, linker and program look for a library below `place`.
fn search_flags(place: &Path) -> Vec<String> {
    let mut flags = vec![format!("-I{}", place.join("include").display())];
    for folder in ["lib", "lib/x86_64-linux-gnu"].map(|folder| place.join(folder)) {
        flags.push(format!("-L{}", folder.display()));
        flags.push(format!("-Wl,-rpath,{}", folder.display()));
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As intel-ipsec-mb, so far as linking and the version go.
    #[test]
    fn another_library_is_found_in_its_own_folder() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir_all(at("include")).unwrap();
        std::fs::create_dir_all(at("lib")).unwrap();
        std::fs::write(at("include/other.h"), "int other(void);").unwrap();
        let library = Source {
            name: "libother.so",
            text: "int other(void) { return 42; }",
            headers: &[],
            flags: &["-shared", "-fPIC"],
            packages: "",
        };
        library.compile("cc", &at("lib")).unwrap();
        // Its text lies beside it, under the name without `.so`.
        let program = Source {
            name: "program",
            text: "#include <other.h>\nint main(void) { return other(); }",
            flags: &["-lother"],
            ..library
        };
        let made = program.compile_with("cc", place.path(), &search_flags(place.path())).unwrap();
        assert_eq!(Command::new(made).status().unwrap().code(), Some(42));
    }
}
