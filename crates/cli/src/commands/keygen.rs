//! `cipherloom keygen`: makes a key file, plain or wrapped, and never replaces one.

use crate::arguments::KeygenArguments;
use crate::exit_code::ExitCode;
use crate::passphrase;
use anyhow::Context;
use cipherloom::key::wrapped::{self, Lock};
use cipherloom::key::{Keyset, Template};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

pub fn run(arguments: &KeygenArguments) -> anyhow::Result<ExitCode> {
    if arguments.output.symlink_metadata().is_ok() {
        return Err(exists(&arguments.output));
    }
    let keyset = Keyset::generate(arguments.template)?;
    if arguments.passphrase {
        let prompt = format!("New passphrase for {}: ", arguments.output.display());
        let passphrase = passphrase::new(arguments.passphrase_file.as_deref(), &prompt)?;
        write_new(&arguments.output, &wrapped::wrap(&keyset, &Lock::Passphrase(&passphrase))?)?;
    } else if !arguments.recipient.is_empty() {
        write_new(&arguments.output, &wrapped::wrap(&keyset, &Lock::Recipients(&arguments.recipient))?)?;
    } else {
        write_new(&arguments.output, keyset.to_json().as_bytes())?;
    }
    eprintln!("{}: key {} made ({})", arguments.output.display(), keyset.primary_id(), arguments.template);
    Ok(ExitCode::Success)
}

/// A plain key file and the keyset in it, for a run that starts with making its key.
pub fn make_plain(path: &Path, template: Template) -> anyhow::Result<Keyset> {
    let keyset = Keyset::generate(template)?;
    write_new(path, keyset.to_json().as_bytes())?;
    Ok(keyset)
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
            return Err(error).with_context(|| format!("{}: cannot make the key file", path.display()));
        }
    };
    let written = file.write_all(contents).and_then(|()| file.sync_all());
    written.or_else(|error| {
        let _ = std::fs::remove_file(path);
        Err(error).with_context(|| format!("{}: cannot write the key file", path.display()))
    })
}

fn exists(path: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "{}: exists already; a key file is never overwritten, choose another name",
        path.display()
    )
}
