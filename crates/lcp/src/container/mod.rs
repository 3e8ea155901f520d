//! Zip archives (APPNOTE.TXT 6.3.10, as EPUB OCF 3.3 narrows it), read with distrust.
//!
//! rawzip reads the central directory; what no publication may do is refused here, before anything is processed:
//! names that lead out or are there twice, entries that overlap, lengths that deflate cannot reach, local headers that
//! contradict the directory. Entries are read by position, so that many can be read at once, and raw, so that a deflate
//! stream can be passed on as it is.

mod content;
pub(crate) mod directory;
mod name;
pub(crate) mod records;
mod source;

pub(crate) use content::Verifier;
pub use source::Source;

use crate::Error;
use directory::Bounds;
use rawzip::{CompressionMethod, ErrorKind, RECOMMENDED_BUFFER_SIZE, ZipFileHeaderRecord, ZipLocator};

/// The most entries that are taken: several times what the largest real books have.
const MOST_ENTRIES: u64 = 50_000;

/// What deflate can reach at most: a run of 258 bytes costs at least two bits.
const MOST_RATIO: u64 = 1032;

/// From this size on an entry is refused whose content shrinks more than real content does, and so is an archive whose
/// entries do together.
const SUSPICIOUS_LEN: u64 = 256 << 20;
const SUSPICIOUS_RATIO: u64 = 100;

/// How an entry is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// As it is (method 0).
    Stored,
    /// As a raw deflate stream (method 8, RFC 1951).
    Deflated,
}

impl Method {
    /// Its number in a zip archive.
    pub(crate) fn number(self) -> u16 {
        match self {
            Method::Stored => 0,
            Method::Deflated => 8,
        }
    }
}

/// An entry of an archive, as the central directory describes it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name: a relative path with `/` between its parts; ends in `/` for a folder.
    pub name: String,
    /// How the content is stored.
    pub method: Method,
    /// CRC-32 of the content (ISO 3309).
    pub crc32: u32,
    /// Bytes that the entry takes in the archive.
    pub compressed_len: u64,
    /// Bytes of the content.
    pub len: u64,
    /// Date (high half) and time of the last change, in the form of MS-DOS.
    pub modified: u32,
    /// Where the local header begins.
    pub(crate) header_offset: u64,
    /// Where the stored bytes begin.
    pub(crate) data_offset: u64,
}

impl Entry {
    /// Whether this is a folder's entry.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.name.ends_with('/')
    }
}

/// An archive whose directory has been read and checked.
#[derive(Debug)]
pub struct Archive {
    source: Source,
    entries: Vec<Entry>,
    /// Indices of the entries in the order of their names.
    by_name: Vec<u32>,
    bounds: Bounds,
}

impl Archive {
    /// Reads and checks an archive's directory.
    ///
    /// # Errors
    /// [`Error::NotAZip`], [`Error::ZipDamaged`], and what is wrong with a single entry: its name, its method, a length
    /// that nothing real has. [`Error::Io`] if the file cannot be read.
    pub fn read(source: Source) -> Result<Archive, Error> {
        let (entries, bounds) = read_directory(&source)?;
        let mut by_name: Vec<u32> = (0..entries.len() as u32).collect();
        by_name.sort_unstable_by(|&a, &b| entries[a as usize].name.cmp(&entries[b as usize].name));
        let same = |pair: &&[u32]| entries[pair[0] as usize].name == entries[pair[1] as usize].name;
        if let Some(pair) = by_name.windows(2).find(same) {
            return Err(Error::DuplicateEntry { entry: entries[pair[0] as usize].name.clone() });
        }
        let mut archive = Archive { source, entries, by_name, bounds };
        archive.find_data()?;
        archive.check_growth(archive.entries.iter().map(|entry| entry.len).fold(0, u64::saturating_add))?;
        Ok(archive)
    }

    /// Fails if content of so many bytes is more than real content grows to from an archive of this length.
    ///
    /// # Errors
    /// [`Error::ArchiveBomb`].
    pub(crate) fn check_growth(&self, len: u64) -> Result<(), Error> {
        let is_bomb = len > SUSPICIOUS_LEN && len / SUSPICIOUS_RATIO > self.source.len();
        if is_bomb { Err(Error::ArchiveBomb { len }) } else { Ok(()) }
    }

    /// The entries in the order of the directory.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The index of the entry with exactly this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        let by = |&index: &u32| self.entries[index as usize].name.as_str().cmp(name);
        self.by_name.binary_search_by(by).ok().map(|place| self.by_name[place] as usize)
    }

    /// The central directory's bytes.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::ZipDamaged`] if the file has become shorter.
    pub(crate) fn directory(&self) -> Result<Vec<u8>, Error> {
        read_records(&self.source, self.bounds)
    }

    /// Where the end record begins, in bytes from the start of the file.
    pub(crate) fn end_offset(&self) -> u64 {
        self.bounds.end_offset
    }

    /// The file.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Looks at every local header: it must be there, say what the directory says, and leave space for the entry's bytes
    /// before the next one. Overlapping entries are how small bombs become large ones.
    fn find_data(&mut self) -> Result<(), Error> {
        let mut header = Vec::with_capacity(records::LOCAL_LEN + 256);
        for entry in &mut self.entries {
            entry.data_offset = directory::check_local(&self.source, entry, &mut header)?;
        }
        let mut in_order: Vec<u32> = (0..self.entries.len() as u32).collect();
        in_order.sort_unstable_by_key(|&index| self.entries[index as usize].header_offset);
        for (place, &index) in in_order.iter().enumerate() {
            let entry = &self.entries[index as usize];
            let next = in_order.get(place + 1);
            let end =
                next.map_or(self.bounds.directory_offset, |&next| self.entries[next as usize].header_offset);
            if entry.data_offset.checked_add(entry.compressed_len).is_none_or(|own| own > end) {
                return Err(entry_damaged(entry, "its bytes overlap what follows them in the archive"));
            }
        }
        Ok(())
    }
}

pub(crate) fn entry_damaged(entry: &Entry, problem: &'static str) -> Error {
    Error::EntryDamaged { entry: entry.name.clone(), problem }
}

fn read_directory(source: &Source) -> Result<(Vec<Entry>, Bounds), Error> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let found = ZipLocator::new().locate_in_reader(source, &mut buffer, source.len());
    let archive = found.map_err(|(_, error)| unreadable(source, error))?;
    let expected = archive.entries_hint();
    if expected > MOST_ENTRIES {
        return Err(Error::TooManyEntries { found: expected, most: MOST_ENTRIES });
    }
    let bounds = directory::check(source, archive.directory_offset(), archive.eocd_offset())?;
    let directory = read_records(source, bounds)?;
    let mut rest = directory.as_slice();
    // A record of the directory may be larger than the buffer that usually does.
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let mut entries = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    let mut records = archive.entries(&mut buffer);
    while let Some(record) = records.next_entry().map_err(|error| unreadable(source, error))? {
        let (bytes, others) = directory::split_record(rest)?;
        directory::check_record(bytes, record.extra_fields())?;
        entries.push(entry(&record)?);
        rest = others;
    }
    if entries.len() as u64 != expected || !rest.is_empty() {
        return Err(Error::damaged("its directory has another number of entries than its end says"));
    }
    Ok((entries, bounds))
}

fn read_records(source: &Source, bounds: Bounds) -> Result<Vec<u8>, Error> {
    if bounds.directory_len > directory::MOST_LEN {
        return Err(Error::TooMuch { what: "bytes of directory", most: directory::MOST_LEN });
    }
    let mut bytes = vec![0; bounds.directory_len as usize];
    source.read_exact(&mut bytes, bounds.directory_offset)?;
    Ok(bytes)
}

/// An entry of the directory, if it is one that a publication may have.
fn entry(record: &ZipFileHeaderRecord<'_>) -> Result<Entry, Error> {
    let name = name::checked(record.file_path().as_bytes())?;
    let (compressed_len, len) = (record.compressed_size_hint(), record.uncompressed_size_hint());
    if record.flags().is_encrypted() || record.flags().has_strong_encryption() || record.flags().is_masked() {
        return Err(Error::ZipPassword { entry: name });
    }
    let method = match record.compression_method() {
        CompressionMethod::STORE => Method::Stored,
        CompressionMethod::DEFLATE => Method::Deflated,
        other => return Err(Error::Method { entry: name, method: other.as_u16() }),
    };
    if method == Method::Stored && compressed_len != len {
        return Err(Error::EntryDamaged { entry: name, problem: "it is stored, yet its two lengths differ" });
    }
    if method == Method::Deflated && len / MOST_RATIO > compressed_len {
        return Err(Error::Bomb {
            entry: name,
            problem: "declares a length that its stored bytes cannot reach",
        });
    }
    if len > SUSPICIOUS_LEN && len / SUSPICIOUS_RATIO > compressed_len {
        return Err(Error::Bomb { entry: name, problem: "declares to grow more than a hundredfold" });
    }
    let modified = record.last_modified_dos();
    let date = (u32::from(modified.year()) - 1980) << 9
        | u32::from(modified.month()) << 5
        | u32::from(modified.day());
    let time = u32::from(modified.hour()) << 11
        | u32::from(modified.minute()) << 5
        | u32::from(modified.second()) >> 1;
    Ok(Entry {
        name,
        method,
        crc32: record.crc32(),
        compressed_len,
        len,
        modified: date << 16 | time,
        header_offset: record.local_header_offset(),
        data_offset: 0,
    })
}

fn unreadable(source: &Source, error: rawzip::Error) -> Error {
    match error.into_kind() {
        ErrorKind::IO(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            Error::io("read the publication", error)
        }
        ErrorKind::MissingEndOfCentralDirectory if source.begins_like_a_zip() => {
            Error::damaged("it begins as one, but its directory (at its end) is missing")
        }
        ErrorKind::MissingEndOfCentralDirectory => Error::NotAZip,
        ErrorKind::Eof | ErrorKind::IO(_) => Error::damaged("it ends before its directory does"),
        ErrorKind::InvalidSignature { .. } => {
            Error::damaged("its directory is not where its end says, or something else stands in it")
        }
        _ => Error::damaged("its directory is malformed"),
    }
}
