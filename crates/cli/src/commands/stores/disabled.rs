//! A build without stores.

use crate::arguments::{PlanArguments, StoreArguments, TreeArguments};
use crate::commands::sources::Source;
use crate::commands::transform::Run;
use crate::exit_code::{ExitCode, usage};
use crate::report::Printer;
use cipherloom::internal::{IndexStore, Job, Selection, Tree, location::SourceKind};
use cipherloom::{Error, Format, Observer, Report};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// A listing of a store, or a job over one: this build has neither.
pub enum Found {}

impl<'f> From<&'f Found> for SourceKind<'f> {
    fn from(found: &'f Found) -> SourceKind<'f> {
        match *found {}
    }
}

impl Found {
    pub fn sync(&self, _tree: &Tree, _observer: &dyn Observer) -> Result<Report, Error> {
        match *self {}
    }

    pub fn write_single(&self, _source: &mut dyn Read, _observer: &dyn Observer) -> Result<Report, Error> {
        match *self {}
    }
}

pub fn look(_tree: &TreeArguments, _stores: &StoreArguments) -> anyhow::Result<Found> {
    Err(missing())
}

pub fn index(_tree: &Path) -> anyhow::Result<Arc<dyn IndexStore>> {
    Err(missing())
}

pub fn has_index(found: &Found) -> anyhow::Result<bool> {
    match *found {}
}

pub fn list_indexed_files(
    found: &Found,
    _format: &Format,
    _selection: &Selection,
    _suffix: &OsStr,
    _anchor: Option<&Path>,
) -> Result<(Found, usize, OsString), Error> {
    match *found {}
}

pub fn open(_run: &Run<'_>, _job: Job) -> anyhow::Result<Found> {
    Err(missing())
}

pub fn read(_run: &Run<'_>, found: &Found, _printer: Printer) -> anyhow::Result<Report> {
    match *found {}
}

pub fn run(_run: &Run<'_>, _source: Source) -> anyhow::Result<ExitCode> {
    Err(missing())
}

pub fn show_plan(found: &Found, _arguments: &PlanArguments) -> anyhow::Result<ExitCode> {
    match *found {}
}

fn missing() -> anyhow::Error {
    usage(
        "this build of cipherloom has no object stores",
        "the released one has (cargo build --release --package cipherloom-cli --features stores)",
    )
}
