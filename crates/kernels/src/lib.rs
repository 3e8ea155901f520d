//! AES on this CPU: a library of functions over bytes that uses no files, threads, heap or clock.
//!
//! The cipher is AES (FIPS 197); the modes are CTR and CBC (NIST SP 800-38A). CTR and CBC decryption are parallel inside
//! one message. CBC encryption is not: each block waits for the previous one, so one message uses a fraction of the AES
//! unit. [`Aes::cbc_encrypt_lanes`] therefore interleaves many messages ("lanes") in one core's pipeline. A lane that
//! finishes takes the next message at once.
//!
//! ```text
//! Aes ──> Kernels (one table of functions per backend and key size)
//!            │
//!            ├ generic/   each mode once, written over the trait `Vector`
//!            └ arch/      one thin file per instruction set: its `Vector`
//! ```
//!
//! No branch and no memory address depends on key or text: the AES instructions take constant time, and `soft` is
//! bitsliced. A caller passes devices in as [`Accelerator`]s.
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
