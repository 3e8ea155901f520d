//! What is measured: each variant is a command from a source folder to a target folder, and how its result is checked.

use super::peers::{Choice, Peers};
use super::trees::{Medium, Row};
use cipherloom_peers::Program;
use std::path::Path;

/// What a variant reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// The row's files.
    Plain,
    /// The row's files, encrypted in the default format.
    Tink,
    /// The row's files, encrypted as raw AES-128-CBC.
    Cbc,
    /// The row's files, encrypted for an age recipient, with names that end in `.age`.
    Age,
}

/// How another program proves the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// The target holds the plain files.
    Plain,
    /// tink-go opens every file.
    TinkGo,
    /// `openssl enc` opens a sample of files that have the initialisation vector in front.
    Openssl(&'static str),
    /// `openssl enc` opens a sample of files made with the published program's initialisation vector.
    Published,
    /// `age` opens a sample.
    Age,
    /// The program's output has a line for each file and folder.
    Items,
    /// The program's output has a line for each file.
    Files,
    /// The program's output is a plan of this project for all files.
    Plan,
    /// The exit code is all there is, or the program checks for itself.
    ExitCode,
}

/// One column of the table.
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) input: Input,
    pub(crate) check: Check,
    /// Slow peers need not run in every round.
    pub(crate) most_rounds: usize,
    make: fn(&Peers, &Path, &Path) -> Program,
}

impl Variant {
    pub(crate) fn program(&self, peers: &Peers, source: &Path, target: &Path) -> Program {
        (self.make)(peers, source, target)
    }

    /// Half of one file is none, and only a disk makes anything durable.
    pub(crate) fn fits(&self, row: &Row, medium: Medium) -> bool {
        (self.name != TWO_COPIES || row.files > 1) && (!self.name.contains(DURABLE) || medium == Medium::Disk)
    }
}

/// The yardstick: every ratio is to this variant in the same round.
pub(crate) const COPY: Variant = each_round("cp -r", Input::Plain, Check::Plain, |_, source, target| {
    Program::new("cp").args(["-r", "--reflink=never"]).arg(source).arg(target)
});

/// Two at a time, each with the files whose names end in odd, or even, digits.
const TWO_COPIES: &str = "two cp, half each";

/// What the names of variants have in them that wait until all is on the disk.
const DURABLE: &str = "durable";

/// A variant that runs in each round.
pub(crate) const fn each_round(
    name: &'static str,
    input: Input,
    check: Check,
    make: fn(&Peers, &Path, &Path) -> Program,
) -> Variant {
    Variant { name, input, check, most_rounds: usize::MAX, make }
}

const fn peer(name: &'static str, check: Check, make: fn(&Peers, &Path, &Path) -> Program) -> Variant {
    Variant { name, input: Input::Plain, check, most_rounds: 5, make }
}

const fn age_peer(name: &'static str, make: fn(&Peers, &Path, &Path) -> Program) -> Variant {
    Variant { name, input: Input::Age, check: Check::Plain, most_rounds: 5, make }
}

/// A parallel copier.
pub(crate) const CPZ: Variant = each_round("cpz", Input::Plain, Check::Plain, |peers, source, target| {
    Program::new(&peers.cpz).arg(source).arg(target)
});

/// Every variant of the choice, the yardstick first.
pub(crate) fn all(choice: Choice) -> Vec<Variant> {
    let mut variants = vec![
        COPY,
        each_round(TWO_COPIES, Input::Plain, Check::Plain, |_, source, target| {
            let line = "mkdir \"$1\" && cd \"$0\" && { cp -r --reflink=never -t \"$1\" -- *[13579] & cp -r --reflink=never -t \"$1\" -- *[02468] && wait $!; }";
            Program::new("sh").args(["-c", line]).arg(source).arg(target)
        }),
        each_round("floor, 2 threads", Input::Plain, Check::Plain, |p, s, t| run(p, "floor", s, t, 2)),
        each_round("floor, 1 thread", Input::Plain, Check::Plain, |p, s, t| run(p, "floor", s, t, 1)),
        each_round("tink encrypt, planned", Input::Plain, Check::TinkGo, |p, s, t| {
            tink(p, "encrypt", s, t, PLANNED)
        }),
        each_round("tink encrypt, 2 threads", Input::Plain, Check::TinkGo, |p, s, t| {
            tink(p, "encrypt", s, t, 2)
        }),
        each_round("tink encrypt, 1 thread", Input::Plain, Check::TinkGo, |p, s, t| {
            tink(p, "encrypt", s, t, 1)
        }),
        each_round("tink decrypt, planned", Input::Tink, Check::Plain, |p, s, t| {
            tink(p, "decrypt", s, t, PLANNED)
        }),
        each_round("tink verify, planned", Input::Tink, Check::ExitCode, |p, s, _| {
            p.command("verify").arg(s).arg("--key").arg(&p.keyset)
        }),
        each_round("raw cbc encrypt, planned", Input::Plain, Check::Openssl("aes-128-cbc"), |p, s, t| {
            raw(p, "encrypt", "aes-128-cbc", s, t, PLANNED)
        }),
        each_round("raw cbc encrypt, 2 threads", Input::Plain, Check::Openssl("aes-128-cbc"), |p, s, t| {
            raw(p, "encrypt", "aes-128-cbc", s, t, 2)
        }),
        each_round("raw cbc encrypt, 1 thread", Input::Plain, Check::Openssl("aes-128-cbc"), |p, s, t| {
            raw(p, "encrypt", "aes-128-cbc", s, t, 1)
        }),
        each_round("raw cbc decrypt, planned", Input::Cbc, Check::Plain, |p, s, t| {
            raw(p, "decrypt", "aes-128-cbc", s, t, PLANNED)
        }),
        each_round("raw ctr encrypt, planned", Input::Plain, Check::Openssl("aes-128-ctr"), |p, s, t| {
            raw(p, "encrypt", "aes-128-ctr", s, t, PLANNED)
        }),
    ];
    variants.extend(age_variants());
    variants.extend(durable_variants());
    if choice != Choice::None {
        variants.extend(core_peers());
    }
    if choice == Choice::All {
        variants.extend(more_peers());
    }
    variants
}

fn age_variants() -> Vec<Variant> {
    vec![
        each_round("age encrypt, planned", Input::Plain, Check::Age, |p, s, t| encrypt_age(p, s, t, PLANNED)),
        each_round("age encrypt, 2 threads", Input::Plain, Check::Age, |p, s, t| encrypt_age(p, s, t, 2)),
        each_round("age encrypt, 1 thread", Input::Plain, Check::Age, |p, s, t| encrypt_age(p, s, t, 1)),
        each_round("age encrypt, hybrid, planned", Input::Plain, Check::Age, |p, s, t| {
            age(p, "encrypt", s, t, PLANNED).args(["--format", "age", "--recipient", &p.hybrid_recipient])
        }),
        each_round("age decrypt, planned", Input::Age, Check::Plain, |p, s, t| decrypt_age(p, s, t, PLANNED)),
        each_round("age decrypt, 2 threads", Input::Age, Check::Plain, |p, s, t| decrypt_age(p, s, t, 2)),
        each_round("age decrypt, 1 thread", Input::Age, Check::Plain, |p, s, t| decrypt_age(p, s, t, 1)),
        each_round("age verify, planned", Input::Age, Check::ExitCode, |p, s, _| {
            p.command("verify").arg(s).arg("--identity").arg(&p.identity)
        }),
        each_round("age verify, 1 thread", Input::Age, Check::ExitCode, |p, s, _| {
            let verify = p.command("verify").args(["--threads", "1"]);
            verify.arg(s).arg("--identity").arg(&p.identity)
        }),
    ]
}

fn durable_variants() -> Vec<Variant> {
    let mut variants = vec![
        each_round("cp -r and sync -f, durable", Input::Plain, Check::Plain, |_, s, t| {
            Program::new("sh")
                .args(["-c", "cp -r --reflink=never \"$0\" \"$1\" && sync -f \"$1\""])
                .arg(s)
                .arg(t)
        }),
        each_round("tink encrypt, durable", Input::Plain, Check::TinkGo, |p, s, t| {
            tink(p, "encrypt", s, t, PLANNED).arg("--durable")
        }),
    ];
    variants.iter_mut().for_each(|variant| variant.most_rounds = 5);
    variants
}

fn core_peers() -> Vec<Variant> {
    vec![
        CPZ,
        peer("published program, 2 threads", Check::Published, |p, s, t| {
            Program::new(&p.published).arg(s).arg(t).arg("2")
        }),
        peer("tink-go, 2 goroutines", Check::TinkGo, |p, s, t| {
            Program::new(&p.go).arg("tink-encrypt-tree").arg(&p.keyset).arg(s).arg(t).arg("2")
        }),
        peer("age library, 2 goroutines", Check::Age, |p, s, t| {
            Program::new(&p.go).arg("age-encrypt-tree").arg(&p.recipient).arg(s).arg(t).arg("2")
        }),
        peer("openssl enc, xargs -P2", Check::Published, |_, s, t| {
            use super::peers::{PUBLISHED_VECTOR, RAW_KEY};
            let enc = format!("openssl enc -aes-128-cbc -K {RAW_KEY} -iv {PUBLISHED_VECTOR}");
            each_file(s, t, &format!("{enc} -in \"$1\" -out \"$0/$1\""))
        }),
        peer("age, xargs -P2", Check::Age, |p, s, t| {
            each_file(s, t, &format!("'{}' -r {} -o \"$0/$1.age\" \"$1\"", p.age.display(), p.recipient))
        }),
        age_peer("age decrypt by age, xargs -P2", |p, s, t| {
            let (age, identity) = (p.age.display(), p.identity.display());
            each_file(s, t, &format!("'{age}' -d -i '{identity}' -o \"$0/${{1%.age}}\" \"$1\""))
        }),
    ]
}

fn more_peers() -> Vec<Variant> {
    vec![
        peer("rage, xargs -P2", Check::Age, |p, s, t| {
            let rage = p.rage.display();
            each_file(s, t, &format!("{rage} -r {} -o \"$0/$1.age\" \"$1\"", p.recipient))
        }),
        peer("7-Zip, AES-256, store", Check::ExitCode, |_, s, t| {
            let archive = t.join("archive.7z");
            Program::new("7z")
                .args(["a", "-bso0", "-mx0", "-mmt2", "-psecret", "-mhe=on"])
                .arg(archive)
                .arg(s)
        }),
        peer("rclone crypt, 2 transfers", Check::ExitCode, |_, s, t| {
            let remote = format!(":crypt,remote={},password=lcktwy6bLhfnXjlbBzx5qjODLGsv:", t.display());
            Program::new("rclone")
                .args(["copy", "--transfers", "2", "--config", "/dev/null", "--quiet"])
                .arg(s)
                .arg(remote)
        }),
    ]
}

/// As many threads as the planner chooses, which is what a user gets.
const PLANNED: usize = 0;

fn run(peers: &Peers, command: &str, source: &Path, target: &Path, threads: usize) -> Program {
    let program = peers.command(command).arg(source).arg(target);
    if threads == PLANNED { program } else { program.args(["--threads", &threads.to_string()]) }
}

fn tink(peers: &Peers, command: &str, source: &Path, target: &Path, threads: usize) -> Program {
    run(peers, command, source, target, threads).arg("--key").arg(&peers.keyset)
}

fn age(peers: &Peers, command: &str, source: &Path, target: &Path, threads: usize) -> Program {
    run(peers, command, source, target, threads).args(["--suffix", ".age"])
}

fn encrypt_age(peers: &Peers, source: &Path, target: &Path, threads: usize) -> Program {
    let encrypt = age(peers, "encrypt", source, target, threads);
    encrypt.args(["--format", "age", "--recipient", &peers.recipient])
}

fn decrypt_age(peers: &Peers, source: &Path, target: &Path, threads: usize) -> Program {
    age(peers, "decrypt", source, target, threads).arg("--identity").arg(&peers.identity)
}

fn raw(peers: &Peers, command: &str, cipher: &str, source: &Path, target: &Path, threads: usize) -> Program {
    run(peers, command, source, target, threads)
        .args(["--format", "raw", "--cipher", cipher, "--raw-key"])
        .arg(&peers.raw_key)
}

/// What users write today: one process for each file, two at a time. In `script`, `$0` is the target, `$1` the name.
fn each_file(source: &Path, target: &Path, script: &str) -> Program {
    let line = "mkdir -p \"$1\"; cd \"$0\"; find . -type f -print0 | xargs -0 -P2 -n1 sh -c \"$2\" \"$1\"";
    Program::new("sh").args(["-c", line]).arg(source).arg(target).arg(script)
}
