//! `cipherloom lcp check`, `decrypt` and `inspect`: the commands that read protected publications and licenses.

use super::secrets;
use super::{Reporter, sentence};
use crate::arguments::{InspectArguments, LcpCheckArguments, LcpDecryptArguments};
use crate::escape::{self, JsonPath};
use crate::exit_code::{self, ExitCode};
use crate::hint::lcp_hint;
use crate::interrupt::{self, Interrupt};
use crate::output;
use crate::progress::Progress;
use crate::report::Style;
use anyhow::Context;
use cipherloom_lcp::license::{License, LicenseFault};
use cipherloom_lcp::{
    CheckOptions, Checked, DecryptOptions, Error, ErrorKind, FoundFiles, Inspected, Report, Subject,
    Unchecked, find_protected,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Instant;

pub fn check(arguments: &LcpCheckArguments) -> anyhow::Result<ExitCode> {
    let file = arguments.passphrase_file.as_deref();
    let mut options = CheckOptions::default();
    options.user_key = file.map(|file| secrets::user_key(Some(file))).transpose()?;
    options.roots = secrets::roots(arguments.root_ca.as_deref())?;
    options.license = secrets::license(arguments.license.as_deref())?;
    let running = &arguments.running;
    let reporter = Reporter::new(running.report.style(false), None);
    let FoundFiles { files, unlisted, .. } = find_protected(&arguments.paths)?;
    let not_listed = unlisted.len() as u64;
    unlisted.into_iter().for_each(|error| output::print_error(&error.into()));
    let interrupt = Interrupt::listen();
    let verdict = |checked: Checked| {
        // The command's end reports that nothing can be written.
        if running.report.json {
            let _ = output::print_json(&checked_object(&checked));
        } else if !running.report.quiet || !checked.is_sound() {
            let _ = output::print(&checked_words(&checked));
        }
    };
    let summary = cipherloom_lcp::check(&files, &options, running.workers(), &Progress::default(), &verdict)?;
    let (sound, unsound) = (summary.done, summary.failed + not_listed);
    reporter.print(&json!({ "event": "summary", "sound": sound, "unsound": unsound }), || {
        let begin = format!("checked {}: {sound} sound", output::count(sound + unsound, "file"));
        sentence(begin, &[(unsound, format!("{unsound} NOT"))])
    })?;
    interrupt.check(interrupt::NOT_READ, "")?;
    Ok(match summary {
        Report { unauthentic: 1.., .. } => ExitCode::Unauthentic,
        Report { without_key, failed, .. } if failed > 0 && without_key == failed => ExitCode::Key,
        Report { .. } => exit_code::of_counts(sound, unsound),
    })
}

fn checked_object(checked: &Checked) -> Value {
    let license = checked.license.as_ref().map(|license| {
        json!({ "id": license.id, "provider": license.provider, "profile": license.profile, "signed_by": license.signed_by })
    });
    json!({
        "event": if checked.is_sound() { "sound" } else { "unsound" },
        "path": JsonPath(&checked.path),
        "kind": checked.subject.name(),
        "license": license,
        "resources": checked.resources,
        "opened": checked.opened,
        "bytes": checked.bytes,
        "problems": checked.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "hints": checked.problems.iter().filter_map(lcp_hint).collect::<BTreeSet<_>>(),
        "unchecked": checked.unchecked.iter().copied().map(unchecked).collect::<Vec<_>>(),
    })
}

fn checked_words(checked: &Checked) -> String {
    let mut text = escape::path(&checked.path);
    text += if checked.is_sound() { ": sound" } else { ": NOT SOUND" };
    if let Subject::Publication(_) = checked.subject {
        let _ = write!(text, ", {}", output::count(checked.resources as u64, "protected resource"));
        if checked.opened > 0 {
            let _ = write!(text, ", {} opened ({})", checked.opened, output::size(checked.bytes));
        }
    }
    text.push('\n');
    if let Some(license) = &checked.license {
        let _ =
            writeln!(text, "  license {} of {}", escape::line(&license.id), escape::line(&license.provider));
        if let Some(name) = &license.signed_by {
            let _ = writeln!(text, "  signed by {}", escape::line(name));
        }
    }
    for problem in &checked.problems {
        let _ = writeln!(text, "  {}", escape::line(&problem.to_string()));
    }
    for hint in checked.problems.iter().filter_map(lcp_hint).collect::<BTreeSet<_>>() {
        let _ = writeln!(text, "  hint: {}", escape::line(&hint));
    }
    for left_out in &checked.unchecked {
        let _ = writeln!(text, "  not checked: {}", unchecked(*left_out));
    }
    text
}

pub fn decrypt(arguments: &LcpDecryptArguments) -> anyhow::Result<ExitCode> {
    let mut options = DecryptOptions::new(secrets::user_key(arguments.passphrase_file.as_deref())?);
    options.license = secrets::license(arguments.license.as_deref())?;
    options.roots = secrets::roots(arguments.root_ca.as_deref())?;
    options.if_exists = arguments.if_exists.if_exists;
    let unchecked: &[&str] = match options.roots {
        Some(_) => &[],
        None => &[unchecked(Unchecked::Certificate)],
    };
    let (source, target, running) = (&arguments.publication, &arguments.out, &arguments.running);
    let style = running.report.style(false);
    let reporter = Reporter::listing_all(style);
    let start = Instant::now();
    let interrupt = Interrupt::listen();
    match cipherloom_lcp::decrypt(source, target, &options, running.workers(), &Progress::default()) {
        Ok(Some(decrypted)) => {
            let object = json!({
                "event": "done", "source": JsonPath(source), "output": JsonPath(target),
                "resources": decrypted.resources, "bytes": decrypted.bytes, "unchecked": unchecked,
            });
            reporter.print(&object, || {
                let resources = output::count(decrypted.resources as u64, "resource");
                let (size, seconds) = (output::size(decrypted.bytes), start.elapsed().as_secs_f64());
                format!("decrypted {resources}, {size} in {}", output::duration(seconds))
            })?;
            if style == Style::Plain {
                unchecked.iter().for_each(|what| output::print_line(format_args!("  not checked: {what}")));
            }
            Ok(ExitCode::Success)
        }
        Ok(None) => {
            reporter.print_skipped(target)?;
            Ok(ExitCode::Success)
        }
        Err(problems) => {
            interrupt.check("nothing was written", "")?;
            let mut code = ExitCode::Failure;
            // Every worker meets a full disk.
            let mut printed = BTreeSet::new();
            for problem in problems.into_iter().filter(|problem| printed.insert(problem.to_string())) {
                let path = if matches!(problem, Error::Library(_)) { target } else { source };
                if code != ExitCode::Unauthentic || problem.kind() == ErrorKind::Authentication {
                    code = exit_code::of_kind(problem.kind());
                }
                let object = json!({ "event": "failed", "source": JsonPath(path) });
                reporter.fail(&escape::path(path), &problem.into(), object);
            }
            Ok(code)
        }
    }
}

pub fn inspect(arguments: &InspectArguments) -> anyhow::Result<ExitCode> {
    let path = escape::path(&arguments.file);
    let inspected = cipherloom_lcp::inspect(&arguments.file).with_context(|| path.clone())?;
    let mut object = json!({ "file": JsonPath(&arguments.file), "bytes": inspected.bytes });
    object["kind"] = inspected.subject.name().into();
    let mut text = format!("{path}: {}, {}\n", inspected.subject.name(), output::size(inspected.bytes));
    let mut add = |object: &mut Value, rows: Rows| {
        for (key, value) in rows {
            let _ = writeln!(text, "  {key:<18}{}", in_words(&value));
            object[key.replace(' ', "_")] = value;
        }
    };
    add(&mut object, publication_rows(&inspected));
    let mut license = Value::Null;
    match &inspected.license {
        Some(Ok(found)) => add(&mut license, license_rows(found)),
        Some(Err(error)) => {
            add(&mut Value::Null, vec![("license", error.to_string().into())]);
            license = json!({ "error": error.to_string() });
        }
        None => add(&mut Value::Null, vec![("license", "none inside".into())]),
    }
    object["license"] = license;
    output::print_as(arguments.json, &object, || text)?;
    Ok(ExitCode::Success)
}

type Rows = Vec<(&'static str, Value)>;

fn publication_rows(inspected: &Inspected) -> Rows {
    if !matches!(inspected.subject, Subject::Publication(_)) {
        return Rows::new();
    }
    vec![
        ("title", inspected.title.clone().into()),
        ("entries", inspected.entries.into()),
        ("protected", inspected.resources.into()),
        ("of these deflated", inspected.deflated.into()),
        ("encrypted bytes", inspected.encrypted_bytes.into()),
        ("fingerprint", inspected.fingerprint.clone().into()),
    ]
}

fn license_rows(license: &License) -> Rows {
    let document = license.document();
    let rights = document.rights.unwrap_or_default();
    let no_limit = || Value::Null;
    let number = |right: Option<i64>| right.filter(|&number| number >= 0).map_or_else(no_limit, Value::from);
    let mut rows = vec![
        ("license", document.id.clone().into()),
        ("provider", document.provider.clone().into()),
        ("issued", document.issued.to_string().into()),
    ];
    rows.extend(document.updated.map(|updated| ("updated", updated.to_string().into())));
    rows.extend([
        ("profile", document.encryption.profile.clone().into()),
        ("hint", document.encryption.user_key.text_hint.clone().into()),
        ("user", document.user.id.clone().into()),
        ("encrypted fields", document.user.encrypted.clone().into()),
        ("print", number(rights.print)),
        ("copy", number(rights.copy)),
        ("start", rights.start.map_or_else(no_limit, |start| start.to_string().into())),
        ("end", rights.end.map_or_else(no_limit, |end| end.to_string().into())),
    ]);
    for link in &document.links {
        let name = match link.rel.all().first().map(String::as_str) {
            Some("publication") => "publication link",
            Some("hint") => "hint link",
            Some("status") => "status link",
            _ => continue,
        };
        rows.push((name, link.href.clone().into()));
    }
    rows.extend(signature_rows(license));
    rows
}

fn signature_rows(license: &License) -> Rows {
    let Some(signature) = &license.document().signature else {
        return vec![("signature", LicenseFault::Unsigned.to_string().into())];
    };
    let algorithm = signature.algorithm.rsplit('#').next().unwrap_or_default();
    match license.check_signature() {
        Ok(certificate) => vec![
            ("signature", format!("{algorithm}, fits the text").into()),
            ("signed by", certificate.subject.clone().into()),
            ("certificate from", certificate.issuer.clone().into()),
            ("certificate valid", format!("{} to {}", certificate.from, certificate.to).into()),
        ],
        Err(fault) => vec![("signature", format!("{algorithm}: {fault}").into())],
    }
}

fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => escape::line(text).into_owned(),
        Value::Null => "not limited".to_owned(),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        Value::Array(list) => list.iter().map(in_words).collect::<Vec<_>>().join(", "),
        value => value.to_string(),
    }
}

/// What was not checked, with the option that would have it checked.
fn unchecked(unchecked: Unchecked) -> &'static str {
    match unchecked {
        Unchecked::Resources => "no license inside, so no resource was opened (--license FILE)",
        Unchecked::Certificate => "who confirms the certificate (--root-ca FILE)",
        Unchecked::Opening => "whether it opens (--passphrase-file FILE)",
    }
}
