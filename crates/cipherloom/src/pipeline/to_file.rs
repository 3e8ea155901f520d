//! A single stream into a file, which gets its name only when the stream has ended well.

use super::folders::Folder;
use super::job::{IfExists, Job};
use super::output::Output;
use super::single::translate_stream;
use crate::Error;
use crate::report::{Observer, Summary};
use std::io::{self, Read, Write};
use std::path::Path;

/// Translates `source` into the file at `path`, as [`translate_stream`] does, with the job's settings for existing
/// outputs and durability. If the stream fails, nothing is left of the output.
///
/// # Errors
/// As [`translate_stream`]; [`Error::OutputExists`]; if the file cannot be written or get its name.
pub fn translate_to_file(
    job: &Job<'_>,
    source: &mut dyn Read,
    path: &Path,
    observer: &dyn Observer,
) -> Result<Summary, Error> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(Error::NeitherFileNorFolder)?;
    let folder = Folder::root(parent, Some(parent))?;
    if path.symlink_metadata().is_ok() {
        match job.if_exists {
            IfExists::Fail => return Err(Error::OutputExists),
            IfExists::Skip => return Ok(Summary { skipped: 1, ..Summary::default() }),
            IfExists::Overwrite => {}
        }
    }
    let mut sink = Sink { output: folder.output(None)?, offset: 0, refused: None };
    let translated = translate_stream(job.work, b"", source, &mut sink, observer);
    if let Some(refused) = sink.refused {
        return Err(refused);
    }
    let summary = translated?;
    if job.durable {
        sink.output.sync()?;
    }
    folder.name(sink.output, name, job.if_exists)?;
    if job.durable {
        super::destination::sync(parent)
            .map_err(|error| Error::io("force a folder to stable storage", error))?;
    }
    Ok(summary)
}

/// An output as a writer.
struct Sink {
    output: Output,
    offset: u64,
    /// The output's own reason, which says more than what a writer may.
    refused: Option<Error>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.output.write(bytes, self.offset) {
            Ok(()) => {
                self.offset += bytes.len() as u64;
                Ok(bytes.len())
            }
            Err(error) => {
                self.refused = Some(error);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
