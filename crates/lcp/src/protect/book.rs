//! A book under way: its parts, their places in the output, and what has become of them. Shared by the workers.

use super::checksum::{Checksum, ReadBack};
use super::committer::Finished;
use super::known::{Known, Named};
use super::{Job, Source, naming};
use crate::Error;
use crate::container::records::{self, Written};
use crate::container::{Entry, Method};
use crate::keys::{FileFacts, KeyRecord};
use crate::package::{self, Coding, Content, Metadata, Package, Part};
use cipherloom::Draft;
use cipherloom_kernels::Aes;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// AES blocks, IVs.
pub(super) const BLOCK: u64 = 16;

/// Where a part stands in the output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Where its local header begins.
    pub(super) offset: u64,
    pub(super) header_len: u64,
    /// Bytes that follow the header.
    pub(super) stored_len: u64,
}

/// What a worker may do for a book.
pub(super) enum Work {
    /// SHA-256 of the source.
    SourceChecksum,
    /// This part, from its first byte to its last.
    Part(usize),
}

pub(super) struct Book {
    pub(super) source: Source,
    pub(super) package: Package,
    pub(super) output: PathBuf,
    pub(super) aes: Aes,
    named: Named,
    draft: RwLock<Option<Draft>>,
    /// Places of the parts whose length is known beforehand.
    places: Vec<Option<Place>>,
    /// Parts in the order in which they are taken, the largest first.
    order: Vec<u32>,
    takes_checksums: bool,
    next: AtomicUsize,
    left: AtomicUsize,
    /// Where the next part begins whose length was not known.
    end: AtomicU64,
    ended: Mutex<Vec<Option<(Place, u32)>>>,
    has_failed: AtomicBool,
    trouble: Mutex<Option<Error>>,
    checksum: Option<Checksum>,
    source_sha256: Mutex<Option<String>>,
}

/// How a publication's survey ended.
pub(super) enum Begun {
    Book(Box<Book>),
    /// Its output is there already.
    Skipped(PathBuf),
}

impl Book {
    /// Looks at a publication, and begins its output.
    pub(super) fn begin(
        job: &Job,
        source: &Source,
        outputs: &naming::Outputs,
        known: &Known,
        read_back: &mut ReadBack<'_>,
    ) -> Result<Begun, (Error, Option<PathBuf>)> {
        let opened = source.open();
        let package =
            opened.and_then(|file| Package::survey(file, &source.path)).map_err(|error| (error, None))?;
        let output = naming::output_path(job, source, &package);
        match naming::has_way(job, source, &output, outputs) {
            Ok(true) => {}
            Ok(false) => return Ok(Begun::Skipped(output)),
            Err(error) => return Err((error, Some(output))),
        }
        known
            .name(job, source, &package, &output, read_back)
            .and_then(|named| Book::place(job, source, package, output.clone(), named, read_back))
            .map(|book| Begun::Book(Box::new(book)))
            .map_err(|error| (error, Some(output)))
    }

    fn place(
        job: &Job,
        source: &Source,
        package: Package,
        output: PathBuf,
        named: Named,
        read_back: &mut ReadBack<'_>,
    ) -> Result<Book, Error> {
        let draft = Draft::begin_below(&job.out, naming::relative(job, &output), job.if_exists)?;
        let checksum = job.checksums.then(Checksum::new);
        let mut offset = 0;
        let mut places = Vec::with_capacity(package.parts.len());
        let mut ended = Vec::with_capacity(package.parts.len());
        for part in &package.parts {
            let (place, made) = match &part.content {
                Content::Made(bytes) => {
                    let written = write_made(&draft, part, bytes, offset, job.level)?;
                    (Some(written.0), Some(written))
                }
                _ => (known_place(&package, part, offset), None),
            };
            if let Some(place) = place {
                offset += place.header_len + place.stored_len;
            }
            if let (Some((place, _)), Some(checksum)) = (made, &checksum) {
                let end = place.offset + place.header_len + place.stored_len;
                checksum.completed(place.offset, end, &draft, read_back)?;
            }
            places.push(place);
            ended.push(made);
        }
        let mut order: Vec<u32> = (0..package.parts.len() as u32)
            .filter(|&index| !matches!(package.parts[index as usize].content, Content::Made(_)))
            .collect();
        order.sort_by_key(|&index| std::cmp::Reverse(source_len(&package, &package.parts[index as usize])));
        named.check_size(offset)?;
        let aes = Aes::new(named.key.bytes(), job.backend)
            .map_err(|_| cipherloom::Error::BackendUnavailable { name: job.backend.name() })?;
        let left = order.len() + usize::from(job.checksums);
        Ok(Book {
            source: source.clone(),
            package,
            output,
            aes,
            named,
            draft: RwLock::new(Some(draft)),
            places,
            order,
            takes_checksums: job.checksums,
            next: AtomicUsize::new(0),
            left: AtomicUsize::new(left),
            end: AtomicU64::new(offset),
            ended: Mutex::new(ended),
            has_failed: AtomicBool::new(false),
            trouble: Mutex::new(None),
            checksum,
            source_sha256: Mutex::new(None),
        })
    }

    /// The next thing to do, if there is one. The source's checksum comes first: it is the longest chain.
    pub(super) fn take(&self) -> Option<Work> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        match (self.takes_checksums, next) {
            (true, 0) => Some(Work::SourceChecksum),
            (takes_checksums, next) => {
                self.order.get(next - usize::from(takes_checksums)).map(|&part| Work::Part(part as usize))
            }
        }
    }

    /// How many things nobody has taken.
    pub(super) fn untaken(&self) -> usize {
        let all = self.order.len() + usize::from(self.takes_checksums);
        all.saturating_sub(self.next.load(Ordering::Relaxed))
    }

    /// The place of a part whose content has so many bytes in the output, before encryption.
    pub(super) fn place_of(&self, part: usize, payload_len: u64) -> Place {
        self.places[part].unwrap_or_else(|| {
            let mut place = place_for(&self.package.parts[part], payload_len, payload_len, 0);
            place.offset = self.end.fetch_add(place.header_len + place.stored_len, Ordering::Relaxed);
            place
        })
    }

    /// What a part's local header and directory record say.
    pub(super) fn written(&self, part: usize, place: Place, crc32: u32) -> Written<'_> {
        let description = &self.package.parts[part];
        let entry = self.package.entry(description);
        let (method, len) = match (&description.content, entry) {
            (Content::Entry(_), Some(entry)) if !description.is_encrypted => {
                (method_number(entry), entry.len)
            }
            (Content::Made(bytes), _) if is_deflated_when_made(description) => (8, bytes.len() as u64),
            _ => (0, place.stored_len),
        };
        Written {
            name: &description.name,
            method,
            modified: entry.map_or(NO_TIME, |entry| entry.modified),
            crc32,
            stored_len: place.stored_len,
            len,
            offset: place.offset,
        }
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.with_draft(|draft| Ok(draft.write_at(bytes, offset)?))
    }

    /// A part is complete; `read_back` is for hashing.
    pub(super) fn part_ended(
        &self,
        part: usize,
        place: Place,
        crc32: u32,
        read_back: &mut ReadBack<'_>,
    ) -> Result<(), Error> {
        lock(&self.ended)[part] = Some((place, crc32));
        match &self.checksum {
            None => Ok(()),
            Some(checksum) => self.with_draft(|draft| {
                let end = place.offset + place.header_len + place.stored_len;
                checksum.completed(place.offset, end, draft, read_back)
            }),
        }
    }

    pub(super) fn source_hashed(&self, sha256: String) {
        *lock(&self.source_sha256) = Some(sha256);
    }

    /// The first trouble is the one to tell.
    pub(super) fn fail(&self, error: Error) {
        self.has_failed.store(true, Ordering::Relaxed);
        lock(&self.trouble).get_or_insert(error);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// One thing that was taken has ended, well or not; true for the last one.
    pub(super) fn end_one(&self) -> bool {
        // Acquire and release: the last one sees what the others wrote.
        self.left.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Completes the output, all parts of which have ended.
    pub(super) fn finish(&self, read_back: &mut ReadBack<'_>) -> Result<Finished, Error> {
        if let Some(trouble) = lock(&self.trouble).take() {
            return Err(trouble);
        }
        self.package.source().check_unchanged()?;
        let ended = lock(&self.ended);
        let directory_offset = self.end.load(Ordering::Relaxed);
        let mut directory = Vec::with_capacity(ended.len() * 96);
        let mut protected = Vec::new();
        for (part, ended) in ended.iter().enumerate() {
            let (place, crc32) = ended.expect("every part has ended well");
            records::central_record(&self.written(part, place, crc32), &mut directory);
            let description = &self.package.parts[part];
            if description.is_encrypted {
                protected.push((description.name.as_str(), crc32, place.stored_len));
            }
        }
        let directory_len = directory.len() as u64;
        records::end_of_directory(ended.len() as u64, directory_offset, directory_len, &mut directory);
        let size = directory_offset + directory.len() as u64;
        self.named.check_size(size)?;
        self.write(&directory, directory_offset)?;
        let sha256 = match &self.checksum {
            None => None,
            Some(checksum) => Some(self.with_draft(|draft| checksum.finish(size, draft, read_back))?),
        };
        let encrypted = protected.len() as u64;
        let record = KeyRecord {
            id: self.named.id.clone(),
            title: self.package.metadata.title.clone(),
            media_type: self.package.kind.media_type().into(),
            content_key: self.named.key.clone(),
            source: FileFacts {
                name: file_name(&self.source.path),
                size: self.package.source().len(),
                sha256: lock(&self.source_sha256).take(),
            },
            protected: FileFacts { name: file_name(&self.output), size, sha256 },
            fingerprint: package::fingerprint(protected.into_iter()),
            alt_id: Some(self.named.alt_id.clone()),
            output: self.named.output.clone(),
            notice: self.named.notice.clone(),
        };
        let draft = self.draft.write().unwrap_or_else(PoisonError::into_inner).take();
        Ok(Finished {
            source: self.source.clone(),
            output: self.output.clone(),
            draft: draft.expect("a book is finished once"),
            record,
            metadata: Metadata::clone(&self.package.metadata),
            encrypted,
            clear: ended.len() as u64 - encrypted,
        })
    }

    fn with_draft<T>(&self, act: impl FnOnce(&Draft) -> Result<T, Error>) -> Result<T, Error> {
        let draft = self.draft.read().unwrap_or_else(PoisonError::into_inner);
        act(draft.as_ref().expect("parts end before their book is finished"))
    }
}

/// 1 January 1980, where zip's time begins.
const NO_TIME: u32 = (1 << 5 | 1) << 16;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Bytes of the source that a part is made of.
fn source_len(package: &Package, part: &Part) -> u64 {
    package.entry(part).map_or_else(|| package.source().len(), |entry| entry.compressed_len)
}

fn method_number(entry: &Entry) -> u16 {
    match entry.method {
        Method::Stored => 0,
        Method::Deflated => 8,
    }
}

/// The place of a part whose length is known, at `offset`.
fn known_place(package: &Package, part: &Part, offset: u64) -> Option<Place> {
    let entry = package.entry(part);
    let (payload_len, len) = match (part.coding, entry) {
        (Coding::Deflated, _) => return None,
        (Coding::Kept, Some(entry)) => (entry.compressed_len, entry.len),
        (Coding::Inflated, Some(entry)) => (entry.len, entry.len),
        (_, None) => (package.source().len(), package.source().len()),
    };
    Some(place_for(part, payload_len, len, offset))
}

fn place_for(part: &Part, payload_len: u64, len: u64, offset: u64) -> Place {
    // IV, and padding of one to sixteen bytes.
    let encrypted = BLOCK + (payload_len / BLOCK + 1) * BLOCK;
    let (stored_len, len) = if part.is_encrypted { (encrypted, encrypted) } else { (payload_len, len) };
    let header_len = records::local_header_len(&part.name, stored_len, len) as u64;
    Place { offset, header_len, stored_len }
}

/// OCF wants `mimetype` stored.
fn is_deflated_when_made(part: &Part) -> bool {
    part.name != "mimetype"
}

/// Writes a part that was made here; returns its place and CRC-32.
fn write_made(
    draft: &Draft,
    part: &Part,
    bytes: &[u8],
    offset: u64,
    level: u32,
) -> Result<(Place, u32), Error> {
    let refused = |error| Error::io("deflate", error);
    let deflated;
    let (method, stored) = if is_deflated_when_made(part) {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(bytes).map_err(refused)?;
        deflated = encoder.finish().map_err(refused)?;
        (8, deflated.as_slice())
    } else {
        (0, bytes)
    };
    let crc32 = crc32fast::hash(bytes);
    let place = place_for(part, stored.len() as u64, bytes.len() as u64, offset);
    let written = Written {
        name: &part.name,
        method,
        modified: NO_TIME,
        crc32,
        stored_len: place.stored_len,
        len: bytes.len() as u64,
        offset,
    };
    let mut whole = Vec::with_capacity(stored.len() + 128);
    records::local_header(&written, &mut whole);
    whole.extend(stored);
    draft.write_at(&whole, offset)?;
    Ok((place, crc32))
}
