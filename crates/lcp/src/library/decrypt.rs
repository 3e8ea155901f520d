//! Opening a whole publication into an unprotected one, for owners and tests (basic profile).
//!
//! Every length is known before anything is decrypted: what is encrypted ends with its filler's length. So all entries
//! have their places in the output from the start, and workers write them at once. A resource that was deflated before
//! it was encrypted is written as the deflate stream it was, and inflated only to compute its CRC-32.

use super::check::{embedded_license, stop_if_asked};
use crate::container::records::{self, EntryRecord};
use crate::container::{Archive, Entry, Method};
use crate::encryption_xml;
use crate::license::{License, Moment, Roots, UserKey, is_output};
use crate::package::{self, epub};
use crate::resource::{Opener, ResourceFault, check_form};
use crate::{ContentKey, Error, Kind, ProtectedResource};
use cipherloom::internal::engine::{Workers, lock};
use cipherloom::{IfExists, Observer, internal::Draft};
use cipherloom_kernels::{Aes, Backend};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;

const BLOCK: usize = 16;

/// What to decrypt with.
#[derive(Debug)]
#[non_exhaustive]
pub struct DecryptOptions {
    /// The reader's key.
    pub user_key: UserKey,
    /// The root certificates of the license authority; the certificate is not confirmed without them.
    pub roots: Option<Roots>,
    /// A license to use instead of the one inside.
    pub license: Option<License>,
    /// What to do where the output exists.
    pub if_exists: IfExists,
}

impl DecryptOptions {
    /// Decrypts with this key and the license inside, and replaces nothing.
    #[must_use]
    pub fn new(user_key: UserKey) -> DecryptOptions {
        DecryptOptions { user_key, roots: None, license: None, if_exists: IfExists::Fail }
    }
}

/// What was decrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decrypted {
    /// Protected resources.
    pub resources: usize,
    /// Bytes of their content.
    pub bytes: u64,
}

/// Writes the publication at `source`, unprotected and without its license, to `output`, with up to `threads` threads.
/// Returns `None` if the output exists and [`IfExists::Skip`] was given.
///
/// # Errors
/// Everything that is wrong with it; nothing is written then. Without a license [`Error::NoLicense`]; a license that is
/// not signed, not confirmed, expired, or another reader's opens nothing. [`cipherloom::Error::Stopped`] alone if
/// `observer` stopped the run.
pub fn decrypt(
    source: &Path,
    output: &Path,
    options: &DecryptOptions,
    threads: NonZeroUsize,
    observer: &dyn Observer,
) -> Result<Option<Decrypted>, Vec<Error>> {
    let alone = |error: Error| vec![error];
    let is_skipped = || options.if_exists == IfExists::Skip && is_output(output);
    // Before the work; whether the name is still free is seen again when it is given.
    if options.if_exists != IfExists::Overwrite && output.symlink_metadata().is_ok() {
        let exists = cipherloom::Error::OutputExists;
        return if is_skipped() { Ok(None) } else { Err(vec![exists.into()]) };
    }
    let book = OpenBook::open(source, output, options).map_err(alone)?;
    let workers = Workers::new(threads.get(), observer);
    let notes = Mutex::new(Notes::default());
    let decrypt_part = |index: usize, opener: &mut Opener| {
        let part = &book.parts[index];
        let result = book.write(part, opener, &workers);
        let mut notes = lock(&notes);
        match result {
            Ok(written) => {
                if matches!(part.content, Content::Opened(_)) {
                    notes.decrypted.resources += 1;
                    notes.decrypted.bytes += written.1.len;
                }
                notes.written.push(written);
            }
            Err(error) => notes.problems.push(error),
        }
    };
    workers.run_each(book.parts.len(), Opener::default, decrypt_part).map_err(|error| alone(error.into()))?;
    stop_if_asked(observer).map_err(alone)?;
    let Notes { decrypted, written, problems } = std::mem::take(&mut *lock(&notes));
    if !problems.is_empty() {
        return Err(problems);
    }
    let finished = book.finish(written).and_then(|()| Ok(book.draft.publish()?));
    match finished {
        Err(Error::Library(cipherloom::Error::OutputExists)) if is_skipped() => return Ok(None),
        finished => finished.map_err(alone)?,
    }
    observer.entry_ended();
    Ok(Some(decrypted))
}

#[derive(Default)]
struct Notes<'b> {
    decrypted: Decrypted,
    written: Vec<(&'b str, EntryRecord)>,
    problems: Vec<Error>,
}

/// An entry of the output, and where it goes.
struct Part {
    entry: usize,
    content: Content,
    /// What is known of it before it is opened.
    record: EntryRecord,
}

enum Content {
    /// As it is.
    Copied,
    /// Decrypted.
    Opened(ProtectedResource),
    /// The list of protected resources, anew.
    Replaced(Vec<u8>),
}

struct OpenBook {
    archive: Archive,
    key: Aes,
    draft: Draft,
    parts: Vec<Part>,
    /// Where the directory goes.
    end: u64,
}

impl OpenBook {
    fn open(source: &Path, output: &Path, options: &DecryptOptions) -> Result<OpenBook, Error> {
        let (archive, protection) = crate::embed::open(source)?;
        let kind = protection.kind;
        let key = match &options.license {
            Some(license) => unlock(license, options)?,
            None => unlock(&embedded_license(&archive, kind)?.ok_or(Error::NoLicense)?, options)?,
        };
        let key = Aes::new(key.bytes(), Backend::best()).map_err(|_| Error::NoLicense)?;
        let (list, replacement) = cleared(&archive, kind)?;
        let mut resources = protection.by_entry(&archive);
        // In the order of the file: an EPUB's mimetype stays the first.
        let mut order: Vec<usize> = (0..archive.entries().len()).collect();
        order.sort_unstable_by_key(|&index| archive.entries()[index].header_offset);
        let (mut parts, mut end) = (Vec::with_capacity(order.len()), 0);
        for index in order {
            let entry = &archive.entries()[index];
            let mut record = EntryRecord::of_copy(entry, end);
            let content = if entry.name == kind.license_entry() {
                continue;
            } else if let Some(resource) = resources[index].take() {
                check_form(entry, &resource)?;
                record.stored_len = entry.len - (BLOCK + filler(&archive, entry, &key)?) as u64;
                record.len =
                    resource.original_len.filter(|_| resource.is_deflated).unwrap_or(record.stored_len);
                record.method = if resource.is_deflated { Method::Deflated } else { Method::Stored };
                Content::Opened(resource)
            } else if entry.name == list {
                let Some(text) = &replacement else { continue };
                let (len, crc32) = (text.len() as u64, crc32fast::hash(text));
                record = EntryRecord { method: Method::Stored, stored_len: len, len, crc32, ..record };
                Content::Replaced(text.clone())
            } else {
                Content::Copied
            };
            end = record.end(&entry.name);
            parts.push(Part { entry: index, content, record });
        }
        Ok(OpenBook { draft: Draft::begin(output, options.if_exists)?, archive, key, parts, end })
    }

    /// Writes an entry; returns its name and its record.
    fn write(
        &self,
        part: &Part,
        opener: &mut Opener,
        observer: &dyn Observer,
    ) -> Result<(&str, EntryRecord), Error> {
        let entry = &self.archive.entries()[part.entry];
        let mut record = part.record;
        let mut at = record.data_offset(&entry.name);
        let mut write = |bytes: &[u8]| {
            stop_if_asked(observer)?;
            observer.advanced(bytes.len() as u64);
            self.draft.write_at(bytes, at)?;
            at += bytes.len() as u64;
            Ok(())
        };
        match &part.content {
            Content::Copied => self.archive.copy_to(entry, &mut write)?,
            Content::Replaced(text) => self.draft.write_at(text, at)?,
            Content::Opened(resource) => {
                let opened = opener.open(&self.archive, resource, &self.key, &mut write)?;
                (record.crc32, record.len) = (opened.crc32, opened.len);
            }
        }
        self.draft.write_at(&record.local_header(&entry.name), record.offset)?;
        Ok((&entry.name, record))
    }

    /// Completes the output but for its name.
    fn finish(&self, mut written: Vec<(&str, EntryRecord)>) -> Result<(), Error> {
        written.sort_unstable_by_key(|(_, record)| record.offset);
        self.draft.write_at(&records::directory(written.into_iter(), self.end), self.end)?;
        self.archive.source().check_unchanged()
    }
}

/// The name of the entry that lists the protected resources, and the list without them; `None` if nothing is left of it.
fn cleared(archive: &Archive, kind: Kind) -> Result<(&'static str, Option<Vec<u8>>), Error> {
    match kind {
        Kind::Epub => Ok((encryption_xml::NAME, epub::encryption(archive)?.without_lcp())),
        Kind::Readium(_) => {
            let mut manifest = package::manifest(archive)?;
            package::unmark(&mut manifest);
            Ok((package::MANIFEST, Some(manifest.to_string().into_bytes())))
        }
    }
}

/// What a reading system demands of a license before it opens anything.
fn unlock(license: &License, options: &DecryptOptions) -> Result<ContentKey, Error> {
    license.check_completeness()?;
    let certificate = license.check_signature()?;
    if let Some(roots) = &options.roots {
        roots.confirm(&certificate, license.document().last_changed())?;
    }
    license.check_rights(Moment::now())?;
    Ok(options.user_key.content_key(license.document())?)
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
