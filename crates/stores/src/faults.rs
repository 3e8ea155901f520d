//! What a store's refusals mean, in words with a remedy. No address is quoted: it may hold a signature.

use crate::wire::{InTheClear, NoCredentials};
use cipherloom::Error;
use object_store::Error as Fault;

/// What stores say in their answers, and what that means. Codes of S3 and GCS, then of Azure, which share some.
const CODES: [(&str, &str); 18] = [
    ("NoSuchBucket", "there is no such bucket; create it or check its name"),
    ("ContainerNotFound", "there is no such container; create it or check its name"),
    ("NoSuchKey", "the object is not there any more"),
    ("BlobNotFound", "the object is not there any more"),
    ("NoSuchUpload", "the store has dropped the upload; run again with --if-exists skip"),
    (
        "RequestTimeTooSkewed",
        "this machine's clock is too far from the store's; set the clock (with NTP) and run again",
    ),
    ("ExpiredToken", "the credentials have expired; renew them and run again with --if-exists skip"),
    ("TokenRefreshRequired", "the credentials have expired; renew them and run again with --if-exists skip"),
    (
        "SignatureDoesNotMatch",
        "the store refuses the credentials: the secret key is wrong; check the environment (AWS_SECRET_ACCESS_KEY)",
    ),
    (
        "InvalidAccessKeyId",
        "the store does not know the access key; check the environment (AWS_ACCESS_KEY_ID)",
    ),
    (
        "AuthenticationFailed",
        "the store refuses the credentials; check the environment (AZURE_STORAGE_ACCOUNT_KEY) and the clock",
    ),
    ("AuthorizationFailure", "the credentials do not allow this; ask the bucket's owner for permission"),
    ("AccessDenied", "the credentials do not allow this; ask the bucket's owner for permission"),
    (
        "SlowDown",
        "the store asks to slow down, also after repeated tries; lower --in-flight and run again with --if-exists skip",
    ),
    (
        "ServerBusy",
        "the store asks to slow down, also after repeated tries; lower --in-flight and run again with --if-exists skip",
    ),
    (
        "InternalError",
        "the store has trouble of its own, also after repeated tries; run again with --if-exists skip",
    ),
    ("InvalidObjectState", "the object is archived; restore it first"),
    ("EntityTooLarge", "the object is larger than the store takes"),
];

/// The library's error for a store's refusal of `action`, a verb phrase: "read the object".
pub(crate) fn of(action: &'static str, fault: &Fault) -> Error {
    Error::Store { action, reason: reason(fault) }
}

fn reason(fault: &Fault) -> String {
    let answer = Answer::of(fault);
    let code = answer.as_ref().and_then(|answer| answer.code.as_deref());
    let known = CODES.iter().find(|(known, _)| code == Some(known));
    if let Some((code, meaning)) = known {
        return format!("{meaning} ({code})");
    }
    if is_without_credentials(fault) {
        return format!(
            "no credentials in the environment, and no service that gives any; set {}",
            wanted(fault)
        );
    }
    if cause::<InTheClear>(fault).is_some() {
        return "the endpoint is http://, which sends everything in the clear; AWS_ALLOW_HTTP=true (AZURE_ALLOW_HTTP) \
                allows it"
            .to_owned();
    }
    match fault {
        Fault::NotFound { .. } => "it is not there (404); check the name".to_owned(),
        Fault::PermissionDenied { .. } => {
            "the credentials do not allow this (403); check them, and what they may do".to_owned()
        }
        Fault::Unauthenticated { .. } => {
            "the store wants valid credentials (401); check the environment".to_owned()
        }
        Fault::InvalidPath { .. } => {
            "there is a key with empty parts, `.` or `..` between its slashes; such keys cannot be processed"
                .to_owned()
        }
        Fault::Precondition { .. } | Fault::AlreadyExists { .. } => match code {
            None | Some("PreconditionFailed" | "ConditionalRequestConflict") => {
                "it was changed by somebody else meanwhile".to_owned()
            }
            Some(code) => format!(
                "the store refuses the write ({code}), which it should do only if the object is there"
            ),
        },
        _ => match answer {
            Some(Answer { status, code: Some(code), message }) => {
                format!("{} ({code}, {status})", plain(message.as_deref().unwrap_or("the store refuses it")))
            }
            _ => plain(&whole(fault)),
        },
    }
}

/// What a store answered to a request that it refused.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    /// The code in its body, if that is the XML of S3, GCS or Azure.
    code: Option<String>,
    /// What it says beside.
    message: Option<String>,
}

impl Answer {
    /// Among the causes of a fault. The client keeps the type of this one to itself, but not its text.
    fn of(fault: &Fault) -> Option<Answer> {
        causes(fault).find_map(|cause| {
            let text = cause.to_string();
            if let Some(body) = text.strip_prefix("Server returned error response: ") {
                return Some(Answer { status: 200, code: code(body), message: message(body) });
            }
            let text = text.strip_prefix("Server returned non-2xx status code: ")?;
            let (status, body) = text.split_once(": ").unwrap_or((text, ""));
            let status = status.get(..3)?.parse().ok()?;
            Some(Answer { status, code: code(body), message: message(body) })
        })
    }
}

/// What an error in XML says for people.
fn message(body: &str) -> Option<String> {
    let raw = content(body, "<Message>", "</Message>")?;
    quick_xml::escape::unescape(raw).ok().map(std::borrow::Cow::into_owned)
}

/// The content of the first such element within an `<Error>`.
fn content<'b>(body: &'b str, begin: &str, end: &str) -> Option<&'b str> {
    let error = body.split_once("<Error")?.1;
    Some(error.split_once(begin)?.1.split_once(end)?.0)
}

/// The code of an error in XML.
fn code(body: &str) -> Option<String> {
    let code = content(body, "<Code>", "</Code>")?;
    let is_code = code.len() <= 64
        && code.chars().all(|character| character.is_ascii_alphanumeric() || character == '.');
    (is_code && !code.is_empty()).then(|| code.to_owned())
}

/// A fault's causes, the nearest first.
fn causes(fault: &Fault) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(std::error::Error::source(fault), |cause| cause.source())
}

/// The cause of a type, if there is one.
fn cause<E: std::error::Error + 'static>(fault: &Fault) -> Option<&E> {
    causes(fault).find_map(|cause| cause.downcast_ref())
}

/// Whether nothing gave credentials for the request.
pub(crate) fn is_without_credentials(fault: &Fault) -> bool {
    cause::<NoCredentials>(fault).is_some()
}

/// The variables that give credentials for the store of this fault.
fn wanted(fault: &Fault) -> &'static str {
    match fault {
        Fault::Generic { store: "GCS", .. } => {
            "GOOGLE_SERVICE_ACCOUNT to the file of a service account's key"
        }
        Fault::Generic { store: "MicrosoftAzure", .. } => {
            "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
        }
        _ => "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    }
}

/// The fault with its causes.
fn whole(fault: &Fault) -> String {
    let mut told = fault.to_string();
    for cause in causes(fault) {
        let text = cause.to_string();
        if !told.contains(&text) {
            told = format!("{told}: {text}");
        }
    }
    told
}

/// One line without addresses and markup.
fn plain(told: &str) -> String {
    const MOST: usize = 300;
    let mut words = String::new();
    for word in told.split_whitespace().filter(|word| !word.contains("://")) {
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

/// Whether the object was not there.
pub(crate) fn is_missing(fault: &Fault) -> bool {
    // A bucket that is not there is another trouble.
    let code = Answer::of(fault).and_then(|answer| answer.code);
    matches!(fault, Fault::NotFound { .. })
        && !matches!(code.as_deref(), Some("NoSuchBucket" | "ContainerNotFound"))
}

/// Whether the credentials do not allow the request.
pub(crate) fn is_denied(fault: &Fault) -> bool {
    // Of a listing, the client keeps the kind to itself.
    matches!(fault, Fault::PermissionDenied { .. })
        || Answer::of(fault).is_some_and(|answer| answer.status == 403)
}

/// Whether a condition on a request did not hold.
pub(crate) fn is_condition(fault: &Fault) -> bool {
    matches!(fault, Fault::Precondition { .. } | Fault::AlreadyExists { .. } | Fault::NotModified { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::client::{HttpError, HttpErrorKind};

    /// As the client has it: its own error around the text of an answer.
    #[derive(Debug, thiserror::Error)]
    #[error("Error performing GET https://host/{key}")]
    struct Refusal {
        key: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    }

    fn answered(status: &str, body: &str) -> Fault {
        let text = format!("Server returned non-2xx status code: {status}: {body}");
        generic(Refusal { key: "key".to_owned(), source: text.into() }.into())
    }

    fn generic(source: Box<dyn std::error::Error + Send + Sync>) -> Fault {
        Fault::Generic { store: "S3", source }
    }

    fn xml(code: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>m</Message><Key>AccessDenied</Key></Error>"
        )
    }

    #[test]
    fn known_codes_have_a_remedy_and_addresses_are_left_out() {
        let text =
            of("read the object", &answered("403 Forbidden", &xml("RequestTimeTooSkewed"))).to_string();
        assert!(text.starts_with("cannot read the object: this machine's clock"), "{text}");
        let text = reason(&generic("GET https://host/key?sig=secret failed\nbecause of this".into()));
        assert_eq!(text, "Generic S3 error: GET failed because of this");
        let refused = |code: &str| Fault::Precondition {
            path: "a".to_owned(),
            source: format!("Server returned non-2xx status code: 412 Precondition Failed: {}", xml(code))
                .into(),
        };
        assert!(reason(&refused("PreconditionFailed")).contains("somebody else"));
        assert!(reason(&refused("NotSupported")).contains("refuses the write (NotSupported)"));
        assert!(reason(&generic("long ".repeat(1000).into())).len() < 400);
    }

    /// Whoever names an object chooses words of the message: only the answer's own code counts.
    #[test]
    fn an_answer_is_known_by_its_code_and_not_by_words_in_it() {
        let teapot = answered("418 I'm a teapot", &xml("Brewing"));
        assert_eq!(
            Answer::of(&teapot),
            Some(Answer { status: 418, code: Some("Brewing".into()), message: Some("m".into()) })
        );
        assert_eq!(reason(&teapot), "m (Brewing, 418)");
        let named = |key: &str| {
            let source = "Server returned non-2xx status code: 404 Not Found: ".into();
            let source = Refusal { key: key.to_owned(), source }.into();
            Fault::NotFound { path: key.to_owned(), source }
        };
        for key in ["SlowDown.txt", "NoSuchBucket", "<Error><Code>ExpiredToken</Code>", "169.254.169.254"] {
            assert_eq!(reason(&named(key)), "it is not there (404); check the name");
            assert!(is_missing(&named(key)));
        }
        let forged = answered("400 Bad Request", "<Error><Code>\u{1b}[31m</Code></Error>");
        assert_eq!(Answer::of(&forged), Some(Answer { status: 400, code: None, message: None }));
        let bucket = format!("Server returned non-2xx status code: 404 Not Found: {}", xml("NoSuchBucket"));
        assert!(!is_missing(&Fault::NotFound { path: String::new(), source: bucket.into() }));
    }

    #[test]
    fn missing_credentials_and_endpoints_in_the_clear_are_known_by_type() {
        let lonely = |store| {
            let error = HttpError::new(HttpErrorKind::Unknown, NoCredentials);
            let source = Refusal { key: "token".to_owned(), source: error.into() }.into();
            reason(&Fault::Generic { store, source })
        };
        assert!(lonely("GCS").ends_with("set GOOGLE_SERVICE_ACCOUNT to the file of a service account's key"));
        assert!(lonely("MicrosoftAzure").contains("AZURE_STORAGE_ACCOUNT_KEY"));
        assert!(lonely("S3").contains("AWS_ACCESS_KEY_ID"));
        let clear = generic(HttpError::new(HttpErrorKind::Unknown, InTheClear).into());
        assert!(reason(&clear).contains("AWS_ALLOW_HTTP"));
    }
}
