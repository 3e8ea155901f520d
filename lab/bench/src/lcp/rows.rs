//! What is measured: which programs run over which publications, and how often.

use super::books;
use anyhow::{Context, Result};
use cipherloom_peers::{Program, lcp, place};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Licenses that one run makes.
pub(super) const LICENSES: usize = 10_000;

/// One block of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Row {
    /// Eight tracks of 40 MiB
    Audiobook,
    /// One EPUB of 420 resources
    Epub,
    /// 500 EPUBs of all sizes
    Shelf,
    /// 10,000 licenses for one book
    Licenses,
}

/// A way to do a row's work.
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) program: Program,
    pub(super) rounds: usize,
    pub(super) kind: Kind,
}

/// What a variant is, which decides how its output is checked and what it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `cp`
    Copy,
    /// This project's command: its threads, and whether it takes checksums (licenses have none to take)
    Ours { threads: usize, has_checksum: bool },
    /// Readium's command
    Lcpencrypt,
}

/// Where everything lies.
pub(super) struct Bench {
    pub(super) cipherloom: PathBuf,
    pub(super) lcpencrypt: PathBuf,
    /// Readium's verifier of licenses.
    pub(super) licenses: PathBuf,
    certificates: PathBuf,
    folder: PathBuf,
}

impl Bench {
    /// Builds the programs; publications will lie in `folder`.
    ///
    /// # Errors
    /// If a program cannot be had.
    pub(super) fn prepare(folder: &Path) -> Result<Bench> {
        Ok(Bench {
            cipherloom: place::release_build()?,
            lcpencrypt: lcp::lcpencrypt()?,
            licenses: lcp::license_program()?,
            certificates: lcp::server_module()?.join("test/cert"),
            folder: folder.to_owned(),
        })
    }

    /// What `row` reads: a publication or a folder of them.
    pub(super) fn source(&self, row: Row) -> PathBuf {
        self.folder.join(match row {
            Row::Audiobook => "audio.audiobook",
            Row::Epub => "book.epub",
            Row::Shelf => "shelf",
            Row::Licenses => "licenses.csv",
        })
    }

    /// The folder for outputs, made and removed around each run.
    pub(super) fn target(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// The content keys of the latest run.
    pub(super) fn keys(&self) -> PathBuf {
        self.folder.join("keys.json")
    }

    fn kept_keys(&self) -> PathBuf {
        self.folder.join("kept-keys.json")
    }

    /// Writes what `row` reads.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn plant(&self, row: Row) -> Result<()> {
        let source = self.source(row);
        match row {
            Row::Audiobook => books::audiobook(&source),
            Row::Epub => books::epub(&source),
            Row::Shelf => books::shelf(&source),
            Row::Licenses => self.plant_manifest(&source),
        }
    }

    /// The manifest, and the key of the book that it names.
    fn plant_manifest(&self, manifest: &Path) -> Result<()> {
        let book = self.source(Row::Epub);
        books::epub(&book)?;
        self.ours(&["lcp", "encrypt"])
            .arg(book)
            .arg("--out")
            .arg(self.folder.join("protected"))
            .arg("--key-file")
            .arg(self.kept_keys())
            .output()?;
        let mut text = String::from("publication,output,passphrase,user,rights_end\n");
        for number in 0..LICENSES {
            writeln!(text, "book.epub,{number}.lcpl,secret {number},u{number},2099-01-01")?;
        }
        fs::write(manifest, text).context("cannot write the manifest")
    }

    /// The variants of `row`; `rounds`: of those that are quick.
    pub(super) fn variants(&self, row: Row, rounds: usize) -> Vec<Variant> {
        let ours = |threads, has_checksum| Kind::Ours { threads, has_checksum };
        if row == Row::Licenses {
            // Half a minute a round, and hardly any noise: nothing but signatures.
            let rounds = rounds.min(2);
            let one = self.variant(row, "licenses, 1 thread", rounds, ours(1, false));
            return vec![one, self.variant(row, "licenses, 2 threads", rounds, ours(2, false))];
        }
        let (copy, theirs, their_rounds) = match row {
            Row::Shelf => ("cp -r", "lcpencrypt, xargs -P2", 1),
            Row::Audiobook => ("cp", "lcpencrypt", 1),
            _ => ("cp", "lcpencrypt", 3),
        };
        vec![
            self.variant(row, copy, rounds, Kind::Copy),
            self.variant(row, "encrypt, 1 thread", rounds, ours(1, true)),
            self.variant(row, "encrypt, 2 threads", rounds, ours(2, true)),
            self.variant(row, "--no-checksum, 1 thread", rounds, ours(1, false)),
            self.variant(row, "--no-checksum, 2 threads", rounds, ours(2, false)),
            self.variant(row, theirs, their_rounds.min(rounds), Kind::Lcpencrypt),
        ]
    }

    fn variant(&self, row: Row, name: &'static str, rounds: usize, kind: Kind) -> Variant {
        let program = match kind {
            Kind::Copy => Program::new("cp").arg("-r").arg(self.source(row)).arg(self.target()),
            Kind::Ours { threads, .. } if row == Row::Licenses => self.make_licenses(threads),
            Kind::Ours { threads, has_checksum } => self.protect(row, threads, has_checksum),
            Kind::Lcpencrypt if row == Row::Shelf => self.lcpencrypt_of_shelf(),
            Kind::Lcpencrypt => self
                .theirs(&self.lcpencrypt)
                .arg("-input")
                .arg(self.source(row))
                .arg("-output")
                .arg(self.target())
                .args(["-filename", "x", "-contentid", "x"]),
        };
        Variant { name, program, rounds, kind }
    }

    fn protect(&self, row: Row, threads: usize, has_checksum: bool) -> Program {
        let program = self
            .ours(&["lcp", "encrypt"])
            .arg(self.source(row))
            .arg("--out")
            .arg(self.target())
            .arg("--key-file")
            .arg(self.keys())
            .args(["--jobs", &threads.to_string()]);
        if has_checksum { program } else { program.arg("--no-checksum") }
    }

    fn make_licenses(&self, threads: usize) -> Program {
        self.ours(&["lcp", "license", "--hint", "hint", "--provider", "https://provider.example.org"])
            .arg("--manifest")
            .arg(self.source(Row::Licenses))
            .arg("--out")
            .arg(self.target())
            .arg("--key-file")
            .arg(self.kept_keys())
            .arg("--cert")
            .arg(self.certificates.join("cert-edrlab-test.pem"))
            .arg("--private-key")
            .arg(self.certificates.join("privkey-edrlab-test.pem"))
            .args(["--jobs", &threads.to_string()])
    }

    /// One process a book, two at a time: lcpencrypt takes one publication.
    fn lcpencrypt_of_shelf(&self) -> Program {
        let each = r#"ls "$1" | xargs -P2 -I@ "$0" -input "$1/@" -output "$2" -filename @ -contentid @"#;
        self.theirs("sh")
            .args(["-c", each])
            .arg(&self.lcpencrypt)
            .arg(self.source(Row::Shelf))
            .arg(self.target())
    }

    fn ours(&self, arguments: &[&str]) -> Program {
        Program::new(&self.cipherloom).args(arguments).arg("--quiet")
    }

    /// Their temporary files lie where ours do.
    fn theirs(&self, program: impl AsRef<std::ffi::OsStr>) -> Program {
        Program::new(program).environment("TMPDIR", &self.folder).folder(&self.folder)
    }
}
