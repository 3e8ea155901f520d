//! Where a passphrase comes from: a file, the environment, or a prompt. Never an argument, which others can list.

use crate::exit_code::{no_key, usage};
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
    match given(file, Return::IsLeftOut)? {
        Some(passphrase) => Ok(passphrase),
        None => ask(prompt),
    }
}

/// A passphrase for the format openssl: of the same file, `openssl enc -pass file:FILE` must make the same key.
pub fn of_openssl(file: Option<&Path>, prompt: &str) -> anyhow::Result<Passphrase> {
    match given(file, Return::Belongs)? {
        Some(passphrase) => Ok(passphrase),
        None => ask(prompt),
    }
}

/// What is done with a carriage return at the end of a passphrase file's first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Return {
    IsLeftOut,
    /// It belongs to the passphrase, as openssl reads it.
    Belongs,
}

/// A passphrase for a new secret: at a prompt it is asked for twice.
pub fn new(file: Option<&Path>, prompt: &str) -> anyhow::Result<Passphrase> {
    if let Some(passphrase) = given(file, Return::IsLeftOut)? {
        return Ok(passphrase);
    }
    ask_twice(prompt)
}

/// A passphrase that takes the place of another one, which may be in the environment.
pub fn replacement(file: Option<&Path>, prompt: &str) -> anyhow::Result<Passphrase> {
    match file {
        Some(path) => from_file(path, Return::IsLeftOut),
        None => ask_twice(prompt),
    }
}

fn ask_twice(prompt: &str) -> anyhow::Result<Passphrase> {
    let first = read_hidden(prompt)?;
    let second = read_hidden("The same again: ")?;
    if *first != *second {
        return Err(no_key("the two passphrases differ; nothing was written, try again"));
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
        (keys::read_beside(path, "the passphrase file")?, output::printable(path).to_string())
    };
    let mut line = contents.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if let Some(stem) = line.strip_suffix(b"\r") {
        let words = match at_end {
            Return::IsLeftOut => "is not part of the passphrase",
            Return::Belongs => "is part of the passphrase, as for `openssl enc -pass file:`",
        };
        output::warn(format_args!("{name}: the carriage return at the end of the first line {words}"));
        line = if at_end == Return::IsLeftOut { stem } else { line };
    }
    Passphrase::new(line).with_context(|| name)
}

/// Standard input without a buffer: what follows the passphrase is for others, and no copy of it stays behind.
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

/// What is typed there would be shown.
fn refuse_terminal() -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() {
        return Err(usage(
            "--passphrase-file - reads standard input, which is the terminal here; leave it out to be asked",
        ));
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
            Err(error) => return Err(no_key(format!("standard input: cannot read the passphrase: {error}"))),
        }
    }
    Ok(line)
}

/// More bytes than any passphrase has.
const LONGEST_LINE: usize = 4096;

fn ask(prompt: &str) -> anyhow::Result<Passphrase> {
    Ok(Passphrase::new(&read_hidden(prompt)?)?)
}

fn read_hidden(prompt: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    // Prompt and answer go by /dev/tty: that one of these is a terminal says that somebody sits there.
    if !std::io::stderr().is_terminal() && !std::io::stdin().is_terminal() {
        return Err(no_key(format!(
            "a passphrase is needed and there is no terminal to ask at; give --passphrase-file FILE or set {VARIABLE}"
        )));
    }
    ask_hidden(&escape::line(prompt)).context("cannot ask for the passphrase; give --passphrase-file FILE")
}

#[cfg(unix)]
fn ask_hidden(prompt: &str) -> std::io::Result<Zeroizing<Vec<u8>>> {
    crate::terminal::ask(prompt)
}

#[cfg(not(unix))]
fn ask_hidden(prompt: &str) -> std::io::Result<Zeroizing<Vec<u8>>> {
    Ok(Zeroizing::new(rpassword::prompt_password(prompt)?.into_bytes()))
}
