//! Looking into protected publications and licenses: checked, decrypted, described.

use super::{Opening, Options};
use crate::errors::{OrRaise, Trouble, exception, with_hint};
use crate::hints::hint_for_lcp;
use crate::watch::{Failure, Watch};
use cipherloom::internal::engine::lock;
use cipherloom_lcp::{
    CheckOptions, Checked, DecryptOptions, Error, LicenseSummary, Unchecked, check, decrypt, find_protected,
    inspect,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The verdict on one file.
#[derive(Default, IntoPyObject)]
pub(crate) struct Verdict {
    path: PathBuf,
    kind: &'static str,
    license: Option<String>,
    provider: Option<String>,
    profile: Option<String>,
    signed_by: Option<String>,
    resources: usize,
    opened: usize,
    bytes: u64,
    problems: Vec<Failure>,
    unchecked: Vec<String>,
}

/// Checks publications and licenses, and those in folders. The verdicts are in the order of paths.
#[pyfunction]
pub(crate) fn lcp_check(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    opening: Opening,
    options: Options,
) -> PyResult<Vec<Verdict>> {
    let mut how = CheckOptions::default();
    (how.user_key, how.roots, how.license) = (opening.user_key(), opening.roots()?, opening.license()?);
    let found = py.detach(|| find_protected(&paths)).or_raise(None)?;
    let verdicts: Mutex<Vec<Verdict>> = Mutex::default();
    let watch = Watch::new(None);
    let all_ended = watch.during(py, || {
        let verdict = |checked: Checked| lock(&verdicts).push(Verdict::new(checked));
        check(&found.files, &how, options.threads(), &watch, &verdict)
    })?;
    all_ended.or_raise(None)?;
    let mut verdicts = std::mem::take(&mut *lock(&verdicts));
    verdicts.extend(found.unlisted.iter().map(Verdict::unlisted));
    verdicts.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(verdicts)
}

impl Verdict {
    fn new(checked: Checked) -> Verdict {
        let path = checked.path;
        let problem = |error: &Error| Trouble::from(error).failure(&path);
        let mut verdict = Verdict {
            kind: checked.subject.name(),
            resources: checked.resources,
            opened: checked.opened,
            bytes: checked.bytes,
            problems: checked.problems.iter().map(problem).collect(),
            unchecked: checked.unchecked.iter().map(with_parameter).collect(),
            ..Verdict::default()
        };
        if let Some(LicenseSummary { id, provider, profile, signed_by }) = checked.license {
            (verdict.license, verdict.provider) = (Some(id), Some(provider));
            (verdict.profile, verdict.signed_by) = (Some(profile), signed_by);
        }
        Verdict { path, ..verdict }
    }

    fn unlisted(error: &Error) -> Verdict {
        let path = error.path().unwrap_or(Path::new("")).to_owned();
        let problems = vec![Trouble::from(error).failure(&path)];
        Verdict { path, kind: "unknown", problems, ..Verdict::default() }
    }
}

/// What was not checked, with the parameter that would have it checked.
fn with_parameter(unchecked: &Unchecked) -> String {
    match unchecked {
        Unchecked::Resources => "no license inside, so no resource was opened (license=)",
        Unchecked::Certificate => "who confirms the certificate (root_ca=)",
        Unchecked::Opening => "whether it opens (passphrase=)",
    }
    .to_owned()
}

/// Decrypts a publication. Returns how many resources were protected, and the bytes of their content.
#[pyfunction]
pub(crate) fn lcp_decrypt(
    py: Python<'_>,
    source: PathBuf,
    out: PathBuf,
    opening: Opening,
    options: Options,
) -> PyResult<(usize, u64)> {
    let user_key = opening.user_key().ok_or_else(|| PyTypeError::new_err("passphrase is a str, not None"))?;
    let mut how = DecryptOptions::new(user_key);
    (how.roots, how.license, how.if_exists) = (opening.roots()?, opening.license()?, options.if_exists()?);
    let watch = Watch::new(None);
    let decrypted = watch.during(py, || {
        decrypt(&source, &out, &how, options.threads(), &watch)
            .and_then(|decrypted| decrypted.ok_or_else(|| vec![cipherloom::Error::OutputExists.into()]))
    })?;
    decrypted.map(|decrypted| (decrypted.resources, decrypted.bytes)).map_err(|problems| {
        let about = if let Error::Library(_) = problems[0] { &out } else { &source };
        let mut first = exception(&problems[0], Some(about));
        // The others are notes in the traceback.
        for problem in &problems[1..] {
            let _ = first.add_note(py, problem.to_string());
            first = with_hint(first, hint_for_lcp(problem).as_deref());
        }
        first
    })
}

/// What a file says about itself.
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
    /// The license, as it came (JSON).
    license: Option<String>,
    /// Whose certificate signed it.
    signed_by: Option<String>,
    /// What is wrong with the license.
    problem: Option<String>,
}

/// Describes a publication or license without a key.
#[pyfunction]
pub(crate) fn lcp_inspect(py: Python<'_>, path: PathBuf) -> PyResult<Description> {
    let inspected = py.detach(|| inspect(&path)).or_raise(Some(&path))?;
    let (mut text, mut signed_by, mut problem) = (None, None, None);
    match inspected.license {
        None => {}
        Some(Err(error)) => problem = Some(error.to_string()),
        Some(Ok(license)) => {
            text = Some(license.text().to_owned());
            match license.check_signature() {
                Ok(certificate) => signed_by = Some(certificate.subject),
                Err(fault) => problem = Some(fault.to_string()),
            }
        }
    }
    Ok(Description {
        kind: inspected.subject.name(),
        bytes: inspected.bytes,
        title: inspected.title,
        entries: inspected.entries,
        resources: inspected.resources,
        deflated: inspected.deflated,
        encrypted_bytes: inspected.encrypted_bytes,
        fingerprint: inspected.fingerprint,
        license: text,
        signed_by,
        problem,
    })
}
