//! `cipherloom keygen`: makes a key file, plain or wrapped, and never replaces one.

use crate::arguments::KeygenArguments;
use crate::exit_code::ExitCode;
use crate::{output, passphrase};
use cipherloom::Error;
use cipherloom::key::wrapped::{self, Lock};
use cipherloom::key::{Keyset, Template};
use std::io::ErrorKind;
use std::path::Path;
use zeroize::Zeroizing;

pub fn run(arguments: &KeygenArguments) -> anyhow::Result<ExitCode> {
    if arguments.output.symlink_metadata().is_ok() {
        return Err(exists(&arguments.output));
    }
    let keyset = Keyset::generate(arguments.template)?;
    if arguments.passphrase {
        let prompt = format!("New passphrase for {}: ", output::printable(&arguments.output));
        let passphrase = passphrase::new(arguments.passphrase_file.as_deref(), &prompt)?;
        write_new(&arguments.output, &wrapped::wrap(&keyset, &Lock::Passphrase(&passphrase))?)?;
    } else if !arguments.recipient.is_empty() {
        write_new(&arguments.output, &wrapped::wrap(&keyset, &Lock::Recipients(&arguments.recipient))?)?;
    } else {
        write_new(&arguments.output, keyset.to_json().as_bytes())?;
    }
    tell_made(&arguments.output, keyset.primary_id(), arguments.template);
    Ok(ExitCode::Success)
}

/// A plain key file that is yet to be written, for a run that starts with making its key.
pub struct NewKey<'p> {
    path: &'p Path,
    json: Zeroizing<String>,
    id: u32,
    template: Template,
}

impl NewKey<'_> {
    /// Generates a keyset for a key file at `path`, where none may be yet.
    pub fn generate(path: &Path, template: Template) -> anyhow::Result<(NewKey<'_>, Keyset)> {
        if path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        let keyset = Keyset::generate(template)?;
        Ok((NewKey { path, json: keyset.to_json(), id: keyset.primary_id(), template }, keyset))
    }

    /// Writes the key file.
    pub fn write(&self, is_quiet: bool) -> anyhow::Result<()> {
        write_new(self.path, self.json.as_bytes())?;
        if !is_quiet {
            tell_made(self.path, self.id, self.template);
        }
        Ok(())
    }
}

fn tell_made(path: &Path, id: u32, template: Template) {
    output::tell(format_args!(
        "{}: made key {id} ({template}); keep a copy, nothing opens without it",
        output::printable(path),
    ));
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
    })
}

fn exists(path: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "{}: exists already; a key file is never overwritten, choose another name",
        output::printable(path)
    )
}
