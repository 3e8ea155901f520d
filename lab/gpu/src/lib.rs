//! Kernels for the lab's experiments, never for the product: AES-128 … 256-CTR by workers, each a group of threads with a private
//! memory, as the published accelerator cores were.
//!
//! ```text
//! worker w of W    takes the turns  w T / W … (w + 1) T / W  of all T; a turn is what its threads do at once
//! Tile             copy in to the private memory │ 32 blocks a thread in bit planes, there │ copy out
//! Direct           the same without the private memory: from the device's memory and back
//! Tables           one block a thread; the private memory holds the tables, 32 copies, one for each bank
//! ```
//!
//! **Tables are not for the product**: how long a look-up takes depends on which places a program beside it has asked for, so
//! that others on the device could learn the key from timing. 32 copies, a thread's own in a bank of its own, keep threads
//! of one warp from waiting for each other; they do not make this safe.

mod clock;
mod cuda;
mod material;
mod texts;
mod webgpu;

#[cfg(test)]
#[path = "../../../crates/gpu/tests/processor/over_stand_in.rs"]
mod over_stand_in;
#[cfg(test)]
#[path = "../../../crates/gpu/tests/processor/stand_in.rs"]
mod stand_in;
#[cfg(test)]
mod tests;

pub use clock::Clock;
pub use cuda::{CudaBench, CudaProgram};
pub use webgpu::{WebGpuBench, WebGpuProgram};

use cipherloom_gpu::Error;
use cipherloom_gpu::internal::{
    Circuit, GROUP_THREADS, Gates, LANES, Launch, Mode, STATE, STRETCH_BLOCKS, Step,
};

/// How a worker does its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    /// Bitsliced, in a private memory of so many bytes: a power of two from 4096 to 32768, 512 for each thread.
    Tile(u32),
    /// Bitsliced, without a private memory.
    Direct,
    /// By look-ups in one table, 32 KiB with its copies, whose entries are turned; or in four, 128 KiB.
    Tables(u32),
}

/// Threads of a worker that looks up.
const TABLES_THREADS: u32 = 256;
/// Banks of a device's private memory, and threads that ask it at once.
const BANKS: u32 = 32;

impl Worker {
    /// Its name, as records have it, and its kernel's.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Worker::Tile(bytes) => format!("tile_{bytes}"),
            Worker::Direct => "direct".to_owned(),
            Worker::Tables(tables) => format!("tables_{tables}"),
        }
    }

    /// Bytes of private memory.
    #[must_use]
    pub fn private_bytes(self) -> u32 {
        match self {
            Worker::Tile(bytes) => bytes,
            Worker::Direct => 0,
            Worker::Tables(tables) => tables * 256 * BANKS * 4,
        }
    }

    /// Its threads.
    #[must_use]
    pub fn threads(self) -> u32 {
        match self {
            Worker::Tile(bytes) => bytes / (16 * LANES),
            Worker::Direct => GROUP_THREADS,
            // Four tables leave room for one worker on a processor, which is to be busy all the same.
            Worker::Tables(tables) => TABLES_THREADS * tables,
        }
    }

    /// Bytes that its threads do at once.
    #[must_use]
    pub fn turn_bytes(self) -> u32 {
        16 * self.turn_blocks()
    }

    fn turn_blocks(self) -> u32 {
        match self {
            Worker::Tile(_) | Worker::Direct => self.threads() * LANES,
            Worker::Tables(_) => self.threads(),
        }
    }

    /// The most bits per second of AES-128 that a device of NVIDIA's could do by this form, counted: for look-ups 32 words from
    /// each processor's private memory in a cycle, 160 a block; for bit planes 64 logical operations in a cycle (compute
    /// capabilities 8.0 and 9.0; CUDA C++ programming guide, arithmetic instructions).
    #[must_use]
    pub fn counted_bits_per_second(self, multiprocessors: u32, clock_hertz: f64) -> f64 {
        let cycles = f64::from(multiprocessors) * clock_hertz;
        match self {
            Worker::Tables(_) => cycles * 32.0 / 160.0 * 128.0,
            Worker::Tile(_) | Worker::Direct => {
                cycles * 64.0 / f64::from(operations(10)) * f64::from(LANES * 128)
            }
        }
    }
}

/// Logical operations of a thread for its 32 blocks, three inputs each where the compiler can join them.
fn operations(rounds: u32) -> u32 {
    let circuit = Circuit::new(Mode::Ctr, Gates::Three);
    let cost = |steps: &[Step]| -> u32 { steps.iter().map(|step| operation(step, &circuit)).sum() };
    let looped = (rounds - circuit.looped_from) * cost(&circuit.round);
    // At last the text is added, one for each word of 32 blocks.
    cost(&circuit.begin) + looped + cost(&circuit.end) + u32::from(STATE)
}

fn operation(step: &Step, circuit: &Circuit) -> u32 {
    match step {
        // Two more terms with each operation; one alone is a name.
        Step::Sum { wires, key, .. } => (wires.len() as u32 + u32::from(key.is_some())) / 2,
        Step::Product { .. } | Step::Lookup { .. } => 1,
        // A constant is a name; counters' bits change every 2048 blocks, but a thread has no others.
        Step::Constant { .. } => 0,
        Step::CounterBit { .. } => 1,
        // A shift and a choice by the mask, twice.
        Step::Exchange { .. } => 4,
        Step::Substitute { .. } => {
            circuit.substitution.steps.iter().map(|step| operation(step, circuit)).sum()
        }
    }
}

/// A message on a device, and one form of worker to encrypt it.
pub trait Bench {
    /// Copies the message in, and waits; of the length that the bench was made for.
    ///
    /// # Errors
    /// If the device fails.
    fn copy_in(&mut self, text: &[u8]) -> Result<(), Error>;

    /// Has so many workers encrypt it, and waits: seconds by the clock that [`Bench::has_clock`] tells.
    ///
    /// # Errors
    /// If the device fails.
    fn compute(&mut self, workers: u32) -> Result<f64, Error>;

    /// Copies what came of it out, and waits.
    ///
    /// # Errors
    /// If the device fails.
    fn copy_out(&mut self, text: &mut [u8]) -> Result<(), Error>;

    /// Whether [`Bench::compute`] tells the device's own time, else this machine's; the same for all its runs.
    fn has_clock(&self) -> bool;
}

/// A launch, and the counter of its first turn's first block.
type Begun = (Launch, u128);

/// The launches that a message needs: one for each stretch of counters. `blocks` are those of the message up to the launch's last,
/// `skip` those of its first turn in front of the message, modulo 2^32; in a later launch, those of the message in front of its
/// first turn, taken negative.
fn launches(worker: Worker, first: u128, bytes: usize, rounds: u32) -> Vec<Begun> {
    let blocks = bytes.div_ceil(16) as u32;
    let mut launches = Vec::new();
    let mut done = 0;
    while done < blocks {
        let counter = first.wrapping_add(u128::from(done));
        let front = (counter % u128::from(worker.turn_blocks())) as u32;
        let left = (STRETCH_BLOCKS - counter % STRETCH_BLOCKS) as u32;
        let begin = counter - u128::from(front);
        let end = blocks.min(done + left);
        let skip = front.wrapping_sub(done);
        launches.push((Launch { counter: Launch::words(begin), blocks: end, skip, rounds }, begin));
        done = end;
    }
    launches
}
