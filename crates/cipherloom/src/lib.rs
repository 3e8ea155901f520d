//! Encrypt, verify, decrypt and re-key trees of files on every core, in formats that others can open.
//!
//! ```text
//! keys ┐
//! tree ├─> plan (pure) ─> pipeline: read ─> kernel ─> write ─> commit ─> report
//! machine ┘
//! ```
//!
//! - [`key`]: Tink keysets, wrapped or plain; raw keys; passphrases.
//! - [`Tree`]: what is to be processed, listed once.
//! - [`Machine`]: what there is to process it with.
//! - [`Format`]: the bytes that a stream consists of; never sees a path.
//! - [`Plan`]: which tasks run where, and why; a pure function of the above.
//! - [`run`]: carries a plan out; [`SealedFile`] and [`open_range`] read a part of an encrypted file;
//!   [`translate_stream`] and [`translate_to_file`] serve pipes.
//! - [`find_other_key`], [`find_other_key_by`]: whether the destination holds files under another key.
//! - [`GivingUp`]: when a run ends early, for those who go through the entries themselves.
//! - [`make_folders`], [`sync_parents`], [`sync_folders`], [`write_key_file`]: names and keys that outlive a power cut.
//! - [`Draft`], [`Published`], [`open_file`], [`open_file_below`], [`on_workers`], [`on_watched_workers`]: outputs, inputs and threads
//!   for those who write a format of their own.
//! - [`Pieces`], [`SourceFile`]: the same translation for those who fetch and send the bytes themselves.
//! - [`Observer`], [`Summary`]: what a run tells.
//! - [`address`]: whether a source or destination is a path, or the address of a place in a store.
#![forbid(unsafe_code)]

// Pure modules: no files, threads, clock or environment (clippy.toml).
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
mod error;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod format;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod plan;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
mod report;

pub mod key;
pub mod machine;
mod pipeline;
mod tree;

pub use cipherloom_kernels::{Accelerator, Backend, Engine};
pub use error::{Cause, Error, ErrorClass, KeyFault, OutputFault, RunFault};
pub use format::Format;
pub use machine::Machine;
pub use pipeline::{
    Draft, GivingUp, IfExists, Job, Links, Pieces, Published, SealedFile, SourceFile, Verdict, Work,
    Workspace, check, find_other_key, find_other_key_by, is_in_place, make_folders, on_watched_workers,
    on_workers, open_file, open_file_below, open_range, replace_key_file, run, sync_folders, sync_parents,
    translate_stream, translate_to_file, write_key_file,
};
// For the command, whose standard output must not lose anything either.
#[cfg(unix)]
#[doc(hidden)]
pub use pipeline::accept_writes;
pub use plan::{Operation, Plan, Request};
pub use report::{Event, Observer, Outcome, Summary, Unobserved};
pub use tree::address;
pub use tree::{Attributes, Directory, Dropped, Entry, Link, PassedOver, Selection, Shard, Tree, Unlisted};
