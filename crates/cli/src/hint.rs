//! Hints for errors of the libraries: what a user of the command can do. The messages say only what failed and why.

use crate::exit_code::CommandError;
use cipherloom::age::AgeFault;
use cipherloom::error::{IndexFault, KeyFault, LocationFault, StoreFault};
use cipherloom::{Error, internal::common_hint};
use cipherloom_lcp::{Error as LcpError, internal::common_hint as common_lcp_hint, license::LicenseFault};
use std::borrow::Cow;

/// The hint for the first error that has one among an error and its causes: the words that follow `hint: `.
pub fn of_chain(error: &anyhow::Error) -> Option<Cow<'static, str>> {
    error.chain().find_map(|cause| {
        let own = cause.downcast_ref().and_then(CommandError::hint);
        own.or_else(|| cause.downcast_ref().and_then(hint))
            .or_else(|| cause.downcast_ref().and_then(lcp_hint))
    })
}

/// What to do about this error, where something can be said.
pub fn hint(error: &Error) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match error.without_path() {
        Error::Age(fault) => return age_hint(fault),
        Error::Index(fault) => return index_hint(fault).or_else(|| common_hint(error)),
        Error::Location(LocationFault::SpecialFile) => "give `-` as DST and redirect standard output there",
        Error::Location(LocationFault::NotSingle) => "name a folder as DST",
        Error::Location(LocationFault::StreamWithoutName) => {
            "name a file in it as DST, or in a store an object: s3://BUCKET/NAME"
        }
        Error::Location(LocationFault::RenamesBoundPath) => {
            "--bind-path binds the name: give a folder as DST, or in a store a prefix that ends in /"
        }
        Error::Location(LocationFault::SamePlace) => {
            "--if-exists overwrite re-keys in place: each file is replaced when its output is complete, and a repeated run \
             continues where the last one stopped"
        }
        Error::KeysetKey { fault: KeyFault::Missing, .. } => {
            "`cipherloom keys list` shows the keys that are there"
        }
        Error::KeysetKey { fault: KeyFault::NotEnabled, .. } => "enable it first: cipherloom keys enable",
        Error::KeysetKey { fault: KeyFault::Primary, .. } => {
            "promote another key first: cipherloom keys promote"
        }
        Error::KeysetKey { fault: KeyFault::SegmentLimit { found, .. }, .. } => {
            return Some(format!("--max-segment-size {found} allows them").into());
        }
        Error::Store { fault: StoreFault::UploadDropped | StoreFault::Failed, .. } => {
            "run again with --if-exists skip"
        }
        Error::Store { fault: StoreFault::CredentialsExpired, .. } => {
            "renew them and run again with --if-exists skip"
        }
        Error::Store { fault: StoreFault::Busy, .. } => {
            "lower --in-flight and run again with --if-exists skip"
        }
        Error::BackendUnavailable { .. } => "`cipherloom devices` lists the backends that this CPU can run",
        Error::NoIterations => "give at least 1 (openssl's default is 10000)",
        Error::AssociatedDataUnsupported { .. } => "use --format tink or cobblestone",
        Error::Chained => {
            "use CTR or --format tink, or send objects one by one through standard input: cipherloom encrypt - \
             s3://BUCKET/NAME"
        }
        Error::KeysetEmpty => "generate a new one: cipherloom keygen -o FILE",
        Error::KeyLength { .. } => "choose the cipher that fits the key",
        Error::PassphraseEmpty => "a passphrase file has the passphrase on its first line",
        Error::WrapSecretMissing => "give --passphrase or --recipient AGE1…",
        Error::PassphraseNeeded => "give the passphrase instead of an identity",
        Error::IdentityNeeded => "give --identity FILE with the age identity of one of the recipients",
        Error::NoMatchingIdentity => "give the identity file of a recipient",
        Error::NotThisFormat { .. } => "check --format, and that the file is encrypted at all",
        Error::NeitherFileNorFolder => "name a file or folder, or `-` for standard input",
        Error::OutputExists => "--if-exists skip resumes a run, --if-exists overwrite replaces it",
        Error::OutputConflict { .. } => "--if-exists overwrite replaces it; or choose another destination",
        Error::OtherKey => "--allow-mixed-keys adds the files anyway",
        Error::LinkLeavesTree { .. } => "--links copy-all makes it anyway",
        Error::NamesNotAtomic => "choose --if-exists overwrite, or accept the risk with --non-atomic",
        Error::SuffixMissing { .. } => "leave --suffix out, or --exclude this file",
        Error::KeyOpensNothing { .. } => "check the key, the context and whether paths are bound",
        Error::Stopped => "run again with --if-exists skip to continue",
        _ => return common_hint(error),
    }))
}

fn index_hint(fault: &IndexFault) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match fault {
        IndexFault::Absent => "`cipherloom index` makes one, and so does `cipherloom encrypt --index`",
        IndexFault::Removed(_) => {
            "fetch the tree from a backup; if you removed its index yourself, choose another --anchor"
        }
        IndexFault::NotOpened => {
            "give the keyset of the run that wrote it; if that is lost, or the index is damaged, `cipherloom index --replace` \
             makes a new one of the files"
        }
        IndexFault::Damaged(_) => "`cipherloom index --replace` makes a new one of the files",
        IndexFault::NotAFile => "something else than cipherloom put it there: look at it, and remove it",
        IndexFault::InUse => "wait until the other run has ended",
        IndexFault::Overtaken => {
            "run again when the other run has ended; `encrypt` with --if-exists overwrite if this run replaced files, else with \
             --if-exists skip, which lists what is written already"
        }
        IndexFault::Reserved { .. } => {
            "--exclude .cipherloom leaves it out of what is encrypted; an output needs another name"
        }
        IndexFault::Present => {
            "`cipherloom encrypt --index` updates it, and `cipherloom verify` compares the files with it; `cipherloom index \
             --replace` makes a new one of the files as they are"
        }
        IndexFault::FilesFailed => {
            "--exclude leaves out what is no part of the tree; --skip-unopened lists all other files"
        }
        IndexFault::Unwritten => {
            "`cipherloom index` makes one of the files as they are; if there is to be none, remove .cipherloom"
        }
        IndexFault::NamesLost => "`cipherloom index` finds the names again",
        IndexFault::Copy(_) => {
            "the other copy is used; `cipherloom index --replace` renews both, and so does the next run that writes the index"
        }
        IndexFault::NameList => {
            "`cipherloom index --replace` makes it again, and so does the next run that writes the index"
        }
        IndexFault::OtherNames { are_hidden: true } => "use --hide-names in every run into this folder",
        IndexFault::OtherNames { are_hidden: false } => {
            "leave --hide-names out, or choose another destination"
        }
        IndexFault::NotPrimary => "run again: the next run re-keys it",
        IndexFault::Unproven => "--if-exists overwrite makes it once more",
        IndexFault::NotCarried => {
            "re-key that tree by itself, from folder to folder or from bucket to bucket; or leave its index out with --exclude \
             .cipherloom"
        }
        IndexFault::Replaced { by: None } => {
            "put the right file back and run again; or if a run without --index replaced it: `cipherloom encrypt --index \
             --if-exists overwrite` lists it, and so does `cipherloom index --replace`"
        }
        IndexFault::EmptySource => {
            "check SRC and that its disk is mounted; if all its files were replaced, run once without --delete first; if it is \
             empty, remove the files of DST yourself"
        }
        IndexFault::Foreign => "look at it, and move it away",
        IndexFault::WrittenMeanwhile => "run again when the other run has ended",
        IndexFault::InTheWay => {
            "`cipherloom sync --delete` removes what is gone from its SRC; let rekey write to another DST"
        }
        IndexFault::NotAnAnchor => "choose another --anchor",
        IndexFault::OtherTree => "check DST, and --anchor",
        _ => return None,
    }))
}

fn age_hint(fault: &AgeFault) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match fault {
        AgeFault::Header { .. } | AgeFault::HeaderMac | AgeFault::Armor { .. } => "fetch the file again",
        AgeFault::NoMatch { .. } | AgeFault::NoIdentity => {
            "give --identity FILE with an identity of one of the recipients"
        }
        AgeFault::WrongPassphrase | AgeFault::IdentityPassphrase => "check the spelling",
        AgeFault::PassphraseNeeded => "give --passphrase, or --passphrase-file FILE without --identity",
        AgeFault::WorkFactor { log_n, .. } => {
            let words =
                format!("if you trust the sender, --max-work-factor {log_n} opens it; it may take long");
            return Some(words.into());
        }
        AgeFault::NoRecipient => "give --recipient, --recipients-file or --passphrase",
        AgeFault::Mixed { .. } => "encrypt for them separately",
        AgeFault::Recipient { .. } | AgeFault::Empty { what: "recipient" } => {
            "a recipient begins with age1, ssh-ed25519 or ssh-rsa; `cipherloom keygen --format age` and age-keygen print it"
        }
        AgeFault::Identity { .. } | AgeFault::Empty { .. } => {
            "an identity begins with AGE-SECRET-KEY- or AGE-PLUGIN-; `cipherloom keygen --format age` makes one"
        }
        AgeFault::Line { fault, .. } => return age_hint(fault),
        AgeFault::SshKey { .. } => {
            "SSH keys of the types ed25519 and RSA can be used; `ssh-keygen -p -f FILE` rewrites a file in OpenSSH's format"
        }
        AgeFault::IdentityLocked => "give --passphrase-file FILE, or run the command at a terminal",
        AgeFault::Plugin { name, .. } => {
            return Some(format!("check that age-plugin-{name} is in PATH, and what it asks for").into());
        }
        _ => return None,
    }))
}

/// What to do about this error with a publication or license.
pub fn lcp_hint(error: &LcpError) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match error.without_path() {
        LcpError::Library(error) => return hint(error),
        LcpError::TrailingBytes { .. } => {
            "other readers may not open it: fetch the file again, or run `cipherloom lcp license --embed` again if that was \
             interrupted"
        }
        LcpError::NotProtected => "`cipherloom lcp encrypt` protects it",
        LcpError::HasLicense => "--if-exists overwrite replaces it",
        LcpError::NoLicense => "give its license as a file with --license FILE",
        LcpError::KeyFile { .. } => "it was not changed; choose another --key-file",
        LcpError::ProtectedBefore { .. } => {
            "a new key would make its licenses useless: --update keeps identifier and key, another --key-file makes it \
             another publication"
        }
        LcpError::SeveralRecords { .. } => "say which one with --id",
        LcpError::NothingToUpdate => {
            "give its --id or the key file of the run that protected it, or leave --update out"
        }
        LcpError::OtherContentKey { .. } => "leave --content-key-file out",
        LcpError::TooLargeForServer { .. } => "leave --notify out, or make it smaller",
        LcpError::KeyFileIsSource | LcpError::KeyFileIsOutput => "choose another --key-file",
        LcpError::KeyNotKept { .. } => "make room or choose another --key-file",
        LcpError::NestedOutput => "choose another --out",
        LcpError::KeyMissing => "give the key file of the run that protected it",
        LcpError::License(LicenseFault::KeyMismatch) => {
            "nobody could check what it signs: give the two that belong together"
        }
        _ => return common_lcp_hint(error).map(Cow::Borrowed),
    }))
}
