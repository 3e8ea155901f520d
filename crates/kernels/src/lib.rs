//! AES on this CPU: bytes in, bytes out; no files, no threads, no heap, no clock.
//!
//! The cipher is AES (FIPS 197); the modes are CTR and CBC (NIST SP 800-38A). CTR and CBC decryption are
//! parallel inside one message. CBC encryption is not: each block waits for the one before it, so one message
//! uses a fraction of the AES unit. [`Aes::cbc_encrypt_lanes`] therefore interleaves many messages ("lanes")
//! in one core's pipeline, and gives a finished lane the next message at once.
//!
//! ```text
//! Aes ──> Kernels (one table of functions per backend and key size)
//!            │
//!            ├ generic/   each mode once, written over the trait `Vector`
//!            └ arch/      one thin file per instruction set: what a `Vector` is there
//! ```
//!
//! Nothing here branches on, or indexes memory by, key or text: the instruction sets do AES in constant time,
//! and `soft` is bitsliced. Devices are handed in through [`Accelerator`].
#![no_std]

mod accelerator;
mod aes;
mod arch;
mod backend;
mod generic;
mod kernels;
mod schedule;
mod vector;

pub use accelerator::{Accelerator, Engine};
pub use aes::{Aes, CbcStream, KeyError};
pub use backend::Backend;
