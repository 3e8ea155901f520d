//! One protected resource, opened: decrypted piece by piece, inflated if it was deflated, its length counted.
//!
//! ```text
//! entry = 16 bytes initialisation vector | AES-256-CBC of (content or its deflate stream | filler)
//! ```
//!
//! Any filler is accepted whose last byte is its length, 1 to 16 (XML Encryption 1.1, section 5.2): its other bytes may
//! be anything. Nothing authenticates a resource; damage or another key is recognised by the filler, the deflate stream
//! and the declared length, and the archive's own CRC-32 over what is encrypted.

use crate::Error;
use crate::container::{Archive, Entry, Method, Verifier};
use crate::encryption_xml::AES_256_CBC;
use crate::package::ProtectedResource;
use cipherloom_kernels::Aes;
use zeroize::Zeroizing;

const BLOCK: usize = 16;

/// Content that is inflated at a time.
const PIECE: usize = 64 << 10;

/// The least that an encrypted resource has: initialisation vector and one block.
pub(crate) const LEAST_LEN: u64 = 32;

/// What a worker keeps from resource to resource.
pub(crate) struct Opener {
    held: Zeroizing<Vec<u8>>,
    window: Zeroizing<Vec<u8>>,
    verifier: Verifier,
}

impl Default for Opener {
    fn default() -> Opener {
        Opener {
            held: Zeroizing::new(Vec::with_capacity(PIECE + 2 * BLOCK)),
            window: Zeroizing::new(vec![0; PIECE]),
            verifier: Verifier::default(),
        }
    }
}

/// What a resource turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opened {
    /// Bytes of the content.
    pub(crate) len: u64,
    /// Its CRC-32.
    pub(crate) crc32: u32,
}

/// Whether a resource's form is that of an encrypted one, which needs no key to see.
pub(crate) fn check_form(entry: &Entry, resource: &ProtectedResource) -> Result<(), Error> {
    let fault = |fault| Err(Error::Resource { entry: entry.name.clone(), fault });
    if resource.algorithm != AES_256_CBC {
        return fault(ResourceFault::Algorithm { found: resource.algorithm.clone() });
    }
    if entry.len < LEAST_LEN || !entry.len.is_multiple_of(BLOCK as u64) {
        return fault(ResourceFault::Length { len: entry.len });
    }
    if resource.is_deflated && resource.original_len.is_none() {
        return fault(ResourceFault::NoOriginalLength);
    }
    Ok(())
}

impl Opener {
    /// Opens a resource. `sink` gets what was encrypted (the deflate stream, if there is one), piece by piece; it must
    /// not be used before this has returned without an error.
    ///
    /// # Errors
    /// [`Error::Resource`] with what is wrong, those of [`Archive::read_to`], and the sink's own.
    pub(crate) fn open(
        &mut self,
        archive: &Archive,
        resource: &ProtectedResource,
        key: &Aes,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Opened, Error> {
        let entry = &archive.entries()[resource.entry];
        check_form(entry, resource)?;
        let failed = |fault| Error::Resource { entry: entry.name.clone(), fault };
        self.held.clear();
        self.verifier.restart();
        let mut chain = None;
        let (held, window, verifier) = (&mut self.held, &mut self.window, &mut self.verifier);
        let mut check = ContentCheck { declared: declared(entry, resource), verifier, window };
        archive.read_to(entry, &mut |bytes| {
            held.extend_from_slice(bytes);
            if chain.is_none()
                && let Some(first) = held.first_chunk::<BLOCK>()
            {
                chain = Some(*first);
                held.drain(..BLOCK);
            }
            let Some(chain) = &mut chain else { return Ok(()) };
            // The last block is held back: it may be the one with the filler.
            let whole = held.len().saturating_sub(1) / BLOCK * BLOCK;
            key.cbc_decrypt(chain, &mut held[..whole]);
            check.take(&held[..whole]).map_err(failed)?;
            sink(&held[..whole])?;
            held.drain(..whole);
            Ok(())
        })?;
        let (Some(mut chain), BLOCK) = (chain, held.len()) else {
            return Err(failed(ResourceFault::Length { len: entry.len }));
        };
        key.cbc_decrypt(&mut chain, held);
        let filler = usize::from(held[BLOCK - 1]);
        if !(1..=BLOCK).contains(&filler) {
            return Err(failed(ResourceFault::Filler));
        }
        let rest = &held[..BLOCK - filler];
        check.take(rest).map_err(failed)?;
        sink(rest)?;
        check.finish(resource).map_err(failed)
    }
}

/// The entry as if it were not encrypted.
fn declared(entry: &Entry, resource: &ProtectedResource) -> Entry {
    let method = if resource.is_deflated { Method::Deflated } else { Method::Stored };
    Entry { method, len: resource.original_len.unwrap_or(u64::MAX), ..entry.clone() }
}

/// Checks content while it passes by.
struct ContentCheck<'r> {
    declared: Entry,
    verifier: &'r mut Verifier,
    window: &'r mut [u8],
}

impl ContentCheck<'_> {
    fn take(&mut self, bytes: &[u8]) -> Result<(), ResourceFault> {
        let passed = self.verifier.pass(&self.declared, bytes, self.window, &mut |_| Ok(()));
        passed.map_err(|error| match error {
            Error::Bomb { .. } => ResourceFault::TooLong { declared: self.declared.len },
            _ => ResourceFault::Deflate,
        })
    }

    fn finish(self, resource: &ProtectedResource) -> Result<Opened, ResourceFault> {
        if resource.is_deflated && !self.verifier.has_ended() {
            return Err(ResourceFault::Deflate);
        }
        let opened = Opened { len: self.verifier.len(), crc32: self.verifier.crc32() };
        match resource.original_len {
            Some(declared) if opened.len != declared => {
                Err(ResourceFault::TooShort { declared, found: opened.len })
            }
            _ => Ok(opened),
        }
    }
}

/// One thing that is wrong with a protected resource of a publication.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceFault {
    /// LCP encrypts resources with one cipher.
    #[error("is encrypted with {found:?}, and LCP uses AES-256-CBC alone")]
    Algorithm {
        /// What the publication says.
        found: String,
    },
    /// No encrypted resource has this length.
    #[error("has {len} bytes, which no encrypted resource has (a multiple of 16, at least 32)")]
    Length {
        /// Its length in bytes.
        len: u64,
    },
    /// Players cannot seek in it, and nothing bounds what it inflates to.
    #[error("was deflated, and the publication does not say how long it was before, which LCP demands")]
    NoOriginalLength,
    /// The last byte is no number of filler bytes.
    #[error("does not decrypt: its filler is wrong")]
    Filler,
    /// What was decrypted is no deflate stream, or not a whole one.
    #[error("does not inflate after decryption")]
    Deflate,
    /// More content than declared.
    #[error("is longer than the {declared} bytes that the publication declares")]
    TooLong {
        /// The declared length in bytes.
        declared: u64,
    },
    /// Less content than declared.
    #[error("has {found} bytes where the publication declares {declared}")]
    TooShort {
        /// The declared length in bytes.
        declared: u64,
        /// The length found, in bytes.
        found: u64,
    },
}
