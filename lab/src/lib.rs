//! The lab: when does parallelism pay? Published experiments are run again on this machine, checked, and what they left
//! open is answered. Never shipped with the product.
//!
//! ```text
//! experiments ──> measure: check, warm up, alternate, time ──> record (JSON, CSV) ──> report, compare
//!      └ published/*.csv: the figures that stand beside today's
//! ```
//!
//! - [`measure`]: clocks, alternation, statistics, what the machine is and how busy it was.
//! - [`record`]: what is kept of a run. A [`record::Series`] cannot be made without [`record::Evidence`] that its result
//!   equals an independent implementation's.
//! - [`experiments`]: what is run, by name.
//! - [`external`]: programs of other origin, compiled when this machine can.
//! - [`report`]: one page for a folder of records.
//! - [`commands`]: what the binary does; [`output`], [`progress`] and [`scratch`]: what it says, and where it works.
#![forbid(unsafe_code)]

pub mod commands;
pub mod experiments;
pub mod external;
pub mod measure;
pub mod output;
pub mod progress;
pub mod record;
pub mod report;
pub mod scratch;
