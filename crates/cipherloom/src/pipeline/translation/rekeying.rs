//! Re-keying: from one format's segments to another's. The plaintext stays in memory.
//!
//! ```text
//! source     | segment 0 | segment 1 | segment 2 | segment 3 | …
//! window     |<--- read and opened ----->|<--- then these --->|
//! output     | segment 0   | segment 1   | segment 2   | …            each sealed when all of its plaintext is there
//! ```
//!
//! Two layouts rarely have their borders in the same places: headers differ, and sizes may. So the source is walked by
//! itself, in runs of whole segments. Within a range of the output's segments each byte of the source is read and opened
//! once; only where two ranges meet, both open the segment that has a part in each.

use super::{Ends, Translation};
use crate::Error;
use crate::format::Stream;
use crate::segments::{Buffer, Run, offset_in};
use std::ops::Range;

/// The plaintext of a run of the source's segments, which is in `buffers.second`.
pub(super) struct Window {
    plaintext: Range<u64>,
    /// Where it begins in the buffer.
    start: usize,
    /// Segments of the source that are still to be opened.
    rest: Range<u64>,
}

impl Window {
    /// In front of these segments of the source.
    pub(super) fn new(rest: Range<u64>) -> Window {
        Window { plaintext: 0..0, start: 0, rest }
    }
}

impl Translation {
    /// Fills `target` with the source's plaintext from `offset` on, for a run of the output's segments. The window is
    /// moved on as far as that takes. Returns how many bytes of the source were read.
    pub(super) fn fill_opened(
        &self,
        ends: &impl Ends,
        run: &Run,
        mut offset: u64,
        mut target: &mut [u8],
        second: &mut Buffer,
        window: &mut Window,
    ) -> Result<u64, Error> {
        let mut read = 0;
        loop {
            if window.plaintext.contains(&offset) {
                let count = target.len().min(offset_in(window.plaintext.end, offset));
                let from = window.start + offset_in(offset, window.plaintext.start);
                let (front, rest) = target.split_at_mut(count);
                front.copy_from_slice(&second.first(from + count)?[from..]);
                (target, offset) = (rest, offset + count as u64);
            }
            // An empty last segment holds no plaintext, but it has to be authentic too.
            let is_last_open = !run.ends || window.rest.is_empty();
            if target.is_empty() && is_last_open {
                return Ok(read);
            }
            read += self.open_next(ends, second, window)?;
        }
    }

    fn open_next(&self, ends: &impl Ends, second: &mut Buffer, window: &mut Window) -> Result<u64, Error> {
        if window.rest.is_empty() {
            // The source holds less than its length says: padding, which no authenticated format has.
            return Err(Error::ImpossibleLength { length: self.source_len });
        }
        let layout = self.opening.as_ref().map(Stream::layout).expect("re-keying opens");
        let run = self.first_run(&window.rest, layout);
        window.rest.start = run.end;
        let offset = layout.plaintext_offset(run.start);
        let (plaintext, read) = self.open_source(ends, run, second, 0)?;
        window.plaintext = offset..offset + plaintext.len() as u64;
        window.start = plaintext.start;
        Ok(read)
    }

    /// The source's segments that the output's in `range` are made of. The last of these take all that is left.
    pub(super) fn source_segments(&self, range: &Range<u64>) -> Range<u64> {
        let (Some(source), Some(_)) = (&self.opening, &self.sealing) else { return range.clone() };
        let layout = source.layout();
        let plaintext = self.layout().plaintext_range(range, self.plaintext_len);
        let end = if range.end == self.segments {
            layout.segments(self.plaintext_len)
        } else {
            layout.segment_at(plaintext.end - 1) + 1
        };
        layout.segment_at(plaintext.start)..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::key::{Keyset, Template};
    use crate::pipeline::job::Work;
    use crate::pipeline::translation::Buffers;
    use crate::pipeline::translation::Moved;
    use crate::plan::RUN_LEN;
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

    fn translated(work: &Work, source: Vec<u8>, buffers: &mut Buffers) -> (Memory, Moved) {
        let ends = Memory { source, ..Memory::default() };
        let translation =
            Translation::begin(work, RUN_LEN, ends.source.len() as u64, b"", None, &ends.source, &mut [])
                .unwrap();
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
                let sealed = translated(&Work::Encrypt(from.clone()), plaintext.clone(), &mut roomy)
                    .0
                    .output
                    .into_inner();
                for to in &formats {
                    let largest = from.largest_segment().max(to.largest_segment()) as usize;
                    let room = crate::plan::RUN_LEN.max(largest) + 129;
                    let mut planned = Buffers::new(room, room);
                    let place =
                        [planned.main.first(1).unwrap().as_ptr(), planned.second.first(1).unwrap().as_ptr()];
                    let (ends, moved) = translated(
                        &Work::Rekey { from: from.clone(), to: to.clone() },
                        sealed.clone(),
                        &mut planned,
                    );
                    assert_eq!(
                        place,
                        [planned.main.first(1).unwrap().as_ptr(), planned.second.first(1).unwrap().as_ptr()]
                    );
                    assert_eq!(moved.read, sealed.len() as u64, "header included");
                    let mut next = 0;
                    for read in ends.reads.into_inner() {
                        assert_eq!(read.start, next, "{len}: {from:?} to {to:?}");
                        next = read.end;
                    }
                    assert_eq!(next, sealed.len());
                    let resealed = ends.output.into_inner();
                    let opened = translated(&Work::Decrypt(to.clone()), resealed, &mut roomy).0;
                    assert!(*opened.output.borrow() == plaintext, "{len}: {from:?} to {to:?}");
                }
            }
        }
    }
}
