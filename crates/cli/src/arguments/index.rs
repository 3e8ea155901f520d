//! Arguments of the commands for a tree's index.

use super::{CommonArguments, FormatArguments};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
The index lists the files as they are: the key opens the beginning of each file, and nothing shows
whether a file is missing, was swapped with another, or was put back to an earlier version. Modes
and times are those of the encrypted files. `cipherloom encrypt --index` knows all of that.

Examples:
  cipherloom index sealed --key key.json
  cipherloom index sealed --key key.json --exclude README                  without one file
  cipherloom index sealed --key new.json --replace                         if its key was lost")]
pub struct IndexArguments {
    /// The encrypted folder, or its address in an object store
    #[arg(value_name = "DST")]
    pub tree: PathBuf,
    /// The suffix that encryption added to names
    #[arg(long, value_name = "SUFFIX", default_value = "", hide_default_value = true)]
    pub suffix: OsString,
    /// Replace the index that is there, even one that the key does not open. Run `cipherloom verify` first: a file that differs
    /// from that index is listed as it is now
    #[arg(long)]
    pub replace: bool,
    /// Leave out files and folders that match (repeatable). Give `cipherloom verify` the same globs: without them it reports
    /// these files as extra
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Also write the index if some files cannot be read or opened, without these. Each is reported, and the command still fails
    #[arg(long)]
    pub skip_unopened: bool,
    /// Remember the index's generation in FILE, and refuse to follow one that is older
    #[arg(long, value_name = "FILE")]
    pub anchor: Option<PathBuf>,
    #[command(flatten)]
    pub format: FormatArguments,
    #[command(flatten)]
    pub common: CommonArguments,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cipherloom list sealed --key key.json
  cipherloom list sealed --key key.json 'letters/**' '*.epub'
  cipherloom list sealed --key key.json --json | jq -r 'select(.kind == \"file\") | .path'")]
pub struct ListArguments {
    /// The encrypted folder, or its address in an object store
    #[arg(value_name = "DST")]
    pub tree: PathBuf,
    /// List only what has such a name (or path, if GLOB has a `/`)
    #[arg(value_name = "GLOB")]
    pub globs: Vec<String>,
    /// Print one JSON object a line for each entry, then a summary object
    #[arg(long)]
    pub json: bool,
    /// Refuse a tree whose index is older than FILE remembers
    #[arg(long, value_name = "FILE")]
    pub anchor: Option<PathBuf>,
    #[command(flatten)]
    pub format: FormatArguments,
}
