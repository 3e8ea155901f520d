//! Encrypt, verify, decrypt and re-key trees in object stores: S3 (and what speaks it), Google Cloud Storage, Azure Blob
//! Storage.
//!
//! ```
//! use cipherloom::internal::{Job, Selection, Work};
//! use cipherloom::{Format, key::Keyset, machine::Backend, report::Unobserved};
//! use cipherloom_stores::{Access, Inventory, Place, StoreJob};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (books, sealed) = (folder.path().join("books"), folder.path().join("sealed"));
//! # std::fs::create_dir(&books)?;
//! # std::fs::write(books.join("flatland.txt"), "I call our world Flatland")?;
//! let format = Format::tink(Keyset::generate("AES256_GCM_HKDF_4KB".parse()?)?, Backend::best())?;
//!
//! // Folders here; an address such as `s3://books/in` works anywhere a path does.
//! let access = Access::default();
//! let inventory = Inventory::open(&Place::open(&books, access)?, Selection::default())?;
//! let mut job = StoreJob::open(Job::new(Work::Encrypt(format.clone()), Some(sealed)), access)?;
//! job.limits.objects = 8;
//! job.check(&inventory)?;
//! let (foreseen, survey) = job.foresee(&inventory, &Unobserved)?;
//! let report = job.run(&inventory, &Unobserved)?;
//! assert_eq!((foreseen.files, survey.bytes, report.files), (1, 25, 1));
//!
//! // One object to a writer.
//! let single = Inventory::open(&Place::open(&books.join("flatland.txt"), access)?, Selection::default())?;
//! let job = StoreJob::open(Job::new(Work::Encrypt(format), None), access)?;
//! let mut stream = Vec::new();
//! job.read_single(&single, &mut stream, &Unobserved)?;
//! assert_eq!(single.single().map(|object| object.size), Some(25));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`Place`]: a folder, or a prefix of a bucket, by path or address; [`Access`]: how to reach it.
//! - [`Inventory`]: what there is at a place. A bucket is listed while the run goes on; [`Inventory::survey`] counts it, and
//!   [`Inventory::list_all`] gives its [`Object`]s, which may be divided among machines.
//! - [`StoreJob`]: what to do, where the outputs go, and how much at once ([`Limits`]). [`StoreJob::run`] does it;
//!   [`StoreJob::foresee`] says what it would do; [`StoreJob::sync`] brings a bucket and its index up to date with a folder;
//!   [`StoreJob::read_single`] and [`StoreJob::write_single`] move one object
//!   to or from a stream of unknown length.
//!
//! ```text
//! object up to a part's size    GET ──────────> translate ─> conditional PUT
//! larger one                    ranged GETs ──> translate ─> parts of a multipart upload ─> conditional completion
//!                               (many objects, and many parts of one, in flight; bytes in flight are bounded)
//! ```
//!
//! Outputs are created with conditional writes, so that none is overwritten by accident. Their metadata says what they were
//! made from (`existing.rs`), so that a repeated run recognises its own outputs, which it checks (`confirm.rs`).
//!
//! All async code of the workspace is in this crate. The ciphers run on threads for blocking work.
#![forbid(unsafe_code)]

mod bucket_index;
mod confirm;
mod existing;
mod faults;
mod index_run;
mod indexing;
mod inventory;
mod job;
mod journal;
mod names;
mod object;
mod other_key;
mod pages;
mod place;
mod rekeying;
mod run;
mod runtime;
mod sieve;
mod single;
mod sink;
mod source;
mod sync;
mod upload;
mod wire;

pub use inventory::{Inventory, Object, Survey};
pub use job::{Limits, StoreJob};
pub use place::{Access, Place};
