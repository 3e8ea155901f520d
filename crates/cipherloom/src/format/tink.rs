//! Tink Streaming AEAD: the frame that AES-GCM-HKDF and AES-CTR-HMAC share, and the choice of a key.
//!
//! Follows <https://developers.google.com/tink/streaming-aead> and, where that is silent, tink-go 2.9
//! (`streamingaead/subtle`). A stream says neither which key nor which segment size it was written with: its first byte
//! tells the derived key's size, and beyond that a reader tries its keys on the first segment, as Tink does.
//!
//! ```text
//! header    | length (1) | salt (derived key's size: 16 or 32) | nonce prefix (7) |      length = 24 or 40
//! segment   | ciphertext | tag |      segment_size bytes; the first is shorter by the header; the last 1 … full
//! nonce     | prefix (7) | segment number, big-endian (4) | 1 if last, else 0 (1) | zeros up to the cipher's IV size |
//! keys      HKDF(hash, main key, salt, info = associated data)
//! ```

use super::layout::{Form, LastSegment, Layout};
use super::stream::{NotAuthentic, Stream, StreamCipher};
use super::succession::{self, Predecessor};
use super::{aead::Aead, derive, tink_ctr_hmac::CtrHmac};
use crate::Error;
use crate::key::{Keyset, Protection, StreamingKey};
use cipherloom_kernels::Engine;
use zeroize::{Zeroize, Zeroizing};

pub(super) const NAME: &str = "tink";
const PREFIX: usize = 7;
/// tink-go refuses segment number 2^32 - 1, so no stream has more segments than can be read there.
const SEGMENT_LIMIT: u64 = u32::MAX as u64;

/// The format with its keys, the primary first.
pub(super) struct TinkFormat {
    keys: Vec<StreamingKey>,
    /// The keys' identifiers.
    ids: Vec<u32>,
    engine: Engine,
}

/// A stream's cipher and the part of the nonce that is fixed for it.
pub(super) struct TinkStream {
    prefix: [u8; PREFIX],
    segments: Segments,
}

enum Segments {
    Gcm(Aead),
    CtrHmac(Box<CtrHmac>),
}

impl TinkFormat {
    pub(super) fn new(keyset: &Keyset, engine: Engine) -> Result<Self, Error> {
        let (ids, keys): (Vec<u32>, Vec<StreamingKey>) =
            keyset.enabled().map(|(id, key)| (id, key.clone())).unzip();
        let uses_kernels = keys.iter().any(|key| key.protection != Protection::Gcm);
        if uses_kernels && !engine.backend().is_available() {
            return Err(Error::BackendUnavailable { name: engine.backend().name() });
        }
        Ok(Self { keys, ids, engine })
    }

    pub(super) fn layout(&self) -> Layout {
        layout(&self.keys[0])
    }

    /// The layouts of all keys.
    pub(super) fn layouts(&self) -> impl Iterator<Item = Layout> {
        self.keys.iter().map(layout)
    }

    /// The primary key's identifier.
    pub(super) fn key_id(&self) -> u32 {
        self.ids[0]
    }

    /// The secret of the key with this identifier.
    pub(super) fn key_value(&self, id: u32) -> Option<&[u8]> {
        let at = self.ids.iter().position(|known| *known == id)?;
        Some(&self.keys[at].key_value)
    }

    /// Whether the primary key authenticates with a hash beside the cipher.
    pub(super) fn hashes(&self) -> bool {
        self.keys[0].protection != Protection::Gcm
    }

    pub(super) fn largest_segment(&self) -> u32 {
        self.keys.iter().map(|key| key.segment_size).max().unwrap_or(0)
    }

    pub(super) fn head_len(&self) -> usize {
        match self.keys.as_slice() {
            [only] => only.header_len() as usize,
            // Header and first segment together are one segment long.
            _ => self.largest_segment() as usize,
        }
    }

    pub(super) fn seal(
        &self,
        associated_data: &[u8],
        predecessor: Option<&Predecessor>,
        header: &mut [u8],
    ) -> Result<Stream, Error> {
        let key = &self.keys[0];
        header[0] = header.len() as u8;
        getrandom::fill(&mut header[1..]).map_err(Error::Random)?;
        if let Some(predecessor) = predecessor {
            succession::mark(key, predecessor, header)?;
        }
        self.stream(key, associated_data, header)
    }

    /// This format with that key alone which made the header of a stream in the place of `predecessor`. `begin`: the stream's
    /// beginning, with its header.
    pub(super) fn of_successor(
        &self,
        predecessor: &Predecessor,
        begin: &[u8],
    ) -> Result<Option<TinkFormat>, Error> {
        for (key, id) in self.keys.iter().zip(&self.ids) {
            let Some(header) = begin.get(..key.header_len() as usize) else { continue };
            if succession::is_marked(key, predecessor, header)? {
                return Ok(Some(TinkFormat { keys: vec![key.clone()], ids: vec![*id], engine: self.engine }));
            }
        }
        Ok(None)
    }

    pub(super) fn open(
        &self,
        associated_data: &[u8],
        head: &[u8],
        is_whole: bool,
        scratch: &mut [u8],
    ) -> Result<Stream, Error> {
        let header_len = header_len(head)?;
        let mut candidates = self.keys.iter().filter(|key| key.header_len() as usize == header_len);
        let first = candidates.next().ok_or(Error::WrongKey { format: NAME })?;
        let header = head.get(..header_len).ok_or(Error::HeaderTruncated {
            format: NAME,
            needed: header_len as u64,
            found: head.len() as u64,
        })?;
        let Some(second) = candidates.next() else { return self.stream(first, associated_data, header) };
        for key in [first, second].into_iter().chain(candidates) {
            let stream = self.stream(key, associated_data, header)?;
            match try_first_segment(&stream, head, is_whole, scratch) {
                Ok(()) => return Ok(stream.with_confirmed_key()),
                Err(NotAuthentic::Damaged | NotAuthentic::Padding) => {}
                // The key is right, for only it could tell this.
                Err(fault) => return Err(stream.error(0, fault)),
            }
        }
        Err(Error::FirstSegment)
    }

    /// Which key opens this stream's first segment, with the stream's layout. `begin`: all of that segment, or of the stream.
    pub(super) fn opening_key(
        &self,
        associated_data: &[u8],
        begin: &[u8],
        is_whole: bool,
    ) -> Result<(u32, Layout), Error> {
        let header_len = header_len(begin)?;
        let (needed, found) = (header_len as u64, begin.len() as u64);
        let header = begin.get(..header_len).ok_or(Error::HeaderTruncated { format: NAME, needed, found })?;
        let mut scratch = Zeroizing::new(vec![0; begin.len()]);
        let candidates = self.keys.iter().zip(&self.ids);
        for (key, id) in candidates.filter(|(key, _)| key.header_len() as usize == header_len) {
            let stream = self.stream(key, associated_data, header)?;
            match try_first_segment(&stream, begin, is_whole, &mut scratch) {
                Ok(()) => return Ok((*id, layout(key))),
                Err(NotAuthentic::Damaged | NotAuthentic::Padding) => {}
                Err(fault) => return Err(stream.error(0, fault)),
            }
        }
        Err(Error::FirstSegment)
    }

    /// As [`TinkFormat::open`], with the primary key alone; whether it is the right one, the first segment tells.
    pub(super) fn open_with_primary(&self, associated_data: &[u8], head: &[u8]) -> Result<Stream, Error> {
        let (key, header_len) = (&self.keys[0], header_len(head)?);
        match head.get(..header_len) {
            Some(header) if key.header_len() as usize == header_len => {
                self.stream(key, associated_data, header)
            }
            _ => Err(Error::WrongKey { format: NAME }),
        }
    }

    fn stream(&self, key: &StreamingKey, associated_data: &[u8], header: &[u8]) -> Result<Stream, Error> {
        let (salt, prefix) = header[1..].split_at(key.derived_key_size as usize);
        let mut derived = Zeroizing::new([0; 64]);
        let derived = &mut derived[..derived_len(key)];
        derive::hkdf(key.hkdf_hash, &key.key_value, salt, associated_data, derived)?;
        let segments = match key.protection {
            Protection::Gcm => Segments::Gcm(Aead::aes_gcm(derived)?),
            Protection::CtrHmac { hash, tag_size } => {
                let (aes, hmac) = derived.split_at(key.derived_key_size as usize);
                Segments::CtrHmac(Box::new(CtrHmac::new(aes, hmac, hash, tag_size, self.engine)?))
            }
        };
        let mut stream = TinkStream { prefix: [0; PREFIX], segments };
        stream.prefix.copy_from_slice(prefix);
        Ok(Stream::new(NAME, layout(key), SEGMENT_LIMIT, StreamCipher::Tink(stream)))
    }
}

/// The header's length, which its first byte tells.
fn header_len(head: &[u8]) -> Result<usize, Error> {
    match head.first() {
        Some(&length @ (24 | 40)) => Ok(usize::from(length)),
        Some(_) => Err(Error::NotThisFormat { format: NAME, problem: "its first byte is neither 24 nor 40" }),
        None => Err(Error::HeaderTruncated { format: NAME, needed: 24, found: 0 }),
    }
}

fn layout(key: &StreamingKey) -> Layout {
    Layout {
        header: key.header_len(),
        segment: key.segment_size,
        overhead: key.protection.tag_size(),
        first_deficit: key.header_len(),
        last: LastSegment::MayBeFull,
    }
}

/// HKDF's output: the AES key, and HMAC's 32 bytes behind it.
fn derived_len(key: &StreamingKey) -> usize {
    let hmac_key = match key.protection {
        Protection::Gcm => 0,
        Protection::CtrHmac { .. } => 32,
    };
    key.derived_key_size as usize + hmac_key
}

/// Whether the stream's key opens its first segment, which is tried on a copy.
pub(super) fn try_first_segment(
    stream: &Stream,
    head: &[u8],
    is_whole: bool,
    scratch: &mut [u8],
) -> Result<(), NotAuthentic> {
    let layout = stream.layout();
    let body = &head[layout.header as usize..];
    let is_alone = layout.segments_before_last(0, body.len() as u64, Form::Ciphertext) == 0;
    let last = is_whole && is_alone;
    let full = (layout.segment - layout.first_deficit) as usize;
    let copy = &mut scratch[..body.len().min(full)];
    copy.copy_from_slice(&body[..copy.len()]);
    let opened = stream.try_open(0, last, None, copy);
    copy.zeroize();
    opened.map(|_| ())
}

impl TinkStream {
    pub(super) fn seal(&self, index: u64, last: bool, buffer: &mut [u8]) -> Result<(), Error> {
        match &self.segments {
            Segments::Gcm(segments) => segments.seal(self.nonce(index, last), buffer),
            Segments::CtrHmac(segments) => {
                segments.seal(self.nonce(index, last), buffer);
                Ok(())
            }
        }
    }

    /// `may_be_cut`: the segment stands last and is full, so that the stream may have been cut behind it.
    pub(super) fn open(
        &self,
        index: u64,
        last: bool,
        may_be_cut: bool,
        buffer: &mut [u8],
    ) -> Result<usize, NotAuthentic> {
        match &self.segments {
            Segments::Gcm(segments) => {
                // Only a last segment that is exactly full can be a cut, so that this one allocation is rare.
                let not_last = may_be_cut.then(|| (self.nonce(index, false), NotAuthentic::FollowersMissing));
                let opened = segments.open_or_explain(self.nonce(index, last), not_last, buffer);
                opened.inspect_err(|_| buffer.zeroize())
            }
            Segments::CtrHmac(segments) => {
                segments.open(last, [self.nonce(index, false), self.nonce(index, true)], buffer)
            }
        }
    }

    /// The nonce of a segment, zero-padded to the cipher's size.
    fn nonce<const SIZE: usize>(&self, index: u64, last: bool) -> [u8; SIZE] {
        let mut nonce = [0; SIZE];
        nonce[..PREFIX].copy_from_slice(&self.prefix);
        nonce[PREFIX..PREFIX + 4].copy_from_slice(&(index as u32).to_be_bytes());
        nonce[PREFIX + 4] = u8::from(last);
        nonce
    }
}
