//! Records on disk: JSON, written whole or not at all, read with the reason if one is damaged.

use super::{Record, SCHEMA, Series};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// Why a record could not be read or written.
#[derive(Debug)]
pub struct RecordError {
    path: PathBuf,
    fault: Fault,
}

#[derive(Debug)]
enum Fault {
    Io(&'static str, io::Error),
    NotARecord(serde_json::Error),
    Schema(u64),
    Unsound(String),
}

impl fmt::Display for RecordError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: ", self.path.display())?;
        match &self.fault {
            Fault::Io(what, error) => write!(out, "cannot {what} the record: {error}"),
            Fault::NotARecord(error) => {
                write!(out, "not a record of the lab, or damaged ({error}); run the experiment again")
            }
            Fault::Schema(version) => write!(
                out,
                "a record of version {version}, and this program reads version {SCHEMA}; \
                 run the experiment again, or use the program that wrote it"
            ),
            Fault::Unsound(series) => write!(
                out,
                "damaged: samples and summary of `{series}` do not belong together; run the experiment again"
            ),
        }
    }
}

impl std::error::Error for RecordError {}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// If the file cannot be read, is no record, is of another version, or contradicts itself.
    pub fn read(path: &Path) -> Result<Record, RecordError> {
        let fail = |fault| RecordError { path: path.to_owned(), fault };
        let text = fs::read(path).map_err(|error| fail(Fault::Io("read", error)))?;
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| fail(Fault::NotARecord(error)))?;
        if let Some(version) = value.get("schema").and_then(serde_json::Value::as_u64)
            && version != u64::from(SCHEMA)
        {
            return Err(fail(Fault::Schema(version)));
        }
        let mut record: Record =
            serde_json::from_value(value).map_err(|error| fail(Fault::NotARecord(error)))?;
        match record.series.iter().find(|series| !series.is_sound()) {
            Some(series) => Err(fail(Fault::Unsound(series.label()))),
            None => {
                record.series.iter_mut().for_each(Series::summarise);
                Ok(record)
            }
        }
    }

    /// Every record in a folder, by name, and what could not be read; files that are not JSON are passed over.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn read_folder(folder: &Path) -> io::Result<(Vec<Record>, Vec<RecordError>)> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        let (mut records, mut errors) = (Vec::new(), Vec::new());
        for path in paths {
            match Record::read(&path) {
                Ok(record) => records.push(record),
                Err(error) => errors.push(error),
            }
        }
        Ok((records, errors))
    }

    /// Writes the record to `folder`, made if need be, under [`Record::file_name`]; gives the path.
    ///
    /// # Errors
    /// If it cannot be written; nothing half-written bears the name then.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, RecordError> {
        let path = folder.join(self.file_name());
        let fail = |error| RecordError { path: path.clone(), fault: Fault::Io("write", error) };
        fs::create_dir_all(folder).map_err(fail)?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(fail)?;
        serde_json::to_writer(&mut file, self).map_err(|error| fail(error.into()))?;
        file.write_all(b"\n").map_err(fail)?;
        readable(file.as_file()).map_err(fail)?;
        file.persist(&path).map_err(|error| fail(error.error))?;
        Ok(path)
    }

    /// `<date>-<processor>-<experiment>.json`; a quick run says so.
    #[must_use]
    pub fn file_name(&self) -> String {
        let date = self.started.split('T').next().unwrap_or_default();
        let quick = if self.extent == super::Extent::Quick { "-quick" } else { "" };
        format!("{date}-{}-{}{quick}.json", file_name_of(&self.machine.processor), self.experiment)
    }
}

/// A temporary file is its owner's alone; a record is for all.
#[cfg(unix)]
fn readable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_file: &fs::File) -> io::Result<()> {
    Ok(())
}

/// A name for a file: small letters, digits and single hyphens.
#[must_use]
pub fn file_name_of(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_s_name_becomes_a_file_s_name() {
        assert_eq!(file_name_of("AMD EPYC-Milan (R) @ 2.4GHz"), "amd-epyc-milan-r-2-4ghz");
    }
}
