//! `cipherloom keygen` and `cipherloom keys`: make, show and change key files. A new key file never replaces another. A changed
//! one replaces the old one at once, and the old one is kept.

use super::key_places;
use crate::arguments::{
    ChangeArguments, FormatName, KeyFileArguments, KeygenArguments, KeysAddArguments, KeysCommand,
    KeysIdArguments, KeysListArguments, KeysPassphraseArguments,
};
use crate::exit_code::{ExitCode, failure, usage};
use crate::keys::{Opened, file_contents, open_keyset};
use crate::output::{self, at};
use crate::{escape, passphrase};
use anyhow::Context;
use cipherloom::age::Identity;
use cipherloom::key::wrapped::{Lock, LockKind};
use cipherloom::key::{KeyInfo, KeyStatus, Keyset, Passphrase, Protection, Template};
use cipherloom::{Error, Format, stream::encrypt_with_format};
use serde::Serialize;
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

pub fn generate(arguments: &KeygenArguments) -> anyhow::Result<ExitCode> {
    refuse_other_formats(arguments)?;
    let key = match arguments.format {
        FormatName::Age => NewKey::generate_identity(arguments)?,
        _ => NewKey::generate(arguments, false)?.0,
    };
    key.write()?;
    key_places::warn_of_encrypted_neighbours(&arguments.output);
    Ok(ExitCode::Success)
}

/// Refuses options of the other kind of key.
fn refuse_other_formats(arguments: &KeygenArguments) -> anyhow::Result<()> {
    let (option, format) = match arguments.format {
        FormatName::Age if !arguments.recipient.is_empty() => ("--recipient", "age"),
        FormatName::Age if arguments.template != Template::default() => ("--template", "age"),
        FormatName::Tink if arguments.post_quantum => ("--post-quantum", "tink"),
        _ => return Ok(()),
    };
    Err(usage(format!("{option} cannot be used with --format {format}"), ""))
}

/// A key file that is yet to be written, for a run that starts with making its key.
pub struct NewKey {
    path: PathBuf,
    contents: Zeroizing<Vec<u8>>,
    /// What is printed about it.
    description: String,
    is_quiet: bool,
}

impl NewKey {
    /// Generates a keyset for a key file that does not exist yet.
    pub fn generate(arguments: &KeygenArguments, is_quiet: bool) -> anyhow::Result<(NewKey, Keyset)> {
        let KeygenArguments { output: path, template, recipient, .. } = arguments;
        refuse_path(path)?;
        let keyset = Keyset::generate(*template)?;
        let passphrase = new_passphrase(arguments)?;
        let lock = match &passphrase {
            Some(passphrase) => Some(Lock::Passphrase(passphrase)),
            None => Some(Lock::Recipients(recipient)).filter(|_| !recipient.is_empty()),
        };
        let contents = file_contents(&keyset, lock.as_ref())?;
        let (id, fingerprint) = (keyset.primary_id(), keyset.fingerprint());
        let description = format!(
            "made key {id}, fingerprint {fingerprint} ({template}); keep a copy, nothing opens without it"
        );
        Ok((NewKey { path: path.clone(), contents, description, is_quiet }, keyset))
    }

    /// Generates an age identity for a file that does not exist yet: as age-keygen writes it, or inside an age file
    /// with a passphrase.
    fn generate_identity(arguments: &KeygenArguments) -> anyhow::Result<NewKey> {
        let path = &arguments.output;
        refuse_path(path)?;
        let is_post_quantum = arguments.post_quantum;
        let identity =
            if is_post_quantum { Identity::generate_post_quantum()? } else { Identity::generate()? };
        let (recipient, secret) = (identity.recipient(), identity.to_secret_text().unwrap_or_default());
        let text = Zeroizing::new(format!("# public key: {recipient}\n{}\n", *secret));
        let contents = match new_passphrase(arguments)? {
            None => text.as_bytes().to_vec(),
            Some(words) => encrypt_with_format(text.as_bytes(), &Format::age_passphrase(words)?, b"")?,
        };
        let description = format!(
            "made an age identity; keep a copy, nothing opens without it; its recipient: {recipient}"
        );
        Ok(NewKey { path: path.clone(), contents: Zeroizing::new(contents), description, is_quiet: false })
    }

    /// Writes the key file.
    pub fn write(&self) -> anyhow::Result<()> {
        let path = &self.path;
        cipherloom::internal::write_key_file(path, &self.contents).map_err(|error| {
            let kind = if let Error::Io { source, .. } = &error { Some(source.kind()) } else { None };
            let hint = match kind {
                Some(ErrorKind::AlreadyExists) => return exists(path),
                Some(ErrorKind::NotFound) => "make its folder first",
                _ => "",
            };
            failure(ExitCode::Failure, at(path, error), hint)
        })?;
        warn_if_open(path, &self.contents);
        if !self.is_quiet {
            output::print_line(at(path, &self.description));
        }
        Ok(())
    }

    /// Removes the key file after a run that could not start: nothing was encrypted with it, and the repeated command
    /// would fail on it.
    pub fn take_back(&self) {
        if std::fs::remove_file(&self.path).is_ok() && !self.is_quiet {
            output::print_line(at(&self.path, "removed again; nothing was made with it"));
        }
    }
}

/// The passphrase for a new key file, if it gets one.
fn new_passphrase(arguments: &KeygenArguments) -> anyhow::Result<Option<Passphrase>> {
    let KeygenArguments { output, passphrase, passphrase_file, .. } = arguments;
    if !passphrase && passphrase_file.is_none() {
        return Ok(None);
    }
    let prompt = format!("New passphrase for {}: ", escape::path(output));
    passphrase::new(passphrase_file.as_deref(), &prompt).map(Some)
}

/// Refuses a path where no key file can be made.
fn refuse_path(path: &Path) -> anyhow::Result<()> {
    if path == Path::new("-") {
        let message = "a key goes to a file that its owner alone may read, not to standard output";
        return Err(usage(message, "name a file"));
    }
    if path.symlink_metadata().is_ok() { Err(exists(path)) } else { Ok(()) }
}

/// Where a file system keeps no permissions, those of its mount hold. A wrapped key may be read by others.
#[cfg(unix)]
fn warn_if_open(path: &Path, contents: &[u8]) {
    use std::os::unix::fs::PermissionsExt;
    let is_open = std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0);
    if is_open && !cipherloom::key::wrapped::is_wrapped(contents) {
        let words = "others may read this key file, since its file system does not keep permissions";
        output::warn(at(path, format_args!("{words}; keep it elsewhere")));
    }
}

#[cfg(not(unix))]
fn warn_if_open(_path: &Path, _contents: &[u8]) {}

fn exists(path: &Path) -> anyhow::Error {
    let message = at(path, "exists already, and a key file is never overwritten");
    failure(ExitCode::Failure, message, "choose another name")
}

pub fn run(command: &KeysCommand) -> anyhow::Result<ExitCode> {
    match command {
        KeysCommand::List(arguments) => list(arguments),
        KeysCommand::Add(arguments) => add(arguments),
        KeysCommand::Promote(arguments) => change_one(
            arguments,
            Keyset::promote,
            "encrypts from now on; other files keep their keys until `cipherloom rekey` gives them this one",
        ),
        KeysCommand::Disable(arguments) => change_one(
            arguments,
            Keyset::disable,
            "is disabled: what it encrypted does not open until `cipherloom keys enable`",
        ),
        KeysCommand::Enable(arguments) => change_one(arguments, Keyset::enable, "is enabled"),
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
        status: match key.status {
            KeyStatus::Enabled => "enabled",
            KeyStatus::Disabled => "disabled",
            KeyStatus::Destroyed => "destroyed",
        },
        primary: key.is_primary,
        cipher: key.protection.map(|protection| match protection {
            Protection::Gcm => "AES-GCM",
            Protection::CtrHmac { .. } => "AES-CTR with HMAC",
        }),
        segment_bytes: key.segment_size,
    };
    let listing = Listing { wrapped, keys: keyset.keys().map(key).collect() };
    output::print_as(arguments.json, &listing, || {
        let mut text = String::new();
        for key in &listing.keys {
            let status = if key.primary { "primary" } else { key.status };
            let _ = write!(text, "{:>10}  {status}", key.id);
            if let (Some(cipher), Some(bytes)) = (key.cipher, key.segment_bytes) {
                let _ = write!(text, ": {cipher}, segments of {}", output::size(bytes.into()));
            }
            text.push('\n');
        }
        text
    })?;
    Ok(ExitCode::Success)
}

fn add(arguments: &KeysAddArguments) -> anyhow::Result<ExitCode> {
    let KeysAddArguments { change, template, primary } = arguments;
    change_keys(change, |keyset| {
        let id = keyset.add(*template)?;
        if !primary {
            let remedy = "`cipherloom keys promote` makes it encrypt";
            return Ok(format!("added key {id} ({template}), which decrypts; {remedy}"));
        }
        keyset.promote(id)?;
        Ok(format!("added key {id} ({template}), which encrypts from now on"))
    })
}

fn change_one(
    arguments: &KeysIdArguments,
    change: impl FnOnce(&mut Keyset, u32) -> Result<(), Error>,
    done: &str,
) -> anyhow::Result<ExitCode> {
    let id = arguments.id;
    change_keys(&arguments.change, |keyset| change(keyset, id).map(|()| format!("key {id} {done}")))
}

/// Changes a key file's keys and keeps what it is wrapped with. `change` returns what was done, in words.
fn change_keys(
    arguments: &ChangeArguments,
    change: impl FnOnce(&mut Keyset) -> Result<String, Error>,
) -> anyhow::Result<ExitCode> {
    let ChangeArguments { key_file, recipient } = arguments;
    let path = &key_file.file;
    refuse_stream(path)?;
    let Opened { mut keyset, lock, passphrase } = open(key_file)?;
    match lock {
        Some(LockKind::Recipients) if recipient.is_empty() => {
            let words = "an age file does not list the recipients that it is wrapped for";
            return Err(usage(at(path, words), "name all of them again with --recipient AGE1…"));
        }
        Some(LockKind::Passphrase) | None if !recipient.is_empty() => {
            let words = "--recipient is for key files that are wrapped for recipients";
            return Err(usage(at(path, words), "leave it out"));
        }
        _ => {}
    }
    let done = change(&mut keyset).with_context(|| escape::path(path))?;
    let lock = match &passphrase {
        Some(passphrase) => Some(Lock::Passphrase(passphrase)),
        None => lock.map(|_| Lock::Recipients(recipient)),
    };
    replace(path, &keyset, lock.as_ref(), &done)
}

fn change_passphrase(arguments: &KeysPassphraseArguments) -> anyhow::Result<ExitCode> {
    let path = &arguments.key_file.file;
    refuse_stream(path)?;
    let Opened { keyset, lock, .. } = open(&arguments.key_file)?;
    let prompt = format!("New passphrase for {}: ", escape::path(path));
    let passphrase = passphrase::replacement(arguments.new_passphrase_file.as_deref(), &prompt)?;
    let done = match lock {
        Some(LockKind::Passphrase) => "changed the passphrase",
        Some(LockKind::Recipients) => "wrapped with the passphrase instead of for recipients",
        None => "wrapped with the passphrase",
    };
    replace(path, &keyset, Some(&Lock::Passphrase(&passphrase)), done)
}

fn open(arguments: &KeyFileArguments) -> anyhow::Result<Opened> {
    open_keyset(&arguments.file, &arguments.secrets)
}

/// Refuses a pipe, which can be read but not replaced. A missing file is reported when it is read.
fn refuse_stream(path: &Path) -> anyhow::Result<()> {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(usage(at(path, "only a key file that is a regular file can be changed"), ""));
    }
    Ok(())
}

fn replace(path: &Path, keyset: &Keyset, lock: Option<&Lock<'_>>, done: &str) -> anyhow::Result<ExitCode> {
    let contents = file_contents(keyset, lock)?;
    let kept = cipherloom::internal::replace_key_file(path, &contents).with_context(|| escape::path(path))?;
    output::print_line(at(path, done));
    // The kept file's path as the user named its folder.
    let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let kept = match kept.file_name() {
        Some(name) if !is_link => path.with_file_name(name),
        _ => kept,
    };
    output::print_line(at(&kept, "the key file as it was; delete it when the new one is safely copied"));
    Ok(ExitCode::Success)
}
