//! What can be wrong with a licence, its keys or its certificate, each with its cause and what to do about it.
//!
//! No message holds a key, a passphrase or a decrypted field. What a licence says in the clear may be quoted, shortened
//! and with control characters escaped, for a licence may come from anybody.

use crate::Class;

/// One thing that is wrong with a licence or with what it is made from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LicenceFault {
    // ── the document ─────────────────────────────────────────────────────────────────────────────────────────────
    /// Larger than any real licence.
    #[error(
        "the licence has {length} bytes, and {most} is the most that is taken; check that it is a licence"
    )]
    TooLarge {
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        most: usize,
    },
    /// Not JSON, or not as a licence must be.
    #[error("the licence is malformed: {problem}; get it again from its provider")]
    Malformed {
        /// What is wrong and where.
        problem: String,
    },
    /// JSON in which one object has a member twice, which programs read differently.
    #[error(
        "the licence has the member {name:?} twice in one object, which programs read differently; do not trust it"
    )]
    DuplicateMember {
        /// The member's name.
        name: String,
    },
    /// Nested more deeply than any real licence.
    #[error("the licence is nested more than {most} levels deep; check that it is a licence")]
    TooDeep {
        /// The limit.
        most: usize,
    },
    /// An algorithm that this profile does not use.
    #[error("the licence names {found:?} for its {what}, and only {known:?} is known")]
    Algorithm {
        /// What the algorithm is for: "content key".
        what: &'static str,
        /// What the licence says.
        found: String,
        /// What would be accepted.
        known: &'static str,
    },
    /// A link that every licence must have.
    #[error("the licence has no link of relation {rel:?}, which every licence must have")]
    LinkMissing {
        /// The relation.
        rel: &'static str,
    },

    // ── user key ─────────────────────────────────────────────────────────────────────────────────────────────────
    /// The user key of other profiles is a secret of the licence authority.
    #[error(
        "the licence is of profile {profile:?}, whose user key only certified software can derive; the passphrase can be tried for the basic profile alone"
    )]
    ProfileSecret {
        /// The profile's URI.
        profile: String,
    },
    /// The passphrase is another one.
    #[error(
        "the passphrase is not this licence's (its hint: {hint:?}); check its spelling and that the licence is the right one"
    )]
    WrongPassphrase {
        /// The licence's hint.
        hint: String,
    },
    /// The content key does not open with the user key that passes the key check.
    #[error(
        "the licence's content key does not open with its user key; the licence was changed or made wrongly"
    )]
    ContentKey,
    /// A user field that is listed as encrypted does not open.
    #[error(
        "the licence's user field {field:?} is listed as encrypted and does not open; the licence was changed or made wrongly"
    )]
    UserField {
        /// The field's name.
        field: String,
    },

    // ── signature and certificate ────────────────────────────────────────────────────────────────────────────────
    /// There is no signature.
    #[error("the licence is not signed, so anybody may have written it; get it again from its provider")]
    Unsigned,
    /// The signature does not fit.
    #[error(
        "the licence's signature does not fit its text: it was changed after it was signed, or not signed with this certificate's key"
    )]
    Signature,
    /// The certificate cannot be read.
    #[error("the certificate {problem}; it must be X.509, as PEM or DER")]
    Certificate {
        /// What is wrong with it.
        problem: String,
    },
    /// The certificate's key is of a kind that cannot sign licences.
    #[error(
        "the certificate's key is {found}; licences are signed with RSA of 2048 to 8192 bits or ECDSA over P-256"
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
    /// The certificate was not valid when the licence was made.
    #[error("the certificate is valid from {from} to {to}, and the licence was made or updated at {at}")]
    CertificateDates {
        /// Start of validity.
        from: String,
        /// End of validity.
        to: String,
        /// When the licence was made.
        at: String,
    },
    /// The private key cannot be read.
    #[error(
        "the private key {problem}; it must be RSA or ECDSA over P-256, as unencrypted PEM or DER (PKCS#8, PKCS#1 or SEC 1)"
    )]
    PrivateKey {
        /// What is wrong with it; never a quotation.
        problem: &'static str,
    },
    /// The private key is not the certificate's.
    #[error(
        "the private key is not the one of the certificate, so nobody could check what it signs; give the two that belong together"
    )]
    KeyMismatch,
    /// The cryptographic library refused to sign, or what it signed does not verify.
    #[error("signing failed, and nothing was written; please report this")]
    Signing,

    // ── dates ────────────────────────────────────────────────────────────────────────────────────────────────────
    /// The rights are over.
    #[error("the licence ended at {end}")]
    Expired {
        /// The end, in UTC.
        end: String,
    },
    /// The rights have not begun.
    #[error("the licence begins only at {start}")]
    NotYet {
        /// The start, in UTC.
        start: String,
    },

    // ── what a licence is made from ──────────────────────────────────────────────────────────────────────────────
    /// A value that a licence cannot hold.
    #[error("{what} {problem}")]
    Term {
        /// Which value: "the hint".
        what: &'static str,
        /// What is wrong with it, and what would do.
        problem: String,
    },
}

impl LicenceFault {
    /// The class of this fault, for exit codes.
    #[must_use]
    pub fn class(&self) -> Class {
        use LicenceFault::*;
        match self {
            TooLarge { .. }
            | Malformed { .. }
            | DuplicateMember { .. }
            | TooDeep { .. }
            | Algorithm { .. }
            | LinkMissing { .. }
            | ProfileSecret { .. } => Class::Content,
            WrongPassphrase { .. }
            | PrivateKey { .. }
            | KeyMismatch
            | Certificate { .. }
            | CertificateKey { .. } => Class::Key,
            ContentKey
            | UserField { .. }
            | Unsigned
            | Signature
            | Untrusted { .. }
            | Issuer { .. }
            | CertificateDates { .. }
            | Expired { .. }
            | NotYet { .. } => Class::Authentication,
            Signing => Class::Io,
            Term { .. } => Class::Usage,
        }
    }
}
