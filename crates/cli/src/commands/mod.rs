//! The commands: each takes its arguments and returns how the process ends.

pub mod devices;
pub mod inspect;
pub mod key_places;
pub mod keys;
pub mod lcp;
pub mod list;
pub mod manual;
pub mod plan;
pub mod sources;
pub mod stores;
pub mod stream;
pub mod transform;
