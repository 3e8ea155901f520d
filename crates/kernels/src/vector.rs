//! The trait that separates the modes from the instruction sets.

/// A register (or several) that holds [`WIDTH`](Vector::WIDTH) AES blocks, and an instruction set's operations on
/// it.
///
/// The rounds fit both families of hardware: x86 adds the round key *after* the substitution, ARM *before* it.
/// So a round gets the previous round's key and its own, and `whiten`, the first key addition, does nothing on ARM.
///
/// # Safety
/// Every method needs the CPU features of its instruction set. Pointers must be valid for the bytes named, with
/// any alignment.
pub(crate) trait Vector: Copy {
    /// Blocks of 16 bytes in one vector.
    const WIDTH: usize;
    /// `WIDTH * 16`.
    const BYTES: usize = Self::WIDTH * 16;
    /// The counters of a vector's blocks, in a form to which numbers are added fast.
    type Counter: Copy;

    /// Reads `BYTES` bytes.
    unsafe fn load(source: *const u8) -> Self;
    /// Writes `BYTES` bytes.
    unsafe fn store(self, target: *mut u8);
    /// The same block in every position.
    unsafe fn broadcast(block: &[u8; 16]) -> Self;
    /// Bitwise exclusive or.
    unsafe fn xor(self, other: Self) -> Self;
    /// The last block of `previous`, then all but the last of `self`.
    unsafe fn shift_in(self, previous: Self) -> Self;

    /// The key addition before the first round.
    #[inline(always)]
    unsafe fn whiten(self, key: Self) -> Self {
        // SAFETY: as `xor`.
        unsafe { self.xor(key) }
    }
    /// One inner round; `before` is the previous round's key.
    unsafe fn encrypt_round(self, before: Self, key: Self) -> Self;
    /// The round without MixColumns.
    unsafe fn encrypt_last(self, before: Self, key: Self) -> Self;
    /// One inner round of the equivalent inverse cipher (FIPS 197, section 5.3.5).
    unsafe fn decrypt_round(self, before: Self, key: Self) -> Self;
    /// The inverse round without InvMixColumns.
    unsafe fn decrypt_last(self, before: Self, key: Self) -> Self;

    /// The counters `first`, `first + 1`, …; the low 64 bits do not carry into the high ones.
    unsafe fn counter(first: u128) -> Self::Counter;
    /// The counter blocks, big-endian, of the vector that is `vectors` after this one.
    unsafe fn counter_blocks(counter: Self::Counter, vectors: usize) -> Self;
    /// The counters of the vector that is `vectors` after this one.
    unsafe fn counter_advance(counter: Self::Counter, vectors: usize) -> Self::Counter;
}

/// A vector whose blocks can belong to different streams, for multi-buffer CBC.
///
/// # Safety
/// As for [`Vector`].
pub(crate) trait Lanes: Vector {
    /// Reads 16 bytes at `offset` of each of the `WIDTH` streams whose pointers start at `streams`. What is here is for one
    /// stream.
    #[inline(always)]
    unsafe fn gather(streams: *const *mut u8, offset: usize) -> Self {
        const { assert!(Self::WIDTH == 1) };
        // SAFETY: one valid stream pointer with 16 bytes at `offset`.
        unsafe { Self::load((*streams).add(offset)) }
    }
    /// Writes 16 bytes at `offset` of each stream, as `gather` reads them.
    #[inline(always)]
    unsafe fn scatter(self, streams: *const *mut u8, offset: usize) {
        const { assert!(Self::WIDTH == 1) };
        // SAFETY: as `gather`.
        unsafe { self.store((*streams).add(offset)) }
    }
}
