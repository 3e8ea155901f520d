//! The other programs that tests and benches drive: found, installed, or built under the build folder. Used by `xtask` and
//! by the lab's bench.
//!
//! A program that cannot be had is an error, never a test passed over.

pub mod debian;
pub mod lcp;
pub mod place;
mod program;
mod tools;

pub use program::{Program, is_installed};
pub use tools::{
    age, azurite, fake_gcs, go_peer, java_peer, python_environment, versitygw, versitygw_version,
};
