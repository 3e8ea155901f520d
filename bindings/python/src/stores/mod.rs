//! Trees in object stores: `s3://…`, `gs://…`, `az://…` where a source or destination is a path. The feature
//! `stores`, which is on by default, brings them; a build without it knows the addresses, and says what is missing.

#[cfg(not(feature = "stores"))]
mod disabled;
#[cfg(feature = "stores")]
mod enabled;

#[cfg(not(feature = "stores"))]
pub(crate) use disabled::{index_at, list_objects, plan, process};
#[cfg(feature = "stores")]
pub(crate) use enabled::{index_at, list_objects, plan, process};
