//! Making licences of the basic profile, one or thousands. They are for tests: how they make a key is public.

use super::{exception, exception_name, message, read, user_key, workers};
use crate::request::{IF_EXISTS, chosen};
use crate::watch::Watch;
use cipherloom::Observer as _;
use cipherloom_lcp::licence::{LicenceFault, Moment, Rights, Signer, Terms};
use cipherloom_lcp::{Error, KeyFile, KeyRecord, Place, Request, issue_all_unless};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

/// What all licences of a run share.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Provider {
    key_file: PathBuf,
    provider: String,
    certificate: PathBuf,
    private_key: PathBuf,
    if_exists: String,
    threads: Option<NonZeroUsize>,
}

/// A licence that is wanted.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
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

/// A licence that was made: its request's number, its identifier, where it is.
type Made = (usize, String, PathBuf);
/// One that was not: its request's number, the publication, the reason, the exception's name.
type Refused = (usize, PathBuf, String, &'static str);

/// Makes licences; one that fails does not stop the others.
#[pyfunction]
pub(crate) fn lcp_license(
    py: Python<'_>,
    wanted: Vec<Wanted>,
    provider: Provider,
) -> PyResult<(Vec<Made>, Vec<Refused>)> {
    let if_exists = chosen("if_exists", &provider.if_exists, &IF_EXISTS)?;
    let records = KeyFile::read(&provider.key_file).map_err(|error| exception(&error, &provider.key_file))?;
    let signer = Signer::new(&read(&provider.certificate)?, &read(&provider.private_key)?)
        .map_err(|fault| exception(&fault.into(), &provider.certificate))?;
    let ended: Mutex<(Vec<Made>, Vec<Refused>)> = Mutex::default();
    let note = |number: usize, result: Result<(String, PathBuf), Error>, publication: &Path| {
        let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok((id, output)) => ended.0.push((number, id, output)),
            Err(error) => {
                ended.1.push((number, publication.to_owned(), message(&error), exception_name(&error)));
            }
        }
    };
    let watch = Watch::new(None);
    watch.during(py, || {
        let (mut requests, mut numbers) = (Vec::new(), Vec::new());
        for (number, wanted) in wanted.iter().enumerate() {
            if watch.is_stopped() {
                return;
            }
            match wanted.request(&provider.provider, &records) {
                Ok(request) => {
                    requests.push(request);
                    numbers.push(number);
                }
                Err(error) => note(number, Err(error), &wanted.publication),
            }
        }
        let told = |index: usize, result: Result<cipherloom_lcp::Issued, Error>| {
            let number = numbers[index];
            note(number, result.map(|issued| (issued.id, issued.output)), &wanted[number].publication);
        };
        let is_stopped = || watch.is_stopped();
        issue_all_unless(&requests, &signer, if_exists, workers(provider.threads), &told, &is_stopped);
    })?;
    let (mut made, mut refused) = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort();
    refused.sort();
    Ok((made, refused))
}

impl Wanted {
    fn request<'r>(&self, provider: &str, records: &'r [KeyRecord]) -> Result<Request<'r>, Error> {
        let record = KeyRecord::of_publication(records, &self.publication)?;
        let place = match (&self.out, self.embed) {
            (_, true) => Place::Publication(self.publication.clone()),
            (Some(out), false) => Place::File(out.clone()),
            (None, false) => Place::File(self.publication.with_extension("lcpl")),
        };
        let moment = |text: &Option<String>, what| -> Result<Option<Moment>, LicenceFault> {
            text.as_deref().map(|text| Moment::parse(text, what)).transpose()
        };
        let fields = [("name", &self.user_name), ("email", &self.user_email)];
        let user_fields: Vec<_> =
            fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect();
        // Only fields with a value can be encrypted.
        let encrypted =
            self.encrypt_user.iter().filter(|name| user_fields.iter().any(|(given, _)| given == *name));
        let base = provider.trim_end_matches('/');
        let terms = Terms {
            provider: provider.to_owned(),
            hint: self.hint.clone(),
            hint_url: self.hint_url.clone().unwrap_or_else(|| provider.to_owned()),
            publication_url: self
                .publication_url
                .clone()
                .unwrap_or_else(|| format!("{base}/{{publication_id}}")),
            status_url: self.status_url.clone(),
            user_id: self.user.clone(),
            encrypted_fields: encrypted.cloned().collect(),
            user_fields,
            rights: Rights {
                print: self.rights_print,
                copy: self.rights_copy,
                start: moment(&self.rights_start, "rights_start")?,
                end: moment(&self.rights_end, "rights_end")?,
            },
        };
        Ok(Request { terms, record, user_key: user_key(&self.passphrase), place })
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        drop(Zeroizing::new(std::mem::take(&mut self.passphrase)));
    }
}
