//! Tells a licence server of what was protected, and writes to a file what it was or would have been told.
//!
//! A thread of its own sends, one request after the other over a kept connection, so that neither workers nor the disk
//! wait for a server. A book that the server would not hear of stays protected, its key stays in the key file.

use crate::arguments::{LcpEncryptArguments, NotifyVersion};
use crate::exit_code::{no_key, usage};
use crate::output;
use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cipherloom_lcp::{Generation, Notification};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use ureq::tls::{RootCerts, TlsConfig};
use zeroize::Zeroizing;

/// As long as lcpencrypt waits.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where notifications go.
pub struct Notifier {
    pub generation: Generation,
    server: Option<Server>,
    file: Option<Mutex<File>>,
    provider: String,
    /// What stands in front of an output's path below the output folder.
    base: String,
}

struct Server {
    url: String,
    agent: ureq::Agent,
    login: Option<Zeroizing<String>>,
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
            Some(url) => Some(Server::new(url, arguments.notify_login.as_deref())?),
            None => None,
        };
        let file = arguments.notify_file.as_deref().map(open_private).transpose()?.map(Mutex::new);
        let base = match &arguments.public_url {
            Some(url) => format!("{}/", url.trim_end_matches('/')),
            None => {
                let path =
                    std::path::absolute(&arguments.out).context("cannot tell the output folder's path")?;
                format!("{}/", path.display())
            }
        };
        let generation = match arguments.notify_version {
            NotifyVersion::V1 => Generation::V1,
            NotifyVersion::V2 => Generation::V2,
        };
        let provider = arguments.provider.clone();
        Ok(Some(Notifier { generation, server, file, provider, base }))
    }

    /// The provider's URI.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// Where a server or reader finds an output, of which `relative` is the path below the output folder.
    pub fn location(&self, relative: &Path) -> String {
        let parts = relative.iter().map(|part| part.to_string_lossy());
        let joined = parts.collect::<Vec<_>>().join("/");
        if self.base.contains("://") {
            format!("{}{}", self.base, escaped(&joined))
        } else {
            self.base.clone() + &joined
        }
    }

    /// Writes and sends.
    pub fn tell(&self, notification: &Notification) -> anyhow::Result<()> {
        if let Some(file) = &self.file {
            let line = Zeroizing::new(format!("{}\n", *notification.body));
            let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            file.write_all(line.as_bytes()).context("cannot write the notification file")?;
        }
        self.server.as_ref().map_or(Ok(()), |server| server.send(notification))
    }
}

impl Server {
    fn new(url: &str, login: Option<&Path>) -> anyhow::Result<Server> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(usage("--notify wants a URL that begins with https:// or http://"));
        };
        if !["http", "https"].contains(&scheme) {
            return Err(usage("--notify wants a URL that begins with https:// or http://"));
        }
        if rest.split('/').next().is_some_and(|authority| authority.contains('@')) {
            return Err(usage(
                "others on this machine can read arguments, so --notify takes no user or password; \
                 put `user:password` into a file for --notify-login",
            ));
        }
        let login = login.map(read_login).transpose()?;
        // The same cryptography as everywhere else here; a second call finds it installed.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("cipherloom/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Server { url: url.trim_end_matches('/').to_owned(), agent, login })
    }

    fn send(&self, notification: &Notification) -> anyhow::Result<()> {
        let url = format!("{}/{}", self.url, notification.path);
        let mut request = match notification.method {
            "PUT" => self.agent.put(&url),
            _ => self.agent.post(&url),
        }
        .header("Content-Type", "application/json");
        if let Some(login) = &self.login {
            request = request.header("Authorization", format!("Basic {}", STANDARD.encode(login.as_bytes())));
        }
        let response = request.send(notification.body.as_str()).map_err(|error| {
            anyhow::anyhow!("the licence server could not be told ({error}); its key is in the key file")
        })?;
        // 302 is how the first generation says that it has the publication.
        match response.status().as_u16() {
            200..=299 | 302 => Ok(()),
            status => anyhow::bail!(
                "the licence server refused the notification (status {status}); its key is in the key file"
            ),
        }
    }
}

fn read_login(path: &Path) -> anyhow::Result<Zeroizing<String>> {
    let text = std::fs::read_to_string(path).map(Zeroizing::new).map_err(|error| {
        no_key(format!("{}: cannot read the login file: {error}", output::printable(path)))
    })?;
    match text.lines().next() {
        Some(line) if line.contains(':') => Ok(Zeroizing::new(line.to_owned())),
        _ => Err(no_key(format!("{}: the first line is not `user:password`", output::printable(path)))),
    }
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

/// A path in a URL.
fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            text.push(byte as char);
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
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
