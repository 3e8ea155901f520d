//! `Keyset`: Tink keysets in Python's hands: made, read, written, wrapped with age.
//!
//! The secret leaves this type through `to_json`, `write` and `wrap` only. `repr` does not show it, and it cannot be pickled.

use crate::age::read_identities;
use crate::buffer::Lent;
use crate::errors::{InvalidKey, InvalidRequest, OrRaise, os_error, with_hint};
use cipherloom::format::{Format, MAX_SEGMENT_SIZE};
use cipherloom::key::wrapped::{self, Lock, LockKind, Opener};
use cipherloom::key::{self, Passphrase, SECRET_LIMIT, Template};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A Tink keyset of streaming AEAD keys: one encrypts, all that are enabled decrypt.
#[pyclass(frozen, module = "cipherloom")]
pub(crate) struct Keyset {
    keyset: key::Keyset,
}

impl Keyset {
    pub(crate) fn new(keyset: key::Keyset) -> PyResult<Keyset> {
        let keyset = Keyset { keyset };
        // A key that no limit would admit is refused now.
        keyset.format(Some(u32::MAX))?;
        Ok(keyset)
    }

    /// The same keys, ready for work, with segments of up to this many bytes (`None`: the library's limit).
    pub(crate) fn format(&self, max_segment_size: Option<u32>) -> PyResult<Format> {
        let most = max_segment_size.unwrap_or(MAX_SEGMENT_SIZE);
        Format::tink_with_segments_up_to(most, &self.keyset, cipherloom::machine::Backend::best())
            .or_raise(None)
    }

    /// Tink's JSON form, for those who encrypt it.
    pub(crate) fn json(&self) -> Zeroizing<String> {
        self.keyset.to_json()
    }
}

/// The bytes of a `str` or of a buffer. No message quotes what was given.
fn bytes_of(given: &Bound<'_, PyAny>) -> PyResult<Zeroizing<Vec<u8>>> {
    Ok(Zeroizing::new(match given.cast::<PyString>() {
        Ok(text) => text.to_str()?.as_bytes().to_vec(),
        Err(_) => Lent::get(given)?.to_vec(),
    }))
}

pub(crate) fn passphrase_of(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Passphrase>> {
    let Some(given) = given else { return Ok(None) };
    Passphrase::new(&bytes_of(given)?).map(Some).or_raise(None)
}

#[pymethods]
impl Keyset {
    /// Makes a keyset with one new key of this template (see `cipherloom.TEMPLATES`).
    #[staticmethod]
    #[pyo3(signature = (template = "AES256_GCM_HKDF_1MB"))]
    fn generate(template: &str) -> PyResult<Keyset> {
        let template = template.parse::<Template>().or_raise(None)?;
        Keyset::new(key::Keyset::generate(template).or_raise(None)?)
    }

    /// Reads a key file: Tink's JSON, or that JSON in an age file, which the passphrase or an identity file opens.
    #[staticmethod]
    #[pyo3(signature = (path, *, passphrase = None, identity = None))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        passphrase: Option<&Bound<'_, PyAny>>,
        identity: Option<PathBuf>,
    ) -> PyResult<Keyset> {
        let contents = read_secret("read the key file", &path)?;
        let passphrase = passphrase_of(passphrase)?;
        py.detach(|| open(&contents, passphrase, identity.as_deref(), Some(&path)))
    }

    /// Opens a wrapped keyset that is in memory.
    #[staticmethod]
    #[pyo3(signature = (data, *, passphrase = None, identity = None))]
    fn unwrap(
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        passphrase: Option<&Bound<'_, PyAny>>,
        identity: Option<PathBuf>,
    ) -> PyResult<Keyset> {
        let contents = Zeroizing::new(Lent::get(data)?.to_vec());
        if !wrapped::is_wrapped(&contents) {
            let refused = InvalidKey::new_err("not an age file");
            return Err(with_hint(refused, Some("Keyset.from_json reads a keyset in clear")));
        }
        let passphrase = passphrase_of(passphrase)?;
        py.detach(|| open(&contents, passphrase, identity.as_deref(), None))
    }

    /// Reads Tink's JSON form of a keyset.
    #[staticmethod]
    fn from_json(json: &Bound<'_, PyAny>) -> PyResult<Keyset> {
        Keyset::new(key::Keyset::parse(&bytes_of(json)?).or_raise(None)?)
    }

    /// Tink's JSON form: the secret itself, in clear.
    fn to_json(&self) -> String {
        self.keyset.to_json().to_string()
    }

    /// An age file with this keyset in it, for a passphrase or for recipients (`age1…`).
    #[pyo3(signature = (*, passphrase = None, recipients = None))]
    fn wrap(
        &self,
        py: Python<'_>,
        passphrase: Option<&Bound<'_, PyAny>>,
        recipients: Option<Vec<String>>,
    ) -> PyResult<Vec<u8>> {
        let passphrase = passphrase_of(passphrase)?;
        let lock = match (&passphrase, &recipients) {
            (Some(passphrase), None) => Lock::Passphrase(passphrase),
            (None, Some(recipients)) => Lock::Recipients(recipients),
            _ => return Err(InvalidRequest::new_err("give either a passphrase or recipients")),
        };
        py.detach(|| wrapped::wrap(&self.keyset, &lock)).or_raise(None)
    }

    /// Writes a new key file that only its owner may read; in clear, or wrapped as `wrap` does. Never overwrites.
    #[pyo3(signature = (path, *, passphrase = None, recipients = None))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        passphrase: Option<&Bound<'_, PyAny>>,
        recipients: Option<Vec<String>>,
    ) -> PyResult<()> {
        let is_clear = passphrase.is_none() && recipients.is_none();
        let contents = match is_clear {
            true => Zeroizing::new(self.keyset.to_json().as_bytes().to_vec()),
            false => Zeroizing::new(self.wrap(py, passphrase, recipients)?),
        };
        cipherloom::internal::write_key_file(&path, &contents).or_raise(Some(&path))
    }

    /// The identifier of the key that encrypts.
    #[getter]
    fn primary_id(&self) -> u32 {
        self.keyset.primary_id()
    }

    /// The identifiers of all keys, in the keyset's order.
    #[getter]
    fn key_ids(&self) -> Vec<u32> {
        self.keyset.keys().map(|key| key.id).collect()
    }

    fn __repr__(&self) -> String {
        format!("<cipherloom.Keyset primary_id={} keys={}>", self.primary_id(), self.key_ids().len())
    }
}

/// The names of all templates.
#[pyfunction]
pub(crate) fn templates() -> Vec<&'static str> {
    Template::ALL.map(Template::name).to_vec()
}

fn open(
    contents: &[u8],
    passphrase: Option<Passphrase>,
    identity: Option<&Path>,
    path: Option<&Path>,
) -> PyResult<Keyset> {
    let keyset = match (wrapped::is_wrapped(contents), passphrase, identity) {
        (false, None, None) => key::Keyset::parse(contents).or_raise(path)?,
        (false, ..) => {
            // Who expects a locked file should learn that it is not.
            let refused = InvalidRequest::new_err("the keyset is not wrapped");
            return Err(with_hint(refused, Some("leave passphrase and identity out")));
        }
        (true, Some(passphrase), None) => {
            wrapped::unwrap(contents, &Opener::Passphrase(&passphrase)).or_raise(path)?
        }
        (true, passphrase, Some(identity)) => {
            let identities = read_identities(identity, passphrase)?;
            wrapped::unwrap(contents, &Opener::Identities(&identities)).or_raise(path)?
        }
        (true, None, None) => {
            let (lock, needed) = match wrapped::lock_kind(contents).or_raise(path)? {
                LockKind::Passphrase => ("with a passphrase", "give passphrase="),
                LockKind::Recipients => {
                    ("for recipients", "give identity= with the age identity file of one of them")
                }
            };
            let locked = InvalidKey::new_err(format!("the keyset is wrapped {lock}"));
            return Err(with_hint(locked, Some(needed)));
        }
    };
    Keyset::new(keyset)
}

pub(crate) fn read_secret(action: &'static str, path: &Path) -> PyResult<Zeroizing<Vec<u8>>> {
    let file =
        cipherloom::key::read_secret(path, SECRET_LIMIT).map_err(|error| os_error(action, error, path))?;
    Ok(file.contents)
}
