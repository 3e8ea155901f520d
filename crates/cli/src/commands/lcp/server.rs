//! A licence server, as a client sees it: its URL, the login, one notification after the other over a kept connection.
//!
//! A notification carries the publication's key, and with a login a password. Both go over TLS, or to this machine.

use super::secrets;
use crate::exit_code::{no_key, usage};
use crate::output;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cipherloom_lcp::{Generation, KeyRecord, Notice, Notification};
use std::path::Path;
use std::time::Duration;
use ureq::http::Uri;
use ureq::tls::{RootCerts, TlsConfig};
use zeroize::Zeroizing;

/// As long as lcpencrypt waits.
const PATIENCE: Duration = Duration::from_secs(15);

/// The most bytes of an answer that are read.
const MOST_OF_ANSWER: u64 = 64 << 10;

pub struct Server {
    url: String,
    agent: ureq::Agent,
    /// The whole header's value.
    authorization: Option<Zeroizing<String>>,
}

impl Server {
    /// The server at `url`, which must keep what is sent from others' eyes unless `allow_http` says that it need not.
    pub fn new(url: &str, login: Option<&Path>, allow_http: bool) -> anyhow::Result<Server> {
        let is_local = check_url(url, allow_http)?;
        let authorization = login.map(read_login).transpose()?;
        // The same cryptography as everywhere else here; a second call finds it installed.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let mut config = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("cipherloom/", env!("CARGO_PKG_VERSION")));
        if is_local {
            // A proxy may be on another machine.
            config = config.proxy(None);
        }
        let agent = config.build().new_agent();
        Ok(Server { url: url.trim_end_matches('/').to_owned(), agent, authorization })
    }

    /// Tells the server what `notice` says of a publication. `may_know`: the server may have been told before.
    pub fn notify(&self, record: &KeyRecord, notice: &Notice, may_know: bool) -> anyhow::Result<()> {
        let update = notice.update || may_know;
        let status = self.send(&Notification::new(record, &Notice { update, ..notice.clone() }))?;
        let status = match (notice.version, status) {
            // There is nothing to update.
            (Generation::V2, 404) if update => {
                self.send(&Notification::new(record, &Notice { update: false, ..notice.clone() }))?
            }
            (_, status) => status,
        };
        // 302 is how the first generation says that it has the publication.
        match status {
            200..=299 | 302 => Ok(()),
            status => anyhow::bail!("the licence server refused the notification (status {status})"),
        }
    }

    /// The answer's status.
    fn send(&self, notification: &Notification) -> anyhow::Result<u16> {
        let url = format!("{}/{}", self.url, notification.path);
        let mut request = match notification.method {
            "PUT" => self.agent.put(&url),
            _ => self.agent.post(&url),
        }
        .header("Content-Type", "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization.as_str());
        }
        let mut response = request
            .send(notification.body.as_str())
            .map_err(|error| anyhow::anyhow!("the licence server could not be told ({error})"))?;
        // Read to its end, the connection serves the next notification too.
        let _ = response.body_mut().with_config().limit(MOST_OF_ANSWER).read_to_vec();
        Ok(response.status().as_u16())
    }
}

/// An error unless `url` is one that keys may be sent to; whether it is this machine's own.
fn check_url(url: &str, allow_http: bool) -> anyhow::Result<bool> {
    let wanted = || usage("--notify wants a URL that begins with https:// or http://");
    let (scheme, rest) = url.split_once("://").ok_or_else(wanted)?;
    if !["http", "https"].contains(&scheme) {
        return Err(wanted());
    }
    if rest.split('/').next().is_some_and(|authority| authority.contains('@')) {
        return Err(usage(
            "others on this machine can read arguments, so --notify takes no user or password; \
             put `user:password` into a file for --notify-login",
        ));
    }
    let parsed: Uri = url.parse().map_err(|_| wanted())?;
    let host = parsed.host().filter(|host| !host.is_empty()).ok_or_else(wanted)?;
    let is_local = is_loopback(host);
    if scheme == "http" && !is_local && !allow_http {
        return Err(usage(format!(
            "content keys and the password would cross the network in clear to http://{host}; \
             use https://, or --allow-http if nobody can listen on the way"
        )));
    }
    Ok(is_local)
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The value of the header `Authorization` for the login in a file.
fn read_login(path: &Path) -> anyhow::Result<Zeroizing<String>> {
    let contents = secrets::read_private(path, "the login file")?;
    match secrets::first_line(&contents) {
        Some(line) if line.contains(':') => {
            let encoded = Zeroizing::new(STANDARD.encode(line));
            // In room that was made before: a text that grows would leave copies unwiped.
            let mut value = Zeroizing::new(String::with_capacity(6 + encoded.len()));
            value.push_str("Basic ");
            value.push_str(&encoded);
            Ok(value)
        }
        _ => Err(no_key(format!("{}: the first line is not `user:password`", output::printable(path)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_over_tls_or_stay_on_this_machine() {
        for url in ["https://lcp.example", "https://lcp.example:8443/api", "https://[2001:db8::1]/"] {
            assert!(!check_url(url, false).unwrap(), "{url}");
        }
        for url in [
            "http://localhost:8989",
            "http://LOCALHOST",
            "http://127.0.0.1/x",
            "http://127.9.9.9",
            "http://[::1]:1",
        ] {
            assert!(check_url(url, false).unwrap(), "{url}");
        }
        let others = [
            "http://lcp.example",
            "http://localhost.example",
            "http://127.0.0.1.example",
            "http://10.0.0.1",
            "http://[2001:db8::1]",
            "http://127.0.0.1@lcp.example/",
        ];
        for url in others {
            assert!(check_url(url, false).is_err(), "{url}");
        }
        assert!(!check_url("http://lcp.example", true).unwrap());
        for url in
            ["", "lcp.example", "ftp://lcp.example", "https://", "https:///x", "https://me:x@lcp.example"]
        {
            assert!(check_url(url, true).is_err(), "{url}");
        }
    }
}
