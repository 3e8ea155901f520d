//! Reads a passphrase: from a file, the environment or a prompt. Never from an argument, which other users can list.

use crate::exit_code::{ExitCode, failure, no_key, usage};
use crate::{escape, keys, output};
use anyhow::Context;
use cipherloom::key::Passphrase;
use std::io::{ErrorKind, IsTerminal, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// Name of the environment variable.
pub const VARIABLE: &str = "CIPHERLOOM_PASSPHRASE";

/// A passphrase for a secret that exists already.
pub fn existing(file: Option<&Path>, prompt: &str) -> anyhow::Result<Passphrase> {
    given(file, Return::Dropped)?.map_or_else(|| Ok(Passphrase::new(&read_hidden(prompt)?)?), Ok)
}

/// A passphrase for the format openssl: of the same file, `openssl enc -pass file:FILE` must make the same key.
pub fn for_openssl(file: Option<&Path>) -> anyhow::Result<Passphrase> {
    given(file, Return::Kept)?.map_or_else(|| Ok(Passphrase::new(&read_hidden("Passphrase: ")?)?), Ok)
}

/// What is done with a carriage return at the end of a passphrase file's first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Return {
    Dropped,
    /// It is part of the passphrase, as openssl reads it.
    Kept,
}

/// A passphrase for a new secret: at a prompt it is asked for twice.
pub fn new(file: Option<&Path>, prompt: &str) -> anyhow::Result<Passphrase> {
    given(file, Return::Dropped)?.map_or_else(|| ask_twice(prompt), Ok)
}

/// A passphrase that replaces another one, which may be in the environment.
pub fn replacement(file: Option<&Path>, prompt: &str) -> anyhow::Result<Passphrase> {
    file.map_or_else(|| ask_twice(prompt), |path| from_file(path, Return::Dropped))
}

fn ask_twice(prompt: &str) -> anyhow::Result<Passphrase> {
    let first = read_hidden(prompt)?;
    let second = read_hidden("The same again: ")?;
    if *first != *second {
        return Err(no_key("the two passphrases differ, so nothing was written", "try again"));
    }
    Ok(Passphrase::new(&first)?)
}

fn given(file: Option<&Path>, at_end: Return) -> anyhow::Result<Option<Passphrase>> {
    if let Some(path) = file {
        return from_file(path, at_end).map(Some);
    }
    let Some(value) = std::env::var_os(VARIABLE) else { return Ok(None) };
    let value = Zeroizing::new(value.into_encoded_bytes());
    Ok(Some(Passphrase::new(&value).context(VARIABLE)?))
}

fn from_file(path: &Path, at_end: Return) -> anyhow::Result<Passphrase> {
    let (contents, name) = if path == Path::new("-") {
        (first_line(&mut standard_input()?)?, "standard input".to_owned())
    } else {
        (keys::read_secret(path, "the passphrase file")?, escape::path(path))
    };
    let mut line = contents.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if let Some(stem) = line.strip_suffix(b"\r") {
        let words = match at_end {
            Return::Dropped => "is not part of the passphrase",
            Return::Kept => "is part of the passphrase, as for `openssl enc -pass file:`",
        };
        output::warn(format_args!("{name}: the carriage return at the end of the first line {words}"));
        line = if at_end == Return::Dropped { stem } else { line };
    }
    Passphrase::new(line).with_context(|| name)
}

/// Standard input without a buffer: later readers get what follows the passphrase, and no copy stays in memory.
#[cfg(unix)]
fn standard_input() -> anyhow::Result<impl Read> {
    use std::os::fd::AsFd;
    refuse_terminal()?;
    Ok(std::fs::File::from(std::io::stdin().as_fd().try_clone_to_owned().context("standard input")?))
}

#[cfg(not(unix))]
fn standard_input() -> anyhow::Result<impl Read> {
    refuse_terminal()?;
    Ok(std::io::stdin())
}

/// The terminal would show what is typed.
fn refuse_terminal() -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() {
        let message = "--passphrase-file - reads standard input, which is the terminal here";
        return Err(usage(message, "leave it out to be asked"));
    }
    Ok(())
}

/// The bytes up to the first newline, and no more.
fn first_line(source: &mut impl Read) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    // Room for every passphrase that is not too long: growing would leave a copy behind.
    let mut line = Zeroizing::new(Vec::with_capacity(LONGEST_LINE));
    let mut byte = Zeroizing::new([0]);
    while line.len() < LONGEST_LINE {
        match source.read(&mut *byte) {
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(no_key(format!("standard input: cannot read the passphrase: {error}"), ""));
            }
        }
    }
    Ok(line)
}

/// More bytes than any passphrase has.
const LONGEST_LINE: usize = 4096;

fn read_hidden(prompt: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    if !has_terminal() {
        let hint = format!("give --passphrase-file FILE or set {VARIABLE}");
        return Err(no_key("a passphrase is needed and there is no terminal to ask at", hint));
    }
    ask(prompt, Echo::Off).map_err(|error| {
        let message = format!("cannot ask for the passphrase: {error}");
        failure(ExitCode::Failure, message, "give --passphrase-file FILE")
    })
}

/// Asks something at the terminal, and gives the line that was typed.
///
/// # Errors
/// If there is no terminal, or it gives no line.
pub fn ask_at_terminal(prompt: &str, echo: Echo) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    anyhow::ensure!(has_terminal(), "there is no terminal to ask at");
    Ok(ask(prompt, echo)?)
}

/// Prompt and answer use /dev/tty; a user can answer only if one of these streams is a terminal.
fn has_terminal() -> bool {
    std::io::stderr().is_terminal() || std::io::stdin().is_terminal()
}

/// Whether what is typed is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    On,
    Off,
}

#[cfg(unix)]
fn ask(prompt: &str, echo: Echo) -> std::io::Result<Zeroizing<Vec<u8>>> {
    crate::terminal::ask(&escape::line(prompt), echo)
}

#[cfg(not(unix))]
fn ask(prompt: &str, _echo: Echo) -> std::io::Result<Zeroizing<Vec<u8>>> {
    Ok(Zeroizing::new(rpassword::prompt_password(escape::line(prompt))?.into_bytes()))
}
