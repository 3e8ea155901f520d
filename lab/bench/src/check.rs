//! No time without a right result: each variant's first output in each row is opened by another program.

use super::peers::{PUBLISHED_VECTOR, Peers, RAW_KEY};
use super::variants::{Check, Variant};
use anyhow::{Context, Result, ensure};
use cipherloom_peers::Program;
use std::ffi::OsString;
use std::path::Path;

/// How many files are opened where each needs a process of its own.
const SAMPLE: usize = 5;

/// Proves that `target` is what `variant` should have made of `plain`.
///
/// # Errors
/// If it is not, or the other program cannot be run.
pub(crate) fn check(
    variant: &Variant,
    peers: &Peers,
    plain: &Path,
    target: &Path,
    scratch: &Path,
) -> Result<()> {
    let proven = match variant.check {
        Check::ExitCode => Ok(()),
        Check::Items => lists(variant, peers, plain, |files, folders| files + folders),
        Check::Files => lists(variant, peers, plain, |files, _| files),
        Check::Plan => plans(variant, peers, plain),
        Check::Plain => same(plain, target),
        Check::TinkGo => tink(peers, plain, target, scratch),
        Check::Openssl(cipher) => each_sample(plain, target, "", &|| {
            let open = format!("openssl enc -d -{cipher} -K {RAW_KEY} -iv");
            format!(
                "tail -c +17 \"$1\" | {open} $(head -c 16 \"$1\" | od -An -v -tx1 | tr -d ' \\n') | cmp - \"$0\""
            )
        }),
        Check::Published => each_sample(plain, target, "", &|| {
            let open = format!("openssl enc -d -aes-128-cbc -K {RAW_KEY} -iv {PUBLISHED_VECTOR}");
            format!("{open} -in \"$1\" | cmp - \"$0\"")
        }),
        Check::Age => each_sample(plain, target, ".age", &|| {
            let [age, x25519, hybrid] =
                [&peers.age, &peers.identity, &peers.hybrid_identity].map(|path| path.display());
            format!("'{age}' -d -i '{x25519}' -i '{hybrid}' \"$1\" | cmp - \"$0\"")
        }),
    };
    proven.with_context(|| format!("`{}` gave a wrong result", variant.name))
}

/// Counts the lines that the program prints.
fn lists(
    variant: &Variant,
    peers: &Peers,
    plain: &Path,
    expected: impl Fn(usize, usize) -> usize,
) -> Result<()> {
    let found = variant.program(peers, plain, Path::new("")).output()?.lines().count();
    let (files, folders) = count(plain)?;
    ensure!(found == expected(files, folders), "{found} lines for {files} files and {folders} folders");
    Ok(())
}

fn plans(variant: &Variant, peers: &Peers, plain: &Path) -> Result<()> {
    let plan: serde_json::Value =
        serde_json::from_str(&variant.program(peers, plain, Path::new("")).output()?)?;
    let (files, _) = count(plain)?;
    ensure!(plan["entries"] == files, "{} instead of {files} files", plan["entries"]);
    Ok(())
}

/// The files and folders below a folder.
fn count(folder: &Path) -> Result<(usize, usize)> {
    let (mut files, mut folders) = (0, 0);
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for item in folder.read_dir().with_context(|| format!("cannot list {}", folder.display()))? {
            let item = item?;
            if item.file_type()?.is_dir() {
                folders += 1;
                left.push(item.path());
            } else {
                files += 1;
            }
        }
    }
    Ok((files, folders))
}

fn same(plain: &Path, found: &Path) -> Result<()> {
    Program::new("diff").args(["-r", "-q"]).arg(plain).arg(found).output().map(drop)
}

fn tink(peers: &Peers, plain: &Path, target: &Path, scratch: &Path) -> Result<()> {
    let opened = scratch.join("opened");
    // tink-go's own output carries a suffix, ours does not; the peer removes it where it is there.
    Program::new(&peers.go)
        .arg("tink-decrypt-tree")
        .arg(&peers.keyset)
        .arg(target)
        .arg(&opened)
        .arg("2")
        .output()?;
    let result = same(plain, &opened);
    std::fs::remove_dir_all(&opened).with_context(|| format!("cannot remove {}", opened.display()))?;
    result
}

/// In the script, `$0` is the plain file and `$1` the file made of it.
fn each_sample(plain: &Path, target: &Path, ending: &str, script: &dyn Fn() -> String) -> Result<()> {
    let mut names: Vec<OsString> = plain
        .read_dir()?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<std::io::Result<_>>()?;
    names.sort();
    let made = target.read_dir().with_context(|| format!("cannot list {}", target.display()))?.count();
    ensure!(made == names.len(), "{made} files where {} were expected", names.len());
    let step = names.len().div_ceil(SAMPLE).max(1);
    for name in names.iter().step_by(step) {
        let mut made = name.clone();
        made.push(ending);
        let script = format!("set -eu; {}", script());
        Program::new("sh").args(["-c", &script]).arg(plain.join(name)).arg(target.join(made)).output()?;
    }
    Ok(())
}
