//! Notifies a license server of what was protected: at once by `lcp encrypt --notify`, again by `lcp notify`.
//!
//! A run with `--notify` records in the key file what the server must be notified of, and later that it was. So a
//! notification that failed, or that a stopped run did not reach, can be sent again. A run sends on a thread of its own, so
//! that workers do not wait for a server.

use super::server::{self, Server};
use super::{Reporter, sentence, skipped_and_failed};
use crate::arguments::{LcpEncryptArguments, LcpNotifyArguments};
use crate::escape;
use crate::exit_code::{self, ExitCode, failure, no_key, usage};
use crate::output::{self, at};
use anyhow::Context;
use cipherloom::internal::engine::lock;
use cipherloom_lcp::notification::{Generation, Notice, Notification, Recipient};
use cipherloom_lcp::{Error, KeyFile, KeyRecord, internal};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use zeroize::Zeroizing;

/// Where a run's notifications go.
pub struct Notifier {
    pub recipient: Recipient,
    server: Option<Server>,
    file: Option<Mutex<File>>,
    key_file: PathBuf,
    keys: Mutex<Option<KeyFile>>,
}

impl Notifier {
    /// What the arguments ask for; `None` if nothing.
    pub fn new(arguments: &LcpEncryptArguments) -> anyhow::Result<Option<Notifier>> {
        if arguments.notify.is_none() && arguments.notify_file.is_none() {
            return Ok(None);
        }
        if arguments.no_checksum {
            let message = "license servers want the checksum of a publication";
            return Err(usage(message, "leave --no-checksum out"));
        }
        if let Some(url) = &arguments.notify {
            server::check_url(url, arguments.allow_http)?;
        }
        let recipient = recipient(arguments)?;
        let connect = |url| Server::new(url, arguments.notify_login.as_deref(), arguments.allow_http);
        let server = arguments.notify.as_deref().map(connect).transpose()?;
        let file = arguments.notify_file.as_deref().map(open_private).transpose()?.map(Mutex::new);
        let key_file = arguments.key_file.clone();
        Ok(Some(Notifier { recipient, server, file, key_file, keys: Mutex::default() }))
    }

    /// Writes the notification to the file and sends it to the server, each even if the other fails. Then records in the key
    /// file that it was sent, or without a server that it was written. Returns the errors.
    pub fn notify(&self, record: &KeyRecord) -> Vec<anyhow::Error> {
        let Some(notice) = &record.notice else { return Vec::new() };
        let written = self.file.as_ref().map(|file| write_line(file, record, notice));
        let sent = self.server.as_ref().map(|server| {
            let sent = server.notify(record, notice, false);
            sent.map_err(|error| {
                let message = format!("{}; its key is in the key file", output::message(&error));
                failure(ExitCode::Failure, message, "`lcp notify --pending` sends it again")
            })
        });
        let is_sent = sent.as_ref().or(written.as_ref()).is_none_or(Result::is_ok);
        let recorded = is_sent.then(|| {
            let mut keys = lock(&self.keys);
            match &mut *keys {
                Some(keys) => record_sent(keys, record),
                none => record_sent(none.insert(KeyFile::open(&self.key_file)?), record),
            }
        });
        [written, sent, recorded].into_iter().flatten().filter_map(Result::err).collect()
    }
}

/// Appends a notification to the file, and syncs it before the key file records it.
fn write_line(file: &Mutex<File>, record: &KeyRecord, notice: &Notice) -> anyhow::Result<()> {
    let body = Notification::new(record, notice).body;
    let line = Zeroizing::new(format!("{}\n", *body));
    let mut file = lock(file);
    let synced = |file: &File| match file.sync_data() {
        // A pipe or a terminal.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    };
    let written = file.write_all(line.as_bytes()).and_then(|()| synced(&file));
    written.map_err(|error| {
        let message = format!("cannot write the notification file: {error}; the key is in the key file");
        failure(ExitCode::Failure, message, "`lcp notify` sends its notification to a server")
    })
}

/// What a run records about the server.
fn recipient(arguments: &LcpEncryptArguments) -> anyhow::Result<Recipient> {
    let (generation, provider) = (arguments.notify_version, arguments.provider.clone().unwrap_or_default());
    let is_web = |url: &str| {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
    };
    let base = match &arguments.public_url {
        Some(url) if is_web(url) => url.clone(),
        Some(_) => return Err(usage("--public-url wants a URL that begins with https:// or http://", "")),
        None if generation == Generation::V2 => {
            return Err(usage(
                "license servers of the second generation want publications at a web address",
                "give --public-url URL, under which readers find the output folder",
            ));
        }
        None => {
            let path = std::path::absolute(&arguments.out).context("cannot tell the output folder's path")?;
            path.display().to_string()
        }
    };
    if generation == Generation::V2 {
        if arguments.id.as_deref().is_some_and(|id| !is_uuid(id)) {
            return Err(usage(
                "license servers of the second generation take as --id only a UUID in small letters, \
                 such as 3f1c52c4-1dd1-4bd5-8d9a-6bb9dfdf4f0a",
                "--alt-id takes any other identifier",
            ));
        }
        let has_scheme = |uri: &str| {
            uri.split_once(':').is_some_and(|(scheme, rest)| {
                scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && !rest.is_empty()
            })
        };
        if !provider.is_empty() && !has_scheme(&provider) {
            return Err(usage("--provider wants a URI such as https://provider.example.com", ""));
        }
    }
    Ok(Recipient { generation, url: arguments.notify.clone(), provider, base })
}

fn is_uuid(id: &str) -> bool {
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}

/// Records in the key file that the server was notified of what `record` says.
fn record_sent(keys: &mut KeyFile, record: &KeyRecord) -> anyhow::Result<()> {
    let notice = record.notice.clone().map(|notice| Notice { sent: true, ..notice });
    let sent = KeyRecord { notice, ..record.clone() };
    keys.append([&sent]).context("the notification was sent, but the key file could not record it")
}

/// `cipherloom lcp notify`.
pub fn run(arguments: &LcpNotifyArguments) -> anyhow::Result<ExitCode> {
    let key_file = &arguments.key_file;
    if !key_file.exists() {
        return Err(no_key(at(key_file, "there is no such key file"), ""));
    }
    let mut records = Vec::new();
    let opened = KeyFile::open_with(key_file, |record| records.push(record));
    let mut keys = opened.with_context(|| escape::path(key_file))?;
    let chosen = if arguments.pending { pending(&records) } else { named(&records, &arguments.ids)? };
    let mut servers = HashMap::new();
    let (mut sent, mut failed) = (0, 0);
    let reporter = Reporter::listing_all(arguments.report.style(false));
    for record in chosen {
        let ended = match check_output(record) {
            Err(error) if arguments.pending => Err(error),
            _ => send_again(record, arguments, &mut servers).and_then(|()| record_sent(&mut keys, record)),
        };
        let (id, title) = (&record.id, &record.title);
        match ended {
            Ok(()) => {
                sent += 1;
                if arguments.report.json {
                    output::print_json(&json!({ "event": "sent", "id": id, "title": title }))?;
                }
            }
            Err(error) => {
                failed += 1;
                reporter.fail(id, &error, json!({ "event": "failed", "id": id, "title": title }));
            }
        }
    }
    reporter.print(&json!({ "event": "summary", "sent": sent, "failed": failed }), || {
        let begin = format!("sent {}", output::count(sent, "notification"));
        sentence(begin, &skipped_and_failed(0, failed))
    })?;
    Ok(exit_code::of_counts(sent, failed))
}

/// Sends a record's notification once more.
fn send_again(
    record: &KeyRecord,
    arguments: &LcpNotifyArguments,
    servers: &mut HashMap<String, Server>,
) -> anyhow::Result<()> {
    let without = "was protected without --notify, so there is nothing to send";
    let notice = record.notice.as_ref().ok_or_else(|| no_key(without, ""))?;
    let url = arguments.notify.as_ref().or(notice.server.as_ref());
    let url = url.ok_or_else(|| usage("its record names no license server", "give --notify URL"))?;
    let server = match servers.get(url) {
        Some(server) => server,
        None => {
            let server = Server::new(url, arguments.notify_login.as_deref(), arguments.allow_http)?;
            servers.entry(url.clone()).or_insert(server)
        }
    };
    // An earlier answer may have been lost, so the server may know the publication.
    server.notify(record, notice, true)
}

/// The last record of every publication that its server was not notified of. Of several records with one output only the
/// last counts: it says whose the output is.
fn pending<'r>(records: &'r [KeyRecord]) -> Vec<&'r KeyRecord> {
    let (mut ids, mut outputs) = (HashSet::new(), HashSet::new());
    let is_pending = |record: &&'r KeyRecord| {
        let record = *record;
        let is_last_of_id = ids.insert(&record.id);
        let is_last_of_output = record.output.as_ref().is_none_or(|output| outputs.insert(output));
        let is_unsent = record.notice.as_ref().is_some_and(|notice| !notice.sent);
        is_last_of_id && is_last_of_output && is_unsent
    };
    let mut pending: Vec<_> = records.iter().rev().filter(is_pending).collect();
    pending.reverse();
    pending
}

/// The last records of these publications.
fn named<'r>(records: &'r [KeyRecord], ids: &[String]) -> anyhow::Result<Vec<&'r KeyRecord>> {
    let find = |id: &String| {
        let found = records.iter().rfind(|record| record.id == *id);
        found.ok_or_else(|| no_key(format!("{id:?} is not in the key file"), ""))
    };
    ids.iter().map(find).collect()
}

/// Checks that the publication's output exists and is this publication.
fn check_output(record: &KeyRecord) -> anyhow::Result<()> {
    let Some(output) = &record.output else { return Ok(()) };
    match KeyRecord::of_publication(std::slice::from_ref(record), output) {
        Ok(_) => Ok(()),
        Err(Error::KeyMissing) => {
            let message = at(output, "this is another publication, so nothing was sent");
            Err(failure(ExitCode::Failure, message, ""))
        }
        Err(error) => {
            let words = format_args!("the publication is not there, so nothing was sent: {error}");
            let hint = format!("`lcp notify {}` sends it all the same", record.id);
            Err(failure(ExitCode::Failure, at(output, words), hint))
        }
    }
}

/// Opens a file for appending that only its owner may read from then on.
fn open_private(path: &Path) -> anyhow::Result<File> {
    let file = internal::open_private(path, true);
    let file = file.with_context(|| at(path, "cannot open the notification file"))?;
    internal::make_private(&file)
        .with_context(|| at(path, "cannot set the mode to 0600, so others could read it"))?;
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn nobody_else_may_read_notifications_also_in_a_file_that_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notifications.json");
        std::fs::write(&path, "{}\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        open_private(&path).unwrap().write_all(b"{}\n").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read(&path).unwrap(), b"{}\n{}\n", "added to");
    }
}
