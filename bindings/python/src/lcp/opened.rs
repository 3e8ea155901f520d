//! Looking into protected publications and licences: checked, decrypted, described.

use super::{exception, exception_name, licence, message, roots, subject, user_key, workers};
use crate::errors::in_python_words;
use crate::request::{IF_EXISTS, chosen};
use crate::watch::Watch;
use cipherloom::Observer as _;
use cipherloom_lcp::{
    Check, Checked, Decrypt, Error, LicenceSummary, check_unless, decrypt_unless, find_protected, inspect,
};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The verdict on one file.
#[derive(IntoPyObject)]
pub(crate) struct Verdict {
    path: PathBuf,
    kind: &'static str,
    licence: Option<String>,
    provider: Option<String>,
    profile: Option<String>,
    signed_by: Option<String>,
    resources: usize,
    opened: usize,
    bytes: u64,
    /// Reasons and names of exceptions.
    problems: Vec<(String, &'static str)>,
    unchecked: Vec<String>,
}

/// Checks publications and licences, and those in folders. The verdicts are in the order of paths.
#[pyfunction]
pub(crate) fn lcp_check(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    passphrase: Option<&str>,
    root_ca: Option<PathBuf>,
    license: Option<PathBuf>,
    threads: Option<NonZeroUsize>,
) -> PyResult<Vec<Verdict>> {
    let check = Check {
        user_key: passphrase.map(user_key),
        roots: roots(root_ca.as_deref())?,
        licence: licence(license.as_deref())?,
        moment: None,
    };
    let found = py.detach(|| find_protected(&paths)).map_err(|(path, error)| exception(&error, &path))?;
    let verdicts: Mutex<Vec<Verdict>> = Mutex::default();
    let watch = Watch::new(None);
    watch.during(py, || {
        let verdict = |checked: Checked| {
            verdicts.lock().unwrap_or_else(PoisonError::into_inner).push(Verdict::new(checked));
        };
        check_unless(&found.files, &check, workers(threads), &verdict, &|| watch.is_stopped());
    })?;
    let mut verdicts = verdicts.into_inner().unwrap_or_else(PoisonError::into_inner);
    verdicts.extend(found.unlisted.into_iter().map(|(path, error)| Verdict::unlisted(path, &error)));
    verdicts.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(verdicts)
}

impl Verdict {
    fn new(checked: Checked) -> Verdict {
        let problem = |error: &Error| (message(error), exception_name(error));
        let problems = checked.problems.iter().map(problem).collect();
        let unchecked = checked.unchecked.iter().map(|text| in_python_words((*text).to_owned())).collect();
        let (mut licence, mut provider, mut profile, mut signed_by) = (None, None, None, None);
        if let Some(LicenceSummary { id, provider: by, profile: under, signed_by: name }) = checked.licence {
            (licence, provider, profile, signed_by) = (Some(id), Some(by), Some(under), name);
        }
        Verdict {
            path: checked.path,
            kind: subject(checked.subject),
            licence,
            provider,
            profile,
            signed_by,
            resources: checked.resources,
            opened: checked.opened,
            bytes: checked.bytes,
            problems,
            unchecked,
        }
    }

    fn unlisted(path: PathBuf, error: &Error) -> Verdict {
        Verdict {
            path,
            kind: "unknown",
            licence: None,
            provider: None,
            profile: None,
            signed_by: None,
            resources: 0,
            opened: 0,
            bytes: 0,
            problems: vec![(message(error), exception_name(error))],
            unchecked: Vec::new(),
        }
    }
}

/// What a publication is opened with.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Opening {
    source: PathBuf,
    out: PathBuf,
    passphrase: String,
    root_ca: Option<PathBuf>,
    license: Option<PathBuf>,
    if_exists: String,
    threads: Option<NonZeroUsize>,
}

/// Decrypts a publication. Returns how many resources were protected, and the bytes of their content.
#[pyfunction]
pub(crate) fn lcp_decrypt(py: Python<'_>, opening: Opening) -> PyResult<(usize, u64)> {
    let how = Decrypt {
        user_key: user_key(&opening.passphrase),
        roots: roots(opening.root_ca.as_deref())?,
        licence: licence(opening.license.as_deref())?,
        if_exists: chosen("if_exists", &opening.if_exists, &IF_EXISTS)?,
    };
    let watch = Watch::new(None);
    let decrypted = watch.during(py, || {
        decrypt_unless(&opening.source, &opening.out, &how, workers(opening.threads), &|| watch.is_stopped())
    })?;
    decrypted.map(|decrypted| (decrypted.resources, decrypted.bytes)).map_err(|problems| {
        let about = |problem: &Error| match problem {
            Error::Library(_) => exception(problem, &opening.out),
            _ => exception(problem, &opening.source),
        };
        let first = about(&problems[0]);
        // The others are told too, in the traceback.
        for problem in &problems[1..] {
            let _ = first.value(py).call_method1("add_note", (message(problem),));
        }
        first
    })
}

/// What a file says of itself.
#[derive(IntoPyObject)]
pub(crate) struct Description {
    kind: &'static str,
    bytes: u64,
    title: String,
    entries: usize,
    resources: usize,
    deflated: usize,
    encrypted_bytes: u64,
    fingerprint: String,
    /// The licence, as it came (JSON).
    licence: Option<String>,
    /// Whose certificate signed it.
    signed_by: Option<String>,
    /// What is wrong with the licence.
    problem: Option<String>,
}

/// Describes a publication or licence without a key.
#[pyfunction]
pub(crate) fn lcp_inspect(py: Python<'_>, path: PathBuf) -> PyResult<Description> {
    let inspected = py.detach(|| inspect(&path)).map_err(|error| exception(&error, &path))?;
    let (mut text, mut signed_by, mut problem) = (None, None, None);
    match inspected.licence {
        None => {}
        Some(Err(error)) => problem = Some(message(&error)),
        Some(Ok(licence)) => {
            text = Some(licence.text().to_owned());
            match licence.check_signature() {
                Ok(certificate) => signed_by = Some(certificate.subject),
                Err(fault) => problem = Some(message(&fault.into())),
            }
        }
    }
    Ok(Description {
        kind: subject(inspected.subject),
        bytes: inspected.bytes,
        title: inspected.title,
        entries: inspected.entries,
        resources: inspected.resources,
        deflated: inspected.deflated,
        encrypted_bytes: inspected.encrypted_bytes,
        fingerprint: inspected.fingerprint,
        licence: text,
        signed_by,
        problem,
    })
}
