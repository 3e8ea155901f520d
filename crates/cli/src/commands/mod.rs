//! The commands: each takes its arguments and returns how the process ends.

pub mod calibrate;
pub mod devices;
pub mod dry_run;
pub mod in_place;
pub mod inspect;
pub mod key_places;
pub mod keygen;
pub mod keys;
pub mod lcp;
pub mod manual;
pub mod nothing;
pub mod plan;
pub mod raw_source;
pub mod sources;
pub mod stores;
pub mod stream;
pub mod suffix;
pub mod transform;
