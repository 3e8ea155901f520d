//! What stands behind an archive's entries: the directory and its end, held to what other readers demand.
//!
//! ```text
//! entries | central records | (zip64 end record | zip64 locator) | end record | comment | end of the file
//! ```
//!
//! unzip, Python, Java and Go look for the end record within the last 64 KiB, and take the directory for the bytes right
//! before it. An archive where these are elsewhere opens in one program and not in another, so it is refused.

use super::source::Source;
use crate::Error;
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
    let (head, len, offset) = match zip64 {
        Some(zip64) => (zip64.offset, zip64.directory_len, zip64.directory_offset),
        None => (end_offset, u64::from(word(&end, 12)), u64::from(word(&end, 16))),
    };
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

/// Checks what rawzip passes over in `directory`, all bytes between the entries and the end.
pub(super) fn check_records(directory: &[u8]) -> Result<(), Error> {
    for record in Records(directory) {
        let Some(record) = record else {
            return Err(Error::damaged("its directory is malformed"));
        };
        if record.bytes[6] > MOST_VERSION || half(record.bytes, 8) & FLAG_PATCH != 0 {
            return Err(Error::damaged("an entry needs a program that does not exist yet"));
        }
        if half(record.bytes, 34) != 0 {
            return Err(Error::damaged("an entry lies in another part of several"));
        }
        if !is_extra_well_formed(record.extra) {
            return Err(Error::damaged("an entry has a malformed extra field"));
        }
    }
    Ok(())
}

/// Whether each block has the bytes that it declares; up to three bytes of padding may follow.
fn is_extra_well_formed(mut extra: &[u8]) -> bool {
    while extra.len() >= 4 {
        let Some(rest) = extra.get(4 + usize::from(half(extra, 2))..) else { return false };
        extra = rest;
    }
    true
}

#[derive(Clone, Copy)]
struct Zip64End {
    offset: u64,
    directory_len: u64,
    directory_offset: u64,
}

/// The zip64 end record that the locator right before the end record names, if there is one.
fn zip64_end(source: &Source, end_offset: u64) -> Result<Option<Zip64End>, Error> {
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
    Ok(Some(Zip64End { offset, directory_len: long(&record, 40), directory_offset: long(&record, 48) }))
}

/// The central records in a directory's bytes; `None` where none begins or the bytes end in the middle of one.
pub(crate) struct Records<'b>(pub(crate) &'b [u8]);

pub(crate) struct Record<'b> {
    pub(crate) bytes: &'b [u8],
    pub(crate) name: &'b [u8],
    extra: &'b [u8],
}

impl<'b> Iterator for Records<'b> {
    type Item = Option<Record<'b>>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.0;
        if bytes.is_empty() {
            return None;
        }
        let record = (|| {
            let fixed =
                bytes.first_chunk::<CENTRAL_LEN>().filter(|fixed| fixed.starts_with(b"PK\x01\x02"))?;
            let length = |at: usize| usize::from(half(fixed, at));
            let (name, extra, comment) = (length(28), length(30), length(32));
            let bytes = bytes.get(..CENTRAL_LEN + name + extra + comment)?;
            let (name, rest) = bytes[CENTRAL_LEN..].split_at(name);
            Some(Record { bytes, name, extra: &rest[..extra] })
        })();
        self.0 = record.as_ref().map_or(&[], |record| &bytes[record.bytes.len()..]);
        Some(record)
    }
}

/// The two bytes at `at` as a number.
pub(super) fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The four bytes at `at` as a number.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from(half(bytes, at)) | u32::from(half(bytes, at + 2)) << 16
}

/// The eight bytes at `at` as a number.
pub(super) fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}
