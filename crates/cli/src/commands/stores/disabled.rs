//! What a build without stores says.

use super::{Source, StoreRun};
use crate::arguments::{PlanArguments, StoreArguments, TreeArguments};
use crate::commands::keygen::FirstKey;
use crate::exit_code::{ExitCode, usage};

/// There is no such listing in this build.
pub enum Found {}

impl Found {
    pub fn is_single(&self) -> bool {
        match *self {}
    }
}

pub fn look(_tree: &TreeArguments, _stores: &StoreArguments) -> anyhow::Result<Found> {
    Err(missing())
}

pub fn run(_run: StoreRun<'_>, _source: Source, _new_key: &FirstKey<'_>) -> anyhow::Result<ExitCode> {
    Err(missing())
}

pub fn show_plan(found: &Found, _arguments: &PlanArguments) -> anyhow::Result<ExitCode> {
    match *found {}
}

fn missing() -> anyhow::Error {
    usage(
        "this build of cipherloom has no object stores; the released one has (cargo build --release --package cipherloom-cli \
         --features stores)",
    )
}
