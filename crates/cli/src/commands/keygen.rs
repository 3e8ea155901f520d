//! `cipherloom keygen`: makes a key file, plain or wrapped, and never replaces one.

use crate::arguments::KeygenArguments;
use crate::exit_code::ExitCode;
use crate::{output, passphrase};
use anyhow::Context;
use cipherloom::key::wrapped::{self, Lock};
use cipherloom::key::{Keyset, Template};
use std::fs::OpenOptions;
use std::io::Write;
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

/// Writes a file that only its owner may read, and forces it to stable storage: what is encrypted with a lost key is
/// lost too.
fn write_new(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(exists(path)),
        Err(error) => {
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            let remedy = if is_missing { "; make its folder first" } else { "" };
            let path = output::printable(path);
            anyhow::bail!("{path}: cannot make the key file: {error}{remedy}");
        }
    };
    let written = file.write_all(contents).and_then(|()| file.sync_all());
    written.or_else(|error| {
        let _ = std::fs::remove_file(path);
        Err(error).with_context(|| format!("{}: cannot write the key file", output::printable(path)))
    })
}

fn exists(path: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "{}: exists already; a key file is never overwritten, choose another name",
        output::printable(path)
    )
}
