//! Identity files: lines of identities, an SSH private key, or one of these inside an age file with a passphrase.

use super::armor::{ArmorReader, is_armored};
use super::fault::AgeFault;
use super::header::VERSION_LINE;
use super::identity::{Identity, IdentityKind};
use super::prompt::Prompt;
use super::ssh::SshIdentity;
use crate::format::Format;
use crate::{Error, stream};
use std::sync::Arc;
use zeroize::Zeroizing;

/// No identity file is near this.
const LARGEST: u64 = 16 << 20;

impl Identity {
    /// Reads an identity file. It has identities, one a line, beside empty lines and comments that begin with `#`; or is an
    /// OpenSSH private key; or is an age file, binary or armored, that holds one of the two and is encrypted with a passphrase,
    /// for which `prompt` is asked.
    ///
    /// ```
    /// use cipherloom::age::{Identity, NoPrompt, Prompt};
    /// use std::sync::Arc;
    ///
    /// let prompt: Arc<dyn Prompt> = Arc::new(NoPrompt);
    /// let text = format!("# mine\n{}\n", *Identity::generate()?.to_secret_text().unwrap());
    /// assert_eq!(Identity::parse_file(text.as_bytes(), &prompt)?.len(), 1);
    /// # Ok::<(), cipherloom::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`AgeFault::Line`] names the line that is no identity; [`AgeFault::Empty`], [`AgeFault::SshKey`],
    /// [`AgeFault::IdentityLocked`], [`AgeFault::IdentityPassphrase`]; [`AgeFault::Identity`] if an encrypted file is damaged;
    /// what else can be wrong with an age file.
    pub fn parse_file(contents: &[u8], prompt: &Arc<dyn Prompt>) -> Result<Vec<Identity>, Error> {
        if !contents.starts_with(VERSION_LINE) && !is_armored(contents) {
            return parse_clear(contents, prompt);
        }
        parse_clear(&decrypt(contents, prompt)?, prompt)
    }
}

fn parse_clear(contents: &[u8], prompt: &Arc<dyn Prompt>) -> Result<Vec<Identity>, Error> {
    if contents.trim_ascii_start().starts_with(SshIdentity::MARKER) {
        let identity = SshIdentity::parse(contents, prompt)?;
        return Ok(vec![Identity(Arc::new(IdentityKind::Ssh(identity)))]);
    }
    let identities = super::lines(contents).map(|(line, text)| {
        let text = text.ok_or(AgeFault::Identity { problem: "it is not text" }.at_line(line))?;
        Identity::parse_with(text, prompt).map_err(|error| super::in_line(error, line))
    });
    let identities = identities.collect::<Result<Vec<_>, Error>>()?;
    if identities.is_empty() { Err(AgeFault::Empty { what: "identity" }.into()) } else { Ok(identities) }
}

fn decrypt(contents: &[u8], prompt: &Arc<dyn Prompt>) -> Result<Zeroizing<Vec<u8>>, Error> {
    let binary = ArmorReader::read_to_binary(contents, LARGEST).map_err(of_an_identity)?;
    let passphrase = prompt.ask_passphrase("the identity file").ok_or(AgeFault::IdentityLocked)?;
    let format = Format::age_from([Identity::from_passphrase(passphrase, None)?])?;
    stream::decrypt_with_format(&binary, &format, b"").map_err(of_an_identity)
}

/// What is wrong with an age file, said of one that holds an identity: it is the key that is unfit, and not the file to open.
fn of_an_identity(error: Error) -> Error {
    match error {
        Error::Age(AgeFault::WrongPassphrase) => AgeFault::IdentityPassphrase.into(),
        Error::Age(AgeFault::Armor { .. } | AgeFault::Header { .. } | AgeFault::HeaderMac) => {
            AgeFault::Identity { problem: "it is encrypted, and damaged" }.into()
        }
        other => other,
    }
}
