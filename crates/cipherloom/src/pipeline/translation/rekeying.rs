//! Re-keying: from one format's segments to another's. The plaintext stays in memory.
//!
//! ```text
//! source     | segment 0 | segment 1 | segment 2 | segment 3 | …
//! window     |<------- read at once ---->|<--- then these --->|
//! output     | segment 0   | segment 1   | segment 2   | …            each sealed when all of its plaintext is there
//! ```
//!
//! Two layouts rarely have their borders in the same places: headers differ, and sizes may. So the source is walked by
//! itself: read in windows of whole segments, each of which is opened when the output's plaintext has come to it, and
//! stays until all of it is used, whichever run that is. Within a range of the output's segments each byte of the source is
//! read and opened once; only where two ranges meet, both open the segment that has a part in each.

use super::{Ends, Moved, Translation};
use crate::Error;
use crate::format::{Layout, Stream};
use crate::pipeline::buffers::{Buffer, Buffers};
use crate::pipeline::span::{Span, offset_in};
use crate::plan::Operation;
use std::ops::Range;

/// The source's segments that stand in `buffers.second`.
#[derive(Default)]
pub(super) struct Window {
    /// Where it begins in the source, and its length.
    offset: u64,
    len: usize,
    /// The end of the segments that were read.
    read: u64,
    /// The end of those that were opened: of each the plaintext stands where the ciphertext stood.
    opened: u64,
    /// The end of the segments that the output's range is made of.
    end: u64,
}

impl Translation {
    /// The window in front of all that the output's segments in `range` are made of. Of no use but for re-keying.
    pub(super) fn window(&self, range: &Range<u64>) -> Result<Window, Error> {
        if self.operation != Operation::Rekey || range.is_empty() {
            return Ok(Window::default());
        }
        let covering = self.covering(range)?;
        let start = covering.start;
        Ok(Window { read: start, opened: start, end: covering.end, ..Window::default() })
    }

    /// Seals a run of the output's segments from what the window shows, which is moved on as far as it takes.
    pub(super) fn rekey_run(
        &self,
        ends: &impl Ends,
        run: Range<u64>,
        buffers: &mut Buffers,
        window: &mut Window,
    ) -> Result<Moved, Error> {
        let (span, place) = self.sealing_place(&run);
        let len = place.end.max(place.plaintext + span.plaintext_len) + 1;
        let buffer = buffers.main.aligned_at(place.plaintext, len)?;
        let plaintext = &mut buffer[place.plaintext..place.plaintext + span.plaintext_len];
        let mut filled = 0;
        let mut read = 0;
        // An empty last segment holds no plaintext, but it is to be authentic too.
        let takes_all = run.end == self.segments;
        loop {
            let wanted = span.plaintext_offset + filled as u64;
            let is_filled = filled == plaintext.len();
            if !is_filled && self.source_layout().segment_at(wanted) < window.opened {
                filled += self.copy_out(window, &mut buffers.second, wanted, &mut plaintext[filled..])?;
            } else if is_filled && !(takes_all && window.opened < window.end) {
                break;
            } else {
                read += self.open_next(ends, window, &mut buffers.second)?;
            }
        }
        let written = self.seal_and_write(ends, run, &span, &place, buffer)?;
        Ok(Moved { read, written })
    }

    /// Copies what an opened segment holds from this place in the plaintext on, as far as it fits; returns its length.
    fn copy_out(
        &self,
        window: &Window,
        second: &mut Buffer,
        place: u64,
        target: &mut [u8],
    ) -> Result<usize, Error> {
        let layout = self.source_layout();
        let segment = layout.ciphertext_segment(layout.segment_at(place), self.source_len)?;
        let skipped = offset_in(place, segment.plaintext_offset);
        let count = (segment.plaintext_len as usize - skipped).min(target.len());
        let start = offset_in(segment.ciphertext_offset, window.offset) + skipped;
        target[..count].copy_from_slice(&second.first(window.len)?[start..start + count]);
        Ok(count)
    }

    /// Opens the next segment. If it is not there yet, reads as many as one read should bring; returns how many bytes.
    fn open_next(&self, ends: &impl Ends, window: &mut Window, second: &mut Buffer) -> Result<u64, Error> {
        let source = self.opening.as_ref().expect("re-keying opens");
        let layout = source.layout();
        let mut read = 0;
        if window.opened >= window.end {
            // The source holds less than its length says: padding, which no authenticated format has.
            return Err(Error::ImpossibleLength { length: self.source_len });
        }
        if window.opened == window.read {
            let next = window.read..window.end.min(window.read + self.fitting(layout));
            let span = Span::ciphertext(layout, &next, self.source_len)?;
            let buffer = second.first(span.ciphertext_len + 1)?;
            ends.read(buffer, span.ciphertext_len, span.ciphertext_offset)?;
            let header = if next.start == 0 { u64::from(layout.header) } else { 0 };
            read = header + span.ciphertext_len as u64;
            (window.offset, window.len, window.read) =
                (span.ciphertext_offset, span.ciphertext_len, next.end);
        }
        let segment = layout.ciphertext_segment(window.opened, self.source_len)?;
        let from = offset_in(segment.ciphertext_offset, window.offset);
        let ciphertext = &mut second.first(window.len)?[from..from + segment.ciphertext_len as usize];
        source.open_segment(segment.index, segment.last, None, ciphertext)?;
        window.opened += 1;
        Ok(read)
    }

    /// The source's segments that hold the output's in `range` (not empty). The last of these take all that is left.
    fn covering(&self, range: &Range<u64>) -> Result<Range<u64>, Error> {
        let layout = self.source_layout();
        let span = Span::plaintext(self.layout(), range, self.plaintext_len);
        let end = if range.end == self.segments {
            layout.segments_of_ciphertext(self.source_len)?
        } else {
            layout.segment_at(span.plaintext_offset + span.plaintext_len as u64 - 1) + 1
        };
        Ok(layout.segment_at(span.plaintext_offset)..end)
    }

    /// Which bytes of the source the output's segments in `range` (not empty) are made of.
    pub(super) fn covering_bytes(&self, range: &Range<u64>) -> Result<Range<u64>, Error> {
        let covering = self.covering(range)?;
        if covering.is_empty() {
            return Ok(0..0);
        }
        let span = Span::ciphertext(self.source_layout(), &covering, self.source_len)?;
        Ok(span.ciphertext_offset..span.ciphertext_offset + span.ciphertext_len as u64)
    }

    fn source_layout(&self) -> &Layout {
        self.opening.as_ref().map(Stream::layout).expect("re-keying opens")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::key::{Keyset, Template};
    use crate::pipeline::job::Work;
    use crate::report::Unobserved;
    use cipherloom_kernels::Backend;
    use std::cell::RefCell;

    /// Both ends in memory, and which bytes of the source were asked for.
    #[derive(Default)]
    struct Memory {
        source: Vec<u8>,
        output: RefCell<Vec<u8>>,
        reads: RefCell<Vec<Range<usize>>>,
    }

    impl Ends for Memory {
        fn read(&self, buffer: &mut [u8], len: usize, offset: u64) -> Result<(), Error> {
            let range = offset as usize..offset as usize + len;
            buffer[..len].copy_from_slice(&self.source[range.clone()]);
            self.reads.borrow_mut().push(range);
            Ok(())
        }

        fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
            assert_eq!(offset as usize, self.output.borrow().len(), "in order");
            self.output.borrow_mut().extend_from_slice(bytes);
            Ok(())
        }
    }

    fn translated(work: Work<'_>, source: Vec<u8>, buffers: &mut Buffers) -> (Memory, Moved) {
        let ends = Memory { source, ..Memory::default() };
        let translation =
            Translation::begin(work, ends.source.len() as u64, b"", &ends.source, &mut []).unwrap();
        let moved = translation.advance(&ends, 0..translation.segments, buffers, 0, &Unobserved).unwrap();
        (ends, moved)
    }

    #[test]
    fn every_byte_is_read_and_opened_once_in_the_memory_that_was_planned() {
        let format = |template| Format::tink(Keyset::generate(template).unwrap(), Backend::Soft).unwrap();
        let raw = crate::key::RawKey::parse(&[b'7'; 64]).unwrap();
        let formats = [
            format(Template::Aes256GcmHkdf1Mb),
            format(Template::Aes128GcmHkdf1Mb),
            format(Template::Aes256GcmHkdf4Kb),
            Format::cobblestone(&raw, b"").unwrap(),
        ];
        for len in [0, 16_384, (2 << 20) + 12_345] {
            let plaintext: Vec<u8> = (0..len).map(|index| (index % 251) as u8).collect();
            for from in &formats {
                let mut roomy = Buffers::new(3 << 20, 0);
                let sealed =
                    translated(Work::Encrypt(from), plaintext.clone(), &mut roomy).0.output.into_inner();
                for to in &formats {
                    let largest = from.largest_segment().max(to.largest_segment()) as usize;
                    let room = crate::plan::RUN_LEN.max(largest) + 129;
                    let mut planned = Buffers::new(room, room);
                    let place =
                        [planned.main.first(1).unwrap().as_ptr(), planned.second.first(1).unwrap().as_ptr()];
                    let (ends, moved) = translated(Work::Rekey { from, to }, sealed.clone(), &mut planned);
                    assert_eq!(
                        place,
                        [planned.main.first(1).unwrap().as_ptr(), planned.second.first(1).unwrap().as_ptr()]
                    );
                    assert_eq!(moved.read, sealed.len() as u64, "header included");
                    let mut next = from.layout().header as usize;
                    for read in ends.reads.into_inner() {
                        assert_eq!(read.start, next, "{len}: {from:?} to {to:?}");
                        next = read.end;
                    }
                    assert_eq!(next, sealed.len());
                    let resealed = ends.output.into_inner();
                    let opened = translated(Work::Decrypt(to), resealed, &mut roomy).0;
                    assert!(*opened.output.borrow() == plaintext, "{len}: {from:?} to {to:?}");
                }
            }
        }
    }
}
