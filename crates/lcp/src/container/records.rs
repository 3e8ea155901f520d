//! The records of a zip archive that are written: local headers, the central directory, its end (APPNOTE.TXT 6.3.10,
//! sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16). All numbers are little-endian.
//!
//! ```text
//! local header, 30 bytes + name + extra      central record, 46 bytes + name + extra
//!  0  4 PK 03 04                              0  4 PK 01 02
//!  4  2 version needed                        4  2 version made by
//!  6  2 flags                                 6  2 version needed
//!  8  2 method                                8  2 flags, then as in the local header up to
//! 10  4 time, date                           28  2 name's length
//! 14  4 CRC-32                               30  2 extra's length
//! 18  4 stored length                        32  2 comment's length
//! 22  4 length                               34  2 disk, 2 internal, 4 external attributes
//! 26  2 name's length                        42  4 offset of the local header
//! 28  2 extra's length
//! ```
//!
//! A length or offset that does not fit into 32 bits is all ones there, and is written in the zip64 extra field (id 1).

use super::{Entry, Method};
use rawzip::extra_fields::ExtraFieldId;

const VERSION_DEFLATE: u16 = 20;
const VERSION_ZIP64: u16 = 45;

/// The name is UTF-8.
const FLAG_UTF8: u16 = 1 << 11;

/// 1 January 1980, where zip's time begins.
pub(crate) const NO_TIME: u32 = (1 << 5 | 1) << 16;

const ZIP64_EXTRA: u16 = ExtraFieldId::ZIP64.as_u16();

/// Bytes of a local header without name and extra fields.
pub(crate) const LOCAL_LEN: usize = 30;

/// An entry as it is written. Its name is kept elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryRecord {
    pub(crate) method: Method,
    /// Date (high half) and time.
    pub(crate) modified: u32,
    pub(crate) crc32: u32,
    /// Bytes in the archive.
    pub(crate) stored_len: u64,
    /// Bytes of the content.
    pub(crate) len: u64,
    /// Where the local header begins.
    pub(crate) offset: u64,
}

impl EntryRecord {
    /// The record of a copy of `entry` whose local header begins at `offset`.
    pub(crate) fn of_copy(entry: &Entry, offset: u64) -> EntryRecord {
        EntryRecord {
            method: entry.method,
            modified: entry.modified,
            crc32: entry.crc32,
            stored_len: entry.compressed_len,
            len: entry.len,
            offset,
        }
    }

    /// Where the bytes of the entry with this name begin.
    pub(crate) fn data_offset(&self, name: &str) -> u64 {
        self.offset + (LOCAL_LEN + name.len() + if self.is_large() { 20 } else { 0 }) as u64
    }

    /// Where the entry with this name ends.
    pub(crate) fn end(&self, name: &str) -> u64 {
        self.data_offset(name) + self.stored_len
    }

    fn is_large(&self) -> bool {
        self.stored_len >= u64::from(u32::MAX) || self.len >= u64::from(u32::MAX)
    }

    /// The local header.
    pub(crate) fn local_header(&self, name: &str) -> Vec<u8> {
        let mut header = Vec::with_capacity(LOCAL_LEN + name.len() + 20);
        header.extend(b"PK\x03\x04");
        number(&mut header, if self.is_large() { VERSION_ZIP64 } else { VERSION_DEFLATE });
        self.write_shared_fields(name, &mut header);
        number(&mut header, if self.is_large() { 20 } else { 0 });
        header.extend(name.as_bytes());
        if self.is_large() {
            number(&mut header, ZIP64_EXTRA);
            number(&mut header, 16);
            header.extend(self.len.to_le_bytes());
            header.extend(self.stored_len.to_le_bytes());
        }
        header
    }

    /// Appends the record in the central directory.
    pub(crate) fn write_central(&self, name: &str, to: &mut Vec<u8>) {
        let is_large = self.is_large();
        let is_far = self.offset >= u64::from(u32::MAX);
        let extra = 8 * (2 * u16::from(is_large) + u16::from(is_far));
        let version = if extra > 0 { VERSION_ZIP64 } else { VERSION_DEFLATE };
        to.extend(b"PK\x01\x02");
        number(to, version);
        number(to, version);
        self.write_shared_fields(name, to);
        number(to, if extra > 0 { extra + 4 } else { 0 });
        to.extend([0; 10]);
        to.extend(in_32_bits(self.offset));
        to.extend(name.as_bytes());
        if extra > 0 {
            number(to, ZIP64_EXTRA);
            number(to, extra);
        }
        if is_large {
            to.extend(self.len.to_le_bytes());
            to.extend(self.stored_len.to_le_bytes());
        }
        if is_far {
            to.extend(self.offset.to_le_bytes());
        }
    }

    /// Flags, method, time, CRC-32, lengths, and the length of the name.
    fn write_shared_fields(&self, name: &str, to: &mut Vec<u8>) {
        let [stored_len, len] = match self.is_large() {
            true => [u32::MAX; 2],
            false => [self.stored_len as u32, self.len as u32],
        };
        number(to, if name.is_ascii() { 0 } else { FLAG_UTF8 });
        number(to, self.method.number());
        for field in [self.modified, self.crc32, stored_len, len] {
            to.extend(field.to_le_bytes());
        }
        number(to, u16::try_from(name.len()).expect("names are checked to be shorter"));
    }
}

/// The central directory of these entries, and what follows it. It lies at `offset`.
pub(crate) fn directory<'n>(entries: impl Iterator<Item = (&'n str, EntryRecord)>, offset: u64) -> Vec<u8> {
    let (mut directory, mut count) = (Vec::new(), 0);
    for (name, entry) in entries {
        entry.write_central(name, &mut directory);
        count += 1;
    }
    let len = directory.len() as u64;
    end_of_directory(count, offset, len, &mut directory);
    directory
}

/// Appends what follows the central directory, which has `entries` records and lies at `offset`.
pub(crate) fn end_of_directory(entries: u64, offset: u64, len: u64, to: &mut Vec<u8>) {
    let needs_zip64 =
        entries >= u64::from(u16::MAX) || offset >= u64::from(u32::MAX) || len >= u64::from(u32::MAX);
    if needs_zip64 {
        to.extend(b"PK\x06\x06");
        to.extend(44_u64.to_le_bytes());
        number(to, VERSION_ZIP64);
        number(to, VERSION_ZIP64);
        to.extend([0; 8]);
        to.extend(entries.to_le_bytes());
        to.extend(entries.to_le_bytes());
        to.extend(len.to_le_bytes());
        to.extend(offset.to_le_bytes());
        to.extend(b"PK\x06\x07");
        to.extend([0; 4]);
        to.extend((offset + len).to_le_bytes());
        to.extend(1_u32.to_le_bytes());
    }
    let count = u16::try_from(entries).unwrap_or(u16::MAX);
    to.extend(b"PK\x05\x06");
    to.extend([0; 4]);
    number(to, count);
    number(to, count);
    to.extend(in_32_bits(len));
    to.extend(in_32_bits(offset));
    number(to, 0);
}

fn in_32_bits(value: u64) -> [u8; 4] {
    u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes()
}

fn number(to: &mut Vec<u8>, value: u16) {
    to.extend(value.to_le_bytes());
}
