//! What a store's refusals mean, in words with a remedy. No address is quoted: it may hold a signature.

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
    let told = whole(fault);
    if let Some((code, meaning)) = CODES.iter().find(|(code, _)| told.contains(code)) {
        return format!("{meaning} ({code})");
    }
    match fault {
        Fault::NotFound { .. } => "it is not there (404); check the name".to_owned(),
        Fault::PermissionDenied { .. } => {
            "the credentials do not allow this (403); check them, and what they may do".to_owned()
        }
        Fault::Unauthenticated { .. } => "the store wants valid credentials (401); check the environment".to_owned(),
        Fault::InvalidPath { .. } => {
            "there is a key with empty parts, `.` or `..` between its slashes; such keys cannot be processed".to_owned()
        }
        Fault::Precondition { .. } | Fault::AlreadyExists { .. } => match code(&told) {
            None | Some("PreconditionFailed" | "ConditionalRequestConflict") => {
                "it was changed by somebody else meanwhile".to_owned()
            }
            Some(code) => format!("the store refuses the write ({code}), which it should do only if the object is there"),
        },
        _ if told.contains("169.254.") || told.contains("metadata.google.internal") => {
            format!("no credentials in the environment, and no service that gives any; set {}", wanted(fault))
        }
        _ if told.contains("scheme is not http") || told.contains("URL scheme is not allowed") => {
            "the endpoint is http://, which sends everything in the clear; AWS_ALLOW_HTTP=true (AZURE_ALLOW_HTTP) \
             allows it"
                .to_owned()
        }
        _ => plain(&told),
    }
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

/// The code in a store's answer in XML.
fn code(told: &str) -> Option<&str> {
    told.split_once("<Code>")?.1.split_once("</Code>").map(|(code, _)| code)
}

/// The fault with its causes.
fn whole(fault: &Fault) -> String {
    let mut told = fault.to_string();
    let mut cause = std::error::Error::source(fault);
    while let Some(next) = cause {
        let text = next.to_string();
        if !told.contains(&text) {
            told = format!("{told}: {text}");
        }
        cause = next.source();
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
    matches!(fault, Fault::NotFound { .. }) && !whole(fault).contains("NoSuchBucket")
}

/// Whether a condition on a request did not hold.
pub(crate) fn is_condition(fault: &Fault) -> bool {
    matches!(fault, Fault::Precondition { .. } | Fault::AlreadyExists { .. } | Fault::NotModified { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Fault {
        Fault::Generic { store: "S3", source: text.to_owned().into() }
    }

    #[test]
    fn known_codes_have_a_remedy_and_addresses_are_left_out() {
        let text = of("read the object", &fault("<Error><Code>RequestTimeTooSkewed</Code>")).to_string();
        assert!(text.starts_with("cannot read the object: this machine's clock"), "{text}");
        let text = reason(&fault("GET https://host/key?sig=secret failed\nbecause of this"));
        assert_eq!(text, "Generic S3 error: GET failed because of this");
        let lonely = |store| {
            let source = "no answer from 169.254.169.254".into();
            reason(&Fault::Generic { store, source })
        };
        assert!(lonely("GCS").ends_with("set GOOGLE_SERVICE_ACCOUNT to the file of a service account's key"));
        assert!(lonely("MicrosoftAzure").contains("AZURE_STORAGE_ACCOUNT_KEY"));
        assert!(lonely("S3").contains("AWS_ACCESS_KEY_ID"));
        let refused = |code: &str| Fault::Precondition {
            path: "a".to_owned(),
            source: format!("<Error><Code>{code}</Code></Error>").into(),
        };
        assert!(reason(&refused("PreconditionFailed")).contains("somebody else"));
        assert!(reason(&refused("NotSupported")).contains("refuses the write (NotSupported)"));
        assert!(reason(&fault(&"long ".repeat(1000))).len() < 400);
    }
}
