//! What to do about an error, in the names of this package's parameters.

use cipherloom::age::AgeFault;
use cipherloom::error::{IndexFault, KeyFault, LocationFault, StoreFault};
use cipherloom::{Error, internal::common_hint};
use cipherloom_lcp::{Error as LcpError, internal::common_hint as common_lcp_hint, license::LicenseFault};
use std::borrow::Cow;

/// What to do about an error, in a few words.
pub(crate) type Hint = Cow<'static, str>;

/// What to do about an error of the library.
pub(crate) fn hint(error: &Error) -> Option<Hint> {
    use Error::*;
    Some(Cow::Borrowed(match error.without_path() {
        Age(fault) => return hint_for_age(fault),
        Location(LocationFault::SpecialFile | LocationFault::NoName) => "choose another destination",
        Location(LocationFault::RenamesBoundPath) => {
            "with bind_path name a folder as destination, in a store a prefix that ends in /, so that the name is kept"
        }
        Location(LocationFault::SamePlace) => "if_exists=\"overwrite\" re-keys in place",
        Store { fault: StoreFault::UploadDropped | StoreFault::Failed, .. } => {
            "run again with if_exists=\"skip\""
        }
        Store { fault: StoreFault::CredentialsExpired, .. } => {
            "renew them and run again with if_exists=\"skip\""
        }
        Store { fault: StoreFault::Busy, .. } => "run again later with if_exists=\"skip\"",
        TooManySegments { .. } => "use a template with larger segments, or split the file",
        KeysetEmpty => "generate a new one (Keyset.generate)",
        KeysetKey { fault: KeyFault::Type { .. }, .. } => {
            "make a key with one of the streaming templates (cipherloom.TEMPLATES)"
        }
        KeysetKey { fault: KeyFault::SegmentLimit { found, .. }, .. } => {
            return Some(format!("max_segment_size={found} allows them").into());
        }
        RawKeyLength { .. } | KeyLength { .. } => "a data key has 32 bytes",
        PassphraseEmpty => "a passphrase_file has the passphrase on its first line",
        WrapSecretMissing => "give passphrase= or recipients=",
        PassphraseNeeded => "give passphrase= instead of identity=",
        IdentityNeeded => "give identity= instead of passphrase=",
        NoMatchingIdentity => "give identity= with the identity file of a recipient",
        NotThisFormat { .. } => "check that the file is encrypted at all",
        WrongKey { .. } | FirstSegment => "check the key, associated_data and bind_path",
        OutputExists => {
            "if_exists=\"skip\" continues an earlier run, if_exists=\"overwrite\" replaces outputs"
        }
        OtherKey => "allow_mixed_keys=True does so anyway",
        OutputConflict { .. } => "if_exists=\"overwrite\" replaces it, or choose another destination",
        NamesNotAtomic => "choose if_exists=\"overwrite\", or accept the risk with non_atomic=True",
        LinkLeavesTree { .. } => "links=\"copy-all\" makes it anyway",
        SuffixMissing { .. } => "leave suffix out, or exclude this file",
        Index(fault) => return hint_for_index(fault).or_else(|| common_hint(error)),
        KeyOpensNothing { .. } => "check the key, and whether paths are bound (bind_path)",
        _ => return common_hint(error),
    }))
}

fn hint_for_index(fault: &IndexFault) -> Option<Hint> {
    Some(Cow::Borrowed(match fault {
        IndexFault::Absent => "index_tree makes one, and so does encrypt_tree with index=True",
        IndexFault::Removed(_) => {
            "fetch the tree from a backup; if you removed its index yourself, choose another anchor"
        }
        IndexFault::NotOpened => {
            "give the keyset of the run that wrote it; if that is lost, or the index is damaged, index_tree with replace=True \
             makes a new one of the files"
        }
        IndexFault::Damaged(_) => "index_tree with replace=True makes a new one of the files",
        IndexFault::Journal(_) => "remove it: the run then looks at each output that it may list",
        IndexFault::Overtaken => "repeat the run when the other one has ended",
        IndexFault::NotAFile => "something else than cipherloom put it there: look at it, and remove it",
        IndexFault::InUse => "wait until the other run has ended",
        IndexFault::Reserved { .. } => {
            "exclude=\".cipherloom\" leaves it out of what is encrypted; an output needs another name"
        }
        IndexFault::Present => {
            "encrypt_tree with index=True updates it, and verify_tree compares the files with it; index_tree with replace=True \
             makes a new one of the files as they are"
        }
        IndexFault::FilesFailed => {
            "exclude= leaves out what is no part of the tree; skip_unopened=True lists all other files"
        }
        IndexFault::NotCarried => {
            "re-key that folder by itself, into a folder, and a prefix of a bucket with the command; or leave its index out with \
             exclude=\".cipherloom\""
        }
        IndexFault::Replaced { by: None } => {
            "if a run without index=True replaced it: encrypt_tree with index=True and if_exists=\"overwrite\" lists it, and so \
             does index_tree with replace=True"
        }
        IndexFault::NamesLost => "index_tree finds the names again",
        IndexFault::Copy(_) => {
            "the other copy is used; index_tree with replace=True renews both, and so does the next run that writes the index"
        }
        IndexFault::NameList => {
            "index_tree with replace=True makes it again, and so does the next run that writes the index"
        }
        IndexFault::OtherNames { are_hidden: true } => "use hide_names=True in every run into this folder",
        IndexFault::OtherNames { are_hidden: false } => "leave hide_names out, or choose another folder",
        IndexFault::NotAnAnchor => "choose another anchor",
        IndexFault::OtherTree => "check the folder, and the anchor",
        _ => return None,
    }))
}

fn hint_for_age(fault: &AgeFault) -> Option<Hint> {
    Some(Cow::Borrowed(match fault {
        AgeFault::Header { .. } | AgeFault::HeaderMac | AgeFault::Armor { .. } => "fetch the file again",
        AgeFault::NoMatch { .. } => "give identities= with one of the recipients' identities",
        AgeFault::NoIdentity => "give identities= or passphrase=",
        AgeFault::WrongPassphrase | AgeFault::IdentityPassphrase => "check the spelling",
        AgeFault::PassphraseNeeded | AgeFault::IdentityLocked => "give passphrase=",
        AgeFault::WorkFactor { log_n, .. } => {
            return Some(format!("if you trust the sender, max_work_factor={log_n} opens it").into());
        }
        AgeFault::NoRecipient => "give recipients= or passphrase=",
        AgeFault::Mixed { .. } => "encrypt for them separately",
        AgeFault::Recipient { .. } | AgeFault::Empty { what: "recipient" } => {
            "a recipient begins with age1, ssh-ed25519 or ssh-rsa (Identity.recipient)"
        }
        AgeFault::Identity { .. } | AgeFault::Empty { .. } => {
            "an identity begins with AGE-SECRET-KEY- or AGE-PLUGIN-; Identity.generate makes one"
        }
        AgeFault::Line { fault, .. } => return hint_for_age(fault),
        AgeFault::SshKey { .. } => {
            "SSH keys of the types ed25519 and RSA can be used; `ssh-keygen -p -f FILE` rewrites a file in OpenSSH's format"
        }
        AgeFault::Plugin { name, .. } => {
            let words = format!("check that age-plugin-{name} is in PATH; here nobody answers what it asks");
            return Some(words.into());
        }
        _ => return None,
    }))
}

/// What to do about an error of LCP.
pub(crate) fn hint_for_lcp(error: &LcpError) -> Option<Hint> {
    use LcpError::*;
    Some(Cow::Borrowed(match error.without_path() {
        Library(error) => return hint(error),
        TrailingBytes { .. } => {
            "other readers may not open it: fetch the file again, or embed the license again if that was interrupted"
        }
        NotProtected => "cipherloom.lcp.encrypt protects it",
        HasLicense => "if_exists=\"overwrite\" replaces it",
        NoLicense => "give its license as a file (license=)",
        KeyFile { .. } | KeyFileIsSource | KeyFileIsOutput => "choose another key_file",
        ProtectedBefore { .. } => {
            "a new key would make its licenses useless: another key_file makes it another publication, and the command's \
             `lcp encrypt --update` keeps identifier and key"
        }
        KeyNotKept { .. } => "make room or choose another key_file",
        NestedOutput => "choose another out",
        KeyMissing => "give the key_file of the run that protected it",
        License(LicenseFault::KeyMismatch) => "give certificate and private_key that belong together",
        _ => return common_lcp_hint(error).map(Cow::Borrowed),
    }))
}
