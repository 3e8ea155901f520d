//! One protected resource, opened: decrypted piece by piece, inflated if it was deflated, its length counted.
//!
//! ```text
//! entry = 16 bytes initialisation vector | AES-256-CBC of (content or its deflate stream | filler)
//! ```
//!
//! Any filler is accepted whose last byte is its length, 1 to 16 (XML Encryption 1.1, section 5.2): its other bytes may
//! be anything. Nothing authenticates a resource; what tells damage or another key is the filler, the deflate stream
//! and the declared length, and the archive's own CRC-32 over what is encrypted.

use crate::container::{Archive, Entry};
use crate::encryption_xml::AES_256_CBC;
use crate::package::ProtectedResource;
use crate::{Error, ResourceFault};
use cipherloom_kernels::Aes;
use flate2::{Decompress, FlushDecompress, Status};
use zeroize::Zeroizing;

const BLOCK: usize = 16;

/// Content that is inflated at a time.
const PIECE: usize = 64 << 10;

/// The least that an encrypted resource has: initialisation vector and one block.
pub(crate) const LEAST_LEN: u64 = 32;

/// What a worker keeps from resource to resource.
pub(crate) struct Opener {
    held: Zeroizing<Vec<u8>>,
    content: Zeroizing<Vec<u8>>,
    inflate: Decompress,
}

impl Default for Opener {
    fn default() -> Opener {
        Opener {
            held: Zeroizing::new(Vec::with_capacity(PIECE + 2 * BLOCK)),
            content: Zeroizing::new(vec![0; PIECE]),
            inflate: Decompress::new(false),
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
        self.inflate.reset(false);
        let mut chain = None;
        let mut tally = Tally { resource, len: 0, crc: crc32fast::Hasher::new(), has_ended: false };
        let (held, content, inflate) = (&mut self.held, &mut self.content, &mut self.inflate);
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
            tally.take(&held[..whole], inflate, content).map_err(failed)?;
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
        tally.take(rest, inflate, content).map_err(failed)?;
        sink(rest)?;
        tally.finish().map_err(failed)
    }
}

/// Counts and checks content while it passes by.
struct Tally<'r> {
    resource: &'r ProtectedResource,
    len: u64,
    crc: crc32fast::Hasher,
    has_ended: bool,
}

impl Tally<'_> {
    fn take(
        &mut self,
        bytes: &[u8],
        inflate: &mut Decompress,
        content: &mut [u8],
    ) -> Result<(), ResourceFault> {
        if !self.resource.is_deflated {
            return self.count(bytes);
        }
        let mut input = bytes;
        while !input.is_empty() {
            if self.has_ended {
                return Err(ResourceFault::Deflate);
            }
            let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
            let status = inflate
                .decompress(input, content, FlushDecompress::None)
                .map_err(|_| ResourceFault::Deflate)?;
            let taken = (inflate.total_in() - before_in) as usize;
            let given = (inflate.total_out() - before_out) as usize;
            self.count(&content[..given])?;
            self.has_ended = status == Status::StreamEnd;
            if taken == 0 && given == 0 && !self.has_ended {
                return Err(ResourceFault::Deflate);
            }
            input = &input[taken..];
        }
        // A full window may have left something behind in the decoder.
        while !self.has_ended {
            let before = inflate.total_out();
            let status = inflate.decompress(&[], content, FlushDecompress::None);
            let given = (inflate.total_out() - before) as usize;
            self.count(&content[..given])?;
            match status {
                Ok(Status::StreamEnd) => self.has_ended = true,
                Ok(_) if given > 0 => {}
                // Nothing more without more input, which zlib calls a buffer error.
                _ => break,
            }
        }
        Ok(())
    }

    fn count(&mut self, content: &[u8]) -> Result<(), ResourceFault> {
        self.crc.update(content);
        self.len += content.len() as u64;
        match self.resource.original_len {
            // Not counted further: it might be a bomb.
            Some(declared) if self.len > declared => Err(ResourceFault::TooLong { declared }),
            _ => Ok(()),
        }
    }

    fn finish(self) -> Result<Opened, ResourceFault> {
        if self.resource.is_deflated && !self.has_ended {
            return Err(ResourceFault::Deflate);
        }
        match self.resource.original_len {
            Some(declared) if self.len != declared => {
                Err(ResourceFault::TooShort { declared, found: self.len })
            }
            _ => Ok(Opened { len: self.len, crc32: self.crc.finalize() }),
        }
    }
}
