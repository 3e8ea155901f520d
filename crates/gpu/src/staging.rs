//! A device's way with a buffer: cut into pieces, which go there, are worked on, and come back in turns, so that one is
//! copied in while another is computed and a third is copied out.
//!
//! ```text
//! slot 0  │ in │ kernel │ out │      │ in │ kernel │ out │
//! slot 1       │ in │ kernel │ out │      │ in │ …
//! slot 2            │ in │ kernel │ out │
//! ```
//!
//! Pieces come back in order, and only then is the buffer changed: whatever fails, the front is done and the rest is as
//! it was.

use crate::Error;
use crate::circuit::Mode;
use crate::circuit::counter::STRETCH_BLOCKS;
use crate::keys;
use cipherloom_kernels::Accelerator;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What is to be done with a piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    pub(crate) mode: Mode,
    pub(crate) rounds: u32,
    /// CTR: the first counter, whose stretch the whole piece is in.
    pub(crate) first: u128,
    /// CBC: the block in front.
    pub(crate) chain: [u8; 16],
}

/// A device with places for several pieces at once.
pub(crate) trait Stages: Send {
    /// How many pieces may be under way.
    fn slots(&self) -> usize;
    /// Bytes of a piece at most, a multiple of 16.
    fn piece_bytes(&self) -> usize;
    /// Takes the masks for the tasks to come; those under way keep theirs.
    fn set_keys(&mut self, masks: &[u32]) -> Result<(), Error>;
    /// Begins a task on a free slot; `text` is copied.
    fn start(&mut self, slot: usize, task: &Task, text: &[u8]) -> Result<(), Error>;
    /// Waits for a slot's task, and puts the result into `text`, of the length that it was started with.
    fn finish(&mut self, slot: usize, text: &mut [u8]) -> Result<(), Error>;
    /// Overwrites what is left of texts and keys.
    fn wipe(&mut self) -> Result<(), Error>;
}

/// Below this a piece stays with the CPU, which has it done before a device has begun.
const LEAST_BYTES: usize = 32 << 10;

/// A device as the kernels' door wants it. After a failure it does nothing any more, and [`Staged::fault`] says why.
pub(crate) struct Staged<S> {
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

    /// The first failure.
    pub(crate) fn fault(&self) -> Option<&Error> {
        self.fault.get()
    }

    /// Leaves everything to the CPU, or no longer.
    pub(crate) fn set_idle(&self, idle: bool) {
        self.is_idle.store(idle, Ordering::Relaxed);
    }

    /// Has so many pieces under way at most.
    pub(crate) fn set_slots(&self, most: usize) {
        self.most_slots.store(most.max(1), Ordering::Relaxed);
    }

    /// Has pieces of so many bytes at most, a multiple of 16.
    pub(crate) fn set_piece_bytes(&self, most: usize) {
        self.most_piece_bytes.store(most, Ordering::Relaxed);
    }

    /// The device itself, for who measures it.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut S) -> T) -> T {
        work(&mut self.stages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn wipe(&self) {
        // A device that is lost keeps nothing that could be wiped.
        let _ = self.with(Stages::wipe);
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

    fn is_off(&self, length: usize) -> bool {
        length < LEAST_BYTES || self.is_idle.load(Ordering::Relaxed) || self.fault.get().is_some()
    }
}

struct Progress {
    done: usize,
    chain: [u8; 16],
}

/// A piece under way: where it stands, and the block that the next piece of a chain needs in front.
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
            // What is still under way is finished in the order of the slots.
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
        stages.start(slot, task, text)?;
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
    fn stretch(&self) -> u128 {
        self.first / STRETCH_BLOCKS
    }

    /// Of what is left: no more than a slot holds, nor over the end of the counters' stretch.
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
