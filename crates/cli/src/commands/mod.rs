//! The commands: each takes its arguments and returns how the process ends.

pub mod calibrate;
pub mod devices;
pub mod in_place;
pub mod inspect;
pub mod keygen;
pub mod keys;
pub mod lcp;
pub mod manual;
pub mod nothing;
pub mod plan;
pub mod sources;
pub mod stores;
pub mod stream;
pub mod suffix;
pub mod transform;
