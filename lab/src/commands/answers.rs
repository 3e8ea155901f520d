//! `cipherloom-lab answers`: the answers that are quoted, as a table of Markdown, made of the records.

use crate::experiments::{ALL, answer_again};
use crate::output;
use crate::record::{Answer, Extent, Record};
use anyhow::{Context as _, ensure};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Of which records, and where to.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The folder that `run` wrote records to
    #[arg(value_name = "RECORDS")]
    records: PathBuf,
    /// Replace the table in this file, between its marks; without it the table is printed
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
}

/// What stands before and after the table in a file.
const MARKS: [&str; 2] = ["<!-- answers:begin -->\n", "<!-- answers:end -->"];

/// Prints the table, or puts it into a file.
///
/// # Errors
/// If a record cannot be read, or the file has no marks or cannot be replaced.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let Some(path) = &options.into else { return output::print(&table(&options.records, &options.records)?) };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let link = options.records.strip_prefix(folder).unwrap_or(&options.records);
    let replaced = replaced(&text, &table(&options.records, link)?)
        .with_context(|| format!("{} has no {}", path.display(), MARKS[0].trim_end()))?;
    let cannot_write = || format!("cannot write {}", path.display());
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut file = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)
        .with_context(cannot_write)?;
    file.write_all(replaced.as_bytes()).with_context(cannot_write)?;
    file.persist(path).with_context(cannot_write)?;
    Ok(())
}

/// The text with another table between its marks; `None` if it has none.
#[must_use]
pub fn replaced(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    Some(format!("{before}{}{table}{}{after}", MARKS[0], MARKS[1]))
}

/// A row for each quoted answer of the newest full records in `folder`, which the table calls `link`.
///
/// # Errors
/// If the folder or a record in it cannot be read.
pub fn table(folder: &Path, link: &Path) -> anyhow::Result<String> {
    let (records, damaged) =
        Record::read_folder(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    if let Some(damaged) = damaged.into_iter().next() {
        return Err(damaged.into());
    }
    let mut text = "| record | question | answer | |\n|---|---|---|---|\n".to_owned();
    let mut rows = 0;
    for experiment in ALL {
        let of_it = records
            .iter()
            .filter(|record| record.experiment == experiment.name && record.extent == Extent::Full);
        let Some(record) = of_it.max_by_key(|record| record.started.clone()) else { continue };
        let mut record = record.clone();
        answer_again(&mut record);
        let name = format!("[{}]({})", record.experiment, link.join(record.file_name()).display());
        let warnings = record.warnings();
        let mut first =
            if warnings.is_empty() { name } else { format!("{name}. **{}**", warnings.join(" ")) };
        for answer in record.answers.iter().filter(|answer| answer.is_headline) {
            text.push_str(&row(&std::mem::take(&mut first), answer));
            rows += 1;
        }
    }
    ensure!(rows > 0, "{} has no full record", folder.display());
    Ok(text)
}

fn row(first: &str, answer: &Answer) -> String {
    let field = |text: &str| text.replace('|', "\\|");
    format!(
        "| {first} | {} | {} | {} |\n",
        field(&answer.question),
        field(&answer.sentence),
        answer.basis.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let text = format!("before\n{}old\n{}\nafter\n", MARKS[0], MARKS[1]);
        let new = replaced(&text, "| new |\n").unwrap();
        assert_eq!(new, format!("before\n{}| new |\n{}\nafter\n", MARKS[0], MARKS[1]));
        assert_eq!(replaced("no marks", "x"), None);
        assert!(row("r", &Answer::guess("q?", "a | b".into(), Vec::new())).contains("a \\| b | guess |"));
    }
}
