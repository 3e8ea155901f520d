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
//! A length or offset that does not fit into 32 bits is all ones there, and stands in the zip64 extra field (id 1).

const VERSION_DEFLATE: u16 = 20;
const VERSION_ZIP64: u16 = 45;

/// The name is UTF-8.
const FLAG_UTF8: u16 = 1 << 11;

const ZIP64_EXTRA: u16 = 1;

/// Bytes of a local header without name and extra fields.
pub(crate) const LOCAL_LEN: usize = 30;

/// An entry as it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written<'n> {
    pub(crate) name: &'n str,
    pub(crate) method: u16,
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

/// Bytes that the local header of an entry takes.
pub(crate) fn local_header_len(name: &str, stored_len: u64, len: u64) -> usize {
    LOCAL_LEN + name.len() + if is_large(stored_len, len) { 20 } else { 0 }
}

fn is_large(stored_len: u64, len: u64) -> bool {
    stored_len >= u64::from(u32::MAX) || len >= u64::from(u32::MAX)
}

/// Appends an entry's local header.
pub(crate) fn local_header(entry: &Written<'_>, to: &mut Vec<u8>) {
    let is_large = is_large(entry.stored_len, entry.len);
    to.extend(b"PK\x03\x04");
    number(to, if is_large { VERSION_ZIP64 } else { VERSION_DEFLATE });
    shared_fields(entry, is_large, to);
    number(to, if is_large { 20 } else { 0 });
    to.extend(entry.name.as_bytes());
    if is_large {
        number(to, ZIP64_EXTRA);
        number(to, 16);
        to.extend(entry.len.to_le_bytes());
        to.extend(entry.stored_len.to_le_bytes());
    }
}

/// Appends an entry's record in the central directory.
pub(crate) fn central_record(entry: &Written<'_>, to: &mut Vec<u8>) {
    let is_large = is_large(entry.stored_len, entry.len);
    let is_far = entry.offset >= u64::from(u32::MAX);
    let extra = 8 * (2 * u16::from(is_large) + u16::from(is_far));
    let version = if extra > 0 { VERSION_ZIP64 } else { VERSION_DEFLATE };
    to.extend(b"PK\x01\x02");
    number(to, version);
    number(to, version);
    shared_fields(entry, is_large, to);
    number(to, if extra > 0 { extra + 4 } else { 0 });
    to.extend([0; 10]);
    to.extend(if is_far { u32::MAX } else { entry.offset as u32 }.to_le_bytes());
    to.extend(entry.name.as_bytes());
    if extra > 0 {
        number(to, ZIP64_EXTRA);
        number(to, extra);
    }
    if is_large {
        to.extend(entry.len.to_le_bytes());
        to.extend(entry.stored_len.to_le_bytes());
    }
    if is_far {
        to.extend(entry.offset.to_le_bytes());
    }
}

/// Flags, method, time, CRC-32, lengths, and the length of the name.
fn shared_fields(entry: &Written<'_>, is_large: bool, to: &mut Vec<u8>) {
    let in_32_bits = |value: u64| if is_large { u32::MAX } else { value as u32 };
    number(to, if entry.name.is_ascii() { 0 } else { FLAG_UTF8 });
    number(to, entry.method);
    to.extend(entry.modified.to_le_bytes());
    to.extend(entry.crc32.to_le_bytes());
    to.extend(in_32_bits(entry.stored_len).to_le_bytes());
    to.extend(in_32_bits(entry.len).to_le_bytes());
    number(to, u16::try_from(entry.name.len()).expect("names are checked to be shorter"));
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
    let in_32_bits = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
    let count = u16::try_from(entries).unwrap_or(u16::MAX);
    to.extend(b"PK\x05\x06");
    to.extend([0; 4]);
    number(to, count);
    number(to, count);
    to.extend(in_32_bits(len));
    to.extend(in_32_bits(offset));
    number(to, 0);
}

fn number(to: &mut Vec<u8>, value: u16) {
    to.extend(value.to_le_bytes());
}
