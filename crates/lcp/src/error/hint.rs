//! What a user can do about an error, where that is the same for every front end.

use super::{Error, ResourceFault};
use crate::license::LicenseFault;

/// The hint for an error, if it names no option or parameter. A front end has its own hints for the other errors, and for
/// [`Error::Library`].
#[must_use]
pub fn common_hint(error: &Error) -> Option<&'static str> {
    Some(match error.without_path() {
        Error::License(fault) => return license_hint(fault),
        Error::Resource { fault: ResourceFault::Length { .. }, .. } => "fetch the file again",
        Error::Resource { fault: ResourceFault::Filler | ResourceFault::Deflate, .. } => {
            "the resource is damaged, or the license is another publication's"
        }
        Error::Resource { .. } => "protect the publication again",
        Error::SourceChanged => "run again when nothing writes to it",
        Error::NotAZip => "check that it is the right file and that it is whole",
        Error::ZipDamaged { .. } | Error::EntryDamaged { .. } => "fetch the file again",
        Error::EntryName { .. } => "no reading system should open such a file; repack it",
        Error::DuplicateEntry { .. } | Error::Method { .. } => "repack the file",
        Error::ZipPassword { .. } => "extract and repack the file without a password",
        Error::NotAPublication { .. } => {
            "EPUB, Readium packages (.webpub, .audiobook, .divina), .lpf and PDF are known"
        }
        Error::Xml { .. } | Error::Json { .. } => "correct the publication",
        Error::AlreadyProtected => "protect its source, or decrypt it first",
        Error::ForeignProtection { .. } => "only an unprotected publication can be protected",
        Error::Busy => "run again when the other program has ended",
        Error::OtherPublication { .. } => "give the license that belongs to it",
        Error::SameOutput => "give the two different names or folders",
        _ => return None,
    })
}

fn license_hint(fault: &LicenseFault) -> Option<&'static str> {
    Some(match fault {
        LicenseFault::TooLarge { .. } | LicenseFault::TooDeep { .. } => "check that it is a license",
        LicenseFault::Malformed { .. } => "get the license again from its provider",
        LicenseFault::DuplicateMember { .. } => "programs read it differently: do not trust it",
        LicenseFault::ProfileSecret { .. } => "the passphrase can be tried for the basic profile alone",
        LicenseFault::WrongPassphrase { .. } => "check its spelling and that the license is the right one",
        LicenseFault::ContentKey | LicenseFault::UserField { .. } => {
            "the license was changed, or made wrongly"
        }
        LicenseFault::Unsigned => "anybody may have written it: get it again from its provider",
        LicenseFault::Signature => {
            "the license was changed after it was signed, or not signed with this certificate's key"
        }
        LicenseFault::Certificate { .. } => "it must be X.509, as PEM or DER",
        LicenseFault::PrivateKey { .. } => {
            "it must be RSA or ECDSA over P-256, as unencrypted PEM or DER (PKCS#8, PKCS#1 or SEC 1)"
        }
        LicenseFault::Signing => "please report this",
        _ => return None,
    })
}
