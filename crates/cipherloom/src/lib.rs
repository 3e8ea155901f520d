//! cipherloom: encrypt, verify, decrypt and re-key trees of files on every core.
#![forbid(unsafe_code)]
pub mod error;
pub mod format;
pub mod key;
pub use error::Error;
