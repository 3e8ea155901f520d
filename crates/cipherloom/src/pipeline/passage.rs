//! One entry's way through the pipeline, from file to file: its translation, and both of its ends.

use super::buffers::Buffers;
use super::input::Input;
use super::job::Work;
use super::output::Output;
use super::translation::{Ends, Moved, Translation};
use crate::Error;
use crate::plan::RUN_LEN;
use crate::report::Observer;
use std::ops::Range;

pub(super) struct Passage {
    translation: Translation,
    files: Files,
    /// How many segments there are to divide among workers.
    pub(super) segments: u64,
}

struct Files {
    input: Input,
    output: Option<Output>,
}

impl Ends for Files {
    fn read(&self, buffer: &mut [u8], len: usize, offset: u64) -> Result<(), Error> {
        self.input.read(buffer, len, offset)
    }

    fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.output
            .as_ref()
            .expect("an operation that writes")
            .write(bytes, offset)
            .map_err(Error::of_destination)
    }
}

impl Passage {
    /// Derives the keys. For an encrypted source this reads its beginning into `buffers.main`; the returned number
    /// says how many of its bytes stand there, so that the first run need not read them again.
    pub(super) fn begin(
        work: Work<'_>,
        run_len: usize,
        input: Input,
        output: Option<Output>,
        buffers: &mut Buffers,
    ) -> Result<(Passage, usize), Error> {
        let mut at_hand = 0;
        let mut scratch_len = 0;
        if let Some(format) = work.opening() {
            // What is re-keyed is read as the output's runs ask for it.
            let first_run = if matches!(work, Work::Rekey { .. }) { 0 } else { RUN_LEN };
            let wanted = format.head_len().max(first_run) as u64;
            at_hand = usize::try_from(wanted.min(input.len())).expect("a buffer's length");
            input.read(buffers.main.first(at_hand + 1)?, at_hand, 0)?;
            // Keys are tried on a copy of the first segment, of which no more than this is at hand.
            scratch_len = if format.head_len() > format.layout().header as usize { at_hand } else { 0 };
        }
        let head = &buffers.main.first(at_hand + 1)?[..at_hand];
        let scratch = if scratch_len > 0 { buffers.second.first(scratch_len)? } else { &mut [] };
        let translation = Translation::begin(work, input.len(), &buffers.associated_data, head, scratch)?
            .in_runs_of(run_len);
        let segments = translation.segments;
        Ok((Passage { translation, files: Files { input, output }, segments }, at_hand))
    }

    /// Takes the segments in `range` through: [`Translation::advance`] between this entry's files.
    pub(super) fn advance(
        &self,
        range: Range<u64>,
        buffers: &mut Buffers,
        at_hand: usize,
        observer: &dyn Observer,
    ) -> Result<Moved, Error> {
        self.translation.advance(&self.files, range, buffers, at_hand, observer)
    }

    /// The whole entry, by one worker.
    pub(super) fn advance_whole(
        &self,
        buffers: &mut Buffers,
        at_hand: usize,
        observer: &dyn Observer,
    ) -> Result<Moved, Error> {
        self.advance(0..self.segments, buffers, at_hand, observer)
    }

    /// Checks that the source is still what was listed, and hands out the complete output. `replaces`: it takes the
    /// source's place, and its owner with it where the system allows that.
    pub(super) fn finish(self, replaces: bool) -> Result<Option<Output>, Error> {
        self.files.input.check_unchanged(replaces)?;
        if let Some(output) = self.files.output.as_ref().filter(|_| replaces) {
            output.take_owner_of(self.files.input.file())?;
        }
        Ok(self.files.output)
    }
}
