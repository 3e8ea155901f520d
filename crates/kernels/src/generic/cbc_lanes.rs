//! Multi-buffer CBC encryption: many streams interleaved, so that the AES unit does not idle while one chain waits.
//!
//! `LANES` streams run at once. A vector holds the same step of `WIDTH` of them, and `GROUPS` vectors are in flight:
//!
//! ```text
//!              vector 0              vector 1
//!   step 0   │ stream 0 │ stream 1 │ stream 2 │ stream 3 │ …
//!   step 1   │ stream 0 │ stream 1 │ stream 2 │ stream 3 │ …      step n + 1 of a stream waits for step n
//! ```
//!
//! All lanes run as many steps as the shortest has left; the shortest then takes the next stream. When no stream is
//! left, the last lane moves to the free position. With few lanes left, a kernel with fewer groups continues. A lane
//! without a stream repeats lane 0, byte for byte: a step is read completely before any of it is written.

use crate::aes::CbcStream;
use crate::generic::cipher;
use crate::schedule::Schedule;
use crate::vector::Lanes;

/// The blocks left of a lane without a stream: more than any stream has, so that it is never the shortest.
const IDLE: u64 = u64::MAX;

/// The streams in flight: lanes `0..live` have one, the others are idle.
struct Flight<'a, 'b, const LANES: usize> {
    streams: core::slice::IterMut<'a, CbcStream<'b>>,
    live: usize,
    text: [*mut u8; LANES],
    /// The block that the next block is chained to: the IV in its stream, then the ciphertext itself. It is read where
    /// it was written and in the same pieces, so the processor takes it from the store queue.
    chain: [*mut u8; LANES],
    /// Blocks left, or [`IDLE`].
    left: [u64; LANES],
    /// Where the last ciphertext block goes.
    result: [*mut [u8; 16]; LANES],
}

/// Encrypts every stream. `MANY * WIDTH == LANES`; `FEW` groups run when that many lanes are enough.
///
/// # Safety
/// Needs the CPU features of `V`; every buffer is whole blocks.
#[inline(always)]
pub(crate) unsafe fn cbc_encrypt_lanes<
    V: Lanes,
    const MANY: usize,
    const FEW: usize,
    const LANES: usize,
    const ROUNDS: usize,
>(
    schedule: &Schedule,
    streams: &mut [CbcStream<'_>],
) {
    const { assert!(MANY * V::WIDTH == LANES && FEW <= MANY && LANES <= 64) };
    let mut flight = Flight::<LANES>::new(streams);
    let mut steps = IDLE;
    while flight.live < LANES && flight.take(flight.live) {
        steps = steps.min(flight.left[flight.live]);
        flight.live += 1;
    }
    while flight.live > 0 {
        flight.mirror_idle();
        // SAFETY: the caller has the CPU features; every live lane has `steps` blocks left.
        unsafe {
            if flight.live <= FEW * V::WIDTH {
                run::<V, FEW, ROUNDS>(schedule, &flight.text, &flight.chain, steps as usize);
            } else {
                run::<V, MANY, ROUNDS>(schedule, &flight.text, &flight.chain, steps as usize);
            }
        }
        let (mut ended, rest) = flight.advance(steps);
        steps = rest;
        while ended != 0 {
            // From the last to the first, so that no lane that moves has ended.
            let lane = ended.ilog2() as usize;
            ended ^= 1 << lane;
            // SAFETY: the lane has done at least one block.
            unsafe { flight.retire(lane) };
            steps = steps.min(flight.left[lane]);
        }
    }
}

impl<'a, 'b, const LANES: usize> Flight<'a, 'b, LANES> {
    #[inline(always)]
    fn new(streams: &'a mut [CbcStream<'b>]) -> Self {
        Flight {
            streams: streams.iter_mut(),
            live: 0,
            text: [core::ptr::null_mut(); LANES],
            chain: [core::ptr::null_mut(); LANES],
            left: [IDLE; LANES],
            result: [core::ptr::null_mut(); LANES],
        }
    }

    /// Gives `lane` the next stream that is not empty.
    #[inline(always)]
    fn take(&mut self, lane: usize) -> bool {
        for stream in self.streams.by_ref() {
            if !stream.buffer.is_empty() {
                self.text[lane] = stream.buffer.as_mut_ptr();
                self.left[lane] = stream.buffer.len() as u64 / 16;
                self.result[lane] = &raw mut stream.chain;
                self.chain[lane] = self.result[lane].cast();
                return true;
            }
        }
        false
    }

    /// Makes every idle lane repeat lane 0.
    #[inline(always)]
    fn mirror_idle(&mut self) {
        for lane in self.live..LANES {
            self.text[lane] = self.text[0];
            self.chain[lane] = self.chain[0];
        }
    }

    /// Counts `steps` blocks as done. Returns the lanes that have ended, as bits, and the fewest blocks that any other
    /// has left. It does not branch on the lengths, since such branches are mispredicted. It does not read the counts as
    /// vectors soon after it writes single ones, since such reads stall.
    #[inline(always)]
    fn advance(&mut self, steps: u64) -> (u64, u64) {
        for (text, chain) in self.text.iter_mut().zip(&mut self.chain) {
            *text = text.wrapping_add(16 * steps as usize);
            *chain = text.wrapping_sub(16);
        }
        for left in &mut self.left[self.live..] {
            *left = IDLE;
        }
        let (mut ended, mut rest) = (0, u64::MAX);
        for (lane, left) in self.left.iter_mut().enumerate() {
            *left -= steps;
            ended |= u64::from(*left == 0) << lane;
            rest = rest.min(left.wrapping_sub(1));
        }
        (ended, rest.saturating_add(1))
    }

    /// Ends `lane`, which has no blocks left, and gives it a new stream, or the last lane's stream.
    ///
    /// # Safety
    /// The lane's chain is its last ciphertext block.
    #[inline(always)]
    unsafe fn retire(&mut self, lane: usize) {
        // SAFETY: the result is the `chain` of a stream that is borrowed as long as this flight.
        unsafe { *self.result[lane] = *self.chain[lane].cast::<[u8; 16]>() };
        if !self.take(lane) {
            self.live -= 1;
            let last = self.live;
            self.text[lane] = self.text[last];
            self.chain[lane] = self.chain[last];
            self.left[lane] = self.left[last];
            self.result[lane] = self.result[last];
            self.left[last] = IDLE;
        }
    }
}

/// Encrypts `steps` blocks of each of `GROUPS * WIDTH` lanes.
///
/// # Safety
/// Needs the CPU features of `V`. Each of the first `GROUPS * WIDTH` pointers of `text` is valid for `steps`
/// blocks, those of `chain` for one; lanes do not overlap, or they are equal.
#[inline(always)]
unsafe fn run<V: Lanes, const GROUPS: usize, const ROUNDS: usize>(
    schedule: &Schedule,
    text: &[*mut u8],
    chain: &[*mut u8],
    steps: usize,
) {
    debug_assert!(text.len() >= GROUPS * V::WIDTH && chain.len() >= GROUPS * V::WIDTH);
    let (text, chain) = (text.as_ptr(), chain.as_ptr());
    // SAFETY: the caller has the CPU features and valid pointers.
    unsafe {
        let mut states = [V::gather(chain, 0); GROUPS];
        for (group, state) in states.iter_mut().enumerate().skip(1) {
            *state = V::gather(chain.add(group * V::WIDTH), 0);
        }
        for step in 0..steps {
            let key = V::broadcast(&schedule.encrypt[0]);
            for (group, state) in states.iter_mut().enumerate() {
                *state = V::gather(text.add(group * V::WIDTH), 16 * step).whiten(key).xor(*state);
            }
            cipher::encrypt::<V, GROUPS, ROUNDS>(schedule, &mut states);
            for (group, state) in states.iter().enumerate() {
                state.scatter(text.add(group * V::WIDTH), 16 * step);
            }
        }
    }
}
