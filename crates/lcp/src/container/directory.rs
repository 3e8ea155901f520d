//! What describes an archive's entries: the directory and its end, held to what other readers demand, and the local headers,
//! held against the directory.
//!
//! ```text
//! entries | central records | (zip64 end record | zip64 locator) | end record | comment | end of the file
//! ```
//!
//! unzip, Python, Java and Go look for the end record within the last 64 KiB, and take the directory for the bytes right
//! before it. An archive where these are elsewhere opens in one program and not in another, so it is refused.

use super::records::LOCAL_LEN;
use super::{Entry, Source, entry_damaged};
use crate::Error;
use rawzip::extra_fields::{ExtraFieldId, ExtraFields};
use std::cmp::Ordering;

/// Bytes of a central record without its variable parts.
const CENTRAL_LEN: usize = 46;
/// Bytes of the end record without its comment.
pub(crate) const END_LEN: u64 = 22;
const LOCATOR_LEN: u64 = 20;
const ZIP64_END_LEN: u64 = 56;

/// The most bytes that a directory takes: 50,000 entries with long names.
pub(crate) const MOST_LEN: u64 = 64 << 20;

/// What a publication may have needs version 45 at most (zip64); unzip refuses more than this.
const MOST_VERSION: u8 = 46;
/// Patched data, which no reader knows.
const FLAG_PATCH: u16 = 1 << 5;

/// Where the directory and the end record are, in bytes from the start of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) directory_offset: u64,
    pub(super) directory_len: u64,
    pub(super) end_offset: u64,
}

/// Checks directory and end of an archive whose end record begins at `end_offset` and whose directory begins at
/// `directory_offset`.
pub(super) fn check(source: &Source, directory_offset: u64, end_offset: u64) -> Result<Bounds, Error> {
    let mut end = [0; END_LEN as usize];
    source.read_exact(&mut end, end_offset)?;
    match (end_offset + END_LEN + u64::from(half(&end, 20))).cmp(&source.len()) {
        Ordering::Less => {
            let len = source.len() - end_offset - END_LEN - u64::from(half(&end, 20));
            return Err(Error::TrailingBytes { len });
        }
        Ordering::Greater => return Err(Error::damaged("its comment is cut short")),
        Ordering::Equal => {}
    }
    let zip64 = zip64_end(source, end_offset)?;
    let Bounds { end_offset: head, directory_len: len, directory_offset: offset } = zip64.unwrap_or(Bounds {
        end_offset,
        directory_len: u64::from(word(&end, 12)),
        directory_offset: u64::from(word(&end, 16)),
    });
    let agrees = |value: u32, wide: u64| u64::from(value) == wide || (value == u32::MAX && zip64.is_some());
    if !agrees(word(&end, 12), len) || !agrees(word(&end, 16), offset) {
        return Err(Error::damaged("its two end records disagree"));
    }
    let is_of_first_disk = |disk: u16| disk == 0 || (disk == u16::MAX && zip64.is_some());
    if !is_of_first_disk(half(&end, 4)) || !is_of_first_disk(half(&end, 6)) || half(&end, 8) != half(&end, 10)
    {
        return Err(Error::damaged("it is one part of several"));
    }
    if offset != directory_offset || offset.checked_add(len) != Some(head) {
        return Err(Error::damaged("its directory is not right before its end record"));
    }
    Ok(Bounds { directory_offset, directory_len: len, end_offset })
}

/// The first record of a directory's bytes, and the bytes behind it.
pub(crate) fn split_record(directory: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let variable_len =
        |fixed: &[u8]| [28, 30, 32].map(|at| usize::from(half(fixed, at))).iter().sum::<usize>();
    let len = directory.get(..CENTRAL_LEN).map(|fixed| CENTRAL_LEN + variable_len(fixed));
    len.and_then(|len| directory.split_at_checked(len)).ok_or(Error::damaged("its directory is malformed"))
}

/// Checks what rawzip passes over in a record, of which it knows the extra fields.
pub(super) fn check_record(record: &[u8], mut extra: ExtraFields<'_>) -> Result<(), Error> {
    if record[6] > MOST_VERSION || half(record, 8) & FLAG_PATCH != 0 {
        return Err(Error::damaged("an entry needs a program that does not exist yet"));
    }
    if half(record, 34) != 0 {
        return Err(Error::damaged("an entry lies in another part of several"));
    }
    extra.by_ref().for_each(drop);
    // Up to three bytes of padding may follow.
    if extra.remaining_bytes().len() > 3 {
        return Err(Error::damaged("an entry has a malformed extra field"));
    }
    Ok(())
}

/// What the zip64 end record says that the locator right before the end record names, if there is one.
fn zip64_end(source: &Source, end_offset: u64) -> Result<Option<Bounds>, Error> {
    let Some(locator_offset) = end_offset.checked_sub(LOCATOR_LEN) else { return Ok(None) };
    let mut locator = [0; LOCATOR_LEN as usize];
    source.read_exact(&mut locator, locator_offset)?;
    if !locator.starts_with(b"PK\x06\x07") {
        return Ok(None);
    }
    let malformed = || Error::damaged("its zip64 end record is malformed");
    let offset = long(&locator, 8);
    if word(&locator, 4) != 0
        || word(&locator, 16) > 1
        || offset > locator_offset.saturating_sub(ZIP64_END_LEN)
    {
        return Err(malformed());
    }
    let mut record = [0; ZIP64_END_LEN as usize];
    source.read_exact(&mut record, offset)?;
    let ends_at = long(&record, 4).checked_add(offset + 12);
    let is_whole = word(&record, 16) == 0 && word(&record, 20) == 0 && long(&record, 24) == long(&record, 32);
    if !record.starts_with(b"PK\x06\x06") || ends_at != Some(locator_offset) || !is_whole {
        return Err(malformed());
    }
    Ok(Some(Bounds {
        end_offset: offset,
        directory_len: long(&record, 40),
        directory_offset: long(&record, 48),
    }))
}

/// The two bytes at `at` as a number.
fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The four bytes at `at` as a number.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from(half(bytes, at)) | u32::from(half(bytes, at + 2)) << 16
}

/// The eight bytes at `at` as a number.
fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

/// Encrypted, strongly encrypted, and with masked fields.
const FLAGS_ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// CRC-32 and lengths follow the content.
const FLAG_DESCRIPTOR: u16 = 1 << 3;

/// Checks an entry's local header against the directory: programs that read an archive as a stream know nothing else of an
/// entry, and must see the same as those that read the directory. Returns where its stored bytes begin. `buffer` is reused.
pub(super) fn check_local(source: &Source, entry: &Entry, buffer: &mut Vec<u8>) -> Result<u64, Error> {
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
    if method != entry.method.number() {
        return Err(entry_damaged(entry, "its local header names another compression than its directory"));
    }
    let lengths = if stored_len == u32::MAX || len == u32::MAX {
        buffer.resize(usize::from(extra_len), 0);
        source.read_exact(buffer, extra_offset)?;
        wide_lengths(buffer, stored_len, len)
    } else {
        Some((u64::from(stored_len), u64::from(len)))
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

/// The lengths (stored, content) that the zip64 extra field holds where they do not fit into the header.
fn wide_lengths(extra: &[u8], stored_len: u32, len: u32) -> Option<(u64, u64)> {
    let (_, mut content) = ExtraFields::new(extra).find(|(id, _)| *id == ExtraFieldId::ZIP64)?;
    let mut wide = |narrow: u32| {
        if narrow != u32::MAX {
            return Some(u64::from(narrow));
        }
        let (first, rest) = content.split_at_checked(8)?;
        content = rest;
        Some(long(first, 0))
    };
    let len = wide(len)?;
    Some((wide(stored_len)?, len))
}
