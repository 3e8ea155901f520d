//! Object stores as the homes of a tree: S3 (and what speaks it), Google Cloud Storage, Azure Blob Storage.
//!
//! ```text
//! Place::open("s3://bucket/prefix") ─> Inventory::open ─┐   listed page by page while the run goes on
//!                       Place::open ─> Errand ──────────┴─> run ─> Summary     (events to an `Observer`, as on folders)
//!
//! object up to a part's size    GET ──────────> translate ─> conditional PUT
//! larger one                    ranged GETs ──> translate ─> parts of a multipart upload ─> conditional completion
//!                               (many objects, and many parts of one, in flight; bytes in flight are bounded)
//! ```
//!
//! - [`Place`]: a folder, or a prefix of a bucket, by path or address; [`Access`]: how to reach it.
//! - [`Inventory`]: what there is at a place, listed while the run goes on; [`Inventory::survey`] counts it.
//! - [`Listing`]: the same, all of it in memory; its [`Object`]s may be divided among machines
//!   ([`Listing::of_objects`] makes a listing of some of them).
//! - [`Errand`]: what to do and where the outputs go; [`Limits`]: how much at once.
//! - [`run`]: does it. Blocks the calling thread, which alone calls the observer. [`foresee`] says what it would do.
//! - [`find_other_key`]: whether the destination holds objects under another key.
//! - [`read_single`], [`write_single`]: one object to or from a stream of unknown length.
//!
//! ```no_run
//! use cipherloom::{Backend, Format, Selection, Unobserved, key::Keyset};
//! use cipherloom_stores::{Access, Errand, Inventory, Place, Work, run};
//! use std::{path::Path, sync::Arc};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keyset = Keyset::parse(&std::fs::read("key.json")?)?;
//! let format = Arc::new(Format::tink(keyset, Backend::best())?);
//! let source = Place::open(Path::new("s3://books/in"), Access::default())?;
//! let destination = Place::open(Path::new("s3://books/sealed"), Access::default())?;
//! let inventory = Inventory::open(&source, Selection::default())?;
//! let errand = Errand::new(Work::Encrypt(format), Some(destination));
//! let summary = run(inventory, &errand, &Unobserved)?;
//! # Ok(())
//! # }
//! ```
//!
//! Outputs are created, never overwritten by accident, and say in their metadata what they were made from
//! (`provenance.rs`): a run that is repeated recognises its own, and looks whether it is what it says (`confirm.rs`). All async code of the workspace is here; ciphers run on
//! threads for blocking work.
#![forbid(unsafe_code)]

mod bucket;
mod cipher;
mod conditions;
mod confirm;
mod deadlines;
mod errand;
mod existing;
mod faults;
mod inventory;
mod listing;
mod location;
mod names;
mod object;
mod other_key;
mod pages;
mod place;
mod provenance;
mod run;
mod runtime;
mod sieve;
mod single;
mod sink;
mod source;
mod tally;
mod upload;
mod wire;

pub use bucket::Access;
pub use errand::{Errand, Limits, Work};
pub use inventory::{Inventory, Survey};
pub use listing::{Listing, Object};
pub use other_key::find_other_key;
pub use place::Place;
pub use run::{check, foresee, run};
pub use single::{read_single, write_single};
