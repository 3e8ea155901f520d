//! What a user can do about an error, where that is the same for every front end.

use super::{Error, IndexFault, KeyFault, LocationFault, StoreFault};
use std::borrow::Cow;

/// The hint for an error, if it names no option or parameter. A front end has its own hints for the other errors.
#[must_use]
pub fn common_hint(error: &Error) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match error.without_path() {
        Error::Location(fault) => return location_hint(fault),
        Error::Store { fault, .. } => return store_hint(fault),
        Error::UnknownName { what, known, .. } => return Some(format!("the {what}s are {known}").into()),
        Error::Index(IndexFault::CopiesOfTwoTrees) => {
            "move `.cipherloom` or `00/.cipherloom` away, whichever is not of this tree, and list the tree before anything writes to it"
        }
        Error::Index(IndexFault::CopyNotOpened) => {
            "repeat the re-keying that was stopped, or give the newer keys; if that copy is damaged, move `.cipherloom` away"
        }
        Error::Index(IndexFault::RekeyingUnfinished) => {
            "repeat that run first, with its own keys; if they do not open the index, re-key from this run's new key to that run's \
             new key before"
        }
        Error::Calibration { .. } => "run the command `cipherloom calibrate` again",
        Error::RekeyUnauthenticated => "decrypt, then encrypt",
        Error::TooManySegments { .. } => "use a key with a larger segment size, or split the file",
        Error::Glob { .. } => "put a special character in [brackets]",
        Error::Shard { .. } => "give i/n with i from 1 to n, such as 3/8",
        Error::KeysetSyntax { .. } => "check that this is the right file and that it is whole",
        Error::KeysetEncrypted => "decrypt it with Tink's own tool first: tinkey convert-keyset",
        Error::KeysetBinary => "convert it: tinkey convert-keyset --in-format binary --out-format json",
        Error::KeysetPrimary { .. } => "enable it or make another key the primary: tinkey promote-key",
        Error::KeysetKey { fault: KeyFault::Type { .. }, .. } => {
            "make a key with one of the streaming templates"
        }
        Error::KeysetKey {
            fault: KeyFault::Material | KeyFault::Base64 | KeyFault::Protobuf | KeyFault::TooShort { .. },
            ..
        }
        | Error::KeysetDuplicate { .. } => "the keyset is damaged or was edited by hand",
        Error::PassphraseUnfit { .. } => "choose another passphrase",
        Error::Recipient { .. } => "a recipient begins with age1 and comes from age-keygen",
        Error::WrongPassphrase => "check the spelling and that this is the right key file",
        Error::WrappedDamaged { .. } => "restore it from a copy",
        Error::WrappedWork { .. } => "wrap it again with a smaller work factor",
        Error::HeaderTruncated { .. }
        | Error::ImpossibleLength { .. }
        | Error::Truncated { .. }
        | Error::TrailingData { .. }
        | Error::DamagedSegment { .. } => "fetch the file again",
        Error::Padding => {
            "this format is unauthenticated and cannot tell which; other causes with openssl: a stream made without -iter \
             (10000 then), without -pbkdf2, or with -md other than sha256"
        }
        Error::DestinationInsideSource => "choose a folder outside of the source",
        Error::SourceInsideDestination | Error::SameFile => "choose another destination",
        Error::LinkInDestination => "remove the link, or choose another destination",
        Error::NameCollision { .. } => "rename one of them",
        Error::SourceShrank | Error::SourceChanged => "run again when nothing writes to it",
        Error::NothingThere => "check the prefix",
        _ => return None,
    }))
}

fn location_hint(fault: &LocationFault) -> Option<Cow<'static, str>> {
    let folder = |scheme: &str| format!("a folder named {scheme}: is ./{scheme}:");
    Some(match fault {
        LocationFault::UnknownScheme { scheme } => format!(
            "known are s3://bucket/prefix, gs://bucket/prefix, az://container/prefix and file:///folder ({})",
            folder(scheme)
        )
        .into(),
        LocationFault::MissingSlash { meant } => {
            format!("did you mean {meant}? ({})", folder(meant.split(':').next().unwrap_or_default())).into()
        }
        LocationFault::NoBucket { scheme } => format!("write {scheme}://BUCKET/PREFIX").into(),
        LocationFault::RelativeFileAddress => "give the whole path, as in file:///folder".into(),
        LocationFault::BucketName => "the account, endpoint and credentials come from the environment".into(),
        LocationFault::MissingFolder => "make the folder first".into(),
        LocationFault::Unusable { .. } => "choose another name".into(),
        _ => return None,
    })
}

fn store_hint(fault: &StoreFault) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match fault {
        StoreFault::NoBucket => "create it or check its name",
        StoreFault::Missing => "check the name",
        StoreFault::ClockSkewed => "set this machine's clock (with NTP) and run again",
        StoreFault::NoCredentials { variables } => return Some(format!("set {variables}").into()),
        StoreFault::CredentialsRefused { variables } => {
            return Some(format!("check the environment: {variables}").into());
        }
        StoreFault::Denied => "ask the bucket's owner for permission",
        StoreFault::Archived => "restore it first",
        StoreFault::Unencrypted => "AWS_ALLOW_HTTP=true (AZURE_ALLOW_HTTP) allows it",
        _ => return None,
    }))
}
