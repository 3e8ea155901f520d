//! `cipherloom lcp license`: one licence for a publication, or one for each row of a manifest.

use super::manifest::{self, Keys, Wanted, only_given};
use super::secrets;
use crate::arguments::{IfExistsArgument, LcpLicenseArguments};
use crate::escape::JsonPath;
use crate::exit_code::{ExitCode, usage};
use crate::interrupt::{self, Interrupt};
use crate::output;
use crate::repeats::Repeats;
use anyhow::Context;
use cipherloom_lcp::licence::{LicenceFault, Moment, Rights, Terms};
use cipherloom_lcp::{Error, Issued, Place, Request, issue_all, issue_all_unless};
use serde_json::json;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub fn run(arguments: &LcpLicenseArguments) -> anyhow::Result<ExitCode> {
    let records = secrets::key_records(&arguments.key_file)?;
    let keys = Keys::new(&records);
    match (&arguments.publication, &arguments.manifest) {
        (_, Some(manifest)) => many(arguments, manifest, &keys),
        (Some(publication), None) => one(arguments, publication, &keys),
        (None, None) => Err(usage("name a publication, or --manifest FILE")),
    }
}

fn one(arguments: &LcpLicenseArguments, publication: &Path, keys: &Keys<'_>) -> anyhow::Result<ExitCode> {
    let hint = arguments
        .hint
        .clone()
        .ok_or_else(|| usage("give --hint TEXT: what reminds the reader of the passphrase"))?;
    let record = keys.of_file(publication).with_context(|| output::printable(publication))?;
    let place = match (&arguments.out, arguments.embed) {
        (_, true) => Place::Publication(publication.to_owned()),
        (Some(file), false) => Place::File(file.clone()),
        (None, false) => Place::File(publication.with_extension("lcpl")),
    };
    let output = match &place {
        Place::File(path) | Place::Folder(path) | Place::Publication(path) => path.clone(),
    };
    let user_key = secrets::new_user_key(arguments.passphrase_file.as_deref())?;
    let signer = secrets::signer(&arguments.cert, &arguments.private_key)?;
    let request = Request { terms: only_given(Terms { hint, ..terms(arguments)? }), record, user_key, place };
    warn_if_over(&request.terms.rights, &output::printable(&output));
    let end = Mutex::new(None);
    // One licence is made in a moment: a signal waits for it.
    let _whole = Interrupt::listen();
    issue_all(&[request], &signer, arguments.if_exists.into(), std::num::NonZeroUsize::MIN, &|_, result| {
        if let Ok(mut end) = end.lock() {
            *end = Some(result);
        }
    });
    let issued = end.into_inner().ok().flatten().context("the licence was not made")?;
    let issued = match issued {
        Err(error) if arguments.if_exists == IfExistsArgument::Skip && is_skipped(&error, &output) => {
            super::told_skipped(&output, &arguments.running)?;
            return Ok(ExitCode::Success);
        }
        issued => issued.with_context(|| output::printable(publication))?,
    };
    if arguments.running.json {
        output::print_json(&done(None, publication, &issued))?;
    } else if !arguments.running.quiet {
        let written = output::printable(&issued.output);
        output::tell(format_args!(
            "{written}: licence {} (basic profile: for tests, protects nothing)",
            issued.id
        ));
    }
    Ok(ExitCode::Success)
}

/// A licence that is over opens nothing: hardly what was meant.
fn warn_if_over(rights: &Rights, place: &str) {
    if let Some(end) = rights.end.filter(|end| *end < Moment::now()) {
        output::warn(format_args!("{place}: the licence ended at {end}, so it opens nothing"));
    }
}

fn is_skipped(error: &Error, output: &Path) -> bool {
    match error {
        Error::HasLicence => true,
        Error::Library(cipherloom::Error::OutputExists) => super::is_output(output),
        _ => false,
    }
}

fn many(arguments: &LcpLicenseArguments, path: &Path, keys: &Keys<'_>) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let folder = arguments.out.as_deref().ok_or_else(|| usage("give --out DIR for the licences"))?;
    let signer = secrets::signer(&arguments.cert, &arguments.private_key)?;
    let wanted_rows = manifest::read(path)?;
    std::fs::create_dir_all(folder).with_context(|| output::printable(folder))?;
    let report = Report { json: arguments.running.json, ..Report::new(path) };
    let passphrase_file = arguments.passphrase_file.as_deref();
    let usual = terms(arguments)?;
    let mut rows = Vec::new();
    let mut requests = Vec::new();
    for (row, wanted) in wanted_rows {
        let request = wanted.and_then(|wanted: Wanted| {
            let name = wanted.publication.clone();
            Ok((name, wanted.request(&usual, arguments.hint.as_deref(), passphrase_file, keys, folder)?))
        });
        match request {
            Ok((name, request)) => {
                let place = format!("{}, line {row}", output::printable(path));
                warn_if_over(&request.terms.rights, &place);
                rows.push((row, name));
                requests.push(request);
            }
            Err(error) => report.failed(row, &error),
        }
    }
    let skips = arguments.if_exists == IfExistsArgument::Skip;
    let interrupt = Interrupt::listen();
    issue_all_unless(
        &requests,
        &signer,
        arguments.if_exists.into(),
        arguments.running.workers(),
        &|number, result| {
            let (row, name) = &rows[number];
            match result {
                Ok(issued) => report.done(*row, Path::new(name), &issued),
                Err(error)
                    if skips && is_skipped(&error, requests[number].place.path().unwrap_or(folder)) =>
                {
                    report.skipped.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => report.failed(*row, &error.into()),
            }
        },
        &|| interrupt.is_raised(),
    );
    let code = report.end(start.elapsed().as_secs_f64(), arguments.running.quiet)?;
    interrupt.check(interrupt::kept(arguments.if_exists.into(), false))?;
    Ok(code)
}

/// What is told of a manifest's rows.
struct Report<'r> {
    path: &'r Path,
    json: bool,
    done: AtomicU64,
    skipped: AtomicU64,
    failed: AtomicU64,
    repeats: Repeats<String>,
}

impl<'r> Report<'r> {
    fn new(path: &'r Path) -> Report<'r> {
        Report {
            path,
            json: false,
            done: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            repeats: Repeats::default(),
        }
    }

    fn done(&self, row: u64, publication: &Path, issued: &Issued) {
        self.done.fetch_add(1, Ordering::Relaxed);
        if self.json {
            // Where nothing can be written any more, the command's end tells.
            let _ = output::print_json(&done(Some(row), publication, issued));
        }
    }

    fn failed(&self, row: u64, error: &anyhow::Error) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        let words = output::message(error);
        if self.json {
            let _ = output::print_json(&json!({ "event": "failed", "row": row, "error": words }));
        } else if self.repeats.is_told_of_words(&words) {
            output::tell(format_args!("cipherloom: {}, line {row}: {words}", output::printable(self.path)));
        }
    }

    fn end(&self, seconds: f64, quiet: bool) -> anyhow::Result<ExitCode> {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.repeats.end("row", "--json");
        let (done, skipped, failed) = (number(&self.done), number(&self.skipped), number(&self.failed));
        if self.json {
            output::print_json(&json!({
                "event": "summary", "done": done, "skipped": skipped, "failed": failed, "seconds": seconds
            }))?;
        } else if !quiet {
            let rate = done as f64 / seconds.max(1e-9);
            let mut text = format!(
                "made {} in {} ({rate:.0}/s)",
                output::count(done, "licence"),
                output::duration(seconds)
            );
            for (count, words) in [(skipped, "skipped (the output exists)"), (failed, "FAILED")] {
                if count > 0 {
                    text += &format!("; {count} {words}");
                }
            }
            output::tell(text);
        }
        Ok(match (done + skipped, failed) {
            (_, 0) => ExitCode::Success,
            (0, _) => ExitCode::Failure,
            _ => ExitCode::Partial,
        })
    }
}

fn done(row: Option<u64>, publication: &Path, issued: &Issued) -> serde_json::Value {
    let mut object = json!({
        "event": "done", "publication": JsonPath(publication), "output": JsonPath(&issued.output), "licence": issued.id,
    });
    if let Some(row) = row {
        object["row"] = row.into();
    }
    object
}

/// What the options say of every licence.
fn terms(arguments: &LcpLicenseArguments) -> anyhow::Result<Terms> {
    let moment = |text: &Option<String>, what| -> anyhow::Result<Option<Moment>> {
        let moment = text.as_deref().map(|text| Moment::parse(text, what)).transpose();
        moment.map_err(|fault: LicenceFault| usage(fault.to_string()))
    };
    let base = arguments.provider.trim_end_matches('/');
    let fields = [("name", &arguments.user_name), ("email", &arguments.user_email)];
    let user_fields: Vec<_> =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect();
    Ok(Terms {
        provider: arguments.provider.clone(),
        hint: String::new(),
        hint_url: arguments.hint_url.clone().unwrap_or_else(|| arguments.provider.clone()),
        publication_url: arguments
            .publication_url
            .clone()
            .unwrap_or_else(|| format!("{base}/{{publication_id}}")),
        status_url: arguments.status_url.clone(),
        user_id: arguments.user.clone().unwrap_or_default(),
        user_fields,
        encrypted_fields: arguments.encrypt_user.clone(),
        rights: Rights {
            print: arguments.rights_print,
            copy: arguments.rights_copy,
            start: moment(&arguments.rights_start, "--rights-start")?,
            end: moment(&arguments.rights_end, "--rights-end")?,
        },
    })
}
