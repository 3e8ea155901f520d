//! Notifies a licence server of what was protected: at once by `lcp encrypt --notify`, again by `lcp notify`.
//!
//! Every record of a run with `--notify` says in the key file what the server is to be told, and later that it was told.
//! So a notification that failed, or that a stopped run did not get to, can be sent again. While a run protects, a thread
//! of its own sends, so that neither workers nor the disk wait for a server.

use super::server::Server;
use crate::arguments::{LcpEncryptArguments, LcpNotifyArguments, NotifyVersion};
use crate::exit_code::{ExitCode, no_key, usage};
use crate::output;
use anyhow::{Context, anyhow};
use cipherloom_lcp::{Generation, KeyFile, KeyRecord, Notice, Notification, Recipient};
use serde_json::json;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
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
            return Err(usage("licence servers want the checksum of a publication; leave --no-checksum out"));
        }
        let server = match &arguments.notify {
            Some(url) => Some(Server::new(url, arguments.notify_login.as_deref(), arguments.allow_http)?),
            None => None,
        };
        let recipient = recipient(arguments)?;
        let file = arguments.notify_file.as_deref().map(open_private).transpose()?.map(Mutex::new);
        let key_file = arguments.key_file.clone();
        Ok(Some(Notifier { recipient, server, file, key_file, keys: Mutex::default() }))
    }

    /// Writes and sends, one whatever becomes of the other, and notes in the key file what was sent, or without a server
    /// what was written. Returns what went wrong.
    pub fn notify(&self, record: &KeyRecord) -> Vec<anyhow::Error> {
        let Some(notice) = &record.notice else { return Vec::new() };
        let written = self.file.as_ref().map(|file| write_line(file, record, notice));
        let sent = self.server.as_ref().map(|server| {
            let sent = server.notify(record, notice, false);
            sent.map_err(|error| {
                let error = output::message(&error);
                anyhow!("{error}; its key is in the key file; `lcp notify --pending` sends it again")
            })
        });
        let is_told = sent.as_ref().or(written.as_ref()).is_none_or(|done| done.is_ok());
        let noted = is_told.then(|| self.note_sent(record));
        [written, sent, noted].into_iter().flatten().filter_map(Result::err).collect()
    }

    fn note_sent(&self, record: &KeyRecord) -> anyhow::Result<()> {
        let mut keys = self.keys.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let keys = match &mut *keys {
            Some(keys) => keys,
            none => none.insert(KeyFile::open(&self.key_file)?),
        };
        note_sent(keys, record)
    }
}

/// Adds a notification to the file, where it is when the key file says so.
fn write_line(file: &Mutex<File>, record: &KeyRecord, notice: &Notice) -> anyhow::Result<()> {
    let body = Notification::new(record, notice).body;
    let line = Zeroizing::new(format!("{}\n", *body));
    let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let synced = |file: &File| match file.sync_data() {
        // A pipe or a terminal.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    };
    let written = file.write_all(line.as_bytes()).and_then(|()| synced(&file));
    written.context(
        "cannot write the notification file; the key is in the key file, from which `lcp notify` tells a server",
    )
}

/// What a run's records say of the server.
fn recipient(arguments: &LcpEncryptArguments) -> anyhow::Result<Recipient> {
    let generation = match arguments.notify_version {
        NotifyVersion::V1 => Generation::V1,
        NotifyVersion::V2 => Generation::V2,
    };
    let is_web = |url: &str| {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
    };
    let base = match &arguments.public_url {
        Some(url) if is_web(url) => url.clone(),
        Some(_) => return Err(usage("--public-url wants a URL that begins with https:// or http://")),
        None if generation == Generation::V2 => {
            return Err(usage(
                "licence servers of the second generation want publications at a web address; \
                 give --public-url URL, under which readers find the output folder",
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
                "licence servers of the second generation take as --id a UUID in small letters alone, \
                 such as 3f1c52c4-1dd1-4bd5-8d9a-6bb9dfdf4f0a; --alt-id takes any other identifier",
            ));
        }
        let has_scheme = |uri: &str| {
            uri.split_once(':').is_some_and(|(scheme, rest)| {
                scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && !rest.is_empty()
            })
        };
        if !arguments.provider.is_empty() && !has_scheme(&arguments.provider) {
            return Err(usage("--provider wants a URI such as https://provider.example.com"));
        }
    }
    Ok(Recipient { generation, url: arguments.notify.clone(), provider: arguments.provider.clone(), base })
}

fn is_uuid(id: &str) -> bool {
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}

/// Notes in the key file that the server knows what `record` says.
fn note_sent(keys: &mut KeyFile, record: &KeyRecord) -> anyhow::Result<()> {
    let notice = record.notice.clone().map(|notice| Notice { sent: true, ..notice });
    let sent = KeyRecord { notice, ..record.clone() };
    keys.append([&sent]).context("the notification went out, and the key file could not note it")
}

/// `cipherloom lcp notify`.
pub fn run(arguments: &LcpNotifyArguments) -> anyhow::Result<ExitCode> {
    let key_file = &arguments.key_file;
    if !key_file.exists() {
        return Err(no_key(format!("{}: there is no such key file", output::printable(key_file))));
    }
    let mut records = Vec::new();
    let opened = KeyFile::open_with(key_file, |record| records.push(record));
    let mut keys = opened.with_context(|| output::printable(key_file))?;
    let chosen = if arguments.pending { pending(&records) } else { named(&records, &arguments.ids)? };
    let mut servers = HashMap::new();
    let (mut sent, mut failed) = (0, 0);
    for record in chosen {
        let told = match is_in_place(record) {
            Err(error) if arguments.pending => Err(error),
            _ => tell_again(record, arguments, &mut servers).and_then(|()| note_sent(&mut keys, record)),
        };
        match told {
            Ok(()) => sent += 1,
            Err(_) => failed += 1,
        }
        print_end(record, told, arguments)?;
    }
    if arguments.json {
        output::print_json(&json!({ "event": "summary", "sent": sent, "failed": failed }))?;
    } else if !arguments.quiet {
        let failed = if failed > 0 { format!("; {failed} FAILED") } else { String::new() };
        output::tell(format_args!("sent {}{failed}", output::count(sent, "notification")));
    }
    Ok(match (sent, failed) {
        (_, 0) => ExitCode::Success,
        (0, _) => ExitCode::Failure,
        _ => ExitCode::Partial,
    })
}

fn print_end(
    record: &KeyRecord,
    told: anyhow::Result<()>,
    arguments: &LcpNotifyArguments,
) -> anyhow::Result<()> {
    let (id, title) = (&record.id, &record.title);
    match told {
        Ok(()) if arguments.json => output::print_json(&json!({ "event": "sent", "id": id, "title": title })),
        Err(error) if arguments.json => {
            let error = output::message(&error);
            output::print_json(&json!({ "event": "failed", "id": id, "title": title, "error": error }))
        }
        Ok(()) => Ok(()),
        Err(error) => {
            output::tell(format_args!("cipherloom: {id}: {}", output::message(&error)));
            Ok(())
        }
    }
}

/// Sends a record's notification once more.
fn tell_again(
    record: &KeyRecord,
    arguments: &LcpNotifyArguments,
    servers: &mut HashMap<String, Server>,
) -> anyhow::Result<()> {
    let without = "was protected without --notify, so there is nothing to send";
    let notice = record.notice.as_ref().ok_or_else(|| no_key(without))?;
    let url = arguments.notify.as_ref().or(notice.server.as_ref());
    let url = url.ok_or_else(|| usage("its record names no licence server; give --notify URL"))?;
    let server = match servers.get(url) {
        Some(server) => server,
        None => {
            let server = Server::new(url, arguments.notify_login.as_deref(), arguments.allow_http)?;
            servers.entry(url.clone()).or_insert(server)
        }
    };
    // An answer may have been lost, so the server may know it.
    server.notify(record, notice, true)
}

/// The last record of every publication that its server was not told of. Of records with one output only the last is
/// looked at: it says whose the output is.
fn pending(records: &[KeyRecord]) -> Vec<&KeyRecord> {
    let mut last = HashMap::new();
    for (at, record) in records.iter().enumerate() {
        last.insert((true, record.id.as_str().as_ref()), at);
        if let Some(output) = &record.output {
            last.insert((false, output.as_os_str()), at);
        }
    }
    let is_last = |(at, record): &(usize, &KeyRecord)| {
        let by_output = record.output.as_ref().map(|output| last[&(false, output.as_os_str())]);
        last[&(true, record.id.as_str().as_ref())] == *at && by_output.is_none_or(|last| last == *at)
    };
    let is_untold = |record: &&KeyRecord| record.notice.as_ref().is_some_and(|notice| !notice.sent);
    records.iter().enumerate().filter(is_last).map(|(_, record)| record).filter(is_untold).collect()
}

/// The last records of these publications.
fn named<'r>(records: &'r [KeyRecord], ids: &[String]) -> anyhow::Result<Vec<&'r KeyRecord>> {
    let find = |id: &String| {
        let found = records.iter().rfind(|record| record.id == *id);
        found.ok_or_else(|| no_key(format!("{id:?} is not in the key file")))
    };
    ids.iter().map(find).collect()
}

/// An error if the publication's output is not there, or another publication is there.
fn is_in_place(record: &KeyRecord) -> anyhow::Result<()> {
    let Some(output) = &record.output else { return Ok(()) };
    let path = output::printable(output);
    let there = KeyRecord::of_publication(std::slice::from_ref(record), output);
    there.map(drop).map_err(|error| match error {
        cipherloom_lcp::Error::KeyMissing => anyhow::anyhow!("{path}: this is another publication, so nothing was sent"),
        error => anyhow::Error::from(error).context(format!(
            "{path}: the publication is not there, so nothing was sent (`lcp notify {}` sends it all the same)",
            record.id
        )),
    })
}

/// A file that only its owner may read, from now on if not before; added to if it is there.
fn open_private(path: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let named = |problem: &str| format!("{}: {problem}", output::printable(path));
    let file = options.open(path).with_context(|| named("cannot open the notification file"))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = file.metadata().with_context(|| named("cannot look at the notification file"))?;
        // A terminal or a pipe keeps what it has.
        if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
            file.set_permissions(std::fs::Permissions::from_mode(0o600)).with_context(|| {
                named("cannot keep others from reading the notification file (mode 0600)")
            })?;
        }
    }
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
