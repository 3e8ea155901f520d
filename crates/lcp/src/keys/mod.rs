//! Content keys, and the key file that keeps them: without its key a protected publication is lost, so the record of a
//! key stands on stable storage before the publication gets its name.

mod file;
mod record;

pub use file::KeyFile;
pub(crate) use record::random_uuid;
pub use record::{ContentKey, FileFacts, KeyRecord};
