//! Opening a whole publication into an unprotected one, for owners and tests (basic profile).
//!
//! Every length is known before anything is decrypted: what is encrypted ends with its filler's length. So all entries
//! have their places in the output from the start, and workers write them at once. A resource that was deflated before
//! it was encrypted goes out as the deflate stream it was, inflated on the way only to learn its CRC-32.

use super::check::embedded_licence;
use super::clear::cleared;
use crate::container::{Archive, Entry, Method, records};
use crate::licence::{Licence, Moment, Roots, UserKey};
use crate::resource::{Opener, check_form};
use crate::{ContentKey, Error, ProtectedResource, Protection, ResourceFault};
use cipherloom::{Draft, IfExists};
use cipherloom_kernels::{Aes, Backend};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

const BLOCK: usize = 16;

/// Bytes that are copied at a time.
const PIECE: usize = 256 << 10;

/// What to decrypt with.
#[derive(Debug)]
pub struct Decrypt {
    /// The reader's key.
    pub user_key: UserKey,
    /// The root certificates of the licence authority; the certificate is not confirmed without them.
    pub roots: Option<Roots>,
    /// A licence to use instead of the one inside.
    pub licence: Option<Licence>,
    /// What to do where the output exists.
    pub if_exists: IfExists,
}

/// What was decrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decrypted {
    /// Protected resources.
    pub resources: usize,
    /// Bytes of their content.
    pub bytes: u64,
}

/// Writes the publication at `source`, unprotected and without its licence, to `output`, with `workers` threads.
///
/// # Errors
/// Everything that is wrong with it; nothing is written then. Without a licence [`Error::NoLicence`]; a licence that is
/// not signed, not confirmed, over, or another reader's opens nothing.
pub fn decrypt(
    source: &Path,
    output: &Path,
    how: &Decrypt,
    workers: NonZeroUsize,
) -> Result<Decrypted, Vec<Error>> {
    decrypt_unless(source, output, how, workers, &|| false)
}

/// As [`decrypt`], but gives up when `is_stopped` says so, which is asked often and by every worker.
///
/// # Errors
/// As [`decrypt`]; [`cipherloom::Error::Stopped`] alone.
pub fn decrypt_unless(
    source: &Path,
    output: &Path,
    how: &Decrypt,
    workers: NonZeroUsize,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Decrypted, Vec<Error>> {
    let stop = || match is_stopped() {
        true => Err(Error::from(cipherloom::Error::Stopped)),
        false => Ok(()),
    };
    // Before the work; whether the name is still free is seen again when it is given.
    if how.if_exists != IfExists::Overwrite && output.symlink_metadata().is_ok() {
        return Err(vec![cipherloom::Error::OutputExists.into()]);
    }
    let book = Book::open(source, output, how).map_err(|error| vec![error])?;
    let next = AtomicUsize::new(0);
    let notes = Mutex::new(Notes::default());
    let note = |part: &Part, result: Result<Written, Error>| {
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(written) => {
                if matches!(part.content, Content::Opened(_)) {
                    notes.decrypted.resources += 1;
                    notes.decrypted.bytes += written.len;
                }
                notes.written.push(written);
            }
            Err(error) => notes.problems.push(error),
        }
    };
    let work = || {
        let mut opener = Opener::default();
        while let Some(part) = book.parts.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !is_stopped())
        {
            note(part, book.write(part, &mut opener, &stop));
        }
    };
    cipherloom::on_watched_workers(workers.get(), &work, &|| _ = is_stopped());
    stop().map_err(|error| vec![error])?;
    let notes = notes.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !notes.problems.is_empty() {
        return Err(notes.problems);
    }
    book.finish(notes.written).map_err(|error| vec![error])?;
    Ok(notes.decrypted)
}

#[derive(Default)]
struct Notes {
    decrypted: Decrypted,
    written: Vec<Written>,
    problems: Vec<Error>,
}

/// An entry of the output, and where it goes.
struct Part {
    entry: usize,
    content: Content,
    /// Where its local header begins.
    offset: u64,
    stored_len: u64,
    /// Bytes of its content, as far as is known before it is opened.
    len: u64,
}

enum Content {
    /// As it is.
    Copied,
    /// Decrypted.
    Opened(ProtectedResource),
    /// The list of protected resources, anew.
    Replaced(Vec<u8>),
}

/// What the directory must know of an entry that has been written.
struct Written {
    entry: usize,
    offset: u64,
    method: u16,
    crc32: u32,
    stored_len: u64,
    len: u64,
}

struct Book {
    archive: Archive,
    key: Aes,
    draft: Draft,
    parts: Vec<Part>,
    /// Where the directory goes.
    end: u64,
}

impl Book {
    fn open(source: &Path, output: &Path, how: &Decrypt) -> Result<Book, Error> {
        let archive = crate::embed::open(source)?;
        let protection = Protection::read(&archive)?;
        if protection.resources.is_empty() {
            return Err(Error::NotProtected);
        }
        let inside = match &how.licence {
            Some(_) => None,
            None => Some(embedded_licence(&archive, protection.kind)?.ok_or(Error::NoLicence)?),
        };
        let licence = how.licence.as_ref().or(inside.as_ref()).ok_or(Error::NoLicence)?;
        let key = unlock(licence, how)?;
        let key = Aes::new(key.bytes(), Backend::best()).map_err(|_| Error::NoLicence)?;
        let (list, replacement) = cleared(&archive, protection.kind)?;
        let mut resources = vec![None; archive.entries().len()];
        for resource in protection.resources {
            let entry = resource.entry;
            resources[entry] = Some(resource);
        }
        // In the order of the file: an EPUB's mimetype stays the first.
        let mut order: Vec<usize> = (0..archive.entries().len()).collect();
        order.sort_unstable_by_key(|&index| archive.entries()[index].header_offset);
        let (mut parts, mut end) = (Vec::with_capacity(order.len()), 0);
        for index in order {
            let entry = &archive.entries()[index];
            let (content, stored_len, len) = if entry.name == protection.kind.licence_entry() {
                continue;
            } else if let Some(resource) = resources[index].take() {
                check_form(entry, &resource)?;
                let stored_len = entry.len - (BLOCK + filler(&archive, entry, &key)?) as u64;
                let len = resource.original_len.filter(|_| resource.is_deflated).unwrap_or(stored_len);
                (Content::Opened(resource), stored_len, len)
            } else if entry.name == list {
                let Some(text) = &replacement else { continue };
                (Content::Replaced(text.clone()), text.len() as u64, text.len() as u64)
            } else {
                (Content::Copied, entry.compressed_len, entry.len)
            };
            let header = records::local_header_len(&entry.name, stored_len, len) as u64;
            parts.push(Part { entry: index, content, offset: end, stored_len, len });
            end += header + stored_len;
        }
        Ok(Book { draft: Draft::begin(output, how.if_exists)?, archive, key, parts, end })
    }

    fn write(
        &self,
        part: &Part,
        opener: &mut Opener,
        stop: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Written, Error> {
        let entry = &self.archive.entries()[part.entry];
        let data = part.offset + records::local_header_len(&entry.name, part.stored_len, part.len) as u64;
        let mut written = Written {
            entry: part.entry,
            offset: part.offset,
            method: method(entry),
            crc32: entry.crc32,
            stored_len: part.stored_len,
            len: part.len,
        };
        match &part.content {
            Content::Copied => self.copy(entry, data, stop)?,
            Content::Replaced(text) => {
                self.draft.write_at(text, data)?;
                (written.method, written.crc32) = (0, crc32fast::hash(text));
            }
            Content::Opened(resource) => {
                let mut at = data;
                let opened = opener.open(&self.archive, resource, &self.key, &mut |bytes| {
                    stop()?;
                    self.draft.write_at(bytes, at)?;
                    at += bytes.len() as u64;
                    Ok(())
                })?;
                written.method = if resource.is_deflated { 8 } else { 0 };
                (written.crc32, written.len) = (opened.crc32, opened.len);
            }
        }
        let mut header = Vec::new();
        records::local_header(&self.record(&written), &mut header);
        self.draft.write_at(&header, part.offset)?;
        Ok(written)
    }

    /// Copies an entry's stored bytes after its content has been verified.
    fn copy(&self, entry: &Entry, mut to: u64, stop: &dyn Fn() -> Result<(), Error>) -> Result<(), Error> {
        self.archive.read_to(entry, &mut |_| stop())?;
        let mut piece = vec![0; PIECE.min(entry.compressed_len as usize)];
        let mut from = 0;
        while from < entry.compressed_len {
            stop()?;
            let len = (entry.compressed_len - from).min(PIECE as u64) as usize;
            self.archive.read_stored(entry, from, &mut piece[..len])?;
            self.draft.write_at(&piece[..len], to)?;
            (from, to) = (from + len as u64, to + len as u64);
        }
        Ok(())
    }

    fn record(&self, written: &Written) -> records::Written<'_> {
        let entry = &self.archive.entries()[written.entry];
        records::Written {
            name: &entry.name,
            method: written.method,
            modified: entry.modified,
            crc32: written.crc32,
            stored_len: written.stored_len,
            len: written.len,
            offset: written.offset,
        }
    }

    fn finish(self, mut written: Vec<Written>) -> Result<(), Error> {
        written.sort_unstable_by_key(|written| written.offset);
        let mut directory = Vec::new();
        for entry in &written {
            records::central_record(&self.record(entry), &mut directory);
        }
        let len = directory.len() as u64;
        records::end_of_directory(written.len() as u64, self.end, len, &mut directory);
        self.draft.write_at(&directory, self.end)?;
        self.archive.source().check_unchanged()?;
        Ok(self.draft.publish()?)
    }
}

fn method(entry: &Entry) -> u16 {
    match entry.method {
        Method::Stored => 0,
        Method::Deflated => 8,
    }
}

/// What a reading system demands of a licence before it opens anything.
fn unlock(licence: &Licence, how: &Decrypt) -> Result<ContentKey, Error> {
    licence.check_completeness()?;
    let certificate = licence.check_signature()?;
    if let Some(roots) = &how.roots {
        roots.confirm(&certificate, licence.document().last_changed())?;
    }
    licence.check_rights(Moment::now())?;
    Ok(how.user_key.content_key(licence.document())?)
}

/// The length of the filler at the end of what is encrypted.
fn filler(archive: &Archive, entry: &Entry, key: &Aes) -> Result<usize, Error> {
    let mut last = [0; 2 * BLOCK];
    if entry.method == Method::Stored {
        archive.read_stored(entry, entry.compressed_len - last.len() as u64, &mut last)?;
    } else {
        archive.read_to(entry, &mut |bytes| {
            let kept = &bytes[bytes.len().saturating_sub(last.len())..];
            last.rotate_left(kept.len());
            let from = last.len() - kept.len();
            last[from..].copy_from_slice(kept);
            Ok(())
        })?;
    }
    let (chain, block) = last.split_at_mut(BLOCK);
    let mut before = [0; BLOCK];
    before.copy_from_slice(chain);
    key.cbc_decrypt(&mut before, block);
    match usize::from(block[BLOCK - 1]) {
        filler @ 1..=BLOCK => Ok(filler),
        _ => Err(Error::Resource { entry: entry.name.clone(), fault: ResourceFault::Filler }),
    }
}
