//! What can be wrong with a license, its keys or its certificate.
//!
//! No message holds a key, a passphrase or a decrypted field. What a license says in the clear may be quoted, shortened
//! and with control characters escaped, for a license may come from anybody.

use crate::ErrorKind;

/// One thing that is wrong with a license or with what it is made from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LicenseFault {
    // ── the document ─────────────────────────────────────────────────────────────────────────────────────────────
    /// Larger than any real license.
    #[error("the license has {length} bytes, and {most} is the most that is taken")]
    TooLarge {
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        most: usize,
    },
    /// Not JSON, or not as a license must be.
    #[error("the license is malformed: {problem}")]
    Malformed {
        /// What is wrong and where.
        problem: String,
    },
    /// JSON in which one object has a member twice, which programs read differently.
    #[error("the license has the member {name:?} twice in one object")]
    DuplicateMember {
        /// The member's name.
        name: String,
    },
    /// Nested more deeply than any real license.
    #[error("the license is nested more than {most} levels deep")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// An algorithm that this profile does not use.
    #[error("the license names {found:?} for its {what}, and only {known:?} is known")]
    Algorithm {
        /// What the algorithm is for: "content key".
        what: &'static str,
        /// What the license says.
        found: String,
        /// What would be accepted.
        known: &'static str,
    },
    /// A link that every license must have.
    #[error("the license has no link of relation {rel:?}, which every license must have")]
    LinkMissing {
        /// The relation.
        rel: &'static str,
    },

    // ── user key ─────────────────────────────────────────────────────────────────────────────────────────────────
    /// The user key of other profiles is a secret of the license authority.
    #[error("the license is of profile {profile:?}, whose user key only certified software can derive")]
    ProfileSecret {
        /// The profile's URI.
        profile: String,
    },
    /// The passphrase is another one.
    #[error("the passphrase is not this license's (its hint: {hint:?})")]
    WrongPassphrase {
        /// The license's hint.
        hint: String,
    },
    /// The content key does not open with the user key that passes the key check.
    #[error("the license's content key does not open with its user key")]
    ContentKey,
    /// A user field that is listed as encrypted does not open.
    #[error("the license's user field {field:?} is listed as encrypted and does not open")]
    UserField {
        /// The field's name.
        field: String,
    },

    // ── signature and certificate ────────────────────────────────────────────────────────────────────────────────
    /// There is no signature.
    #[error("the license is not signed")]
    Unsigned,
    /// The signature does not fit.
    #[error("the license's signature does not fit its text")]
    Signature,
    /// The certificate cannot be read.
    #[error("the certificate {problem}")]
    Certificate {
        /// What is wrong with it.
        problem: String,
    },
    /// The certificate's key is of a kind that cannot sign licenses.
    #[error(
        "the certificate's key is {found}, and licenses are signed with RSA of 2048 to 8192 bits or ECDSA over P-256"
    )]
    CertificateKey {
        /// What it is.
        found: String,
    },
    /// No given root has issued the certificate.
    #[error(
        "the certificate of {subject:?} was issued by {issuer:?}, and none of the given root certificates confirms that"
    )]
    Untrusted {
        /// Whose certificate it is.
        subject: String,
        /// Who issued it, as it says itself.
        issuer: String,
    },
    /// A given root has issued the certificate, and must not have.
    #[error("the root certificate of {issuer:?} does not confirm the certificate: it {problem}")]
    Issuer {
        /// The root's subject.
        issuer: String,
        /// What is wrong.
        problem: String,
    },
    /// The certificate was not valid when the license was made.
    #[error("the certificate is valid from {from} to {to}, and the license was made or updated at {at}")]
    CertificateDates {
        /// Start of validity.
        from: String,
        /// End of validity.
        to: String,
        /// When the license was made.
        at: String,
    },
    /// The private key cannot be read.
    #[error("the private key {problem}")]
    PrivateKey {
        /// What is wrong with it; never a quotation.
        problem: &'static str,
    },
    /// The private key is not the certificate's.
    #[error("the private key is not the one of the certificate")]
    KeyMismatch,
    /// The cryptographic library refused to sign, or what it signed does not verify.
    #[error("signing failed")]
    Signing,

    // ── dates ────────────────────────────────────────────────────────────────────────────────────────────────────
    /// The rights are over.
    #[error("the license ended at {end}")]
    Expired {
        /// The end, in UTC.
        end: String,
    },
    /// The rights have not begun.
    #[error("the license begins only at {start}")]
    NotYet {
        /// The start, in UTC.
        start: String,
    },

    // ── what a license is made from ──────────────────────────────────────────────────────────────────────────────
    /// A value that a license cannot hold.
    #[error("{what} {problem}")]
    Term {
        /// Which value: "the hint".
        what: &'static str,
        /// What is wrong with it, and what would do.
        problem: String,
    },
}

impl LicenseFault {
    /// What kind of error this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        use LicenseFault::*;
        match self {
            WrongPassphrase { .. }
            | PrivateKey { .. }
            | KeyMismatch
            | Certificate { .. }
            | CertificateKey { .. } => ErrorKind::Key,
            ContentKey
            | UserField { .. }
            | Unsigned
            | Signature
            | Untrusted { .. }
            | Issuer { .. }
            | CertificateDates { .. }
            | Expired { .. }
            | NotYet { .. } => ErrorKind::Authentication,
            Signing => ErrorKind::Io,
            Term { .. } => ErrorKind::Usage,
            TooLarge { .. }
            | Malformed { .. }
            | DuplicateMember { .. }
            | TooDeep { .. }
            | Algorithm { .. }
            | LinkMissing { .. }
            | ProfileSecret { .. } => ErrorKind::Content,
        }
    }
}
