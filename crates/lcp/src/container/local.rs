//! Local headers, held against the directory: programs that read an archive as a stream know nothing else of an entry, and
//! must see the same as those that read the directory.

use super::directory::{half, long, word};
use super::records::LOCAL_LEN;
use super::{Entry, Method, Source, entry_damaged};
use crate::Error;

/// Encrypted, strongly encrypted, and with masked fields.
const FLAGS_ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// CRC-32 and lengths follow the content.
const FLAG_DESCRIPTOR: u16 = 1 << 3;

const ZIP64_EXTRA: u16 = 1;

/// Checks an entry's local header; returns where its stored bytes begin. `buffer` is room to read to.
pub(super) fn check(source: &Source, entry: &Entry, buffer: &mut Vec<u8>) -> Result<u64, Error> {
    buffer.resize(LOCAL_LEN + entry.name.len(), 0);
    source.read_exact(buffer, entry.header_offset)?;
    if !buffer.starts_with(b"PK\x03\x04") {
        return Err(entry_damaged(entry, "its local header is not where the directory says"));
    }
    if usize::from(half(buffer, 26)) != entry.name.len() || buffer[LOCAL_LEN..] != *entry.name.as_bytes() {
        return Err(entry_damaged(entry, "its local header bears another name"));
    }
    let (flags, method, crc32) = (half(buffer, 6), half(buffer, 8), word(buffer, 14));
    let (stored_len, len) = (word(buffer, 18), word(buffer, 22));
    let extra_len = half(buffer, 28);
    let extra_offset = entry.header_offset + buffer.len() as u64;
    if flags & FLAGS_ENCRYPTED != 0 {
        return Err(entry_damaged(
            entry,
            "its local header says that it is encrypted, its directory does not",
        ));
    }
    let expected = match entry.method {
        Method::Stored => 0,
        Method::Deflated => 8,
    };
    if method != expected {
        return Err(entry_damaged(entry, "its local header names another compression than its directory"));
    }
    let lengths = match stored_len == u32::MAX || len == u32::MAX {
        true => {
            buffer.resize(usize::from(extra_len), 0);
            source.read_exact(buffer, extra_offset)?;
            wide_lengths(buffer, stored_len, len)
        }
        false => Some((u64::from(stored_len), u64::from(len))),
    };
    let said = lengths.map(|(stored_len, len)| (crc32, stored_len, len));
    let is_left_out = flags & FLAG_DESCRIPTOR != 0 && said == Some((0, 0, 0));
    let is_same = said == Some((entry.crc32, entry.compressed_len, entry.len));
    if !is_same && !is_left_out {
        return Err(entry_damaged(
            entry,
            "its local header names another length or CRC-32 than its directory",
        ));
    }
    Ok(extra_offset + u64::from(extra_len))
}

/// The lengths (stored, content) that the zip64 extra field holds where the header has no room for them.
fn wide_lengths(mut extra: &[u8], stored_len: u32, len: u32) -> Option<(u64, u64)> {
    while extra.len() >= 4 {
        let (id, size) = (half(extra, 0), usize::from(half(extra, 2)));
        let mut content = extra.get(4..4 + size)?;
        if id == ZIP64_EXTRA {
            let mut wide = |narrow: u32| {
                if narrow != u32::MAX {
                    return Some(u64::from(narrow));
                }
                let (first, rest) = content.split_at_checked(8)?;
                content = rest;
                Some(long(first, 0))
            };
            let len = wide(len)?;
            return Some((wide(stored_len)?, len));
        }
        extra = &extra[4 + size..];
    }
    None
}
