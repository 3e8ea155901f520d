//! Object stores as SRC or DST: `s3://…`, `gs://…`, `az://…`. They need the feature `stores`; a build without it refuses
//! their addresses.

#[cfg(not(feature = "stores"))]
mod disabled;
#[cfg(feature = "stores")]
mod enabled;

#[cfg(not(feature = "stores"))]
pub use disabled::{Found, has_index, index, list_indexed_files, look, open, read, run, show_plan};
#[cfg(feature = "stores")]
pub use enabled::{Found, has_index, index, list_indexed_files, look, open, read, run, show_plan};
