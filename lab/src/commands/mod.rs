//! The binary's commands, one file each.

pub mod compare;
pub mod list;
pub mod report;
pub mod run;
