//! What can be wrong with a protected resource.

/// One thing that is wrong with a protected resource of a publication.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceFault {
    /// LCP encrypts resources with one cipher.
    #[error("is encrypted with {found:?}, and LCP uses AES-256-CBC alone; protect the publication anew")]
    Algorithm {
        /// What the publication says.
        found: String,
    },
    /// No encrypted resource has this length.
    #[error(
        "has {len} bytes, which no encrypted resource has (a multiple of 16, at least 32); fetch the file again"
    )]
    Length {
        /// Its length in bytes.
        len: u64,
    },
    /// Players cannot seek in it, and nothing bounds what it inflates to.
    #[error(
        "was deflated, and the publication does not say how long it was before, which LCP demands; protect it anew"
    )]
    NoOriginalLength,
    /// The last byte is no number of filler bytes.
    #[error("does not decrypt: its filler is wrong; it is damaged, or the licence is another publication's")]
    Filler,
    /// What was decrypted is no deflate stream, or not a whole one.
    #[error("does not inflate after decryption; it is damaged, or the licence is another publication's")]
    Deflate,
    /// More content than declared.
    #[error(
        "is longer than the {declared} bytes that the publication declares, on which reading systems stumble; protect it anew"
    )]
    TooLong {
        /// The declared length in bytes.
        declared: u64,
    },
    /// Less content than declared.
    #[error(
        "has {found} bytes where the publication declares {declared}, on which reading systems stumble; protect it anew"
    )]
    TooShort {
        /// The declared length in bytes.
        declared: u64,
        /// The length found, in bytes.
        found: u64,
    },
}
