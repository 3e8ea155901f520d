//! The binary's commands, one file each.

pub mod answers;
pub mod compare;
pub mod list;
pub mod report;
pub mod run;
