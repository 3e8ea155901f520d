//! `cipherloom lcp license`: makes a license for a publication, or one for each row of a manifest.

use super::manifest::{self, Keys, Wanted};
use super::secrets;
use super::{Reporter, sentence, skipped_and_failed};
use crate::arguments::LcpLicenseArguments;
use crate::escape;
use crate::escape::JsonPath;
use crate::exit_code::{self, ExitCode, usage};
use crate::interrupt::{self, Interrupt};
use crate::output::{self, at};
use crate::progress::Progress;
use anyhow::Context;
use cipherloom::internal::engine::lock;
use cipherloom::report::Unobserved;
use cipherloom_lcp::license::{Issued, LicenseOutput, LicenseRequest, Moment, Rights, issue_all};
use cipherloom_lcp::{Outcome, Report};
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub fn run(arguments: &LcpLicenseArguments) -> anyhow::Result<ExitCode> {
    let records = secrets::key_records(&arguments.key_file)?;
    let keys = Keys::new(&records);
    match (&arguments.publication, &arguments.manifest) {
        (_, Some(manifest)) => make_many(arguments, manifest, &keys),
        (Some(publication), None) => make_one(arguments, publication, &keys),
        (None, None) => Err(usage("name a publication, or --manifest FILE", "")),
    }
}

fn make_one(
    arguments: &LcpLicenseArguments,
    publication: &Path,
    keys: &Keys<'_>,
) -> anyhow::Result<ExitCode> {
    let terms = Wanted::default().terms(arguments)?;
    if arguments.hint.is_none() {
        return Err(usage("a license needs the hint for its passphrase", "give --hint TEXT"));
    }
    let record = keys.of_file(publication).with_context(|| escape::path(publication))?;
    let (path, output) = match (&arguments.out, arguments.embed) {
        (_, true) => (publication.to_owned(), LicenseOutput::Publication(publication.to_owned())),
        (out, false) => {
            let path = out.clone().unwrap_or_else(|| publication.with_extension("lcpl"));
            (path.clone(), LicenseOutput::File(path))
        }
    };
    let user_key = secrets::new_user_key(arguments.passphrase_file.as_deref())?;
    let signer = secrets::signer(&arguments.cert, &arguments.private_key)?;
    let request = LicenseRequest { terms, record, user_key, output };
    warn_if_over(&request.terms.rights, &escape::path(&path));
    let end = Mutex::new(None);
    // A signal waits for the one license, which takes a moment.
    let _whole = Interrupt::listen();
    let if_exists = arguments.if_exists.if_exists;
    issue_all(&[request], &signer, if_exists, NonZeroUsize::MIN, &Unobserved, &|_, outcome| {
        *lock(&end) = Some(outcome);
    })?;
    let reporter = Reporter::new(arguments.running.report.style(false), None);
    match lock(&end).take().context("the license was not made")? {
        Outcome::Skipped => reporter.print_skipped(&path)?,
        Outcome::Failed(error) => return Err(error).with_context(|| escape::path(publication)),
        Outcome::Done(issued) => reporter.print(&done(None, publication, &issued), || {
            let words = format_args!("license {} (basic profile: for tests, protects nothing)", issued.id);
            at(&issued.output, words)
        })?,
    }
    Ok(ExitCode::Success)
}

/// Warns of a license that has ended already and so opens nothing: probably a mistake.
fn warn_if_over(rights: &Rights, place: &str) {
    if let Some(end) = rights.end.filter(|end| *end < Moment::now()) {
        output::warn(format_args!("{place}: the license ended at {end}, so it opens nothing"));
    }
}

fn make_many(arguments: &LcpLicenseArguments, path: &Path, keys: &Keys<'_>) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let folder = arguments.out.as_deref().ok_or_else(|| usage("give --out DIR for the licenses", ""))?;
    let signer = secrets::signer(&arguments.cert, &arguments.private_key)?;
    let wanted_rows = manifest::read(path)?;
    std::fs::create_dir_all(folder).with_context(|| escape::path(folder))?;
    let (running, if_exists) = (&arguments.running, arguments.if_exists.if_exists);
    let reporter = Reporter::new(running.report.style(false), None);
    let failed_rows = AtomicU64::new(0);
    let place = |row: u64| format!("{}, line {row}", escape::path(path));
    let print_failed = |row: u64, error: &anyhow::Error| {
        failed_rows.fetch_add(1, Ordering::Relaxed);
        reporter.fail(&place(row), error, json!({ "event": "failed", "row": row }));
    };
    // What is wrong with an option is not wrong with every row.
    Wanted::default().terms(arguments)?;
    let (mut rows, mut requests) = (Vec::new(), Vec::new());
    for (row, wanted) in wanted_rows {
        let request = wanted.and_then(|wanted: Wanted| {
            let name = wanted.publication().to_owned();
            Ok((name, wanted.request(arguments, keys, folder)?))
        });
        match request {
            Ok((name, request)) => {
                warn_if_over(&request.terms.rights, &place(row));
                rows.push((row, name));
                requests.push(request);
            }
            Err(error) => print_failed(row, &error),
        }
    }
    let interrupt = Interrupt::listen();
    let print_outcome = |number: usize, outcome: Outcome<Issued>| {
        let (row, name) = &rows[number];
        match outcome {
            Outcome::Done(issued) if running.report.json => {
                // The command's end reports that nothing can be written.
                let _ = output::print_json(&done(Some(*row), Path::new(name), &issued));
            }
            Outcome::Done(_) | Outcome::Skipped => {}
            Outcome::Failed(error) => print_failed(*row, &error.into()),
        }
    };
    let progress = Progress::default();
    let report = issue_all(&requests, &signer, if_exists, running.workers(), &progress, &print_outcome)?;
    reporter.end("row", "--json");
    let (seconds, failed) = (start.elapsed().as_secs_f64(), failed_rows.into_inner());
    let Report { done, skipped, .. } = report;
    let summary = json!({
        "event": "summary", "done": done, "skipped": skipped, "failed": failed, "seconds": seconds
    });
    reporter.print(&summary, || {
        let rate = done as f64 / seconds.max(1e-9);
        let licenses = output::count(done, "license");
        let begin = format!("made {licenses} in {} ({rate:.0}/s)", output::duration(seconds));
        sentence(begin, &skipped_and_failed(skipped, failed))
    })?;
    interrupt.check(interrupt::KEPT, interrupt::resume_hint(if_exists, false))?;
    Ok(exit_code::of_counts(done + skipped, failed))
}

fn done(row: Option<u64>, publication: &Path, issued: &Issued) -> serde_json::Value {
    let mut object = json!({
        "event": "done", "publication": JsonPath(publication), "output": JsonPath(&issued.output), "license": issued.id,
    });
    if let Some(row) = row {
        object["row"] = row.into();
    }
    object
}
