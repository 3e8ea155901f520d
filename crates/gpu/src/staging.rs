//! Cuts a buffer into pieces for a device and overlaps them: one piece is copied in while another is computed and a third
//! is copied out.
//!
//! ```text
//! slot 0  │ in │ kernel │ out │      │ in │ kernel │ out │
//! slot 1       │ in │ kernel │ out │      │ in │ …
//! slot 2            │ in │ kernel │ out │
//! ```
//!
//! Pieces come back in order, and the buffer changes only then. After a failure the front is done and the rest is
//! unchanged.

use crate::circuit::counter::STRETCH_BLOCKS;
use crate::circuit::{GROUP_BLOCKS, Mode};
use crate::costs::{self, Costs};
use crate::keys;
use crate::{Device, Error};
use cipherloom_kernels::Accelerator;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What is to be done with a piece.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    pub(crate) mode: Mode,
    pub(crate) rounds: u32,
    /// CTR: the first counter; the whole piece is in its stretch.
    pub(crate) first: u128,
    /// CBC: the previous ciphertext block.
    pub(crate) chain: [u8; 16],
}

/// What a kernel is told of a piece.
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    /// The counter of the first group's first block, highest word first.
    pub counter: [u32; 4],
    /// Blocks of the text.
    pub blocks: u32,
    /// Blocks of the first group in front of the text.
    pub skip: u32,
    /// Rounds of the cipher.
    pub rounds: u32,
}

impl Launch {
    /// A counter's words, highest first.
    pub fn words(counter: u128) -> [u32; 4] {
        [96, 64, 32, 0].map(|shift| (counter >> shift) as u32)
    }

    /// The groups of threads that it takes.
    pub(crate) fn groups(&self) -> u32 {
        (self.skip + self.blocks).div_ceil(GROUP_BLOCKS)
    }

    /// The uniform that a kernel in WGSL reads.
    #[cfg(feature = "wgpu")]
    pub fn uniform(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let words = self.counter.into_iter().chain([self.blocks, self.skip, self.rounds]);
        for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        bytes
    }
}

/// A device with places for several pieces at once.
pub trait Stages: Send {
    /// How many pieces may be under way.
    fn slots(&self) -> usize;
    /// The largest piece in bytes, a multiple of 16.
    fn piece_bytes(&self) -> usize;
    /// Sets the masks for later tasks; those in flight keep theirs.
    fn set_keys(&mut self, masks: &[u32]) -> Result<(), Error>;
    /// Starts a task on a free slot; `text` is copied. Without a task it is only moved there and back.
    fn start(&mut self, slot: usize, task: Option<&Task>, text: &[u8]) -> Result<(), Error>;
    /// Waits for a slot's task, and writes the result to `text`, whose length is that of the start.
    fn finish(&mut self, slot: usize, text: &mut [u8]) -> Result<(), Error>;
    /// Overwrites remaining texts and keys.
    fn wipe(&mut self) -> Result<(), Error>;
    /// Seconds of a kernel on bytes that are there already.
    fn kernel_seconds(&mut self, bytes: usize) -> Result<f64, Error>;
}

/// Smaller pieces stay with the CPU, which finishes them before a device has started.
const LEAST_BYTES: usize = 32 << 10;

/// A device as the kernels' door wants it. After a failure it does nothing any more, and [`Device::fault`] says why.
pub struct Staged<S> {
    name: String,
    stages: Mutex<S>,
    fault: OnceLock<Error>,
    is_idle: AtomicBool,
    most_slots: AtomicUsize,
    most_piece_bytes: AtomicUsize,
}

impl<S: Stages> Staged<S> {
    pub(crate) fn new(name: String, stages: S) -> Staged<S> {
        Staged {
            name,
            stages: Mutex::new(stages),
            fault: OnceLock::new(),
            is_idle: AtomicBool::new(false),
            most_slots: AtomicUsize::new(usize::MAX),
            most_piece_bytes: AtomicUsize::new(usize::MAX),
        }
    }

    /// Has pieces of so many bytes at most, a multiple of 16.
    pub(crate) fn set_piece_bytes(&self, most: usize) {
        self.most_piece_bytes.store(most, Ordering::Relaxed);
    }

    /// The device itself, for measurements.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut S) -> T) -> T {
        work(&mut self.stages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// As [`Accelerator::ctr_xor`] and `cbc_decrypt`, for buffers of any length.
    pub(crate) fn work(
        &self,
        round_keys: &[[u8; 16]],
        mut task: Task,
        buffer: &mut [u8],
    ) -> (usize, [u8; 16]) {
        let (done, chain, ended) = self.with(|stages| {
            let mut progress = Progress { done: 0, chain: task.chain };
            let slots = stages.slots().min(self.most_slots.load(Ordering::Relaxed));
            let piece_bytes = stages.piece_bytes().min(self.most_piece_bytes.load(Ordering::Relaxed));
            let ended = through(stages, [slots, piece_bytes], round_keys, &mut task, buffer, &mut progress);
            (progress.done, progress.chain, ended)
        });
        if let Err(error) = ended {
            let _ = self.fault.set(error);
        }
        (done, chain)
    }

    /// The whole buffer: the chain's last block.
    ///
    /// # Errors
    /// Why the device stopped on the way.
    pub(crate) fn work_whole(
        &self,
        round_keys: &[[u8; 16]],
        task: Task,
        buffer: &mut [u8],
    ) -> Result<[u8; 16], Error> {
        let (done, chain) = self.work(round_keys, task, buffer);
        match self.fault() {
            Some(error) if done < buffer.len() => Err(error.clone()),
            _ => Ok(chain),
        }
    }

    fn is_off(&self, length: usize) -> bool {
        length < LEAST_BYTES || self.is_idle.load(Ordering::Relaxed) || self.fault.get().is_some()
    }
}

struct Progress {
    done: usize,
    chain: [u8; 16],
}

/// A piece in flight: its range in the buffer, and the ciphertext block that the next piece of a chain needs.
struct Piece {
    start: usize,
    end: usize,
    chain_after: [u8; 16],
}

fn through<S: Stages>(
    stages: &mut S,
    [slots, piece_bytes]: [usize; 2],
    round_keys: &[[u8; 16]],
    task: &mut Task,
    buffer: &mut [u8],
    progress: &mut Progress,
) -> Result<(), Error> {
    let mut stretch = None;
    let mut begun = 0;
    let mut under_way: Vec<Option<Piece>> = (0..slots).map(|_| None).collect();
    for slot in (0..slots).cycle() {
        if let Some(piece) = under_way[slot].take() {
            stages.finish(slot, &mut buffer[piece.start..piece.end])?;
            *progress = Progress { done: piece.end, chain: piece.chain_after };
        }
        let (start, end) = (begun, begun + task.length_of_piece(piece_bytes, buffer.len() - begun));
        if start == end {
            // The pieces still in flight are finished in the order of the slots.
            if under_way.iter().all(Option::is_none) {
                break;
            }
            continue;
        }
        if stretch != Some(task.stretch()) {
            stretch = Some(task.stretch());
            stages.set_keys(&match task.mode {
                Mode::Ctr => keys::of_counters(round_keys, task.first),
                Mode::CbcDecrypt => keys::of_inverse(round_keys),
            })?;
        }
        let text = &buffer[start..end];
        stages.start(slot, Some(task), text)?;
        match task.mode {
            Mode::Ctr => task.first = task.first.wrapping_add((text.len() / 16) as u128),
            Mode::CbcDecrypt => task.chain = *text.last_chunk().expect("whole blocks"),
        }
        under_way[slot] = Some(Piece { start, end, chain_after: task.chain });
        begun = end;
    }
    Ok(())
}

impl Task {
    /// Of a piece of so many blocks.
    pub(crate) fn launch(&self, blocks: usize) -> Launch {
        let is_ctr = self.mode == Mode::Ctr;
        let skip = if is_ctr { (self.first % u128::from(GROUP_BLOCKS)) as u32 } else { 0 };
        let counter = Launch::words(self.first.wrapping_sub(u128::from(skip)));
        Launch { counter, blocks: blocks as u32, skip, rounds: self.rounds }
    }

    /// What the kernel needs in front of the text.
    pub(crate) fn front(&self) -> &[u8] {
        if self.mode == Mode::CbcDecrypt { &self.chain } else { &[] }
    }

    fn stretch(&self) -> u128 {
        self.first / STRETCH_BLOCKS
    }

    /// The next piece: no more than a slot holds, and not across the end of the counters' stretch.
    fn length_of_piece(&self, most: usize, left: usize) -> usize {
        let of_stretch = 16 * (STRETCH_BLOCKS - self.first % STRETCH_BLOCKS) as usize;
        left.min(most).min(if self.mode == Mode::Ctr { of_stretch } else { usize::MAX })
    }
}

impl<S> fmt::Debug for Staged<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Staged").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<S: Stages> Device for Staged<S> {
    fn costs(&self) -> Result<Costs, Error> {
        costs::measure(self)
    }

    fn fault(&self) -> Option<&Error> {
        self.fault.get()
    }

    fn set_idle(&self, idle: bool) {
        self.is_idle.store(idle, Ordering::Relaxed);
    }

    fn set_slots(&self, most: usize) {
        self.most_slots.store(most.max(1), Ordering::Relaxed);
    }

    fn wipe(&self) {
        // A device that is lost keeps nothing that could be wiped.
        let _ = self.with(Stages::wipe);
    }
}

impl<S: Stages> Accelerator for Staged<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn ctr_xor(&self, round_keys: &[[u8; 16]], first: u128, buffer: &mut [u8]) -> usize {
        if self.is_off(buffer.len()) {
            return 0;
        }
        let task = Task { mode: Mode::Ctr, rounds: round_keys.len() as u32 - 1, first, chain: [0; 16] };
        self.work(round_keys, task, buffer).0
    }

    fn cbc_decrypt(&self, round_keys: &[[u8; 16]], chain: &mut [u8; 16], buffer: &mut [u8]) -> usize {
        if self.is_off(buffer.len()) {
            return 0;
        }
        let rounds = round_keys.len() as u32 - 1;
        let task = Task { mode: Mode::CbcDecrypt, rounds, first: 0, chain: *chain };
        let (done, after) = self.work(round_keys, task, buffer);
        *chain = after;
        done
    }
}

#[cfg(test)]
mod tests;
