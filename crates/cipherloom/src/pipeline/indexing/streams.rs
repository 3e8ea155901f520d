//! What identifies a stream, and what a run notes of it for an index.

use crate::Error;
use crate::files::{Input, open_file_below, read_listed, read_up_to};
use crate::format::Format;
use crate::index::{ObjectVersion, StreamIdentity, digest};
use crate::tree::{Attributes, attributes};
use std::fs::File;
use std::path::Path;

/// The first and the last bytes of a stream, which identify it.
#[derive(Debug, Clone, Default)]
pub struct StreamEnds {
    begin: Bytes<{ StreamEnds::BEGIN }>,
    end: Bytes<{ StreamEnds::END }>,
    len: u64,
}

/// A few bytes, in place.
#[derive(Debug, Clone)]
struct Bytes<const LEN: usize> {
    bytes: [u8; LEN],
    len: usize,
}

impl<const LEN: usize> Bytes<LEN> {
    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn append(&mut self, more: &[u8]) {
        self.bytes[self.len..self.len + more.len()].copy_from_slice(more);
        self.len += more.len();
    }

    fn keep_last(&mut self, kept: usize) {
        self.bytes.copy_within(self.len - kept..self.len, 0);
        self.len = kept;
    }
}

impl<const LEN: usize> Default for Bytes<LEN> {
    fn default() -> Bytes<LEN> {
        Bytes { bytes: [0; LEN], len: 0 }
    }
}

/// A file that is no longer is read at once.
const SHORT: usize = 4096;

impl StreamEnds {
    /// How many bytes of a stream's beginning are needed: its header, at most.
    pub const BEGIN: usize = 40;

    /// How many bytes of its end are needed.
    pub const END: usize = 16;

    /// The ends of a stream of `len` bytes, which begins and ends so.
    #[must_use]
    pub fn new(begin: &[u8], end: &[u8], len: u64) -> StreamEnds {
        let mut ends = StreamEnds { len, ..StreamEnds::default() };
        ends.begin.append(&begin[..begin.len().min(StreamEnds::BEGIN)]);
        ends.end.append(&end[end.len().saturating_sub(StreamEnds::END)..]);
        ends
    }

    /// Takes the next bytes of a stream that is seen from its beginning.
    pub fn add(&mut self, bytes: &[u8]) {
        let missing = StreamEnds::BEGIN - self.begin.len;
        self.begin.append(&bytes[..bytes.len().min(missing)]);
        let last = &bytes[bytes.len().saturating_sub(StreamEnds::END)..];
        self.end.keep_last(self.end.len.min(StreamEnds::END - last.len()));
        self.end.append(last);
        self.len += bytes.len() as u64;
    }

    /// Takes bytes of a stream that are at `offset`. They may come in any order; those at either end include all of that end.
    pub(in crate::pipeline) fn add_at(&mut self, bytes: &[u8], offset: u64) {
        let len = offset + bytes.len() as u64;
        let written = StreamEnds::new(bytes, bytes, len);
        if offset == 0 {
            self.begin = written.begin;
        }
        if len >= self.len {
            (self.end, self.len) = (written.end, len);
        }
    }

    /// How many bytes the stream has.
    pub(in crate::pipeline) fn len(&self) -> u64 {
        self.len
    }

    /// The ends of a file that must have `len` bytes. A file of another length fails.
    pub(in crate::pipeline) fn read(file: &File, len: u64) -> Result<StreamEnds, Error> {
        // One byte more than there should be is asked for, which shows growth.
        let mut buffer = [0; SHORT + 1];
        if len <= SHORT as u64 {
            read_listed(file, len, &mut buffer, len as usize, 0)?;
            let whole = &buffer[..len as usize];
            return Ok(StreamEnds::new(whole, whole, len));
        }
        let (begin, end) = buffer.split_at_mut(StreamEnds::BEGIN);
        read_exactly(file, begin, 0)?;
        read_listed(file, len, end, StreamEnds::END, len - StreamEnds::END as u64)?;
        Ok(StreamEnds::new(begin, &end[..StreamEnds::END], len))
    }

    /// What identifies the stream.
    ///
    /// # Errors
    /// [`Error::NotThisFormat`]; [`Error::SourceShrank`] if it is shorter than its header.
    pub fn identity(&self) -> Result<StreamIdentity, Error> {
        let header_len = match self.begin.as_slice().first() {
            Some(len @ (24 | 40)) => usize::from(*len),
            Some(_) => {
                let problem = "its first byte is neither 24 nor 40";
                return Err(Error::NotThisFormat { format: "tink", problem });
            }
            None => return Err(Error::SourceShrank),
        };
        let header = self.begin.as_slice().get(..header_len).ok_or(Error::SourceShrank)?;
        let tail_len = self.len.saturating_sub(header_len as u64).min(StreamEnds::END as u64) as usize;
        let end = self.end.as_slice();
        let tail = end.len().checked_sub(tail_len).ok_or(Error::SourceShrank)?;
        let mut both = Bytes::<{ StreamEnds::BEGIN + StreamEnds::END }>::default();
        both.append(header);
        both.append(&end[tail..]);
        let mut identity = StreamIdentity::default();
        identity.copy_from_slice(&digest(both.as_slice())[..16]);
        Ok(identity)
    }
}

/// A stream that was made or found.
#[derive(Debug)]
pub struct Seen {
    pub(super) identity: StreamIdentity,
    pub(super) key_id: u32,
    pub(super) origin: Origin,
    /// The object that has it.
    pub(super) version: Option<ObjectVersion>,
}

/// Where a stream comes from.
#[derive(Debug)]
pub(super) enum Origin {
    /// This run has made it of its source.
    Made,
    /// It is a file of the tree that was listed.
    Listed { plaintext_len: u64 },
    /// It is another file of the encrypted tree.
    Found(Box<Found>),
}

/// A file of the encrypted tree.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) plaintext_len: u64,
    pub(super) len: u64,
    pub(super) attributes: Attributes,
}

impl Seen {
    /// Whether this run found it and did not make it of its source.
    pub(super) fn is_found(&self) -> bool {
        !matches!(self.origin, Origin::Made)
    }

    /// A stream that this run has made; `None` where the format has no keyset.
    ///
    /// # Errors
    /// As [`StreamEnds::identity`].
    pub fn made(ends: &StreamEnds, format: &Format) -> Result<Option<Seen>, Error> {
        let Some(key_id) = format.key_id() else { return Ok(None) };
        Ok(Some(Seen { identity: ends.identity()?, key_id, origin: Origin::Made, version: None }))
    }

    /// A stream that was found, if one of the format's keys opens its first segment. `begin`: its first
    /// [`Format::largest_segment`] bytes, or all of it. `attributes`: those of a file that was not listed. With it comes how many
    /// bytes of plaintext it has.
    ///
    /// # Errors
    /// [`Error::WrongKey`] or [`Error::FirstSegment`] if no key opens it; [`Error::NotThisFormat`].
    pub fn open(
        format: &Format,
        associated_data: &[u8],
        begin: &[u8],
        ends: &StreamEnds,
        attributes: Option<Attributes>,
    ) -> Result<(Seen, u64), Error> {
        let len = ends.len;
        let (key_id, layout) = format.opening_key(associated_data, begin, begin.len() as u64 == len)?;
        let plaintext_len = layout.plaintext_len(len)?;
        let origin = match attributes {
            None => Origin::Listed { plaintext_len },
            Some(attributes) => Origin::Found(Box::new(Found { plaintext_len, len, attributes })),
        };
        Ok((Seen { identity: ends.identity()?, key_id, origin, version: None }, plaintext_len))
    }

    /// A stream that an earlier run has made in the place of another one, all of which this key opens. `attributes`: those of an
    /// output in another place.
    ///
    /// # Errors
    /// As [`StreamEnds::identity`].
    pub fn rekeyed(
        ends: &StreamEnds,
        format: &Format,
        plaintext_len: u64,
        attributes: Option<Attributes>,
    ) -> Result<Option<Seen>, Error> {
        let made = Seen::made(ends, format)?;
        Ok(made.map(|seen| match attributes {
            None => seen,
            Some(attributes) => {
                let found = Found { plaintext_len, len: ends.len, attributes };
                Seen { origin: Origin::Found(Box::new(found)), ..seen }
            }
        }))
    }

    /// The same stream, and the ETag of the object that has it; `None` if that is not known for sure.
    #[must_use]
    pub fn in_version(self, e_tag: Option<&str>) -> Seen {
        Seen { version: e_tag.map(ObjectVersion::of), ..self }
    }

    /// A stream that an earlier run has made with this mark under the key that seals, if its first segment opens; of
    /// `plaintext_len` bytes. `begin` as for [`Seen::open`].
    ///
    /// # Errors
    /// If the cryptographic library fails.
    pub fn marked(
        format: &Format,
        mark: &[u8; 32],
        associated_data: &[u8],
        begin: &[u8],
        ends: &StreamEnds,
        plaintext_len: u64,
    ) -> Result<Option<Seen>, Error> {
        let own = format.of_successor(mark, begin)?.filter(|own| own.key_id() == format.key_id());
        // Another key may open what somebody else put behind the header.
        let opened = own.map(|own| Seen::open(&own, associated_data, begin, ends, None));
        match opened {
            Some(Ok((seen, len))) if len == plaintext_len => Ok(Some(Seen { origin: Origin::Made, ..seen })),
            _ => Ok(None),
        }
    }
}

/// Opens a file of the encrypted tree that is to be an output of this run.
pub(super) fn open_output(root: &Path, path: &Path) -> Result<(Input, Attributes), Error> {
    let file = open_file_below(root, path).map_err(|error| match error {
        Error::SourceChanged => Error::LinkInDestination,
        error => error,
    })?;
    let metadata = file.metadata().map_err(|error| Error::io("read the attributes", error))?;
    if !metadata.is_file() {
        return Err(Error::OutputExists);
    }
    let attributes = attributes(&metadata);
    Ok((Input::new(file, metadata.len(), &attributes), attributes))
}

pub(super) fn read_exactly(file: &File, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
    match read_up_to(file, buffer, offset) {
        Ok(count) if count == buffer.len() => Ok(()),
        Ok(_) => Err(Error::SourceShrank),
        Err(error) => Err(Error::io("read the file", error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However a stream comes in, its ends are the same, also where they overlap.
    #[test]
    fn ends_do_not_depend_on_how_a_stream_is_cut() {
        for header in [24, 40] {
            for len in [header, header + 1, header + 15, header + 16, header + 17, 200] {
                let stream: Vec<u8> = std::iter::once(header as u8).chain(1..len as u8).collect();
                let expected = digest(&[&stream[..header], &stream[header.max(len - 16)..]].concat());
                let whole = StreamEnds::new(
                    &stream[..len.min(StreamEnds::BEGIN)],
                    &stream[len - StreamEnds::END..],
                    len as u64,
                );
                assert_eq!(whole.identity().unwrap(), expected[..16]);
                for cut in [1, 7, 16, 39, 41, 1000] {
                    let mut ends = StreamEnds::default();
                    stream.chunks(cut).for_each(|piece| ends.add(piece));
                    assert_eq!(ends.identity().unwrap(), expected[..16], "{header} {len} {cut}");
                }
                // Parts are whole segments with their tags, and any thread may be the first to write.
                for cut in [40, 100, 1000].map(|cut: usize| if len < cut + 16 { len } else { cut }) {
                    let (first, last) = stream.split_at(cut);
                    for parts in [[(first, 0), (last, cut)], [(last, cut), (first, 0)]] {
                        let mut ends = StreamEnds::default();
                        let parts = parts.iter().filter(|(part, _)| !part.is_empty());
                        parts.for_each(|(part, offset)| ends.add_at(part, *offset as u64));
                        assert_eq!(ends.identity().unwrap(), expected[..16], "{header} {len} {cut}");
                        assert_eq!(ends.len(), len as u64);
                    }
                }
            }
        }
        assert!(matches!(StreamEnds::new(&[24; 20], &[24; 16], 20).identity(), Err(Error::SourceShrank)));
        assert!(matches!(StreamEnds::default().identity(), Err(Error::SourceShrank)));
        assert!(matches!(
            StreamEnds::new(&[7; 40], &[7; 16], 50).identity(),
            Err(Error::NotThisFormat { .. })
        ));
    }

    #[test]
    fn a_file_of_another_length_than_it_should_have_fails() {
        for len in [100, SHORT, SHORT + 1, 3 * SHORT] {
            let folder = tempfile::tempdir().unwrap();
            let stream: Vec<u8> = (0..len).map(|number| (number as u8).wrapping_add(24)).collect();
            let path = folder.path().join("file");
            std::fs::write(&path, &stream).unwrap();
            let read = |len: usize| StreamEnds::read(&File::open(&path).unwrap(), len as u64);
            let expected = StreamEnds::new(&stream, &stream, len as u64);
            assert_eq!(read(len).unwrap().identity().unwrap(), expected.identity().unwrap());
            assert!(matches!(read(len - 1), Err(Error::SourceChanged)), "{len}");
            assert!(matches!(read(len + 1), Err(Error::SourceShrank)), "{len}");
        }
    }
}
