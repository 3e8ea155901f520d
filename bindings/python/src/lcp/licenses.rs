//! Making licenses of the basic profile, one or thousands. They are for tests: how they make a key is public.

use super::{Options, read};
use crate::errors::{OrRaise, Trouble};
use crate::watch::{Failure, Watch};
use cipherloom::Observer as _;
use cipherloom::internal::engine::lock;
use cipherloom_lcp::license::{
    Issued, LicenseFault, LicenseOutput, LicenseRequest, Moment, Rights, Signer, Terms, UserKey, issue_all,
};
use cipherloom_lcp::{Error, KeyFile, KeyRecord, Outcome};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Mutex;
use zeroize::Zeroize;

/// What all licenses of a run share.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Provider {
    key_file: PathBuf,
    provider: String,
    certificate: PathBuf,
    private_key: PathBuf,
}

/// Python's `LicenseRequest`.
#[derive(FromPyObject)]
pub(crate) struct Wanted {
    publication: PathBuf,
    passphrase: String,
    hint: String,
    /// `None`: beside the publication, with the extension `.lcpl`.
    out: Option<PathBuf>,
    embed: bool,
    user: String,
    user_name: Option<String>,
    user_email: Option<String>,
    encrypt_user: Vec<String>,
    rights_start: Option<String>,
    rights_end: Option<String>,
    rights_print: Option<i64>,
    rights_copy: Option<i64>,
    publication_url: Option<String>,
    hint_url: Option<String>,
    status_url: Option<String>,
}

/// A license that was made: its request's number, its identifier, where it is.
type Made = (usize, String, PathBuf);
/// What became of the licenses so far: those that were made, and those that failed, each with its number.
type Ended = (Vec<Made>, Vec<(usize, Failure)>);

/// Makes licenses; one that fails does not stop the others.
#[pyfunction]
pub(crate) fn lcp_license(
    py: Python<'_>,
    wanted: Vec<Wanted>,
    provider: Provider,
    options: Options,
) -> PyResult<(Vec<Made>, Vec<Failure>)> {
    let if_exists = options.if_exists()?;
    let records = KeyFile::read(&provider.key_file).or_raise(Some(&provider.key_file))?;
    let signer = Signer::new(&read(&provider.certificate)?, &read(&provider.private_key)?)
        .map_err(Error::from)
        .or_raise(Some(&provider.certificate))?;
    let ended: Mutex<Ended> = Mutex::default();
    let note = |number: usize, result: Result<(String, PathBuf), Error>| {
        let mut ended = lock(&ended);
        match result {
            Ok((id, output)) => ended.0.push((number, id, output)),
            Err(error) => {
                ended.1.push((number, Trouble::from(&error).failure(&wanted[number].publication)));
            }
        }
    };
    let watch = Watch::new(None);
    let all_ended = watch.during(py, || {
        let (mut requests, mut numbers) = (Vec::new(), Vec::new());
        for (number, wanted) in wanted.iter().enumerate() {
            if watch.is_stopped() {
                return Ok(());
            }
            match wanted.request(&provider.provider, &records) {
                Ok(request) => {
                    requests.push(request);
                    numbers.push(number);
                }
                Err(error) => note(number, Err(error)),
            }
        }
        let issued = |index: usize, outcome: Outcome<Issued>| {
            let number = numbers[index];
            let result = match outcome {
                Outcome::Done(issued) => Ok((issued.id, issued.output)),
                Outcome::Failed(error) => Err(error),
                Outcome::Skipped if wanted[number].embed => Err(Error::HasLicense),
                Outcome::Skipped => Err(cipherloom::Error::OutputExists.into()),
            };
            note(number, result);
        };
        issue_all(&requests, &signer, if_exists, options.threads(), &watch, &issued).map(drop)
    })?;
    all_ended.or_raise(Some(&provider.key_file))?;
    let (mut made, mut refused) = std::mem::take(&mut *lock(&ended));
    made.sort();
    refused.sort();
    Ok((made, refused.into_iter().map(|(_, failure)| failure).collect()))
}

impl Wanted {
    fn request<'r>(&self, provider: &str, records: &'r [KeyRecord]) -> Result<LicenseRequest<'r>, Error> {
        let record = KeyRecord::of_publication(records, &self.publication)?;
        let output = match (&self.out, self.embed) {
            (_, true) => LicenseOutput::Publication(self.publication.clone()),
            (Some(out), false) => LicenseOutput::File(out.clone()),
            (None, false) => LicenseOutput::File(self.publication.with_extension("lcpl")),
        };
        let moment = |text: &Option<String>, what| -> Result<Option<Moment>, LicenseFault> {
            text.as_deref().map(|text| Moment::parse(text, what)).transpose()
        };
        let mut terms = Terms::new(provider);
        terms.hint.clone_from(&self.hint);
        terms.hint_url = self.hint_url.clone().unwrap_or(terms.hint_url);
        terms.publication_url = self.publication_url.clone().unwrap_or(terms.publication_url);
        terms.status_url.clone_from(&self.status_url);
        terms.user_id.clone_from(&self.user);
        terms.set_user_field("name", self.user_name.clone());
        terms.set_user_field("email", self.user_email.clone());
        terms.encrypted_fields.clone_from(&self.encrypt_user);
        terms.encrypt_given_fields();
        terms.rights = Rights {
            print: self.rights_print,
            copy: self.rights_copy,
            start: moment(&self.rights_start, "rights_start")?,
            end: moment(&self.rights_end, "rights_end")?,
        };
        Ok(LicenseRequest { terms, record, user_key: UserKey::basic(&self.passphrase), output })
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.passphrase.zeroize();
    }
}
