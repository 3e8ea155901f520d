//! No time of a wrong result: each variant's first output, in the hands of unzip, openssl and Readium's packages.

use super::books::SHELF;
use super::rows::{Bench, Kind, LICENSES, Row, Variant};
use anyhow::{Context, Result, bail, ensure};
use cipherloom_peers::Program;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// How every list of protected resources, of EPUBs and of Readium packages, names the cipher.
const CIPHER: &str = "http://www.w3.org/2001/04/xmlenc#aes256-cbc";

/// Decrypts the resource $2 of $1 with the key of the book named $5 in the key file $4, and compares with that of $3.
const DECRYPT: &str = r#"set -e
hex() { od -An -v -tx1 | tr -d ' \n'; }
key=$(grep -F "\"name\":\"$5\"" "$4" | sed 's/.*"content_key":"\([^"]*\)".*/\1/' | openssl base64 -d | hex)
unzip -p "$1" "$2" > "$0/cipher"
unzip -p "$3" "$2" > "$0/plain"
vector=$(head -c 16 "$0/cipher" | hex)
tail -c +17 "$0/cipher" | openssl enc -d -aes-256-cbc -nopad -K "$key" -iv "$vector" > "$0/opened"
cmp -n "$(stat -c %s "$0/plain")" "$0/plain" "$0/opened"
rm "$0/cipher" "$0/plain" "$0/opened"
"#;

/// How many protected resources each row's outputs hold, as far as known; all variants must agree.
#[derive(Default)]
pub(super) struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    /// Fails if a variant found another number than the others.
    pub(super) fn agree(&self) -> Result<()> {
        let mut counts = self.0.values();
        let first = counts.next();
        ensure!(counts.all(|count| Some(count) == first), "not equally many resources: {:?}", self.0);
        Ok(())
    }

    /// Checks what `variant` left in the target folder.
    ///
    /// # Errors
    /// If the output is not what it should be.
    pub(super) fn check(&mut self, bench: &Bench, row: Row, variant: &Variant) -> Result<()> {
        let is_ours = matches!(variant.kind, Kind::Ours { .. });
        let outputs = files(&bench.target())?;
        let expected = match row {
            Row::Audiobook | Row::Epub => 1,
            Row::Shelf => SHELF,
            Row::Licenses => LICENSES,
        };
        ensure!(outputs.len() == expected, "`{}` made {} files", variant.program.line(), outputs.len());
        if variant.kind == Kind::Copy {
            return Ok(());
        }
        if row == Row::Licenses {
            let said = Program::new(&bench.licenses).arg("verify").arg(&outputs[LICENSES / 2]).output()?;
            ensure!(said.contains("verified"), "Readium's packages say: {said}");
            return Ok(());
        }
        let mut count = 0;
        for output in &outputs {
            Program::new("unzip").arg("-tq").arg(output).output()?;
            let list = if row == Row::Audiobook { "manifest.json" } else { "META-INF/encryption.xml" };
            let list = Program::new("unzip").arg("-p").arg(output).arg(list).output()?;
            count += list.matches(CIPHER).count();
        }
        if count == 0 {
            bail!("`{}` protected nothing", variant.program.line());
        }
        self.0.insert(variant.name, count);
        if is_ours { opens(bench, row, &outputs[0]) } else { Ok(()) }
    }
}

/// openssl decrypts one resource of ours to the source's bytes.
fn opens(bench: &Bench, row: Row, output: &Path) -> Result<()> {
    let source = match row {
        Row::Shelf => files(&bench.source(row))?.remove(0),
        _ => bench.source(row),
    };
    let resource = if row == Row::Audiobook { "3.mp3" } else { "o/i0.jpg" };
    let folder = bench.target();
    Program::new("sh")
        .args(["-c", DECRYPT])
        .arg(folder)
        .arg(output)
        .arg(resource)
        .arg(&source)
        .arg(bench.keys())
        .arg(source.file_name().context("a source without name")?)
        .output()?;
    Ok(())
}

/// All files below `folder`, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}
