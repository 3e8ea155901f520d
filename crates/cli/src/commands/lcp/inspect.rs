//! `cipherloom lcp inspect`: what can be told of a publication or licence without a key.

use super::check::subject;
use crate::arguments::LcpInspectArguments;
use crate::escape::{self, JsonPath};
use crate::exit_code::ExitCode;
use crate::output;
use anyhow::Context;
use cipherloom_lcp::licence::{Licence, LicenceFault};
use cipherloom_lcp::{Inspected, Subject, inspect};
use serde_json::{Value, json};
use std::fmt::Write;

pub fn run(arguments: &LcpInspectArguments) -> anyhow::Result<ExitCode> {
    let path = output::printable(&arguments.file);
    let inspected = inspect(&arguments.file).with_context(|| path.clone())?;
    if arguments.json {
        let mut object = json!({ "file": JsonPath(&arguments.file), "bytes": inspected.bytes });
        object["kind"] = subject(inspected.subject).into();
        for (key, value) in publication_rows(&inspected) {
            object[key.replace(' ', "_")] = value;
        }
        object["licence"] = match &inspected.licence {
            Some(Ok(licence)) => {
                licence_rows(licence).into_iter().map(|(key, value)| (key.replace(' ', "_"), value)).collect()
            }
            Some(Err(error)) => json!({ "error": error.to_string() }),
            None => Value::Null,
        };
        output::print_json(&object)?;
        return Ok(ExitCode::Success);
    }
    let mut text = format!("{path}: {}, {}\n", subject(inspected.subject), output::size(inspected.bytes));
    let mut print = |rows: Rows| {
        for (key, value) in rows {
            let _ = writeln!(text, "  {key:<18}{}", in_words(&value));
        }
    };
    print(publication_rows(&inspected));
    match &inspected.licence {
        Some(Ok(licence)) => print(licence_rows(licence)),
        Some(Err(error)) => print(vec![("licence", error.to_string().into())]),
        None => print(vec![("licence", "none inside".into())]),
    }
    output::print(&text)?;
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

fn licence_rows(licence: &Licence) -> Rows {
    let document = licence.document();
    let rights = document.rights.unwrap_or_default();
    let no_limit = || Value::Null;
    let number = |right: Option<i64>| right.filter(|&number| number >= 0).map_or_else(no_limit, Value::from);
    let mut rows = vec![
        ("licence", document.id.clone().into()),
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
        let name = match link.rel.0.first().map(String::as_str) {
            Some("publication") => "publication link",
            Some("hint") => "hint link",
            Some("status") => "status link",
            _ => continue,
        };
        rows.push((name, link.href.clone().into()));
    }
    rows.extend(signature_rows(licence));
    rows
}

fn signature_rows(licence: &Licence) -> Rows {
    let Some(signature) = &licence.document().signature else {
        return vec![("signature", LicenceFault::Unsigned.to_string().into())];
    };
    let algorithm = signature.algorithm.rsplit('#').next().unwrap_or_default();
    match licence.check_signature() {
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
