//! Trees in object stores: `s3://…`, `gs://…`, `az://…` where SRC or DST is a path. The feature `stores` brings them; a
//! build without it knows the addresses, and says what is missing.

#[cfg(not(feature = "stores"))]
mod disabled;
#[cfg(feature = "stores")]
mod enabled;
#[cfg(feature = "stores")]
mod plan;
#[cfg(feature = "stores")]
mod stream;

#[cfg(not(feature = "stores"))]
pub use disabled::{Found, look, run, show_plan};
#[cfg(feature = "stores")]
pub use enabled::{Found, look, run, show_plan};

use super::transform::Source;
use crate::arguments::CommonArguments;
use cipherloom::address::is_address;
use cipherloom::{Format, Job};
use std::sync::Arc;

/// A command over at least one store: all that is known before its objects are processed.
#[cfg_attr(
    not(feature = "stores"),
    expect(dead_code, reason = "such a build refuses before it would read them")
)]
pub struct StoreRun<'r> {
    /// What was done, "encrypted".
    pub verb: &'static str,
    pub job: Job<'r>,
    /// The formats of the job's two sides, source and output.
    pub formats: [Option<Arc<Format>>; 2],
    pub common: &'r CommonArguments,
    pub dry_run: bool,
}

/// Whether source or destination is in a store.
pub fn concerns(source: &Source, job: &Job<'_>) -> bool {
    matches!(source, Source::Listing(_)) || job.destination.as_deref().is_some_and(is_address)
}
