//! What identifies a stream, and what a run notes of it for an index.

use crate::Error;
use crate::files::read_up_to;
use crate::format::Format;
use crate::index::{StreamIdentity, digest};
use crate::tree::Attributes;
use std::fs::File;

/// The first and the last bytes of a stream, which identify it.
#[derive(Debug, Clone, Default)]
pub struct StreamEnds {
    begin: Vec<u8>,
    end: Vec<u8>,
    len: u64,
}

impl StreamEnds {
    /// How many bytes of a stream's beginning are needed: its header, at most.
    pub const BEGIN: usize = 40;

    /// How many bytes of its end are needed.
    pub const END: usize = 16;

    /// The ends of a stream of `len` bytes, which begins and ends so.
    #[must_use]
    pub fn new(begin: &[u8], end: &[u8], len: u64) -> StreamEnds {
        let begin = begin[..begin.len().min(StreamEnds::BEGIN)].to_vec();
        StreamEnds { begin, end: end[end.len().saturating_sub(StreamEnds::END)..].to_vec(), len }
    }

    /// Takes the next bytes of a stream that is seen from its beginning.
    pub fn add(&mut self, bytes: &[u8]) {
        let missing = StreamEnds::BEGIN - self.begin.len();
        self.begin.extend_from_slice(&bytes[..bytes.len().min(missing)]);
        let last = &bytes[bytes.len().saturating_sub(StreamEnds::END)..];
        let kept = self.end.len().min(StreamEnds::END - last.len());
        self.end.drain(..self.end.len() - kept);
        self.end.extend_from_slice(last);
        self.len += bytes.len() as u64;
    }

    /// The ends of a file of `len` bytes.
    pub(in crate::pipeline) fn read(file: &File, len: u64) -> Result<StreamEnds, Error> {
        let (mut begin, mut end) = ([0; StreamEnds::BEGIN], [0; StreamEnds::END]);
        let begin = &mut begin[..len.min(StreamEnds::BEGIN as u64) as usize];
        let end = &mut end[..len.min(StreamEnds::END as u64) as usize];
        read_exactly(file, begin, 0)?;
        read_exactly(file, end, len - end.len() as u64)?;
        Ok(StreamEnds::new(begin, end, len))
    }

    /// What identifies the stream.
    ///
    /// # Errors
    /// [`Error::NotThisFormat`]; [`Error::SourceShrank`] if it is shorter than its header.
    pub fn identity(&self) -> Result<StreamIdentity, Error> {
        let header_len = match self.begin.first() {
            Some(len @ (24 | 40)) => usize::from(*len),
            Some(_) => {
                let problem = "its first byte is neither 24 nor 40";
                return Err(Error::NotThisFormat { format: "tink", problem });
            }
            None => return Err(Error::SourceShrank),
        };
        let header = self.begin.get(..header_len).ok_or(Error::SourceShrank)?;
        let tail_len = self.len.saturating_sub(header_len as u64).min(StreamEnds::END as u64) as usize;
        let tail = self.end.len().checked_sub(tail_len).ok_or(Error::SourceShrank)?;
        let mut identity = StreamIdentity::default();
        identity.copy_from_slice(&digest(&[header, &self.end[tail..]].concat())[..16]);
        Ok(identity)
    }
}

/// A stream that was made or found.
#[derive(Debug)]
pub struct Seen {
    pub(super) identity: StreamIdentity,
    pub(super) key_id: u32,
    /// Of a file that this run did not make of its source: what is known of it.
    pub(super) found: Option<Box<Found>>,
}

/// A file of the encrypted tree.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) plaintext_len: u64,
    pub(super) len: u64,
    pub(super) attributes: Attributes,
}

impl Seen {
    /// A stream that this run has made; `None` where the format has no keyset.
    ///
    /// # Errors
    /// As [`StreamEnds::identity`].
    pub fn made(ends: &StreamEnds, format: &Format) -> Result<Option<Seen>, Error> {
        let Some(key_id) = format.key_id() else { return Ok(None) };
        Ok(Some(Seen { identity: ends.identity()?, key_id, found: None }))
    }

    /// A stream that was found, if one of the format's keys opens its first segment. `begin`: its first
    /// [`Format::largest_segment`] bytes, or all of it. With it comes how many bytes of plaintext it has.
    ///
    /// # Errors
    /// [`Error::WrongKey`] or [`Error::FirstSegment`] if no key opens it; [`Error::NotThisFormat`].
    pub fn open(
        format: &Format,
        associated_data: &[u8],
        begin: &[u8],
        ends: &StreamEnds,
        attributes: Attributes,
    ) -> Result<(Seen, u64), Error> {
        let len = ends.len;
        let (key_id, layout) = format.opening_key(associated_data, begin, begin.len() as u64 == len)?;
        let plaintext_len = layout.plaintext_len(len)?;
        let found = Some(Box::new(Found { plaintext_len, len, attributes }));
        Ok((Seen { identity: ends.identity()?, key_id, found }, plaintext_len))
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
        (plaintext_len, attributes): (u64, Attributes),
    ) -> Result<Option<Seen>, Error> {
        let own = format.of_successor(mark, begin)?.filter(|own| own.key_id() == format.key_id());
        // Another key may open what somebody else put behind the header.
        let opened = own.map(|own| Seen::open(&own, associated_data, begin, ends, attributes));
        match opened {
            Some(Ok((seen, len))) if len == plaintext_len => Ok(Some(Seen { found: None, ..seen })),
            _ => Ok(None),
        }
    }
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
            }
        }
        assert!(matches!(StreamEnds::new(&[24; 20], &[24; 16], 20).identity(), Err(Error::SourceShrank)));
        assert!(matches!(StreamEnds::default().identity(), Err(Error::SourceShrank)));
        assert!(matches!(
            StreamEnds::new(&[7; 40], &[7; 16], 50).identity(),
            Err(Error::NotThisFormat { .. })
        ));
    }
}
