//! Content keys, and the key file that keeps them: without its key a protected publication is lost, so the record of a
//! key stands on stable storage before the publication gets its name.

mod file;
mod record;

pub use file::KeyFile;
pub use record::{ContentKey, FileFacts, KeyRecord};
pub(crate) use record::{fingerprint_of, random_uuid, stem};
