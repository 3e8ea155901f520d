//! The modes, each written once over [`Vector`](crate::vector::Vector).
//!
//! All functions are `#[inline(always)]`, so that they are compiled with the CPU features of the entry functions in an
//! instruction set's file. Loops over `[V; N]` have constant bounds: the compiler unrolls them, and the array becomes
//! registers.

pub(crate) mod cbc_decrypt;
pub(crate) mod cbc_lanes;
pub(crate) mod cipher;
pub(crate) mod ctr;
