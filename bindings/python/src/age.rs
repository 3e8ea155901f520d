//! age in Python's hands: identities, and the keys of a run over files of age.
//!
//! A secret leaves `Identity` through `to_secret_text` and `write` only. `repr` shows the recipient, and it cannot be pickled.

use crate::errors::{InvalidRequest, OrRaise, exception};
use crate::keyset::{Keyset, passphrase_of, read_secret};
use cipherloom::age::{ArmorReader, ArmorWriter, Identity, Prompt, Recipient};
use cipherloom::key::Passphrase;
use cipherloom::{Error, Format, stream::encrypt_with_format};
use pyo3::prelude::*;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// What opens files of age: an X25519 or post-quantum key, an SSH key, or what a plugin holds.
#[pyclass(frozen, name = "Identity", module = "cipherloom.age")]
pub(crate) struct AgeIdentity {
    identity: Identity,
}

#[pymethods]
impl AgeIdentity {
    /// Makes a new identity.
    #[staticmethod]
    #[pyo3(signature = (*, post_quantum = false))]
    fn generate(post_quantum: bool) -> PyResult<AgeIdentity> {
        let made = if post_quantum { Identity::generate_post_quantum() } else { Identity::generate() };
        Ok(AgeIdentity { identity: made.or_raise(None)? })
    }

    /// Reads the line of an identity file.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<AgeIdentity> {
        Ok(AgeIdentity { identity: Identity::parse(text).or_raise(None)? })
    }

    /// Reads all identities of a file, which may be encrypted with a passphrase.
    #[staticmethod]
    #[pyo3(signature = (path, *, passphrase = None))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        passphrase: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<AgeIdentity>> {
        let passphrase = passphrase_of(passphrase)?;
        let read = py.detach(|| read_identities(&path, passphrase))?;
        Ok(read.into_iter().map(|identity| AgeIdentity { identity }).collect())
    }

    /// Writes a new identity file that only its owner may read, as age-keygen does; with a passphrase, encrypted. Never
    /// overwrites.
    #[pyo3(signature = (path, *, passphrase = None))]
    fn write(&self, py: Python<'_>, path: PathBuf, passphrase: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let text = format!("# public key: {}\n{}\n", self.recipient(), *self.secret_text()?);
        let text = Zeroizing::new(text.into_bytes());
        let contents = match passphrase_of(passphrase)? {
            None => text,
            Some(passphrase) => Zeroizing::new(
                py.detach(|| encrypt_with_format(&text, &Format::age_passphrase(passphrase)?, b""))
                    .or_raise(None)?,
            ),
        };
        cipherloom::internal::write_key_file(&path, &contents).or_raise(Some(&path))
    }

    /// Whom files are encrypted for that this identity opens: `age1…`.
    #[getter]
    fn recipient(&self) -> String {
        self.identity.recipient().to_string()
    }

    /// The secret itself, as an identity file has it.
    fn to_secret_text(&self) -> PyResult<String> {
        Ok(self.secret_text()?.to_string())
    }

    fn __repr__(&self) -> String {
        format!("<cipherloom.age.Identity {}>", self.recipient())
    }
}

impl AgeIdentity {
    fn secret_text(&self) -> PyResult<Zeroizing<String>> {
        let text = self.identity.to_secret_text();
        text.ok_or_else(|| InvalidRequest::new_err("an SSH key has no text but its own file"))
    }
}

/// The identities in a file, which `passphrase` opens if it is encrypted.
pub(crate) fn read_identities(path: &Path, passphrase: Option<Passphrase>) -> PyResult<Vec<Identity>> {
    let contents = read_secret("read the identity file", path)?;
    let prompt: Arc<dyn Prompt> = Arc::new(Answer(passphrase));
    Identity::parse_file(&contents, &prompt).or_raise(Some(path))
}

/// Has the passphrase of an identity file, and refuses all other questions.
struct Answer(Option<Passphrase>);

impl Prompt for Answer {
    fn ask_passphrase(&self, _what: &str) -> Option<Passphrase> {
        self.0.clone()
    }
}

/// Recipients, identities or a passphrase, ready for work.
#[pyclass(frozen, module = "cipherloom._native")]
pub(crate) struct AgeKeys {
    format: Format,
}

#[pymethods]
impl AgeKeys {
    /// Encrypts for recipients, or with a passphrase.
    #[staticmethod]
    #[pyo3(signature = (recipients, passphrase = None))]
    fn sealing(recipients: Vec<String>, passphrase: Option<&Bound<'_, PyAny>>) -> PyResult<AgeKeys> {
        let format = match passphrase_of(passphrase)? {
            Some(_) if !recipients.is_empty() => {
                return Err(InvalidRequest::new_err("give either recipients or a passphrase"));
            }
            Some(passphrase) => Format::age_passphrase(passphrase),
            None => {
                let parsed: Result<Vec<Recipient>, Error> =
                    recipients.iter().map(|text| text.parse()).collect();
                parsed.and_then(Format::age_for)
            }
        };
        Ok(AgeKeys { format: format.or_raise(None)? })
    }

    /// Opens with identities, or with a passphrase.
    #[staticmethod]
    #[pyo3(signature = (identities, passphrase = None, max_work_factor = None))]
    fn opening(
        identities: Vec<Py<AgeIdentity>>,
        passphrase: Option<&Bound<'_, PyAny>>,
        max_work_factor: Option<u8>,
    ) -> PyResult<AgeKeys> {
        if max_work_factor.is_some_and(|limit| !(1..=30).contains(&limit)) {
            return Err(InvalidRequest::new_err("max_work_factor is 1 to 30"));
        }
        let mut all: Vec<Identity> = identities.iter().map(|each| each.get().identity.clone()).collect();
        if let Some(passphrase) = passphrase_of(passphrase)? {
            all.push(Identity::from_passphrase(passphrase, max_work_factor).or_raise(None)?);
        }
        Ok(AgeKeys { format: Format::age_from(all).or_raise(None)? })
    }
}

/// The keys of a run, in the format that they are for.
#[derive(FromPyObject)]
pub(crate) enum Keys {
    Tink(Py<Keyset>),
    Age(Py<AgeKeys>),
}

impl Keys {
    /// Ready for work; segments of Tink's keys have up to this many bytes (`None`: the library's limit).
    pub(crate) fn format(&self, max_segment_size: Option<u32>) -> PyResult<Format> {
        match self {
            Keys::Tink(keyset) => keyset.get().format(max_segment_size),
            Keys::Age(keys) => Ok(keys.get().format.clone()),
        }
    }
}

/// A file of age as text.
#[pyfunction]
pub(crate) fn age_armor(data: &[u8]) -> PyResult<Vec<u8>> {
    let mut writer = ArmorWriter::new(Vec::new());
    writer.write_all(data)?;
    Ok(writer.finish()?)
}

/// The file of age that is in this text.
#[pyfunction]
pub(crate) fn age_dearmor(text: &[u8]) -> PyResult<Vec<u8>> {
    let mut data = Vec::new();
    let read = ArmorReader::new(text).read_to_end(&mut data);
    read.map_err(|error: io::Error| match error.downcast::<Error>() {
        Ok(error) => exception(&error, None),
        Err(error) => error.into(),
    })?;
    Ok(data)
}
