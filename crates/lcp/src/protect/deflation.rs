//! Deflates parts that their source stores uncompressed.
//!
//! A part's place in the output needs its length. A part whose deflated form fits one piece is deflated once; for a
//! larger one the length is counted first and the bytes are made again when they are encrypted, so that no part is held
//! in memory whole.

use crate::Error;
use crate::container::{Entry, Source};
use flate2::{Compress, Compression, FlushCompress, Status};

/// Bytes that are read at a time. The deflated bytes do not depend on it.
const READ: usize = 64 << 10;

pub(super) struct Deflation {
    state: Compress,
}

impl Deflation {
    pub(super) fn new(level: u32) -> Deflation {
        Deflation { state: Compress::new(Compression::new(level), false) }
    }

    pub(super) fn restart(&mut self) {
        self.state.reset();
    }

    /// Deflates on until `output` is full or the entry ends; returns how many bytes were given and whether that was the
    /// end. `sight` sees every source byte that is taken.
    pub(super) fn step(
        &mut self,
        source: &Source,
        entry: &Entry,
        input: &mut Vec<u8>,
        output: &mut [u8],
        sight: &mut dyn FnMut(&[u8]),
    ) -> Result<(usize, bool), Error> {
        input.resize(READ, 0);
        let mut given = 0;
        loop {
            let at = self.state.total_in();
            let piece = &mut input[..(entry.len - at).min(READ as u64) as usize];
            source.read_exact(piece, entry.data_offset + at)?;
            let is_rest = at + piece.len() as u64 == entry.len;
            let flush = if is_rest { FlushCompress::Finish } else { FlushCompress::None };
            let before = self.state.total_out();
            let status = self
                .state
                .compress(piece, &mut output[given..], flush)
                .map_err(|error| Error::io("deflate", error.into()))?;
            sight(&piece[..(self.state.total_in() - at) as usize]);
            given += (self.state.total_out() - before) as usize;
            if status == Status::StreamEnd {
                return Ok((given, true));
            }
            if given == output.len() {
                return Ok((given, false));
            }
        }
    }

    /// Counts the rest of the entry's deflated bytes, through `window`.
    pub(super) fn count_rest(
        &mut self,
        source: &Source,
        entry: &Entry,
        input: &mut Vec<u8>,
        window: &mut [u8],
        sight: &mut dyn FnMut(&[u8]),
    ) -> Result<u64, Error> {
        loop {
            let (_, has_ended) = self.step(source, entry, input, window, sight)?;
            if has_ended {
                return Ok(self.state.total_out());
            }
        }
    }
}
