//! `cipherloom-lab report`: a folder of records becomes one page.

use crate::experiments::answer_again;
use crate::output::{count, print};
use crate::record::{Record, RecordError};
use crate::report;
use anyhow::{Context as _, ensure};
use std::io::Write as _;
use std::path::PathBuf;

/// From which records to make a page, and where.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The folder that `run` wrote records to
    #[arg(default_value = "records", value_name = "RECORDS")]
    records: PathBuf,
    /// The page; an older one is replaced
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
}

/// Writes the page. A damaged record is told, here and in the page, and the others go in.
///
/// # Errors
/// If the folder cannot be listed or has no records, or the page cannot be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let (mut records, damaged) = Record::read_folder(&options.records).with_context(|| {
        format!("cannot list {}; name the folder that `run` wrote to", options.records.display())
    })?;
    // The answers of the program that wrote a record may be older than the way to answer.
    records.iter_mut().for_each(answer_again);
    let damaged: Vec<String> = damaged.iter().map(RecordError::to_string).collect();
    let is_empty = records.is_empty() && damaged.is_empty();
    ensure!(!is_empty, "{} has no records; name the folder that `run` wrote to", options.records.display());
    for words in &damaged {
        eprintln!("cipherloom-lab: {words}; left out of the page");
    }
    let folder = options.out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let cannot_write = || format!("cannot write {}", options.out.display());
    let mut file = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder.unwrap_or(".".as_ref()))
        .with_context(cannot_write)?;
    file.write_all(report::page(&records, &damaged).as_bytes()).with_context(cannot_write)?;
    file.persist(&options.out).with_context(cannot_write)?;
    let records = count(records.len(), "record");
    print(&format!("{}: {records}; open it in any browser\n", options.out.display()))
}
