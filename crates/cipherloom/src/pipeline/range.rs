//! Reading a byte range of an encrypted file without decrypting the rest.

use super::buffers::no_memory;
use super::input::Input;
use crate::Error;
use crate::format::{Format, Stream};
use crate::tree::attributes;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use zeroize::Zeroizing;

/// An encrypted file, opened for reading any part of its plaintext.
///
/// Opening authenticates the last segment, and with it the length, so a truncated file does not open. Every read
/// authenticates the segments that it touches.
///
/// ```
/// use cipherloom::key::{Keyset, Template};
/// use cipherloom::{Format, Job, Machine, Selection, Tree, Work};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (source, sealed) = (folder.path().join("chapter"), folder.path().join("sealed"));
/// std::fs::write(&source, b"It was a bright cold day in April")?;
/// let machine = Machine::detect(Default::default());
/// let format = Format::tink(Keyset::generate(Template::default())?, machine.backend)?;
/// let tree = Tree::list(&source, &Selection::default())?;
/// let job = Job::new(Work::Encrypt(&format), Some(sealed.clone()));
/// let plan = job.plan(&tree, &machine, None);
/// cipherloom::run(&tree, &plan, &job, &cipherloom::Unobserved)?;
///
/// let part = cipherloom::open_range(&sealed.join("chapter"), &format, b"", 9..15)?;
/// assert_eq!(&part[..], b"bright");
/// # Ok(())
/// # }
/// ```
pub struct SealedFile {
    input: Input,
    stream: Stream,
    len: u64,
}

impl SealedFile {
    /// Opens the file at `path`, encrypted in `format` with this associated data.
    ///
    /// # Errors
    /// If it cannot be read, is not in this format, or no key opens it.
    pub fn open(path: &Path, format: &Format, associated_data: &[u8]) -> Result<SealedFile, Error> {
        let file = File::open(path).map_err(|error| Error::io("open the file", error))?;
        let metadata = file.metadata().map_err(|error| Error::io("read the attributes", error))?;
        let input = Input::new(file, metadata.len(), &attributes(&metadata));
        let whole = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        let head_len = format.head_len().min(whole);
        let mut head = room(head_len + 1)?;
        head.resize(head_len + 1, 0);
        input.read(&mut head, head_len, 0)?;
        let mut scratch = room(head_len)?;
        scratch.resize(head_len, 0);
        let is_whole = head_len as u64 == metadata.len();
        let stream = format.open_stream(associated_data, &head[..head_len], is_whole, &mut scratch)?;
        let mut sealed = SealedFile { input, stream, len: 0 };
        let last = sealed.stream.layout().segments_of_ciphertext(sealed.input.len())? - 1;
        let mut buffer = sealed.segment_buffer()?;
        let plaintext = sealed.segment(last, &mut buffer)?;
        let offset = sealed.stream.layout().ciphertext_segment(last, sealed.input.len())?.plaintext_offset;
        sealed.len = offset + plaintext as u64;
        Ok(sealed)
    }

    /// Length of the plaintext in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the plaintext is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The plaintext bytes in `range`; less if it goes beyond the end.
    ///
    /// # Errors
    /// If the file cannot be read or a segment in the range is not authentic.
    pub fn read(&self, range: Range<u64>) -> Result<Zeroizing<Vec<u8>>, Error> {
        let range = range.start..range.end.min(self.len);
        let mut plaintext = Zeroizing::new(Vec::new());
        if range.start >= range.end {
            return Ok(plaintext);
        }
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        plaintext.try_reserve_exact(len).map_err(no_memory)?;
        let mut buffer = self.segment_buffer()?;
        let layout = self.stream.layout();
        for index in layout.segment_at(range.start)..=layout.segment_at(range.end - 1) {
            let offset = layout.ciphertext_segment(index, self.input.len())?.plaintext_offset;
            let count = self.segment(index, &mut buffer)? as u64;
            let both = range.start.max(offset)..range.end.min(offset + count);
            let within = |position: u64| (position - offset) as usize;
            plaintext.extend_from_slice(&buffer[within(both.start)..within(both.end)]);
        }
        Ok(plaintext)
    }

    /// The plaintext of the segment that holds the byte at `position`, and where it begins; empty at the end. Reading
    /// on from there segment by segment opens each once.
    ///
    /// # Errors
    /// As [`SealedFile::read`].
    pub fn read_segment_at(&self, position: u64) -> Result<(u64, Zeroizing<Vec<u8>>), Error> {
        if position >= self.len {
            return Ok((self.len, Zeroizing::default()));
        }
        let index = self.stream.layout().segment_at(position);
        let offset = self.stream.layout().ciphertext_segment(index, self.input.len())?.plaintext_offset;
        let mut plaintext = self.segment_buffer()?;
        let count = self.segment(index, &mut plaintext)?;
        plaintext.truncate(count);
        Ok((offset, plaintext))
    }

    /// Room for the largest segment from the start: growing would leave plaintext behind that nobody wipes.
    fn segment_buffer(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let len = (16 + u64::from(self.stream.layout().segment)).min(self.input.len());
        room(usize::try_from(len).unwrap_or(usize::MAX).saturating_add(1))
    }

    /// Opens one segment into `buffer`; returns its plaintext's length.
    fn segment(&self, index: u64, buffer: &mut Zeroizing<Vec<u8>>) -> Result<usize, Error> {
        let segment = self.stream.layout().ciphertext_segment(index, self.input.len())?;
        let lead = if self.stream.needs_block_before() && index > 0 { 16 } else { 0 };
        let len = lead + segment.ciphertext_len as usize;
        buffer.resize(len + 1, 0);
        self.input.read(buffer, len, segment.ciphertext_offset - lead as u64)?;
        let before: Option<[u8; 16]> = buffer[..lead].last_chunk().copied();
        let count = self.stream.open_segment(index, segment.last, before.as_ref(), &mut buffer[lead..len])?;
        buffer.copy_within(lead..lead + count, 0);
        Ok(count)
    }
}

/// Room for so many bytes.
fn room(len: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut room = Zeroizing::new(Vec::new());
    room.try_reserve_exact(len).map_err(no_memory)?;
    Ok(room)
}

/// The plaintext bytes in `range` of the encrypted file at `path`: [`SealedFile::open`] and one [`SealedFile::read`].
///
/// # Errors
/// As these two.
pub fn open_range(
    path: &Path,
    format: &Format,
    associated_data: &[u8],
    range: Range<u64>,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    SealedFile::open(path, format, associated_data)?.read(range)
}
