//! Arguments of the commands for a tree's index.

use super::{CommonArguments, FormatArguments, links_values};
use cipherloom::Links;
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
A file is unchanged if its size and time are those that the index of DST lists. Outputs of renamed
files are renamed, but not in a store, nor with --bind-path. Give that in every run or in none.
What is gone from SRC stays in DST without --delete.

Examples:
  cipherloom sync books sealed --key key.json
  cipherloom sync books sealed --key key.json --delete --dry-run -v        what would be done
  cipherloom sync books sealed --key key.json --delete --anchor anchor.json
  cipherloom sync books s3://library/sealed --key key.json                 to a bucket")]
pub struct SyncArguments {
    /// The folder to encrypt
    #[arg(value_name = "SRC")]
    pub source: PathBuf,
    /// The encrypted folder, or its address in an object store; its index is made if there is none
    #[arg(value_name = "DST")]
    pub destination: PathBuf,
    /// Remove from DST what the index lists and SRC has no longer. Nothing is removed if a part of SRC cannot be listed, or what
    /// --include or --exclude leaves out; SRC is refused if it has no listed file
    #[arg(long)]
    pub delete: bool,
    /// Compare the content of files too, by a keyed digest in the index. Without it, a change that keeps size and time is not
    /// found. Files without a digest are encrypted again; those to encrypt are read twice
    #[arg(long)]
    pub checksum: bool,
    /// Write nothing, and show what would be done; with -v for each file
    #[arg(long)]
    pub dry_run: bool,
    /// Remember the index's generation in FILE, and refuse to follow one that is older
    #[arg(long, value_name = "FILE")]
    pub anchor: Option<PathBuf>,
    /// Take only files whose name (or path, if GLOB has a `/`) matches (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// Leave out files and folders that match (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Skip symbolic links, or copy them as links
    #[arg(long, default_value = "skip", value_name = "skip|copy", value_parser = links_values(), hide_possible_values = true)]
    pub links: Links,
    /// Give outputs exactly the permissions of their sources. Without it the umask applies
    #[arg(long, value_name = "modes", value_parser = ["modes"], hide_possible_values = true)]
    pub preserve: Option<String>,
    /// Added to the names of files
    #[arg(long, value_name = "SUFFIX", default_value = "", hide_default_value = true)]
    pub suffix: OsString,
    /// Give the files random names, which only the index knows. All runs into DST hide names, or none does. Sizes are not hidden
    #[arg(long, conflicts_with_all = ["suffix", "bind_path"])]
    pub hide_names: bool,
    /// Force every output to stable storage before it gets its name
    #[arg(long)]
    pub durable: bool,
    /// Encrypt even if DST holds files that do not open with the key
    #[arg(long)]
    pub allow_mixed_keys: bool,
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
