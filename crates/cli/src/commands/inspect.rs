//! `cipherloom inspect`: what can be told of a file without its key.

use crate::arguments::InspectArguments;
use crate::escape::JsonPath;
use crate::exit_code::{ExitCode, usage};
use crate::output;
use anyhow::Context;
use cipherloom::format::{Certainty, Finding, RECOGNISE_LEN, Recognised, recognise};
use cipherloom::key::wrapped::LockKind;
use cipherloom::key::{Keyset, SECRET_LIMIT, read_secret};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub fn run(arguments: &InspectArguments) -> anyhow::Result<ExitCode> {
    if arguments.file == Path::new("-") {
        return Err(usage(
            "what can be told depends on the length, which standard input does not have; name a file",
        ));
    }
    let path = output::printable(&arguments.file);
    // Before it is opened: a FIFO without a writer would never open.
    let metadata = std::fs::metadata(&arguments.file).with_context(|| path.clone())?;
    if metadata.is_dir() {
        return Err(usage(format!("{path}: a folder; name one file in it")));
    }
    if !metadata.is_file() {
        return Err(usage(format!("{path}: a FIFO, socket or device, which has no length; name a file")));
    }
    let file = File::open(&arguments.file).with_context(|| path.clone())?;
    let length = metadata.len();
    let mut head = Vec::new();
    file.take(RECOGNISE_LEN as u64).read_to_end(&mut head).with_context(|| path.clone())?;
    let findings = recognise(&head, length);
    let key_rows = key_rows(&arguments.file, &findings);
    if arguments.json {
        let findings: Vec<Value> = findings.iter().map(|finding| finding_json(finding, &key_rows)).collect();
        output::print_json(
            &json!({ "file": JsonPath(&arguments.file), "bytes": length, "findings": findings }),
        )?;
        return Ok(ExitCode::Success);
    }
    let mut text = format!("{path}: {}\n", output::size(length));
    if findings.is_empty() {
        text +=
            "nothing here marks an encrypted file; raw ciphertext looks like this, and so do other files\n";
    }
    for finding in &findings {
        let (name, mut rows) = describe(&finding.what);
        rows.extend(key_rows.iter().cloned());
        match finding.certainty {
            Certainty::Certain => writeln!(text, "{name}")?,
            Certainty::Possible => writeln!(text, "perhaps a {name}: its form fits, but it has no mark")?,
        }
        for (key, value) in rows {
            writeln!(text, "  {key:<18}{}", in_words(&value))?;
        }
    }
    output::print(&text)?;
    Ok(ExitCode::Success)
}

/// What may be told of the keyset in the file, if it is one in the clear.
fn key_rows(file: &Path, findings: &[Finding]) -> Rows {
    if !findings.iter().any(|finding| finding.what == Recognised::Keyset) {
        return Rows::new();
    }
    let keyset = read_secret(file, SECRET_LIMIT).ok().and_then(|secret| Keyset::parse(&secret.contents).ok());
    keyset.map_or_else(Rows::new, |keyset| {
        vec![("primary key", keyset.primary_id().into()), ("fingerprint", keyset.fingerprint().into())]
    })
}

fn finding_json(finding: &Finding, key_rows: &Rows) -> Value {
    let (name, mut rows) = describe(&finding.what);
    rows.extend(key_rows.iter().cloned());
    let mut object = json!({ "what": name, "certain": finding.certainty == Certainty::Certain });
    for (key, value) in rows {
        let key = key.replace(' ', "_");
        // A row that may stand several times is a list.
        match &mut object[&key] {
            Value::Array(values) => values.push(value),
            slot if key == "with_template" => *slot = json!([value]),
            slot => *slot = value,
        }
    }
    object
}

fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fit) => match (fit["template"].as_str(), &fit["plaintext_bytes"]) {
            (Some(template), bytes) => format!("{template}: {bytes} bytes of plaintext"),
            (None, bytes) => bytes.to_string(),
        },
        value => value.to_string(),
    }
}

type Rows = Vec<(&'static str, Value)>;

fn describe(what: &Recognised) -> (&'static str, Rows) {
    match what {
        Recognised::Age { armored, lock } => {
            let lock = match lock {
                Some(LockKind::Passphrase) => "a passphrase",
                Some(LockKind::Recipients) => "an age identity",
                None => "unknown (the header is not whole)",
            };
            (
                "age file",
                vec![
                    ("encoding", if *armored { "text (armored)" } else { "binary" }.into()),
                    ("opens with", lock.into()),
                ],
            )
        }
        Recognised::Keyset => ("Tink keyset, not wrapped: keep it secret", Vec::new()),
        Recognised::OpenSsl { salt, body_len } => (
            "openssl enc stream",
            vec![
                ("salt", hex(salt).into()),
                ("ciphertext bytes", (*body_len).into()),
                ("mode", if body_len % 16 == 0 && *body_len > 0 { "CBC or CTR" } else { "CTR" }.into()),
            ],
        ),
        Recognised::Tink { derived_key_size, salt, nonce_prefix, templates } => {
            let mut rows = vec![
                ("derived key bits", (derived_key_size * 8).into()),
                ("salt", hex(salt).into()),
                ("nonce prefix", hex(nonce_prefix).into()),
            ];
            for (template, plaintext) in templates {
                rows.push((
                    "with template",
                    json!({ "template": template.name(), "plaintext_bytes": plaintext }),
                ));
            }
            ("Tink stream", rows)
        }
        Recognised::Cobblestone { salt, plaintext_len } => (
            "Cobblestone stream",
            vec![
                ("segment bytes", 16384.into()),
                ("salt", hex(salt).into()),
                ("plaintext bytes", (*plaintext_len).into()),
            ],
        ),
        _ => ("something newer than this program", Vec::new()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
