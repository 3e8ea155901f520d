//! `cipherloom keygen`: makes a key file, plain or wrapped, and never replaces one.

use crate::arguments::KeygenArguments;
use crate::exit_code::{ExitCode, usage};
use crate::{output, passphrase};
use anyhow::Context;
use cipherloom::key::wrapped::{self, Lock};
use cipherloom::key::{Keyset, Template};
use std::fs::OpenOptions;
use std::io::Write;
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
        Ok((NewKey { path, contents, id: keyset.primary_id(), template }, keyset))
    }

    /// Writes the key file.
    pub fn write(&self, is_quiet: bool) -> anyhow::Result<()> {
        write_new(self.path, &self.contents)?;
        if !is_quiet {
            output::tell(format_args!(
                "{}: made key {} ({}); keep a copy, nothing opens without it",
                output::printable(self.path),
                self.id,
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
