//! Publications: what is in them, and what becomes of each part when they are protected.
//!
//! ```text
//! EPUB               META-INF/container.xml   which resources stay clear: epub.rs    list: META-INF/encryption.xml
//! Readium package    manifest.json            readium.rs                             list: in manifest.json
//! W3C package (.lpf) publication.json         made a Readium package: w3c.rs         list: in manifest.json
//! PDF                %PDF-                     wrapped into a Readium package         list: in manifest.json
//! ```

pub(crate) mod epub;
pub(crate) mod href;
mod media;
mod metadata;
mod protection;
mod readium;
mod survey;
mod w3c;
pub(crate) mod xml;

pub use metadata::Metadata;
pub use protection::{ProtectedResource, Protection};
pub(crate) use protection::{fingerprint, hex};
pub use readium::Profile;
pub(crate) use readium::{MANIFEST, manifest, unmark};
pub(crate) use survey::{Coding, Content, Package, Part};

/// The kind of a protected publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// EPUB.
    Epub,
    /// Readium package.
    Readium(Profile),
}

impl Kind {
    /// The media type of the protected publication (Readium LCP, section 3.2; readium-lcp-server).
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Kind::Epub => "application/epub+zip",
            Kind::Readium(Profile::WebPublication) => "application/webpub+lcp",
            Kind::Readium(Profile::Audiobook) => "application/audiobook+lcp",
            Kind::Readium(Profile::Divina) => "application/divina+lcp",
            Kind::Readium(Profile::Pdf) => "application/pdf+lcp",
        }
    }

    /// The file extension of the protected publication.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Kind::Epub => "epub",
            Kind::Readium(Profile::WebPublication) => "webpub",
            Kind::Readium(Profile::Audiobook) => "lcpa",
            Kind::Readium(Profile::Divina) => "lcpdi",
            Kind::Readium(Profile::Pdf) => "lcpdf",
        }
    }

    /// The name of the entry that holds the license.
    pub(crate) fn license_entry(self) -> &'static str {
        match self {
            Kind::Epub => epub::LICENSE,
            Kind::Readium(_) => readium::LICENSE,
        }
    }
}
