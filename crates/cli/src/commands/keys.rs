//! `cipherloom keys`: shows and changes a key file. A changed file replaces the old one at once; the old one is kept.

use crate::arguments::{
    KeyFileArguments, KeysAddArguments, KeysArguments, KeysCommand, KeysIdArguments, KeysListArguments,
    KeysPassphraseArguments,
};
use crate::exit_code::{ExitCode, usage};
use crate::keys::{self, Opened, Openers};
use crate::{output, passphrase};
use anyhow::Context;
use cipherloom::Error;
use cipherloom::key::wrapped::{self, Lock, LockKind};
use cipherloom::key::{KeyInfo, KeyStatus, Keyset, Protection};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use zeroize::Zeroizing;

pub fn run(arguments: &KeysArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        KeysCommand::List(arguments) => list(arguments),
        KeysCommand::Add(arguments) => add(arguments),
        KeysCommand::Promote(arguments) => change_one(arguments, Keyset::promote, |id| {
            format!(
                "key {id} encrypts from now on; other files keep their keys until `cipherloom rekey` gives them this one"
            )
        }),
        KeysCommand::Disable(arguments) => change_one(arguments, Keyset::disable, |id| {
            format!("disabled key {id}: what it encrypted does not open until `cipherloom keys enable`")
        }),
        KeysCommand::Enable(arguments) => {
            change_one(arguments, Keyset::enable, |id| format!("enabled key {id}"))
        }
        KeysCommand::Passphrase(arguments) => change_passphrase(arguments),
    }
}

fn list(arguments: &KeysListArguments) -> anyhow::Result<ExitCode> {
    #[derive(Serialize)]
    struct Key {
        id: u32,
        status: &'static str,
        primary: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cipher: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        segment_bytes: Option<u32>,
    }
    #[derive(Serialize)]
    struct Listing {
        wrapped: Option<&'static str>,
        keys: Vec<Key>,
    }
    let Opened { keyset, lock, .. } = open(&arguments.key_file)?;
    let wrapped = lock.map(|lock| match lock {
        LockKind::Passphrase => "passphrase",
        LockKind::Recipients => "recipients",
    });
    let key = |key: KeyInfo| Key {
        id: key.id,
        status: status(key.status),
        primary: key.is_primary,
        cipher: key.protection.map(cipher),
        segment_bytes: key.segment_size,
    };
    let listing = Listing { wrapped, keys: keyset.keys().map(key).collect() };
    if arguments.json {
        output::print_json(&listing)?;
        return Ok(ExitCode::Success);
    }
    let mut text = String::new();
    for key in &listing.keys {
        let status = if key.primary { "primary" } else { key.status };
        let _ = write!(text, "{:>10}  {status}", key.id);
        if let (Some(cipher), Some(bytes)) = (key.cipher, key.segment_bytes) {
            let _ = write!(text, ": {cipher}, segments of {}", output::size(bytes.into()));
        }
        text.push('\n');
    }
    output::print(&text)?;
    Ok(ExitCode::Success)
}

fn status(status: KeyStatus) -> &'static str {
    match status {
        KeyStatus::Enabled => "enabled",
        KeyStatus::Disabled => "disabled",
        KeyStatus::Destroyed => "destroyed",
    }
}

fn cipher(protection: Protection) -> &'static str {
    match protection {
        Protection::Gcm => "AES-GCM",
        Protection::CtrHmac { .. } => "AES-CTR with HMAC",
    }
}

fn add(arguments: &KeysAddArguments) -> anyhow::Result<ExitCode> {
    change(&arguments.key_file, &arguments.recipient, |keyset| {
        let id = keyset.add(arguments.template)?;
        if !arguments.primary {
            return Ok(format!(
                "added key {id} ({}), which decrypts; `cipherloom keys promote` makes it encrypt",
                arguments.template
            ));
        }
        keyset.promote(id)?;
        Ok(format!("added key {id} ({}), which encrypts from now on", arguments.template))
    })
}

fn change_one(
    arguments: &KeysIdArguments,
    change_key: impl FnOnce(&mut Keyset, u32) -> Result<(), Error>,
    said: impl FnOnce(u32) -> String,
) -> anyhow::Result<ExitCode> {
    change(&arguments.key_file, &arguments.recipient, |keyset| {
        change_key(keyset, arguments.id)?;
        Ok(said(arguments.id))
    })
}

/// Changes a key file's keys and keeps what it is wrapped with. `change_keys` returns what was done, in words.
fn change(
    arguments: &KeyFileArguments,
    recipients: &[String],
    change_keys: impl FnOnce(&mut Keyset) -> Result<String, Error>,
) -> anyhow::Result<ExitCode> {
    let path = &arguments.file;
    refuse_stream(path)?;
    let Opened { mut keyset, lock, passphrase } = open(arguments)?;
    match lock {
        Some(LockKind::Recipients) if recipients.is_empty() => {
            return Err(usage(format!(
                "{}: an age file does not tell the recipients that it is wrapped for; name all of them again with \
                 --recipient AGE1…",
                output::printable(path)
            )));
        }
        Some(LockKind::Passphrase) | None if !recipients.is_empty() => {
            return Err(usage(format!(
                "{}: --recipient is for key files that are wrapped for recipients; leave it out",
                output::printable(path)
            )));
        }
        _ => {}
    }
    let said = change_keys(&mut keyset).with_context(|| output::printable(path))?;
    let contents = match (lock, &passphrase) {
        (Some(LockKind::Passphrase), Some(passphrase)) => {
            wrapped::wrap(&keyset, &Lock::Passphrase(passphrase))?
        }
        (Some(_), _) => wrapped::wrap(&keyset, &Lock::Recipients(recipients))?,
        (None, _) => keyset.to_json().as_bytes().to_vec(),
    };
    replace(path, contents, &said)
}

fn change_passphrase(arguments: &KeysPassphraseArguments) -> anyhow::Result<ExitCode> {
    let path = &arguments.key_file.file;
    refuse_stream(path)?;
    let Opened { keyset, lock, .. } = open(&arguments.key_file)?;
    let prompt = format!("New passphrase for {}: ", output::printable(path));
    let passphrase = passphrase::replacement(arguments.new_passphrase_file.as_deref(), &prompt)?;
    let contents = wrapped::wrap(&keyset, &Lock::Passphrase(&passphrase))?;
    let said = match lock {
        Some(LockKind::Passphrase) => "changed the passphrase",
        Some(LockKind::Recipients) => "wrapped with the passphrase instead of for recipients",
        None => "wrapped with the passphrase",
    };
    replace(path, contents, said)
}

fn open(arguments: &KeyFileArguments) -> anyhow::Result<Opened> {
    let openers = Openers {
        identity: arguments.identity.as_deref(),
        passphrase_file: arguments.passphrase_file.as_deref(),
        passphrase: None,
    };
    let opened = keys::keyset(&arguments.file, openers)?;
    keys::refuse_idle_secrets(
        &[
            ("--identity", openers.identity.is_some(), LockKind::Recipients),
            ("--passphrase-file", openers.passphrase_file.is_some(), LockKind::Passphrase),
        ],
        &[opened.lock],
    )?;
    Ok(opened)
}

/// A pipe can be read and not replaced.
fn refuse_stream(path: &Path) -> anyhow::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(usage(format!(
            "{}: only a key file that is a regular file can be changed",
            output::printable(path)
        ))),
        // What is not there is told when it is read.
        _ => Ok(()),
    }
}

fn replace(path: &Path, contents: Vec<u8>, said: &str) -> anyhow::Result<ExitCode> {
    let contents = Zeroizing::new(contents);
    let kept = cipherloom::replace_key_file(path, &contents).with_context(|| output::printable(path))?;
    output::tell(format_args!("{}: {said}", output::printable(path)));
    output::tell(format_args!(
        "{}: the key file as it was; delete it when the new one is safely copied",
        output::printable(&beside(path, &kept))
    ));
    Ok(ExitCode::Success)
}

/// The kept file's path as the user named its folder.
fn beside(path: &Path, kept: &Path) -> std::path::PathBuf {
    let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    match kept.file_name() {
        Some(name) if !is_link => path.with_file_name(name),
        _ => kept.to_owned(),
    }
}
