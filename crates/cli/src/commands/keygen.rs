//! `cipherloom keygen`: makes a key file, plain or wrapped, and never replaces one.

use super::key_places;
use crate::arguments::KeygenArguments;
use crate::exit_code::{ExitCode, usage};
use crate::{output, passphrase};
use cipherloom::Error;
use cipherloom::key::wrapped::{self, Lock};
use cipherloom::key::{Keyset, Template};
use std::io::ErrorKind;
use std::path::Path;
use zeroize::Zeroizing;

pub fn run(arguments: &KeygenArguments) -> anyhow::Result<ExitCode> {
    let wrapping = Wrapping {
        passphrase: arguments.passphrase,
        passphrase_file: arguments.passphrase_file.as_deref(),
        recipients: &arguments.recipient,
    };
    let (key, _) = NewKey::generate(&arguments.output, arguments.template, &wrapping)?;
    key.write(false)?;
    key_places::warn_of_encrypted_neighbours(&arguments.output);
    Ok(ExitCode::Success)
}

/// What a new key file is wrapped with; with none of these it is plain.
pub struct Wrapping<'a> {
    /// A passphrase, from wherever there is one.
    pub passphrase: bool,
    /// The passphrase in this file.
    pub passphrase_file: Option<&'a Path>,
    pub recipients: &'a [String],
}

impl Wrapping<'_> {
    /// What the key file at `path` will hold.
    fn wrap(&self, keyset: &Keyset, path: &Path) -> anyhow::Result<Zeroizing<Vec<u8>>> {
        let contents = if self.passphrase || self.passphrase_file.is_some() {
            let prompt = format!("New passphrase for {}: ", output::printable(path));
            let passphrase = passphrase::new(self.passphrase_file, &prompt)?;
            wrapped::wrap(keyset, &Lock::Passphrase(&passphrase))?
        } else if !self.recipients.is_empty() {
            wrapped::wrap(keyset, &Lock::Recipients(self.recipients))?
        } else {
            keyset.to_json().as_bytes().to_vec()
        };
        Ok(Zeroizing::new(contents))
    }
}

/// A key file that is yet to be written, for a run that starts with making its key.
pub struct NewKey<'p> {
    path: &'p Path,
    contents: Zeroizing<Vec<u8>>,
    id: u32,
    fingerprint: String,
    template: Template,
}

impl<'p> NewKey<'p> {
    /// Generates a keyset for a key file at `path`, where none may be yet.
    pub fn generate(
        path: &'p Path,
        template: Template,
        wrapping: &Wrapping<'_>,
    ) -> anyhow::Result<(NewKey<'p>, Keyset)> {
        if path == Path::new("-") {
            return Err(usage(
                "a key goes to a file that its owner alone may read, not to standard output; name one",
            ));
        }
        if path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        let keyset = Keyset::generate(template)?;
        let contents = wrapping.wrap(&keyset, path)?;
        let (id, fingerprint) = (keyset.primary_id(), keyset.fingerprint());
        Ok((NewKey { path, contents, id, fingerprint, template }, keyset))
    }

    /// Writes the key file.
    pub fn write(&self, is_quiet: bool) -> anyhow::Result<()> {
        write_new(self.path, &self.contents)?;
        if !is_quiet {
            output::tell(format_args!(
                "{}: made key {}, fingerprint {} ({}); keep a copy, nothing opens without it",
                output::printable(self.path),
                self.id,
                self.fingerprint,
                self.template,
            ));
        }
        Ok(())
    }
}

/// The key that a run starts with making, if it does.
pub struct FirstKey<'k> {
    key: Option<&'k NewKey<'k>>,
    is_quiet: bool,
}

impl<'k> FirstKey<'k> {
    /// For a run whose keys are all there.
    pub const NONE: FirstKey<'static> = FirstKey { key: None, is_quiet: true };

    pub fn new(key: Option<&'k NewKey<'k>>, is_quiet: bool) -> FirstKey<'k> {
        FirstKey { key, is_quiet }
    }

    /// Whether the run makes its key.
    pub fn is_made(&self) -> bool {
        self.key.is_some()
    }

    /// Writes the key file: when nothing but the run itself can fail any more.
    pub fn write(&self) -> anyhow::Result<()> {
        self.key.map_or(Ok(()), |key| key.write(self.is_quiet))
    }

    /// After a run that could not start, so that nothing was written with the key: removes the key file again, on which
    /// the repeated command would fail.
    pub fn take_back(&self) {
        let Some(NewKey { path, .. }) = self.key else { return };
        if std::fs::remove_file(path).is_ok() && !self.is_quiet {
            output::tell(format_args!(
                "{}: removed again; nothing was made with it",
                output::printable(path)
            ));
        }
    }
}

fn write_new(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    cipherloom::write_key_file(path, contents).map_err(|error| {
        let kind = if let Error::Io { source, .. } = &error { Some(source.kind()) } else { None };
        let remedy = match kind {
            Some(ErrorKind::AlreadyExists) => return exists(path),
            Some(ErrorKind::NotFound) => "; make its folder first",
            _ => "",
        };
        anyhow::anyhow!("{}: {error}{remedy}", output::printable(path))
    })?;
    warn_if_open(path, contents);
    Ok(())
}

/// Where a file system keeps no permissions, those of its mount hold. A wrapped key may be read by others.
#[cfg(unix)]
fn warn_if_open(path: &Path, contents: &[u8]) {
    use std::os::unix::fs::PermissionsExt;
    let is_wrapped = contents.starts_with(b"-----BEGIN AGE") || contents.starts_with(b"age-encryption.org/");
    let is_open = std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0);
    if is_open && !is_wrapped {
        output::warn(format_args!(
            "{}: others may read this key file, since its file system does not keep permissions; keep it elsewhere",
            output::printable(path)
        ));
    }
}

#[cfg(not(unix))]
fn warn_if_open(_path: &Path, _contents: &[u8]) {}

fn exists(path: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "{}: exists already; a key file is never overwritten, choose another name",
        output::printable(path)
    )
}
