//! `cipherloom inspect`: shows a file's format and header, without its key.

use crate::arguments::InspectArguments;
use crate::escape::JsonPath;
use crate::exit_code::{ExitCode, usage};
use crate::{escape, output};
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
        let message = "a format is recognised by the length too, which standard input does not have";
        return Err(usage(message, "name a file"));
    }
    let path = escape::path(&arguments.file);
    // Before it is opened: a FIFO without a writer would never open.
    let metadata = std::fs::metadata(&arguments.file).with_context(|| path.clone())?;
    if metadata.is_dir() {
        return Err(usage(format!("{path}: a folder"), "name one file in it"));
    }
    if !metadata.is_file() {
        let message = format!("{path}: a FIFO, socket or device, which has no length");
        return Err(usage(message, "name a file"));
    }
    let file = File::open(&arguments.file).with_context(|| path.clone())?;
    let length = metadata.len();
    let mut head = Vec::new();
    file.take(RECOGNISE_LEN as u64).read_to_end(&mut head).with_context(|| path.clone())?;
    let findings = recognise(&head, length);
    let key_rows = key_rows(&arguments.file, &findings);
    let objects: Vec<Value> = findings.iter().map(|finding| finding_json(finding, &key_rows)).collect();
    let object = json!({ "file": JsonPath(&arguments.file), "bytes": length, "findings": objects });
    output::print_as(arguments.json, &object, || {
        let mut text = format!("{path}: {}\n", output::size(length));
        if findings.is_empty() {
            text += "nothing here marks an encrypted file; raw ciphertext looks like this, and so do other files\n";
        }
        for finding in &findings {
            let (name, mut rows) = describe(&finding.what);
            rows.extend(key_rows.iter().cloned());
            let _ = match finding.certainty {
                Certainty::Certain => writeln!(text, "{name}"),
                Certainty::Possible => writeln!(text, "perhaps a {name}: its form fits, but it has no mark"),
            };
            for (key, value) in rows {
                let _ = writeln!(text, "  {key:<18}{}", in_words(&value));
            }
        }
        text
    })?;
    Ok(ExitCode::Success)
}

/// What may be shown of the keyset in the file, if it is one in the clear.
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
        // A row that may occur several times is a list.
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
        Value::Array(values) => values.iter().map(in_words).collect::<Vec<_>>().join(", "),
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
        Recognised::Age { armored, lock, recipients, plaintext_len } => {
            let lock = match lock {
                Some(LockKind::Passphrase) => "a passphrase",
                Some(LockKind::Recipients) => "an age identity",
                None => "unknown (the header is not whole)",
            };
            let mut rows = vec![
                ("encoding", if *armored { "text (armored)" } else { "binary" }.into()),
                ("opens with", lock.into()),
                ("recipients", recipients.clone().into()),
            ];
            rows.extend(plaintext_len.map(|bytes| ("plaintext bytes", bytes.into())));
            ("age file", rows)
        }
        Recognised::Keyset => ("Tink keyset, not wrapped: keep it secret", Vec::new()),
        Recognised::OpenSsl { salt, body_len } => {
            let mode = if body_len % 16 == 0 && *body_len > 0 { "CBC or CTR" } else { "CTR" };
            let (salt, bytes) = (hex(salt).into(), (*body_len).into());
            let rows = vec![("salt", salt), ("ciphertext bytes", bytes), ("mode", mode.into())];
            ("openssl enc stream", rows)
        }
        Recognised::Tink { derived_key_size, salt, nonce_prefix, templates } => {
            let mut rows = vec![
                ("derived key bits", (derived_key_size * 8).into()),
                ("salt", hex(salt).into()),
                ("nonce prefix", hex(nonce_prefix).into()),
            ];
            rows.extend(templates.iter().map(|(template, plaintext)| {
                ("with template", json!({ "template": template.name(), "plaintext_bytes": plaintext }))
            }));
            ("Tink stream", rows)
        }
        Recognised::Cobblestone { salt, plaintext_len } => {
            let (salt, bytes) = (hex(salt).into(), (*plaintext_len).into());
            let rows = vec![("segment bytes", 16384.into()), ("salt", salt), ("plaintext bytes", bytes)];
            ("Cobblestone stream", rows)
        }
        _ => ("something newer than this program", Vec::new()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
