//! What a store's refusals mean. A refusal is recognised by the status and the error code of the store's answer and by the
//! types of the client's errors, never by a text that may hold an object's name. No address is quoted: it may hold a
//! signature.
//!
//! The client keeps a store's answer to itself, but for its text. So every request goes through [`ask`], and
//! [`crate::wire`], through which the client's requests leave, notes the answer there.

use crate::wire::{NoCredentials, Unencrypted};
use cipherloom::{Error, error::StoreFault};
use http::{HeaderMap, StatusCode};
use object_store::Error as ClientError;
use std::cell::Cell;

/// What to set for a store's credentials.
const AWS: &str = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
const GOOGLE: &str = "GOOGLE_SERVICE_ACCOUNT to the file of a service account's key";
const AZURE: &str = "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY";

const EXPIRED: &str = "the credentials have expired";
const DENIED: &str = "the credentials do not allow this";
const BUSY: &str = "the store asks to slow down, also after repeated tries";

const SECRET_KEY: StoreFault = StoreFault::CredentialsRefused { variables: "AWS_SECRET_ACCESS_KEY" };
const ACCESS_KEY: StoreFault = StoreFault::CredentialsRefused { variables: "AWS_ACCESS_KEY_ID" };
const ACCOUNT_KEY: StoreFault =
    StoreFault::CredentialsRefused { variables: "AZURE_STORAGE_ACCOUNT_KEY, and the clock" };

/// Error codes of S3 and GCS, then of Azure, which share some.
const CODES: [(&str, StoreFault, &str); 18] = [
    ("NoSuchBucket", StoreFault::NoBucket, "there is no such bucket"),
    ("ContainerNotFound", StoreFault::NoBucket, "there is no such container"),
    ("NoSuchKey", StoreFault::Other, "the object is not there any more"),
    ("BlobNotFound", StoreFault::Other, "the object is not there any more"),
    ("NoSuchUpload", StoreFault::UploadDropped, "the store has dropped the upload"),
    ("RequestTimeTooSkewed", StoreFault::ClockSkewed, "this machine's clock is too far from the store's"),
    ("ExpiredToken", StoreFault::CredentialsExpired, EXPIRED),
    ("TokenRefreshRequired", StoreFault::CredentialsExpired, EXPIRED),
    ("SignatureDoesNotMatch", SECRET_KEY, "the store refuses the credentials: the secret key is wrong"),
    ("InvalidAccessKeyId", ACCESS_KEY, "the store does not know the access key"),
    ("AuthenticationFailed", ACCOUNT_KEY, "the store refuses the credentials"),
    ("AuthorizationFailure", StoreFault::Denied, DENIED),
    ("AccessDenied", StoreFault::Denied, DENIED),
    ("SlowDown", StoreFault::Busy, BUSY),
    ("ServerBusy", StoreFault::Busy, BUSY),
    ("InternalError", StoreFault::Failed, "the store has trouble of its own, also after repeated tries"),
    ("InvalidObjectState", StoreFault::Archived, "the object is archived"),
    ("EntityTooLarge", StoreFault::Other, "the object is larger than the store takes"),
];

tokio::task_local! {
    /// What the store answered to the last request within [`ask`], if it refused.
    static ANSWER: Cell<Option<Answer>>;
}

/// Makes a request to a store.
pub(crate) async fn ask<T>(request: impl Future<Output = object_store::Result<T>>) -> Result<T, Refusal> {
    let request = async {
        let asked = request.await;
        asked.map_err(|error| Refusal { answer: ANSWER.with(Cell::take), error })
    };
    ANSWER.scope(Cell::default(), request).await
}

/// A request that failed.
#[derive(Debug)]
pub(crate) struct Refusal {
    error: ClientError,
    answer: Option<Answer>,
}

/// What a store answered to a request that it refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    status: StatusCode,
    /// The code of the error, if the store gives one.
    code: Option<String>,
    /// What it says for people.
    message: Option<String>,
}

impl Answer {
    /// Reads an answer; `None` if it is no refusal. Some refusals have a status that says success.
    pub(crate) fn read(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Option<Answer> {
        let body = String::from_utf8_lossy(body);
        let header = || headers.get("x-ms-error-code")?.to_str().ok();
        let code = element(&body, "Code").or_else(header).filter(|code| {
            let is_code = |character: char| character.is_ascii_alphanumeric() || character == '.';
            (1..=64).contains(&code.len()) && code.chars().all(is_code)
        });
        let message = element(&body, "Message").and_then(|raw| quick_xml::escape::unescape(raw).ok());
        let answer =
            Answer { status, code: code.map(str::to_owned), message: message.map(|text| text.into_owned()) };
        (!status.is_success() || answer.code.is_some()).then_some(answer)
    }

    /// Notes the answer to the request that is being made, if [`ask`] made it.
    pub(crate) fn note(answer: Option<Answer>) {
        let _ = ANSWER.try_with(|last| last.set(answer));
    }
}

/// The content of the first such element within an `<Error>`.
fn element<'b>(body: &'b str, name: &str) -> Option<&'b str> {
    let error = body.split_once("<Error")?.1;
    let content = error.split_once(&format!("<{name}>"))?.1;
    Some(content.split_once(&format!("</{name}>"))?.0)
}

impl From<ClientError> for Refusal {
    fn from(error: ClientError) -> Refusal {
        Refusal { error, answer: None }
    }
}

impl Refusal {
    /// The library's error for the refusal of `action`, a verb phrase: "read the object".
    pub(crate) fn of(self, action: &'static str) -> Error {
        let (fault, reason) = self.explain();
        Error::Store { action, fault, reason }
    }

    fn code(&self) -> Option<&str> {
        self.answer.as_ref()?.code.as_deref()
    }

    fn explain(&self) -> (StoreFault, String) {
        let code = self.code();
        if let Some((code, fault, reason)) = CODES.iter().find(|(known, ..)| code == Some(known)) {
            return (*fault, format!("{reason} ({code})"));
        }
        let (fault, reason) = match &self.error {
            _ if self.is_without_credentials() => (
                StoreFault::NoCredentials { variables: self.variables() },
                "no credentials in the environment, and no service that gives any",
            ),
            _ if self.cause::<Unencrypted>().is_some() => {
                (StoreFault::Unencrypted, "the endpoint is http://, which would send everything unencrypted")
            }
            ClientError::NotFound { .. } => (StoreFault::Missing, "it is not there (404)"),
            ClientError::PermissionDenied { .. } => {
                (StoreFault::Denied, "the credentials do not allow this (403)")
            }
            // The client does not say which store it was.
            ClientError::Unauthenticated { .. } => (
                StoreFault::CredentialsRefused {
                    variables: "AWS_SECRET_ACCESS_KEY, GOOGLE_SERVICE_ACCOUNT or AZURE_STORAGE_ACCOUNT_KEY",
                },
                "the store wants valid credentials (401)",
            ),
            ClientError::InvalidPath { .. } => (
                StoreFault::Other,
                "there is a key with empty parts, `.` or `..` between its slashes, which cannot be processed",
            ),
            ClientError::Precondition { .. } | ClientError::AlreadyExists { .. } => match code {
                None | Some("PreconditionFailed" | "ConditionalRequestConflict") => {
                    (StoreFault::Other, "it was changed by somebody else meanwhile")
                }
                Some(code) => {
                    let reason = format!(
                        "the store refuses the write ({code}), which it should do only if the object is there"
                    );
                    return (StoreFault::Other, reason);
                }
            },
            error => {
                let reason = match &self.answer {
                    Some(Answer { status, code: Some(code), message }) => {
                        let message = message.as_deref().unwrap_or("the store refuses it");
                        format!("{} ({code}, {})", one_line(message), status.as_u16())
                    }
                    _ => one_line(&with_causes(error)),
                };
                return (StoreFault::Other, reason);
            }
        };
        (fault, reason.to_owned())
    }

    /// The cause of a type, if there is one.
    fn cause<E: std::error::Error + 'static>(&self) -> Option<&E> {
        causes(&self.error).find_map(|cause| cause.downcast_ref())
    }

    /// Whether nothing gave credentials for the request.
    pub(crate) fn is_without_credentials(&self) -> bool {
        self.cause::<NoCredentials>().is_some()
    }

    /// The variables that give credentials for the store that refuses.
    fn variables(&self) -> &'static str {
        match self.error {
            ClientError::Generic { store: "GCS", .. } => GOOGLE,
            ClientError::Generic { store: "MicrosoftAzure", .. } => AZURE,
            _ => AWS,
        }
    }

    /// Whether the object was not there. A missing bucket or upload is another error.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.error, ClientError::NotFound { .. })
            && !matches!(self.code(), Some("NoSuchBucket" | "ContainerNotFound" | "NoSuchUpload"))
    }

    /// Whether the credentials do not allow the request.
    pub(crate) fn is_denied(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.status == StatusCode::FORBIDDEN)
    }

    /// Whether a condition on a request did not hold.
    pub(crate) fn is_condition(&self) -> bool {
        use ClientError::{AlreadyExists, NotModified, Precondition};
        matches!(self.error, Precondition { .. } | AlreadyExists { .. } | NotModified { .. })
    }
}

/// An error's causes, the nearest first.
fn causes(error: &ClientError) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(std::error::Error::source(error), |cause| cause.source())
}

fn with_causes(error: &ClientError) -> String {
    let mut text = error.to_string();
    for cause in causes(error).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// One line without addresses and markup.
fn one_line(text: &str) -> String {
    const MOST: usize = 300;
    let mut words = String::new();
    for word in text.split_whitespace().filter(|word| !word.contains("://")) {
        if words.len() + word.len() > MOST {
            words.push_str(" …");
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::client::{HttpError, HttpErrorKind};

    /// As the client has it: its own error around the text of an answer.
    #[derive(Debug, thiserror::Error)]
    #[error("Error performing GET https://host/{key}")]
    struct Wrapped {
        key: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    }

    fn generic(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ClientError {
        ClientError::Generic { store: "S3", source: source.into() }
    }

    fn read(status: u16, body: &str) -> Option<Answer> {
        Answer::read(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes())
    }

    fn xml(code: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>m</Message><Key>AccessDenied</Key></Error>"
        )
    }

    fn answered(status: u16, body: &str) -> Refusal {
        Refusal { error: generic("refused"), answer: read(status, body) }
    }

    fn reason(refusal: &Refusal) -> String {
        refusal.explain().1
    }

    #[test]
    fn known_codes_have_a_cause_and_addresses_are_left_out() {
        let error = answered(403, &xml("RequestTimeTooSkewed")).of("read the object");
        let text = error.to_string();
        assert!(text.starts_with("cannot read the object: this machine's clock"), "{text}");
        assert!(matches!(error, Error::Store { fault: StoreFault::ClockSkewed, .. }));
        let text = reason(&generic("GET https://host/key?sig=secret failed\nbecause of this").into());
        assert_eq!(text, "Generic S3 error: GET failed because of this");
        let refused = |code: &str| {
            let error = ClientError::Precondition { path: "a".to_owned(), source: "refused".into() };
            reason(&Refusal { error, answer: read(412, &xml(code)) })
        };
        assert!(refused("PreconditionFailed").contains("somebody else"));
        assert!(refused("NotSupported").contains("refuses the write (NotSupported)"));
        assert!(reason(&generic("long ".repeat(1000)).into()).len() < 400);
    }

    /// Whoever names an object chooses words of the client's messages: only the answer's own code counts.
    #[test]
    fn an_answer_is_known_by_its_code_and_not_by_words_in_it() {
        let teapot = answered(418, &xml("Brewing"));
        let expected = Answer {
            status: StatusCode::IM_A_TEAPOT,
            code: Some("Brewing".into()),
            message: Some("m".into()),
        };
        assert_eq!(teapot.answer, Some(expected));
        assert_eq!(reason(&teapot), "m (Brewing, 418)");
        let not_found = |key: &str, body: &str| {
            let source = Wrapped { key: key.to_owned(), source: "404 Not Found".into() }.into();
            Refusal { error: ClientError::NotFound { path: key.to_owned(), source }, answer: read(404, body) }
        };
        for key in ["SlowDown.txt", "NoSuchBucket", "<Error><Code>ExpiredToken</Code>", "169.254.169.254"] {
            let refusal = not_found(key, "");
            assert_eq!(refusal.explain(), (StoreFault::Missing, "it is not there (404)".to_owned()));
            assert!(refusal.is_missing() && !refusal.is_denied());
        }
        let forged = read(400, "<Error><Code>\u{1b}[31m</Code></Error>").unwrap();
        assert_eq!((forged.code, forged.message), (None, None));
        assert!(!not_found("", &xml("NoSuchBucket")).is_missing());
        assert!(answered(403, "").is_denied());
    }

    #[test]
    fn refusals_are_known_whatever_carries_their_code() {
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static("x-ms-error-code"),
            http::HeaderValue::from_static("ContainerNotFound"),
        )]);
        let answer = Answer::read(StatusCode::NOT_FOUND, &headers, b"").unwrap();
        assert_eq!(answer.code.as_deref(), Some("ContainerNotFound"));
        assert!(read(200, &xml("InternalError")).is_some());
        assert_eq!(read(200, "<CompleteMultipartUploadResult/>"), None);
    }

    #[test]
    fn missing_credentials_and_unencrypted_endpoints_are_known_by_type() {
        let without_credentials = |store| {
            let error = HttpError::new(HttpErrorKind::Unknown, NoCredentials);
            let source = Wrapped { key: "token".to_owned(), source: error.into() }.into();
            Refusal::from(ClientError::Generic { store, source }).explain().0
        };
        for (store, variables) in [("GCS", GOOGLE), ("MicrosoftAzure", AZURE), ("S3", AWS)] {
            assert_eq!(without_credentials(store), StoreFault::NoCredentials { variables });
        }
        let clear = Refusal::from(generic(HttpError::new(HttpErrorKind::Unknown, Unencrypted)));
        assert_eq!(clear.explain().0, StoreFault::Unencrypted);
    }
}
