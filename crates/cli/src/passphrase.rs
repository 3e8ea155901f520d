//! Where a passphrase comes from: a file, the environment, or a prompt. Never an argument, which others can list.

use crate::exit_code::no_key;
use crate::{escape, keys, output};
use anyhow::Context;
use cipherloom::key::Passphrase;
use std::io::IsTerminal;
use std::path::Path;
use zeroize::Zeroizing;

/// Name of the environment variable.
pub const VARIABLE: &str = "CIPHERLOOM_PASSPHRASE";

/// A passphrase for a secret that exists already.
pub fn existing(file: Option<&Path>, prompt: &str) -> anyhow::Result<Passphrase> {
    match given(file)? {
        Some(passphrase) => Ok(passphrase),
        None => ask(prompt),
    }
}

/// A passphrase for a new secret: at a prompt it is asked for twice.
pub fn new(file: Option<&Path>, prompt: &str) -> anyhow::Result<Passphrase> {
    if let Some(passphrase) = given(file)? {
        return Ok(passphrase);
    }
    let first = read_hidden(prompt)?;
    let second = read_hidden("The same again: ")?;
    if *first != *second {
        return Err(no_key("the two passphrases differ; nothing was written, try again"));
    }
    Ok(Passphrase::new(&first)?)
}

fn given(file: Option<&Path>) -> anyhow::Result<Option<Passphrase>> {
    if let Some(path) = file {
        let contents = keys::read_beside(path, "the passphrase file")?;
        let passphrase = Passphrase::from_file(&contents).with_context(|| output::printable(path))?;
        return Ok(Some(passphrase));
    }
    let Some(value) = std::env::var_os(VARIABLE) else { return Ok(None) };
    let value = Zeroizing::new(value.into_encoded_bytes());
    Ok(Some(Passphrase::new(&value).context(VARIABLE)?))
}

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
