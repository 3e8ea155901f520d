//! Licences: reading, checking, making (Readium LCP 1.0, sections 3 to 5).
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
pub use fault::LicenceFault;
pub use issue::{Licensed, Terms, issue};
pub use moment::Moment;
pub use signature::{ECDSA_SHA_256, RSA_SHA_256, Signer, verify};
pub use user_key::{AES_256_CBC, BASIC_PROFILE, SHA_256, UserKey};

/// Media type of a licence.
pub const LICENCE_MEDIA_TYPE: &str = "application/vnd.readium.lcp.license.v1.0+json";

/// Far more than any licence has.
pub const LARGEST_LICENCE: usize = 1 << 20;

/// A licence as it came, and what it says.
#[derive(Debug, Clone)]
pub struct Licence {
    text: String,
    document: Document,
    canonical: Vec<u8>,
}

impl Licence {
    /// Reads a licence. Nothing in it is verified yet.
    ///
    /// # Errors
    /// [`LicenceFault::TooLarge`] (1 MiB), [`LicenceFault::Malformed`], [`LicenceFault::DuplicateMember`],
    /// [`LicenceFault::TooDeep`].
    pub fn parse(contents: &[u8]) -> Result<Licence, LicenceFault> {
        if contents.len() > LARGEST_LICENCE {
            return Err(LicenceFault::TooLarge { length: contents.len(), most: LARGEST_LICENCE });
        }
        let malformed = |problem: String| LicenceFault::Malformed { problem: shortened(&problem) };
        let text = std::str::from_utf8(contents).map_err(|_| malformed("it is not UTF-8".to_owned()))?;
        let canonical = canonical(text).map_err(|fault| match fault {
            LicenceFault::Malformed { problem } => malformed(problem),
            fault => fault,
        })?;
        let document = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        Ok(Licence { text: text.to_owned(), document, canonical })
    }

    /// The licence as it came, every member of it.
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

    /// Whether everything is there that every licence has, and its algorithms are those that are known.
    ///
    /// # Errors
    /// [`LicenceFault::LinkMissing`], [`LicenceFault::Algorithm`].
    pub fn check_completeness(&self) -> Result<(), LicenceFault> {
        for rel in ["publication", "hint"] {
            self.document.link(rel).ok_or(LicenceFault::LinkMissing { rel })?;
        }
        let keys = &self.document.encryption;
        for (what, found, known) in [
            ("content key", &keys.content_key.algorithm, AES_256_CBC),
            ("user key", &keys.user_key.algorithm, SHA_256),
        ] {
            if found != known {
                return Err(LicenceFault::Algorithm { what, found: found.clone(), known });
            }
        }
        Ok(())
    }

    /// Whether the signature is that of the certificate in the licence, and the certificate was valid when the licence
    /// was made or last updated; returns the certificate, whose issuer is then to be checked ([`Roots::confirm`]).
    ///
    /// # Errors
    /// [`LicenceFault::Unsigned`], [`LicenceFault::CertificateDates`], and those of [`verify`].
    pub fn check_signature(&self) -> Result<Certificate, LicenceFault> {
        let signature = self.document.signature.as_ref().ok_or(LicenceFault::Unsigned)?;
        let certificate = verify(&self.canonical, signature)?;
        certificate.check_dates(self.document.last_changed())?;
        Ok(certificate)
    }

    /// Whether the rights allow reading at `moment`.
    ///
    /// # Errors
    /// [`LicenceFault::NotYet`], [`LicenceFault::Expired`].
    pub fn check_rights(&self, moment: Moment) -> Result<(), LicenceFault> {
        let rights = self.document.rights.unwrap_or_default();
        match (rights.start, rights.end) {
            (Some(start), _) if moment < start => Err(LicenceFault::NotYet { start: start.to_string() }),
            (_, Some(end)) if moment > end => Err(LicenceFault::Expired { end: end.to_string() }),
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
