//! A book in progress, shared by the workers: its parts, their regions in the output, and which of them have ended.

use super::checksum::{Checksum, ReadBack};
use super::committer::Finished;
use super::known::Named;
use super::{Job, Publication, Run, naming};
use crate::Error;
use crate::container::Method;
use crate::container::records::{self, EntryRecord};
use crate::keys::{FileFacts, KeyRecord};
use crate::package::{self, Content, Package, Part};
use cipherloom::internal::Draft;
use cipherloom::internal::engine::lock;
use cipherloom_kernels::Aes;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

/// AES blocks, IVs.
pub(super) const BLOCK: u64 = 16;

/// What a worker may do for a book.
#[derive(Clone, Copy)]
pub(super) enum BookStep {
    /// SHA-256 of the source.
    SourceChecksum,
    /// This part, from its first byte to its last.
    Part(usize),
}

pub(super) struct Book {
    pub(super) source: Publication,
    pub(super) package: Package,
    pub(super) output: PathBuf,
    pub(super) aes: Aes,
    named: Named,
    draft: RwLock<Option<Draft>>,
    /// What is known of the parts before they are encrypted: of those whose length has to be found, nothing.
    records: Vec<Option<EntryRecord>>,
    /// The steps in the order in which they are taken: the source's checksum, which is the longest chain, then the parts,
    /// the largest first.
    steps: Vec<BookStep>,
    next: AtomicUsize,
    left: AtomicUsize,
    /// Where the next part begins whose length was not known.
    end: AtomicU64,
    /// What was written.
    ended: Mutex<Vec<Option<EntryRecord>>>,
    has_failed: AtomicBool,
    trouble: Mutex<Option<Error>>,
    checksum: Option<Checksum>,
    source_sha256: Mutex<Option<String>>,
}

impl Book {
    /// Looks at a publication, and begins its output, whose path is put into `output`. `None` if the output is there.
    pub(super) fn begin(
        run: &Run<'_>,
        source: &Publication,
        output: &mut Option<PathBuf>,
        read_back: &mut ReadBack<'_>,
    ) -> Result<Option<Book>, Error> {
        let package = Package::survey(source.open()?, &source.path)?;
        let output = output.insert(naming::output_path(run.job, source, &package));
        if !run.outputs.claim(source, output)? {
            return Ok(None);
        }
        let named = run.known.name(source, &package, output, read_back)?;
        Book::place(run.job, source, package, output.clone(), named, read_back).map(Some)
    }

    fn place(
        job: &Job,
        source: &Publication,
        package: Package,
        output: PathBuf,
        named: Named,
        read_back: &mut ReadBack<'_>,
    ) -> Result<Book, Error> {
        let draft = Draft::begin_below(&job.out, naming::relative(job, &output), job.if_exists)?;
        let checksum = job.checksums.then(Checksum::new);
        let mut offset = 0;
        let mut records = Vec::with_capacity(package.parts.len());
        let mut ended = Vec::with_capacity(package.parts.len());
        for part in &package.parts {
            let made = match &part.content {
                Content::Made(bytes) => Some(write_made(&draft, part, bytes, offset, job.level)?),
                _ => None,
            };
            let planned = || Some(planned(&package, part, package.payload_len(part)?, offset));
            let record = made.or_else(planned);
            if let Some(record) = record {
                offset = record.end(&part.name);
            }
            if let (Some(record), Some(checksum)) = (made, &checksum) {
                checksum.completed(record.offset, offset, &draft, read_back)?;
            }
            records.push(record);
            ended.push(made);
        }
        let len_of = |index: usize| source_len(&package, &package.parts[index]);
        let is_made = |index: usize| matches!(package.parts[index].content, Content::Made(_));
        let mut order: Vec<usize> = (0..package.parts.len()).filter(|&index| !is_made(index)).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(len_of(index)));
        let first = job.checksums.then_some(BookStep::SourceChecksum);
        let steps: Vec<_> = first.into_iter().chain(order.into_iter().map(BookStep::Part)).collect();
        named.check_size(offset)?;
        let aes = Aes::new(named.key.bytes(), job.backend)
            .map_err(|_| cipherloom::Error::BackendUnavailable { name: job.backend.name() })?;
        Ok(Book {
            source: source.clone(),
            package,
            output,
            aes,
            named,
            draft: RwLock::new(Some(draft)),
            records,
            next: AtomicUsize::new(0),
            left: AtomicUsize::new(steps.len()),
            steps,
            end: AtomicU64::new(offset),
            ended: Mutex::new(ended),
            has_failed: AtomicBool::new(false),
            trouble: Mutex::new(None),
            checksum,
            source_sha256: Mutex::new(None),
        })
    }

    /// The next step, if there is one.
    pub(super) fn take(&self) -> Option<BookStep> {
        self.steps.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }

    /// How many steps nobody has taken.
    pub(super) fn untaken(&self) -> usize {
        self.steps.len().saturating_sub(self.next.load(Ordering::Relaxed))
    }

    /// What is known of a part before it is encrypted. `payload_len`: bytes of its content in the output, without IV and
    /// padding.
    pub(super) fn record_of(&self, part: usize, payload_len: u64) -> EntryRecord {
        self.records[part].unwrap_or_else(|| {
            let description = &self.package.parts[part];
            let mut record = planned(&self.package, description, payload_len, 0);
            record.offset = self.end.fetch_add(record.end(&description.name), Ordering::Relaxed);
            record
        })
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.with_draft(|draft| Ok(draft.write_at(bytes, offset)?))
    }

    /// A part is complete; `read_back` is for hashing.
    pub(super) fn part_ended(
        &self,
        part: usize,
        record: EntryRecord,
        read_back: &mut ReadBack<'_>,
    ) -> Result<(), Error> {
        lock(&self.ended)[part] = Some(record);
        let end = record.end(&self.package.parts[part].name);
        match &self.checksum {
            None => Ok(()),
            Some(checksum) => {
                self.with_draft(|draft| checksum.completed(record.offset, end, draft, read_back))
            }
        }
    }

    pub(super) fn source_hashed(&self, sha256: String) {
        *lock(&self.source_sha256) = Some(sha256);
    }

    /// Fails the book. Only its first error is reported.
    pub(super) fn fail(&self, error: Error) {
        self.has_failed.store(true, Ordering::Relaxed);
        lock(&self.trouble).get_or_insert(error);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// A step that was taken has ended, well or not; true for the last one.
    pub(super) fn end_step(&self) -> bool {
        // Acquire and release: the last one sees what the others wrote.
        self.left.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Completes the output, all parts of which have ended.
    pub(super) fn finish(&self, read_back: &mut ReadBack<'_>) -> Result<Finished, Error> {
        if let Some(trouble) = lock(&self.trouble).take() {
            return Err(trouble);
        }
        self.package.source().check_unchanged()?;
        let ended: Vec<EntryRecord> =
            lock(&self.ended).iter().map(|record| record.expect("every part has ended well")).collect();
        let entries = || self.package.parts.iter().zip(ended.iter().copied());
        let directory_offset = self.end.load(Ordering::Relaxed);
        let directory =
            records::directory(entries().map(|(part, record)| (&*part.name, record)), directory_offset);
        let protected: Vec<_> = entries()
            .filter(|(part, _)| part.is_encrypted)
            .map(|(part, record)| (&*part.name, record.crc32, record.stored_len))
            .collect();
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
            encrypted,
            clear: ended.len() as u64 - encrypted,
        })
    }

    fn with_draft<T>(&self, act: impl FnOnce(&Draft) -> Result<T, Error>) -> Result<T, Error> {
        let draft = self.draft.read().unwrap_or_else(PoisonError::into_inner);
        act(draft.as_ref().expect("parts end before their book is finished"))
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Bytes of the source that a part is made of.
fn source_len(package: &Package, part: &Part) -> u64 {
    package.entry(part).map_or_else(|| package.source().len(), |entry| entry.compressed_len)
}

/// What is known of a part before it is encrypted; its content in the output has `payload_len` bytes.
fn planned(package: &Package, part: &Part, payload_len: u64, offset: u64) -> EntryRecord {
    match package.entry(part) {
        Some(entry) if !part.is_encrypted => EntryRecord::of_copy(entry, offset),
        entry => {
            // IV, and padding of one to sixteen bytes.
            let len = BLOCK + (payload_len / BLOCK + 1) * BLOCK;
            let modified = entry.map_or(records::NO_TIME, |entry| entry.modified);
            EntryRecord { method: Method::Stored, modified, crc32: 0, stored_len: len, len, offset }
        }
    }
}

/// Writes a part that was made here: deflated, but OCF wants `mimetype` stored.
fn write_made(
    draft: &Draft,
    part: &Part,
    bytes: &[u8],
    offset: u64,
    level: u32,
) -> Result<EntryRecord, Error> {
    let refused = |error| Error::io("deflate", error);
    let (method, stored) = if part.name == "mimetype" {
        (Method::Stored, bytes.to_vec())
    } else {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(bytes).map_err(refused)?;
        (Method::Deflated, encoder.finish().map_err(refused)?)
    };
    let (stored_len, len, crc32) = (stored.len() as u64, bytes.len() as u64, crc32fast::hash(bytes));
    let record = EntryRecord { method, modified: records::NO_TIME, crc32, stored_len, len, offset };
    draft.write_at(&[record.local_header(&part.name), stored].concat(), offset)?;
    Ok(record)
}
