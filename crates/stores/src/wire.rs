//! Where the client's requests leave for the network, and where the answers come in. This layer
//!
//! - refuses endpoints that are not encrypted,
//! - gives up on machines that have no service for credentials,
//! - adds the conditions of multipart uploads and removals ([`crate::upload`]),
//! - takes keys that cannot be processed out of listings ([`crate::sieve`]),
//! - notes what the store answered to a request that it refused ([`crate::faults`]).
//!
//! How long a request may take: one limit for all would be too long where nothing comes, or too short for a large part over
//! a slow line, where many are sent at once. So it follows what a request carries:
//!
//! | request | limit |
//! |---|---|
//! | with little in its body | 30 s until the answer begins, and 30 s without a byte of it |
//! | with a part in its body | 30 s, and a second for each 16 KiB |

use crate::faults::Answer;
use crate::sieve::Sieve;
use crate::upload::add_condition;
use async_trait::async_trait;
use http::Method;
use http::uri::{Authority, Scheme};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use object_store::{ClientConfigKey, ClientOptions, RetryConfig};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Where machines in clouds ask for credentials (EC2, ECS and EKS, Google Compute Engine, Azure), and the variables that say
/// another place.
const METADATA_HOSTS: [&str; 5] =
    ["169.254.169.254", "169.254.170.2", "169.254.170.23", "[fd00:ec2::254]", "metadata.google.internal"];

const METADATA_VARIABLES: [&str; 2] = ["AWS_METADATA_ENDPOINT", "GCE_METADATA_HOST"];

/// That service is on the machine or beside it: it answers soon or is not there.
const METADATA_ANSWERS: Duration = Duration::from_secs(2);

/// How often it is asked: one that just starts may refuse at first.
const METADATA_TRIES: usize = 3;

/// Nothing gives credentials: not the environment, and no service of the machine.
#[derive(Debug, thiserror::Error)]
#[error("no service gives credentials")]
pub(crate) struct NoCredentials;

/// The endpoint is `http://`, and nobody has allowed it.
#[derive(Debug, thiserror::Error)]
#[error("the endpoint is not encrypted")]
pub(crate) struct Unencrypted;

/// Connects with this layer, above the [`Clients`].
#[derive(Debug, Default)]
pub(crate) struct Wire;

impl HttpConnector for Wire {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp).as_deref() == Some("true");
        let others = METADATA_VARIABLES.iter().filter_map(|name| std::env::var(name).ok());
        let metadata =
            others.map(|place| place.trim_start_matches("http://").trim_end_matches('/').to_owned());
        let metadata = METADATA_HOSTS.into_iter().map(str::to_owned).chain(metadata).collect();
        Ok(HttpClient::new(Layer { clients: Clients::connect(options)?, allows_http, metadata }))
    }
}

#[derive(Debug)]
struct Layer {
    clients: Clients,
    allows_http: bool,
    /// Hosts that give credentials.
    metadata: Vec<String>,
}

#[async_trait]
impl HttpService for Layer {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        Answer::note(None);
        if request.uri().scheme() == Some(&Scheme::HTTP) && !self.allows_http {
            return Err(HttpError::new(HttpErrorKind::Unknown, Unencrypted));
        }
        let host = request.uri().authority().map(Authority::as_str);
        if host.is_some_and(|host| self.metadata.iter().any(|known| known == host)) {
            return self.ask_for_credentials(request).await;
        }
        add_condition(&mut request);
        let sieve = request.extensions().get::<Sieve>().cloned();
        // A refused completion of an upload may have a status that says success.
        let may_refuse = request.method() == Method::POST;
        let answer = self.clients.execute(request).await?;
        if answer.status().is_success() && !may_refuse && sieve.is_none() {
            return Ok(answer);
        }
        let (parts, body) = answer.into_parts();
        let mut body = body.bytes().await?;
        match sieve {
            Some(sieve) if parts.status.is_success() => body = sieve.pass(body),
            _ => Answer::note(Answer::read(parts.status, &parts.headers, &body)),
        }
        Ok(HttpResponse::from_parts(parts, body.into()))
    }
}

impl Layer {
    /// Some answer is all that is wanted here: also a refusal has a meaning for the client.
    async fn ask_for_credentials(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        for number in 1..=METADATA_TRIES {
            if let Ok(Ok(answer)) = timeout(METADATA_ANSWERS, self.clients.execute(request.clone())).await {
                return Ok(answer);
            }
            if number < METADATA_TRIES {
                sleep(METADATA_ANSWERS / 4).await;
            }
        }
        Err(HttpError::new(HttpErrorKind::Unknown, NoCredentials))
    }
}

/// Without a sign of life for so long, a request is given up, and made again.
const SILENCE: Duration = Duration::from_secs(30);

/// Bytes a second that a body is sent with at the slowest. Sixteen at once: 2 Mbit/s.
const SLOWEST: u64 = 16 << 10;

/// Bodies up to this size go at once.
const LITTLE: usize = 64 << 10;

/// No request is repeated later than this after its beginning: what a large part may take, several times.
const LAST_RETRY: Duration = Duration::from_secs(60 * 60);

/// Repeats of requests that failed.
pub(crate) fn repeats(most: usize) -> RetryConfig {
    RetryConfig { max_retries: most, retry_timeout: LAST_RETRY, ..RetryConfig::default() }
}

/// The network, with the limits above.
#[derive(Debug)]
pub(crate) struct Clients {
    answers: HttpClient,
    /// For requests with a part in their body; `None` where the user has set a limit for all requests.
    bodies: Option<HttpClient>,
}

impl Clients {
    pub(crate) fn connect(options: &ClientOptions) -> object_store::Result<Clients> {
        let limit = |options: &ClientOptions| options.get_config_value(&ClientConfigKey::Timeout);
        if limit(options) != limit(&ClientOptions::default()) {
            // The user's own (AWS_TIMEOUT and the like).
            return Ok(Clients { answers: ReqwestConnector::default().connect(options)?, bodies: None });
        }
        let options = options.clone().with_timeout_disabled();
        // Reqwest's read timeout also runs while a body is sent, so bodies have a client without it.
        let answers = ReqwestConnector::default().connect(&options.clone().with_read_timeout(SILENCE))?;
        Ok(Clients { answers, bodies: Some(ReqwestConnector::default().connect(&options)?) })
    }

    pub(crate) async fn execute(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let len = request.body().content_length();
        let Some(bodies) = self.bodies.as_ref().filter(|_| len > LITTLE) else {
            return self.answers.execute(request).await;
        };
        let answer = timeout(limit(len), bodies.execute(request)).await;
        answer.unwrap_or_else(|elapsed| Err(HttpError::new(HttpErrorKind::Timeout, elapsed)))
    }
}

/// What a body of so many bytes may take.
fn limit(len: usize) -> Duration {
    SILENCE + Duration::from_secs(len as u64 / SLOWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_may_take_minutes_and_a_question_may_not() {
        assert_eq!(limit(8 << 20), Duration::from_secs(30 + 512));
        assert!(limit(LITTLE) < SILENCE + Duration::from_secs(5));
        assert!(limit(8 << 20) * 3 < LAST_RETRY);
    }
}
