//! Sends requests to a license server over a kept connection.

use std::time::Duration;
use ureq::tls::{RootCerts, TlsConfig};

/// As long as lcpencrypt waits.
const PATIENCE: Duration = Duration::from_secs(15);

/// The most bytes of an answer that are read.
const MOST_OF_ANSWER: u64 = 64 << 10;

pub struct Client(ureq::Agent);

impl Client {
    /// `is_local`: the server is on this machine.
    pub fn new(is_local: bool) -> anyhow::Result<Client> {
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
        Ok(Client(config.build().new_agent()))
    }

    /// Sends `body`, a JSON object, by PUT or POST. Returns the answer's status.
    pub fn send(
        &self,
        method: &str,
        url: &str,
        authorization: Option<&str>,
        body: &str,
    ) -> anyhow::Result<u16> {
        let mut request = match method {
            "PUT" => self.0.put(url),
            _ => self.0.post(url),
        }
        .header("Content-Type", "application/json");
        if let Some(authorization) = authorization {
            request = request.header("Authorization", authorization);
        }
        let mut response = request
            .send(body)
            .map_err(|error| anyhow::anyhow!("the license server could not be notified ({error})"))?;
        // Read to its end, the connection serves the next notification too.
        let _ = response.body_mut().with_config().limit(MOST_OF_ANSWER).read_to_vec();
        Ok(response.status().as_u16())
    }
}
