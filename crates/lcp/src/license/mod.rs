//! Licenses: reading, checking, making (Readium LCP 1.0, sections 3 to 5).
//!
//! ```text
//! {                                                    signed:
//!   "provider", "id", "issued", "updated"              all members but "signature",
//!   "encryption": { "profile",                         in canonical form
//!       "content_key": the publication's key,    <─┐
//!       "user_key": hint, key check              <─┼── encrypted with the user key
//!   "links": [ publication, hint, status … ]       │   (basic profile: SHA-256 of the passphrase)
//!   "user": { "id", "email", "name" …            <─┘
//!   "rights": { "print", "copy", "start", "end" }
//!   "signature": { "algorithm", "certificate" (X.509), "value" }
//! }
//! ```

mod canonical;
mod certificate;
mod document;
mod fault;
mod issue;
mod issue_all;
mod issuer;
mod moment;
mod signature;
mod user_key;

#[cfg(test)]
pub(crate) mod tests;

pub use canonical::canonical;
pub use certificate::{Certificate, Roots};
pub use document::{
    Binary, Document, EncryptedKey, Encryption, Link, Relations, Rights, Signature, User, UserKeyHints,
};
pub use fault::LicenseFault;
pub use issue::Terms;
#[cfg(test)]
use issue::issue;
pub(crate) use issue_all::is_output;
pub use issue_all::{Issued, LicenseOutput, LicenseRequest, issue_all};
pub use moment::Moment;
#[cfg(test)]
use signature::RSA_SHA_256;
pub use signature::Signer;
use signature::verify;
pub use user_key::UserKey;

/// Far more than any license has.
pub(crate) const LARGEST_LICENSE: usize = 1 << 20;

/// A license as it came, and what it says.
#[derive(Debug, Clone)]
pub struct License {
    text: String,
    document: Document,
    canonical: Vec<u8>,
}

impl License {
    /// Reads a license. Nothing in it is verified yet.
    ///
    /// # Errors
    /// [`LicenseFault::TooLarge`] (1 MiB), [`LicenseFault::Malformed`], [`LicenseFault::DuplicateMember`],
    /// [`LicenseFault::TooDeep`].
    pub fn parse(contents: &[u8]) -> Result<License, LicenseFault> {
        if contents.len() > LARGEST_LICENSE {
            return Err(LicenseFault::TooLarge { length: contents.len(), most: LARGEST_LICENSE });
        }
        let malformed = |problem: String| LicenseFault::Malformed { problem: shortened(&problem) };
        let text = std::str::from_utf8(contents).map_err(|_| malformed("it is not UTF-8".to_owned()))?;
        let canonical = canonical(text).map_err(|fault| match fault {
            LicenseFault::Malformed { problem } => malformed(problem),
            fault => fault,
        })?;
        let document = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        Ok(License { text: text.to_owned(), document, canonical })
    }

    /// The license as it came, every member of it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it says.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The bytes that are signed.
    #[must_use]
    pub fn canonical(&self) -> &[u8] {
        &self.canonical
    }

    /// Whether everything is there that every license has, and its algorithms are those that are known.
    ///
    /// # Errors
    /// [`LicenseFault::LinkMissing`], [`LicenseFault::Algorithm`].
    pub fn check_completeness(&self) -> Result<(), LicenseFault> {
        for rel in ["publication", "hint"] {
            self.document.link(rel).ok_or(LicenseFault::LinkMissing { rel })?;
        }
        self.document.encryption.check_algorithms()
    }

    /// Whether the signature is that of the certificate in the license, and the certificate was valid when the license
    /// was made or last updated; returns the certificate, whose issuer is then to be checked ([`Roots::confirm`]).
    ///
    /// # Errors
    /// [`LicenseFault::Unsigned`], [`LicenseFault::CertificateDates`], [`LicenseFault::Certificate`],
    /// [`LicenseFault::CertificateKey`], [`LicenseFault::Algorithm`], [`LicenseFault::Signature`].
    pub fn check_signature(&self) -> Result<Certificate, LicenseFault> {
        let signature = self.document.signature.as_ref().ok_or(LicenseFault::Unsigned)?;
        let certificate = verify(&self.canonical, signature)?;
        certificate.check_dates(self.document.last_changed())?;
        Ok(certificate)
    }

    /// Whether the rights allow reading at `moment`.
    ///
    /// # Errors
    /// [`LicenseFault::NotYet`], [`LicenseFault::Expired`].
    pub fn check_rights(&self, moment: Moment) -> Result<(), LicenseFault> {
        let rights = self.document.rights.unwrap_or_default();
        match (rights.start, rights.end) {
            (Some(start), _) if moment < start => Err(LicenseFault::NotYet { start: start.to_string() }),
            (_, Some(end)) if moment > end => Err(LicenseFault::Expired { end: end.to_string() }),
            _ => Ok(()),
        }
    }
}

/// A stranger's text may be long, and have control characters.
fn shortened(problem: &str) -> String {
    const LONGEST: usize = 200;
    let text: String = problem.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    let text = text.replace("\\\"", "\"").replace("\\'", "'");
    if problem.chars().count() > LONGEST { text + "…" } else { text }
}
