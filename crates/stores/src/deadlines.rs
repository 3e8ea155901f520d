//! How long a request may take. One limit for all of them would be too long where nothing comes, or too short for a large
//! part over a slow line, where many are on their way at once. So it follows what a request carries:
//!
//! | request | limit |
//! |---|---|
//! | with little in its body | 30 s until the answer begins, and 30 s without a byte of it |
//! | with a part in its body | 30 s, and a second for each 16 KiB |

use async_trait::async_trait;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use object_store::{ClientConfigKey, ClientOptions, RetryConfig};
use std::time::Duration;
use tokio::time::timeout;

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

/// Connects with the limits above.
#[derive(Debug, Default)]
pub(crate) struct Deadlines;

impl HttpConnector for Deadlines {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let limit = |options: &ClientOptions| options.get_config_value(&ClientConfigKey::Timeout);
        if limit(options) != limit(&ClientOptions::default()) {
            // The user's own (AWS_TIMEOUT and the like).
            return ReqwestConnector::default().connect(options);
        }
        let options = options.clone().with_timeout_disabled();
        // Reqwest's read timeout also runs while a body is sent, so bodies have a client without it.
        let answers = ReqwestConnector::default().connect(&options.clone().with_read_timeout(SILENCE))?;
        let bodies = ReqwestConnector::default().connect(&options)?;
        Ok(HttpClient::new(Limited { answers, bodies }))
    }
}

#[derive(Debug)]
struct Limited {
    answers: HttpClient,
    bodies: HttpClient,
}

#[async_trait]
impl HttpService for Limited {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let len = request.body().content_length();
        if len <= LITTLE {
            return self.answers.execute(request).await;
        }
        let answer = timeout(limit(len), self.bodies.execute(request)).await;
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
