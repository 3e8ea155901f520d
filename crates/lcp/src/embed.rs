//! Putting a license into a publication: nothing of the publication moves or changes.
//!
//! ```text
//! before:  entries | directory | end                            ← the protected publication, byte for byte
//! after:   entries | directory | end | license | directory' | end'
//!                   └── no longer looked at ──┘
//! ```
//!
//! A zip archive is read from its end, so the second directory is the one that counts; it is the first one plus the
//! license (less an earlier one).
//!
//! Zip readers look for the end record in the last 64 KiB. So a tail that is shorter is appended in place: everything but
//! the last record is forced to stable storage before that record is written, which lies in one sector, and a crash leaves
//! the old archive with bytes behind its end, which others pass over, or the new one. The next run recognises such bytes
//! (they begin with the license's local header right behind an end record) and cuts them off. A longer tail would hide the
//! old end record until the new one is there, so such a book is copied, and the copy takes its name when it is complete.

use crate::Error;
use crate::container::directory;
use crate::container::records::{self, EntryRecord};
use crate::container::{Archive, Method, Source};
use crate::license::License;
use crate::package::Protection;
use cipherloom::{IfExists, internal::Draft};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes of the end record without comment.
const END_LEN: usize = directory::END_LEN as usize;
/// An end record this far from the end of the file is found by every reader: 64 KiB, less a margin.
const NEAR: u64 = 60 << 10;
/// What a disk writes whole or not at all.
const SECTOR: u64 = 512;
/// Bytes that are copied at a time.
const PIECE: u64 = 1 << 20;

/// Puts `license` into the publication at `path`; with [`IfExists::Overwrite`] in place of one that is there.
///
/// # Errors
/// [`Error::NotProtected`]; [`Error::HasLicense`]; [`Error::Busy`] if another program does the same; those of
/// [`Archive::read`]; [`Error::Io`]. The publication is then as it was.
pub fn embed(path: &Path, license: &License, if_exists: IfExists) -> Result<(), Error> {
    let file = open_locked(path)?;
    let (mut archive, torn_at) = read_before_torn(|| Source::of(clone(&file)?))?;
    if let Some(len) = torn_at {
        let cut = file.set_len(len).and_then(|()| file.sync_data());
        cut.map_err(|error| Error::io("cut off a torn license", error))?;
        archive = read(&file)?;
    }
    let protection = Protection::read(&archive)?;
    if protection.resources.is_empty() {
        return Err(Error::NotProtected);
    }
    let name = protection.kind.license_entry();
    if if_exists != IfExists::Overwrite && archive.find(name).is_some() {
        return Err(Error::HasLicense);
    }
    let tail = appended(&archive, name, license.text().as_bytes())?;
    let old_len = archive.source().len();
    if old_len - archive.end_offset() + tail.len() as u64 > NEAR {
        return write_beside(path, &file, &archive, &tail, &|copy| verify(copy, &archive, name, license));
    }
    let written = append(&file, &tail, old_len).and_then(|()| verify(&file, &archive, name, license));
    if written.is_err() {
        file.set_len(old_len)
            .map_err(|error| Error::io("take back what was appended to the publication", error))?;
    }
    written
}

/// Opens the publication for this program alone.
fn open_locked(path: &Path) -> Result<File, Error> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    let file = opened.map_err(|error| Error::io("open the publication for writing", error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Error::Busy),
        Err(TryLockError::Error(error)) => return Err(Error::io("lock the publication", error)),
    }
    // Another program may have put a copy with its license here before the lock was free.
    if is_replaced(path, &file).map_err(|error| Error::io("read the attributes", error))? {
        return Err(Error::Busy);
    }
    Ok(file)
}

#[cfg(unix)]
fn is_replaced(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (named, open) = (fs::metadata(path)?, file.metadata()?);
    Ok((named.dev(), named.ino()) != (open.dev(), open.ino()))
}

/// A file that is open cannot be replaced there.
#[cfg(not(unix))]
fn is_replaced(_path: &Path, _file: &File) -> io::Result<bool> {
    Ok(false)
}

fn read(file: &File) -> Result<Archive, Error> {
    Archive::read(Source::of(clone(file)?)?)
}

fn clone(file: &File) -> Result<File, Error> {
    file.try_clone().map_err(|error| Error::io("open the publication", error))
}

/// What is to be appended.
fn appended(archive: &Archive, name: &str, text: &[u8]) -> Result<Vec<u8>, Error> {
    let (length, old_len) = (text.len() as u64, archive.source().len());
    let entry = EntryRecord {
        method: Method::Stored,
        // The license itself says when it was made.
        modified: records::NO_TIME,
        crc32: crc32fast::hash(text),
        stored_len: length,
        len: length,
        offset: old_len,
    };
    let (before, mut directory, mut count) = (archive.directory()?, Vec::new(), 1);
    let mut rest = before.as_slice();
    for old in archive.entries() {
        let (record, others) = directory::split_record(rest)?;
        if old.name != name {
            directory.extend_from_slice(record);
            count += 1;
        }
        rest = others;
    }
    entry.write_central(name, &mut directory);
    let mut tail = entry.local_header(name);
    tail.extend_from_slice(text);
    let end = |offset: u64| {
        let mut end = Vec::new();
        records::end_of_directory(count, offset, directory.len() as u64, &mut end);
        end
    };
    let offset = old_len + tail.len() as u64;
    // The end record begins here, and is moved to where no crash can cut it.
    let begins_at = (offset + (directory.len() + end(offset).len() - END_LEN) as u64) % SECTOR;
    let moved = if begins_at + END_LEN as u64 > SECTOR { SECTOR - begins_at } else { 0 };
    tail.resize(tail.len() + moved as usize, 0);
    tail.extend_from_slice(&directory);
    tail.extend(end(offset + moved));
    Ok(tail)
}

/// Appends `tail`, which ends in the end record.
fn append(file: &File, tail: &[u8], old_len: u64) -> Result<(), Error> {
    let refused = |error| Error::io("append the license to the publication", error);
    let (tail, end) = tail.split_at(tail.len() - END_LEN);
    let end_offset = old_len + tail.len() as u64;
    write_all_at(file, tail, old_len)
        // The end record's own write does not lengthen the file.
        .and_then(|()| file.set_len(end_offset + END_LEN as u64))
        .and_then(|()| file.sync_data())
        .map_err(refused)?;
    write_all_at(file, end, end_offset).and_then(|()| file.sync_data()).map_err(refused)
}

/// Writes the publication and `tail` to a file of its own, which takes the publication's place when it is complete.
fn write_beside(
    path: &Path,
    file: &File,
    archive: &Archive,
    tail: &[u8],
    verify: &dyn Fn(&File) -> Result<(), Error>,
) -> Result<(), Error> {
    let refused = |error| Error::io("copy the publication", error);
    // What a link leads to is replaced, not the link.
    let path = fs::canonicalize(path).map_err(refused)?;
    let copy = Draft::begin(&path, IfExists::Overwrite)?;
    let source = archive.source();
    let mut piece = vec![0; source.len().min(PIECE) as usize];
    let mut at = 0;
    while at < source.len() {
        let piece = &mut piece[..(source.len() - at).min(PIECE) as usize];
        source.read_exact(piece, at)?;
        copy.write_at(piece, at)?;
        at += piece.len() as u64;
    }
    copy.write_at(tail, at)?;
    source.check_unchanged()?;
    take_attributes(copy.file(), file).map_err(refused)?;
    verify(copy.file())?;
    copy.sync()?;
    copy.publish()?;
    Ok(cipherloom::internal::sync_parents(&path, path.parent().unwrap_or(&path))?)
}

/// Gives the copy the owner, as far as this process may, and the permissions of the publication.
fn take_attributes(copy: &File, publication: &File) -> io::Result<()> {
    let metadata = publication.metadata()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = copy.metadata()?;
        if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
            let _ = fchown(copy, Some(metadata.uid()), Some(metadata.gid()));
        }
    }
    copy.set_permissions(metadata.permissions())
}

/// Reads everything back: the old entries where they were, and the license.
fn verify(file: &File, before: &Archive, name: &str, license: &License) -> Result<(), Error> {
    let after = read(file)?;
    let others = |archive: &Archive| -> Vec<(String, u64, u64, u32)> {
        let entries = archive.entries().iter().filter(|entry| entry.name != name);
        entries
            .map(|entry| (entry.name.clone(), entry.header_offset, entry.compressed_len, entry.crc32))
            .collect()
    };
    let index = after.find(name).ok_or(Error::damaged("the license cannot be found in it"))?;
    let text = after.read_whole(&after.entries()[index], license.text().len() as u64)?;
    if others(before) != others(&after) || text != license.text().as_bytes() {
        return Err(Error::damaged("it reads back differently with its license"));
    }
    Ok(())
}

/// Opens a protected publication to read from, as if a torn append behind its end were not there.
///
/// # Errors
/// Those of [`Archive::read`] and [`Protection::read`]; [`Error::NotProtected`].
pub(crate) fn open(path: &Path) -> Result<(Archive, Protection), Error> {
    let (archive, _) = read_before_torn(|| Source::open(path))?;
    let protection = Protection::read(&archive)?;
    if protection.resources.is_empty() { Err(Error::NotProtected) } else { Ok((archive, protection)) }
}

/// Reads an archive, and where a crash left something of an append behind it, its length without that.
fn read_before_torn(open: impl Fn() -> Result<Source, Error>) -> Result<(Archive, Option<u64>), Error> {
    match Archive::read(open()?) {
        Err(error @ (Error::TrailingBytes { .. } | Error::ZipDamaged { .. } | Error::NotAZip)) => {
            let source = open()?;
            let Some(len) = torn_at(&source)? else { return Err(error) };
            Ok((Archive::read(source.cut_to(len))?, Some(len)))
        }
        read => Ok((read?, None)),
    }
}

/// The length of the archive in front of what a crash left of an append, if there is such a thing.
fn torn_at(source: &Source) -> Result<Option<u64>, Error> {
    let from = source.len().saturating_sub(directory::MOST_LEN);
    let mut bytes = vec![0; (source.len() - from) as usize];
    source.read_exact(&mut bytes, from)?;
    let mut ends = (0..bytes.len().saturating_sub(END_LEN)).rev();
    let whole = ends.find(|&at| is_end_before_torn_tail(&bytes, at, from));
    Ok(whole.map(|at| from + (at + END_LEN) as u64))
}

/// Whether an end record begins at `at` (of bytes that begin at `from` in the file), with its directory right before it
/// and the beginning of a license right behind it.
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

fn write_all_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

#[cfg(test)]
#[path = "embed_tests.rs"]
mod tests;
