//! `cipherloom lcp check`: a verdict for every publication and licence.

use super::secrets;
use crate::arguments::LcpCheckArguments;
use crate::escape::{self, JsonPath};
use crate::exit_code::ExitCode;
use crate::interrupt::{self, Interrupt};
use crate::output;
use cipherloom_lcp::{Check, Checked, Class, Subject, find_protected};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

pub fn run(arguments: &LcpCheckArguments) -> anyhow::Result<ExitCode> {
    let file = arguments.passphrase_file.as_deref();
    let check = Check {
        user_key: file.map(|file| secrets::user_key(Some(file))).transpose()?,
        roots: secrets::roots(arguments.root_ca.as_deref())?,
        licence: secrets::licence(arguments.license.as_deref())?,
        moment: None,
    };
    let (files, unlisted) = files(&arguments.paths)?;
    let running = &arguments.running;
    let tally = Mutex::new(Tally { failed: unlisted, ..Tally::default() });
    let interrupt = Interrupt::listen();
    let verdict = |checked: Checked| {
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.count(&checked);
        // Where nothing can be written any more, the command's end tells. Under the lock: lines stay together.
        if running.json {
            let _ = output::print_json(&object(&checked));
        } else if !running.quiet || !checked.is_sound() {
            let _ = output::print(&words(&checked));
        }
    };
    cipherloom_lcp::check_unless(&files, &check, running.workers(), &verdict, &|| interrupt.is_raised());
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    let code = tally.exit_code();
    if running.json {
        output::print_json(&json!({ "event": "summary", "sound": tally.sound, "unsound": tally.failed }))?;
    } else if !running.quiet {
        let failed = if tally.failed > 0 { format!("; {} NOT", tally.failed) } else { String::new() };
        output::tell(format_args!(
            "checked {}: {} sound{failed}",
            output::count(tally.sound + tally.failed, "file"),
            tally.sound
        ));
    }
    interrupt.check(interrupt::NOT_READ)?;
    Ok(code)
}

#[derive(Default)]
struct Tally {
    sound: u64,
    failed: u64,
    unauthentic: bool,
    only_keys: Option<bool>,
}

impl Tally {
    fn count(&mut self, checked: &Checked) {
        if checked.is_sound() {
            self.sound += 1;
            return;
        }
        self.failed += 1;
        for problem in &checked.problems {
            let class = problem.class();
            self.unauthentic |= class == Class::Authentication;
            self.only_keys = Some(self.only_keys.unwrap_or(true) && class == Class::Key);
        }
    }

    fn exit_code(&self) -> ExitCode {
        match self {
            Tally { unauthentic: true, .. } => ExitCode::Unauthentic,
            Tally { failed: 0, .. } => ExitCode::Success,
            Tally { only_keys: Some(true), .. } => ExitCode::Key,
            Tally { sound: 0, .. } => ExitCode::Failure,
            _ => ExitCode::Partial,
        }
    }
}

/// The files to check, and how many could not be listed.
fn files(paths: &[PathBuf]) -> anyhow::Result<(Vec<PathBuf>, u64)> {
    let findings = find_protected(paths)
        .map_err(|(path, error)| anyhow::Error::from(error).context(output::printable(&path)))?;
    for (path, error) in &findings.unlisted {
        output::tell(format_args!("cipherloom: {}: {error}", output::printable(path)));
    }
    Ok((findings.files, findings.unlisted.len() as u64))
}

pub fn subject(subject: Subject) -> &'static str {
    match subject {
        Subject::Unknown => "unknown",
        Subject::Licence => "licence",
        Subject::Publication(kind) => kind.media_type(),
    }
}

fn object(checked: &Checked) -> Value {
    let licence = checked.licence.as_ref().map(|licence| {
        json!({ "id": licence.id, "provider": licence.provider, "profile": licence.profile, "signed_by": licence.signed_by })
    });
    json!({
        "event": if checked.is_sound() { "sound" } else { "unsound" },
        "path": JsonPath(&checked.path),
        "kind": subject(checked.subject),
        "licence": licence,
        "resources": checked.resources,
        "opened": checked.opened,
        "bytes": checked.bytes,
        "problems": checked.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "unchecked": checked.unchecked,
    })
}

fn words(checked: &Checked) -> String {
    let mut text = output::printable(&checked.path);
    text += if checked.is_sound() { ": sound" } else { ": NOT SOUND" };
    if let Subject::Publication(_) = checked.subject {
        let _ = write!(text, ", {}", output::count(checked.resources as u64, "protected resource"));
        if checked.opened > 0 {
            let _ = write!(text, ", {} opened ({})", checked.opened, output::size(checked.bytes));
        }
    }
    text.push('\n');
    if let Some(licence) = &checked.licence {
        let _ =
            writeln!(text, "  licence {} of {}", escape::line(&licence.id), escape::line(&licence.provider));
        if let Some(name) = &licence.signed_by {
            let _ = writeln!(text, "  signed by {}", escape::line(name));
        }
    }
    for problem in &checked.problems {
        let _ = writeln!(text, "  {}", escape::line(&problem.to_string()));
    }
    for unchecked in &checked.unchecked {
        let _ = writeln!(text, "  not checked: {}", escape::line(unchecked));
    }
    text
}
