//! What can go wrong, each with its cause and what to do about it.
#![allow(missing_docs)]
use std::io;

/// Every error of this library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action}: {source}")]
    Io { action: &'static str, #[source] source: io::Error },
}
