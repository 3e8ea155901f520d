//! The client of a license server: its URL and login, and notifications over one connection that is kept open.
//!
//! A notification carries the publication's key, and with a login a password. Both go over TLS, or to this machine.

use super::client::Client;
use super::secrets;
use crate::exit_code::usage;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cipherloom_lcp::KeyRecord;
use cipherloom_lcp::notification::{Generation, Notice, Notification};
use std::path::Path;
use ureq::http::Uri;
use zeroize::Zeroizing;

pub struct Server {
    url: String,
    client: Client,
    /// The whole header's value.
    authorization: Option<Zeroizing<String>>,
}

impl Server {
    /// The server at `url`, which must be https or on this machine unless `allow_http` is set.
    pub fn new(url: &str, login: Option<&Path>, allow_http: bool) -> anyhow::Result<Server> {
        let is_local = check_url(url, allow_http)?;
        let authorization = login.map(read_login).transpose()?;
        let client = Client::new(is_local)?;
        Ok(Server { url: url.trim_end_matches('/').to_owned(), client, authorization })
    }

    /// Notifies the server of a publication. `may_know`: the server may have been notified before.
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
        anyhow::ensure!(
            matches!(status, 200..=299 | 302),
            "the license server refused the notification (status {status})"
        );
        Ok(())
    }

    /// The answer's status.
    fn send(&self, notification: &Notification) -> anyhow::Result<u16> {
        let url = format!("{}/{}", self.url, notification.path);
        let authorization = self.authorization.as_ref().map(|value| value.as_str());
        self.client.send(notification.method, &url, authorization, &notification.body)
    }
}

/// An error unless `url` is one that keys may be sent to; whether it is this machine's own.
pub fn check_url(url: &str, allow_http: bool) -> anyhow::Result<bool> {
    let wanted = || usage("--notify wants a URL that begins with https:// or http://", "");
    let parsed: Uri = url.parse().map_err(|_| wanted())?;
    let (Some(scheme @ ("http" | "https")), Some(authority)) = (parsed.scheme_str(), parsed.authority())
    else {
        return Err(wanted());
    };
    if authority.as_str().contains('@') {
        return Err(usage(
            "others on this machine can read arguments, so --notify takes no user or password",
            "put `user:password` into a file for --notify-login",
        ));
    }
    let host = Some(authority.host()).filter(|host| !host.is_empty()).ok_or_else(wanted)?;
    let is_local = is_loopback(host);
    if scheme == "http" && !is_local && !allow_http {
        return Err(usage(
            format!("content keys and the password would cross the network in clear to http://{host}"),
            "use https://, or --allow-http if nobody can read the network's traffic",
        ));
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
    secrets::read_first_line(path, "the login file", "`user:password`", |line| {
        let encoded = Zeroizing::new(STANDARD.encode(Some(line).filter(|line| line.contains(':'))?));
        // Allocated at its final size: a string that grows would leave copies unwiped.
        let mut value = Zeroizing::new(String::with_capacity(6 + encoded.len()));
        value.push_str("Basic ");
        value.push_str(&encoded);
        Some(value)
    })
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
