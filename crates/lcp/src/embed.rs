//! Putting a licence into a publication, in place: nothing of the publication is moved or overwritten.
//!
//! ```text
//! before:  entries | directory | end                            ← the protected publication, byte for byte
//! after:   entries | directory | end | licence | directory' | end'
//!                   └── no longer looked at ──┘
//! ```
//!
//! A zip archive is read from its end, so the second directory is the one that counts; it is the first one plus the
//! licence (less an earlier one). Everything but the last record is forced to stable storage before that record is
//! written. A crash therefore leaves either the old archive with a tail that has no end record, or the new one. Such a
//! tail is recognised, and cut off, by the next run: what stands before it is a whole archive, and it begins with the
//! licence's local header. If the first bytes' length and SHA-256 are in the licence, they still are those of the
//! publication as it was protected.

use crate::Error;
use crate::container::{Archive, Source, records};
use crate::licence::Licence;
use crate::package::Protection;
use cipherloom::IfExists;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// The most bytes that a directory takes: 50,000 entries with long names.
const MOST_DIRECTORY: u64 = 64 << 20;
/// Bytes of a central record without its variable parts.
const CENTRAL_LEN: usize = 46;
/// Bytes of the end record without comment.
const END_LEN: usize = 22;
/// 1 January 1980: the licence itself says when it was made.
const MODIFIED: u32 = 0x0021_0000;

/// Puts `licence` into the publication at `path`; with [`IfExists::Overwrite`] in place of one that is there.
///
/// # Errors
/// [`Error::NotProtected`]; [`Error::HasLicence`]; [`Error::Busy`] if another program does the same; those of
/// [`Archive::read`]; [`Error::Io`]. The publication is then as it was.
pub fn embed(path: &Path, licence: &Licence, if_exists: IfExists) -> Result<(), Error> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    let file = opened.map_err(|error| Error::io("open the publication for writing", error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Error::Busy),
        Err(TryLockError::Error(error)) => return Err(Error::io("lock the publication", error)),
    }
    let archive = match read(&file) {
        Err(Error::ZipDamaged { .. } | Error::NotAZip) if cut_torn_tail(&file)? => read(&file)?,
        result => result?,
    };
    let protection = Protection::read(&archive)?;
    if protection.resources.is_empty() {
        return Err(Error::NotProtected);
    }
    let name = protection.kind.licence_entry();
    if if_exists != IfExists::Overwrite && archive.find(name).is_some() {
        return Err(Error::HasLicence);
    }
    let old_len = archive.source().len();
    let (tail, end) = appended(&archive, name, licence.text().as_bytes(), old_len)?;
    let written = append(&file, &tail, &end, old_len).and_then(|()| verify(&file, &archive, name, licence));
    if written.is_err() {
        file.set_len(old_len)
            .map_err(|error| Error::io("take back what was appended to the publication", error))?;
    }
    written
}

fn read(file: &File) -> Result<Archive, Error> {
    let file = file.try_clone().map_err(|error| Error::io("open the publication", error))?;
    Archive::read(Source::of(file)?)
}

/// What is to be appended, and the end record that makes it count.
fn appended(archive: &Archive, name: &str, text: &[u8], old_len: u64) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let length = text.len() as u64;
    let entry = records::Written {
        name,
        method: 0,
        modified: MODIFIED,
        crc32: crc32fast::hash(text),
        stored_len: length,
        len: length,
        offset: old_len,
    };
    let mut tail = Vec::new();
    records::local_header(&entry, &mut tail);
    tail.extend_from_slice(text);
    let directory_offset = old_len + tail.len() as u64;
    let directory = directory(archive)?;
    let mut count = 1;
    for record in Records(&directory).take(archive.entries().len()) {
        let record = record.ok_or(Error::damaged("its directory is malformed"))?;
        if record.name != name.as_bytes() {
            tail.extend_from_slice(record.bytes);
            count += 1;
        }
    }
    records::central_record(&entry, &mut tail);
    let mut end = Vec::new();
    records::end_of_directory(
        count,
        directory_offset,
        old_len + tail.len() as u64 - directory_offset,
        &mut end,
    );
    let last = end.split_off(end.len() - END_LEN);
    tail.append(&mut end);
    Ok((tail, last))
}

/// The archive's directory as it stands, and perhaps what follows it.
fn directory(archive: &Archive) -> Result<Vec<u8>, Error> {
    let (offset, source) = (archive.directory_offset(), archive.source());
    let len = (source.len() - offset).min(MOST_DIRECTORY);
    let mut bytes = vec![0; len as usize];
    source.read_exact(&mut bytes, offset)?;
    let first = Records(&bytes).next().flatten().zip(archive.entries().first());
    if first.is_some_and(|(record, entry)| {
        record.offset != u32::MAX && u64::from(record.offset) != entry.header_offset
    }) {
        return Err(Error::damaged("something stands in front of its first entry"));
    }
    Ok(bytes)
}

/// The central records in a directory's bytes; `None` where none begins or the bytes end in the middle of one.
struct Records<'b>(&'b [u8]);

struct Record<'b> {
    bytes: &'b [u8],
    name: &'b [u8],
    offset: u32,
}

impl<'b> Iterator for Records<'b> {
    type Item = Option<Record<'b>>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.0;
        let record = (|| {
            let fixed =
                bytes.first_chunk::<CENTRAL_LEN>().filter(|fixed| fixed.starts_with(b"PK\x01\x02"))?;
            let number = |at: usize| usize::from(u16::from_le_bytes([fixed[at], fixed[at + 1]]));
            let (name, rest) = (number(28), number(30) + number(32));
            Some(Record {
                bytes: bytes.get(..CENTRAL_LEN + name + rest)?,
                name: bytes.get(CENTRAL_LEN..CENTRAL_LEN + name)?,
                offset: u32::from_le_bytes([fixed[42], fixed[43], fixed[44], fixed[45]]),
            })
        })();
        self.0 = record.as_ref().map_or(&[], |record| &bytes[record.bytes.len()..]);
        Some(record)
    }
}

fn append(file: &File, tail: &[u8], end: &[u8], old_len: u64) -> Result<(), Error> {
    let refused = |error| Error::io("append the licence to the publication", error);
    write_all_at(file, tail, old_len).and_then(|()| file.sync_data()).map_err(refused)?;
    write_all_at(file, end, old_len + tail.len() as u64).and_then(|()| file.sync_data()).map_err(refused)
}

/// Reads everything back: the old entries where they were, and the licence.
fn verify(file: &File, before: &Archive, name: &str, licence: &Licence) -> Result<(), Error> {
    let after = read(file)?;
    let others = |archive: &Archive| -> Vec<(String, u64, u64, u32)> {
        let entries = archive.entries().iter().filter(|entry| entry.name != name);
        entries
            .map(|entry| (entry.name.clone(), entry.header_offset, entry.compressed_len, entry.crc32))
            .collect()
    };
    let index = after.find(name).ok_or(Error::damaged("the licence cannot be found in it"))?;
    let text = after.read_whole(&after.entries()[index], licence.text().len() as u64)?;
    if others(before) != others(&after) || text != licence.text().as_bytes() {
        return Err(Error::damaged("it reads back differently with its licence"));
    }
    Ok(())
}

/// Cuts off what a crash left of an earlier append; false if there is no such thing.
fn cut_torn_tail(file: &File) -> Result<bool, Error> {
    let source = Source::of(file.try_clone().map_err(|error| Error::io("open the publication", error))?)?;
    let from = source.len().saturating_sub(MOST_DIRECTORY);
    let mut bytes = vec![0; (source.len() - from) as usize];
    source.read_exact(&mut bytes, from)?;
    let Some(whole) =
        (0..bytes.len().saturating_sub(END_LEN)).rev().find(|&at| is_end_before_torn_tail(&bytes, at, from))
    else {
        return Ok(false);
    };
    let len = from + (whole + END_LEN) as u64;
    file.set_len(len)
        .and_then(|()| file.sync_data())
        .map_err(|error| Error::io("cut off a torn licence", error))?;
    Ok(true)
}

/// Whether an end record stands at `at` (of bytes that begin at `from` in the file), with its directory right before it
/// and the beginning of a licence right behind it.
fn is_end_before_torn_tail(bytes: &[u8], at: usize, from: u64) -> bool {
    let end = &bytes[at..at + END_LEN];
    if !end.starts_with(b"PK\x05\x06") {
        return false;
    }
    let number = |at: usize| u64::from(u32::from_le_bytes([end[at], end[at + 1], end[at + 2], end[at + 3]]));
    let (len, offset, has_comment) = (number(12), number(16), end[20] != 0 || end[21] != 0);
    // With zip64, what the 64-bit records say is checked when the archive is read.
    let is_in_place =
        offset == u64::from(u32::MAX) || len == u64::from(u32::MAX) || offset + len == from + at as u64;
    let tail = &bytes[at + END_LEN..];
    let header = &tail[..tail.len().min(records::LOCAL_LEN)];
    let begins = b"PK\x03\x04".iter().zip(header).all(|(one, other)| one == other);
    let named = tail.len() <= records::LOCAL_LEN
        || [&b"META-INF/license.lcpl"[..], b"license.lcpl"]
            .iter()
            .any(|name| name.iter().zip(&tail[records::LOCAL_LEN..]).all(|(one, other)| one == other));
    // Blocks that never reached the disk read as zeros.
    let is_blank = tail.iter().all(|&byte| byte == 0);
    is_in_place && !has_comment && (is_blank || (begins && named))
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[count..];
        offset += count as u64;
    }
    Ok(())
}

#[cfg(test)]
#[path = "embed_tests.rs"]
mod tests;
