//! Where a passphrase comes from: a file, the environment, or a prompt. Never an argument, which others can list.

use crate::exit_code::no_key;
use crate::{keys, output};
use anyhow::Context;
use cipherloom::key::Passphrase;
use std::io::IsTerminal;
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
    let first = read_hidden(prompt)?;
    let second = read_hidden("The same again: ")?;
    if *first != *second {
        return Err(no_key("the two passphrases differ; nothing was written, try again"));
    }
    Ok(Passphrase::new(first.as_bytes())?)
}

fn given(file: Option<&Path>, at_end: Return) -> anyhow::Result<Option<Passphrase>> {
    if let Some(path) = file {
        let contents = keys::read_beside(path, "the passphrase file")?;
        let mut line = contents.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if let Some(stem) = line.strip_suffix(b"\r") {
            let words = match at_end {
                Return::IsLeftOut => "is not part of the passphrase",
                Return::Belongs => "is part of the passphrase, as for `openssl enc -pass file:`",
            };
            output::warn(format_args!(
                "{}: the carriage return at the end of the first line {words}",
                output::printable(path)
            ));
            line = if at_end == Return::IsLeftOut { stem } else { line };
        }
        let passphrase = Passphrase::new(line).with_context(|| output::printable(path))?;
        return Ok(Some(passphrase));
    }
    let Some(value) = std::env::var_os(VARIABLE) else { return Ok(None) };
    let value = Zeroizing::new(value.into_encoded_bytes());
    Ok(Some(Passphrase::new(&value).context(VARIABLE)?))
}

fn ask(prompt: &str) -> anyhow::Result<Passphrase> {
    Ok(Passphrase::new(read_hidden(prompt)?.as_bytes())?)
}

fn read_hidden(prompt: &str) -> anyhow::Result<Zeroizing<String>> {
    // Prompt and answer go by /dev/tty: that one of these is a terminal says that somebody sits there.
    if !std::io::stderr().is_terminal() && !std::io::stdin().is_terminal() {
        return Err(no_key(format!(
            "a passphrase is needed and there is no terminal to ask at; give --passphrase-file FILE or set {VARIABLE}"
        )));
    }
    rpassword::prompt_password(prompt)
        .map(Zeroizing::new)
        .context("cannot ask for the passphrase; give --passphrase-file FILE")
}
