//! Multi-buffer CBC encryption: many streams interleaved, so that the chain of one does not idle the AES unit.
//!
//! `LANES` streams run side by side. A vector holds the same block number of `WIDTH` of them, and `GROUPS`
//! vectors are in flight. Text comes and goes in tiles, `STEPS` blocks of `WIDTH` streams:
//!
//! ```text
//!   memory: 64 bytes of each of 4 streams           registers: one step of 4 streams
//!   stream 0 │ block 0 │ block 1 │ block 2 │ …       step 0 │ stream 0 │ stream 1 │ stream 2 │ …
//!   stream 1 │ block 0 │ block 1 │ block 2 │ …  <=>  step 1 │ stream 0 │ stream 1 │ stream 2 │ …
//! ```
//!
//! All lanes run as many whole tiles as the shortest has; then those with less than a tile left do it in a
//! staging slot while the others go on in place; a finished lane takes the next stream. When no stream is left
//! to take, the last lane moves into the gap, and with few lanes left a kernel with fewer groups takes over.
//! A lane without a stream repeats lane 0, byte for byte: a tile is read whole before any of it is written.

use crate::aes::CbcStream;
use crate::generic::cipher;
use crate::schedule::Schedule;
use crate::vector::Vector;

/// What a lane without a stream counts as left, so that it never is the shortest.
const IDLE: usize = usize::MAX;

/// Bytes of the widest tile's part for one stream.
const SLOT: usize = 64;

#[repr(C, align(64))]
struct Chains<const LANES: usize>([[u8; 16]; LANES]);

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Slot([u8; SLOT]);

/// The streams in flight: lanes `0..live` have one, the others are idle.
struct Lanes<const LANES: usize> {
    live: usize,
    text: [*mut u8; LANES],
    /// Blocks to go, or [`IDLE`].
    left: [usize; LANES],
    stream: [usize; LANES],
    chains: Chains<LANES>,
}

/// Encrypts every stream; `MANY * WIDTH == LANES`, and `FEW` groups serve when that many lanes are enough.
///
/// # Safety
/// Needs the CPU features of `V`; every buffer is whole blocks.
#[inline(always)]
pub(crate) unsafe fn cbc_encrypt_lanes<
    V: Vector,
    const MANY: usize,
    const FEW: usize,
    const LANES: usize,
    const ROUNDS: usize,
>(
    schedule: &Schedule,
    streams: &mut [CbcStream<'_>],
) {
    const { assert!(MANY * V::WIDTH == LANES && FEW <= MANY && V::STEPS * 16 <= SLOT) };
    let mut next = 0;
    let mut lanes = Lanes::<LANES>::new();
    while lanes.live < LANES && lanes.take(lanes.live, streams, &mut next) {
        lanes.live += 1;
    }
    while lanes.live > 0 {
        let shortest = lanes.shortest();
        let tiles = shortest / V::STEPS;
        let few = lanes.live <= FEW * V::WIDTH;
        if tiles > 0 {
            lanes.mirror_idle();
            // SAFETY: the caller has the CPU features; every live lane has `tiles` tiles left.
            unsafe {
                if few {
                    run::<V, FEW, ROUNDS>(schedule, &lanes.text, lanes.chains.0.as_flattened_mut(), tiles);
                } else {
                    run::<V, MANY, ROUNDS>(schedule, &lanes.text, lanes.chains.0.as_flattened_mut(), tiles);
                }
                lanes.advance(tiles * V::STEPS);
            }
        }
        if !shortest.is_multiple_of(V::STEPS) {
            // SAFETY: the caller has the CPU features.
            unsafe { staged_tile::<V, MANY, FEW, LANES, ROUNDS>(schedule, &mut lanes, few) };
        }
        lanes.retire(streams, &mut next);
    }
}

impl<const LANES: usize> Lanes<LANES> {
    #[inline(always)]
    fn new() -> Self {
        Lanes {
            live: 0,
            text: [core::ptr::null_mut(); LANES],
            left: [IDLE; LANES],
            stream: [0; LANES],
            chains: Chains([[0; 16]; LANES]),
        }
    }

    /// Gives `lane` the next stream that is not empty.
    #[inline(always)]
    fn take(&mut self, lane: usize, streams: &mut [CbcStream<'_>], next: &mut usize) -> bool {
        while let Some(stream) = streams.get_mut(*next) {
            let index = *next;
            *next += 1;
            if !stream.buffer.is_empty() {
                self.text[lane] = stream.buffer.as_mut_ptr();
                self.left[lane] = stream.buffer.len() / 16;
                self.stream[lane] = index;
                self.chains.0[lane] = stream.chain;
                return true;
            }
        }
        false
    }

    #[inline(always)]
    fn shortest(&self) -> usize {
        let mut shortest = IDLE;
        for left in self.left {
            shortest = shortest.min(left);
        }
        shortest
    }

    /// Makes every idle lane repeat lane 0.
    #[inline(always)]
    fn mirror_idle(&mut self) {
        for lane in self.live..LANES {
            self.text[lane] = self.text[0];
            self.chains.0[lane] = self.chains.0[0];
        }
    }

    /// # Safety
    /// Every live lane has `blocks` blocks left.
    #[inline(always)]
    unsafe fn advance(&mut self, blocks: usize) {
        for lane in 0..LANES {
            // Idle lanes are pointed at lane 0 again before they are next used.
            self.text[lane] = self.text[lane].wrapping_add(16 * blocks);
            self.left[lane] -= blocks;
        }
        for lane in self.live..LANES {
            self.left[lane] = IDLE;
        }
    }

    /// Ends the lanes that have nothing left, from the last to the first, and gives them new streams.
    #[inline(always)]
    fn retire(&mut self, streams: &mut [CbcStream<'_>], next: &mut usize) {
        for lane in (0..self.live).rev() {
            if self.left[lane] != 0 {
                continue;
            }
            let stream = &mut streams[self.stream[lane]];
            if let Some(last) = stream.buffer.last_chunk::<16>() {
                stream.chain = *last;
            }
            if !self.take(lane, streams, next) {
                self.live -= 1;
                self.text[lane] = self.text[self.live];
                self.left[lane] = self.left[self.live];
                self.stream[lane] = self.stream[self.live];
                self.chains.0[lane] = self.chains.0[self.live];
                self.left[self.live] = IDLE;
            }
        }
    }
}

/// One tile in which some lanes have fewer blocks left than it holds; those end with it.
///
/// # Safety
/// Needs the CPU features of `V`. Every live lane has at least one block left.
#[inline(always)]
unsafe fn staged_tile<
    V: Vector,
    const MANY: usize,
    const FEW: usize,
    const LANES: usize,
    const ROUNDS: usize,
>(
    schedule: &Schedule,
    lanes: &mut Lanes<LANES>,
    few: bool,
) {
    let mut slots = [Slot([0; SLOT]); LANES];
    let mut text = lanes.text;
    // SAFETY: a lane with less than a tile left works in its slot, which holds a tile; the others have a tile
    // in place. Only the blocks that the stream has are copied.
    unsafe {
        for lane in 0..lanes.live {
            if lanes.left[lane] < V::STEPS {
                text[lane] = slots[lane].0.as_mut_ptr();
                core::ptr::copy_nonoverlapping(lanes.text[lane], text[lane], 16 * lanes.left[lane]);
            }
        }
        for lane in lanes.live..LANES {
            text[lane] = text[0];
            lanes.chains.0[lane] = lanes.chains.0[0];
        }
        if few {
            run::<V, FEW, ROUNDS>(schedule, &text, lanes.chains.0.as_flattened_mut(), 1);
        } else {
            run::<V, MANY, ROUNDS>(schedule, &text, lanes.chains.0.as_flattened_mut(), 1);
        }
        for lane in 0..lanes.live {
            let blocks = lanes.left[lane].min(V::STEPS);
            if blocks < V::STEPS {
                core::ptr::copy_nonoverlapping(text[lane], lanes.text[lane], 16 * blocks);
            }
            lanes.left[lane] -= blocks;
            lanes.text[lane] = lanes.text[lane].add(16 * blocks);
        }
    }
}

/// Encrypts `tiles` tiles of `GROUPS * WIDTH` lanes.
///
/// # Safety
/// Needs the CPU features of `V`. Each of the first `GROUPS * WIDTH` pointers of `text` is valid for `tiles`
/// tiles, and either they do not overlap or they and their chains are equal.
#[inline(always)]
unsafe fn run<V: Vector, const GROUPS: usize, const ROUNDS: usize>(
    schedule: &Schedule,
    text: &[*mut u8],
    chains: &mut [u8],
    tiles: usize,
) {
    debug_assert!(text.len() >= GROUPS * V::WIDTH && chains.len() >= GROUPS * V::BYTES);
    let text = text.as_ptr();
    let chains = chains.as_mut_ptr();
    // SAFETY: the caller has the CPU features and valid pointers; the chains of a group's lanes lie side by
    // side, which makes them one vector.
    unsafe {
        let key = V::broadcast(&schedule.encrypt[0]);
        let mut states = [V::load(chains); GROUPS];
        for (group, state) in states.iter_mut().enumerate().skip(1) {
            *state = V::load(chains.add(group * V::BYTES));
        }
        for tile in 0..tiles {
            let offset = tile * V::STEPS * 16;
            let mut rows = [V::load_tile(text, offset); GROUPS];
            for (group, row) in rows.iter_mut().enumerate().skip(1) {
                *row = V::load_tile(text.add(group * V::WIDTH), offset);
            }
            for step in 0..V::STEPS {
                for group in 0..GROUPS {
                    states[group] = rows[group].as_ref()[step].whiten(key).xor(states[group]);
                }
                cipher::encrypt::<V, GROUPS, ROUNDS>(schedule, &mut states);
                for group in 0..GROUPS {
                    rows[group].as_mut()[step] = states[group];
                }
            }
            for (group, row) in rows.iter().enumerate() {
                V::store_tile(row, text.add(group * V::WIDTH), offset);
            }
        }
        for (group, state) in states.iter().enumerate() {
            state.store(chains.add(group * V::BYTES));
        }
    }
}
