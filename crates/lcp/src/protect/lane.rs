//! A part in flight: how far it has come, and its piece of this round.
//!
//! ```text
//! buffer: … │ local header │ IV │ body: one piece, padded if it is the last │ …
//!             (only where the whole part fits one piece)
//! ```

use super::book::{BLOCK, Book};
use super::plan::PIECE;
use crate::Error;
use crate::container::Verifier;
use crate::container::records::{EntryRecord, LOCAL_LEN};
use crate::package::Coding;
use crc32fast::Hasher;
use flate2::Compress;
use std::ops::Range;

const LINE: usize = 64;

/// What a piece may take in the buffer besides its content: up to the next line, padding.
const AROUND: usize = 2 * LINE + 2 * BLOCK as usize;

pub(super) struct Lane {
    pub(super) part: usize,
    pub(super) is_encrypted: bool,
    pub(super) chain: [u8; 16],
    iv: [u8; 16],
    crc: Hasher,
    pub(super) coding: Coding,
    /// Of the source's content.
    pub(super) verifier: Verifier,
    pub(super) deflation: Option<Compress>,
    /// Bytes of the output's content before encryption; known from the start, or when it has been deflated once.
    pub(super) payload_len: Option<u64>,
    /// Of these: bytes that are through, this round's piece included.
    pub(super) given: u64,
    /// What is known of the part; its CRC-32 is that of the output in the end.
    record: Option<EntryRecord>,
    /// Where the body is in the buffer; empty if this round has none.
    pub(super) body: Range<usize>,
    /// What of the buffer is to be written (IV and body).
    piece: Range<usize>,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

impl Lane {
    pub(super) fn begin(book: &Book, part: usize, verifier: Verifier) -> Result<Lane, Error> {
        let description = &book.package.parts[part];
        let mut iv = [0; 16];
        if description.is_encrypted {
            getrandom::fill(&mut iv).map_err(cipherloom::Error::Random)?;
        }
        let payload_len = book.package.payload_len(description);
        Ok(Lane {
            part,
            is_encrypted: description.is_encrypted,
            chain: iv,
            iv,
            crc: Hasher::new(),
            coding: description.coding,
            verifier,
            deflation: None,
            payload_len,
            given: 0,
            record: payload_len.map(|len| book.record_of(part, len)),
            body: 0..0,
            piece: 0..0,
            is_first: true,
            is_last: false,
        })
    }

    /// The most bytes that its next piece can take in the buffer.
    pub(super) fn room(&self, book: &Book) -> usize {
        let rest = self.payload_len.map_or(PIECE as u64, |len| len - self.given);
        AROUND + self.lead(book) + rest.min(PIECE as u64) as usize
    }

    /// Where in the buffer the body of a piece goes that has `at..` to itself: at a line's border, since the kernel
    /// copies there, with room for header and IV in front.
    pub(super) fn body_start(&self, book: &Book, at: usize) -> usize {
        (at + self.lead(book)).next_multiple_of(LINE)
    }

    fn lead(&self, book: &Book) -> usize {
        let header = LOCAL_LEN + 20 + book.package.parts[self.part].name.len();
        if self.is_first { header + BLOCK as usize } else { 0 }
    }

    /// The body has been filled to `buffer[start..start + len]`: pads it, and puts the IV in front of the first.
    pub(super) fn filled(&mut self, book: &Book, buffer: &mut [u8], start: usize, len: usize) {
        let mut end = start + len;
        let mut begin = start;
        if self.is_encrypted {
            if self.is_last {
                // PKCS#7, which W3C's padding (XML Encryption, section 5.2) accepts.
                let padding = BLOCK as usize - len % BLOCK as usize;
                buffer[end..end + padding].fill(padding as u8);
                end += padding;
            }
            if self.is_first {
                begin = start - BLOCK as usize;
                buffer[begin..start].copy_from_slice(&self.iv);
            }
        }
        self.given += len as u64;
        self.body = start..end;
        self.piece = begin..end;
        let payload_len = self.payload_len.unwrap_or(self.given);
        self.record.get_or_insert_with(|| book.record_of(self.part, payload_len));
    }

    /// Writes this round's piece, and the local header with the last one. Returns the part's record when that was the last.
    pub(super) fn write(&mut self, book: &Book, buffer: &mut [u8]) -> Result<Option<EntryRecord>, Error> {
        let mut record = self.record.expect("a record is made when the first piece is filled");
        let name = &book.package.parts[self.part].name;
        if self.is_encrypted {
            self.crc.update(&buffer[self.piece.clone()]);
        }
        let before = if self.is_encrypted && !self.is_first { BLOCK } else { 0 };
        let body_len = self.body.len() as u64;
        // Where this piece begins in the part's bytes: padding is only in the last.
        let padding = if self.is_encrypted && self.is_last { BLOCK - self.given % BLOCK } else { 0 };
        let offset = record.data_offset(name) + before + (self.given + padding - body_len);
        let mut range = self.piece.clone();
        if !self.is_last {
            book.write(&buffer[range], offset)?;
            self.is_first = false;
            return Ok(None);
        }
        if self.is_encrypted {
            record.crc32 = self.crc.clone().finalize();
        }
        let header = record.local_header(name);
        if self.is_first {
            range.start -= header.len();
            buffer[range.start..range.start + header.len()].copy_from_slice(&header);
            book.write(&buffer[range], record.offset)?;
        } else {
            book.write(&buffer[range], offset)?;
            book.write(&header, record.offset)?;
        }
        Ok(Some(record))
    }
}
