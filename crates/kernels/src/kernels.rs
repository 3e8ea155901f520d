//! The table of a backend's functions, and the macro with which an instruction set's file fills it.

use crate::aes::CbcStream;
use crate::schedule::Schedule;

/// One backend's functions for one key size.
///
/// # Safety
/// Every function needs the CPU features of its backend, a schedule that the same table's `expand` made, and,
/// for CBC, buffers of whole blocks.
pub(crate) struct Kernels {
    /// How many CBC streams `cbc_encrypt_lanes` keeps in flight.
    pub(crate) lanes: usize,
    pub(crate) expand: unsafe fn(&[u8], &mut Schedule),
    pub(crate) ctr_xor: unsafe fn(&Schedule, u128, &mut [u8]),
    pub(crate) cbc_decrypt: unsafe fn(&Schedule, &mut [u8; 16], &mut [u8]),
    /// For the first stream alone: the kernel with the shortest latency.
    pub(crate) cbc_encrypt: unsafe fn(&Schedule, &mut [CbcStream<'_>]),
    pub(crate) cbc_encrypt_lanes: unsafe fn(&Schedule, &mut [CbcStream<'_>]),
    pub(crate) unit_bound: unsafe fn(&Schedule, usize) -> usize,
}

/// Instantiates the generic modes for one instruction set.
///
/// The generic code is `#[inline(always)]` and has no CPU feature of its own: it is compiled with the features of the
/// entry functions made here.
///
/// - `single` is the vector for one block at a time, `lanes` the vector for CBC encryption of many streams.
/// - `rows` is how many vectors CTR and CBC decryption keep in flight.
/// - `groups` is how many vectors of lanes CBC encryption keeps in flight with many streams, and with few.
macro_rules! kernel_table {
    (
        $(#[$feature:meta])*
        vector: $Vector:ty, single: $Single:ty, lanes: $Lanes:ty,
        rows: $rows:literal, groups: $many:literal or $few:literal
    ) => {
        /// How many CBC streams are in flight at once.
        const LANES: usize = $many * <$Lanes as crate::vector::Vector>::WIDTH;

        pub(crate) static KERNELS: [crate::kernels::Kernels; 3] = [table::<10>(), table::<12>(), table::<14>()];

        const fn table<const ROUNDS: usize>() -> crate::kernels::Kernels {
            crate::kernels::Kernels {
                lanes: LANES,
                expand: expand::<ROUNDS>,
                ctr_xor: ctr_xor::<ROUNDS>,
                cbc_decrypt: cbc_decrypt::<ROUNDS>,
                cbc_encrypt: cbc_encrypt::<ROUNDS>,
                cbc_encrypt_lanes: cbc_encrypt_lanes::<ROUNDS>,
                unit_bound: unit_bound::<ROUNDS>,
            }
        }

        $(#[$feature])*
        unsafe fn expand<const ROUNDS: usize>(key: &[u8], schedule: &mut crate::schedule::Schedule) {
            // SAFETY: this function's features are those of the vector; the caller gives a key for ROUNDS.
            unsafe { crate::schedule::expand::<$Single, ROUNDS>(key, schedule) }
        }

        $(#[$feature])*
        unsafe fn ctr_xor<const ROUNDS: usize>(
            schedule: &crate::schedule::Schedule,
            first: u128,
            buffer: &mut [u8],
        ) {
            // SAFETY: this function's features are those of the vector.
            unsafe { crate::generic::ctr::ctr_xor::<$Vector, $rows, ROUNDS>(schedule, first, buffer) }
        }

        $(#[$feature])*
        unsafe fn cbc_decrypt<const ROUNDS: usize>(
            schedule: &crate::schedule::Schedule,
            chain: &mut [u8; 16],
            buffer: &mut [u8],
        ) {
            // SAFETY: this function's features are those of the vector; the caller gives whole blocks.
            unsafe { crate::generic::cbc_decrypt::cbc_decrypt::<$Vector, $rows, ROUNDS>(schedule, chain, buffer) }
        }

        $(#[$feature])*
        unsafe fn cbc_encrypt<const ROUNDS: usize>(
            schedule: &crate::schedule::Schedule,
            streams: &mut [crate::aes::CbcStream<'_>],
        ) {
            // SAFETY: this function's features are those of the vector; the caller gives whole blocks.
            unsafe {
                const LANES: usize = <$Single as crate::vector::Vector>::WIDTH;
                crate::generic::cbc_lanes::cbc_encrypt_lanes::<$Single, 1, 1, LANES, ROUNDS>(schedule, streams)
            }
        }

        $(#[$feature])*
        unsafe fn cbc_encrypt_lanes<const ROUNDS: usize>(
            schedule: &crate::schedule::Schedule,
            streams: &mut [crate::aes::CbcStream<'_>],
        ) {
            // SAFETY: this function's features are those of the vector; the caller gives whole blocks.
            unsafe {
                crate::generic::cbc_lanes::cbc_encrypt_lanes::<$Lanes, $many, $few, LANES, ROUNDS>(
                    schedule, streams,
                )
            }
        }

        $(#[$feature])*
        unsafe fn unit_bound<const ROUNDS: usize>(
            schedule: &crate::schedule::Schedule,
            passes: usize,
        ) -> usize {
            // SAFETY: this function's features are those of the vector.
            unsafe { crate::generic::cipher::unit_bound::<$Vector, ROUNDS>(schedule, passes) }
        }
    };
}

pub(crate) use kernel_table;
