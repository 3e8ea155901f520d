//! What stands between the client and the network: it refuses endpoints in the clear, gives up on machines that have no
//! service for credentials, and sieves listings ([`crate::sieve`]). Its own errors have types, which `faults.rs` asks for.

use crate::deadlines::Deadlines;
use crate::sieve::Sieve;
use async_trait::async_trait;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
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
pub(crate) struct InTheClear;

/// Connects with these checks, and with [`Deadlines`].
#[derive(Debug, Default)]
pub(crate) struct Wire;

impl HttpConnector for Wire {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp).as_deref() == Some("true");
        let others = METADATA_VARIABLES.iter().filter_map(|name| std::env::var(name).ok());
        let metadata =
            others.map(|place| place.trim_start_matches("http://").trim_end_matches('/').to_owned());
        let metadata = METADATA_HOSTS.into_iter().map(str::to_owned).chain(metadata).collect();
        Ok(HttpClient::new(Checked { client: Deadlines.connect(options)?, allows_http, metadata }))
    }
}

#[derive(Debug)]
struct Checked {
    client: HttpClient,
    allows_http: bool,
    /// Hosts that give credentials.
    metadata: Vec<String>,
}

#[async_trait]
impl HttpService for Checked {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if request.uri().scheme() == Some(&http::uri::Scheme::HTTP) && !self.allows_http {
            return Err(HttpError::new(HttpErrorKind::Unknown, InTheClear));
        }
        if request
            .uri()
            .authority()
            .is_some_and(|host| self.metadata.iter().any(|known| known == host.as_str()))
        {
            return self.ask_for_credentials(request).await;
        }
        match request.extensions().get::<Sieve>().cloned() {
            None => self.client.execute(request).await,
            Some(sieve) => {
                let answer = self.client.execute(request).await?;
                if !answer.status().is_success() {
                    return Ok(answer);
                }
                let (parts, body) = answer.into_parts();
                Ok(HttpResponse::from_parts(parts, sieve.pass(body.bytes().await?).into()))
            }
        }
    }
}

impl Checked {
    /// Some answer is all that is wanted here: also a refusal has a meaning for the client.
    async fn ask_for_credentials(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        for number in 1..=METADATA_TRIES {
            if let Ok(Ok(answer)) = timeout(METADATA_ANSWERS, self.client.execute(request.clone())).await {
                return Ok(answer);
            }
            if number < METADATA_TRIES {
                sleep(METADATA_ANSWERS / 4).await;
            }
        }
        Err(HttpError::new(HttpErrorKind::Unknown, NoCredentials))
    }
}
