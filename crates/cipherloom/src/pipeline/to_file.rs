//! A single stream into a file, which gets its name only when the stream has ended well.

use super::folders::Target;
use super::job::{IfExists, Job};
use super::output::Output;
use super::single::translate_stream;
use super::stable::sync_parents;
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
    let folder = Target::root(parent)?;
    // Known before the stream is read, which may not come twice.
    match job.if_exists {
        IfExists::Skip if folder.has_output(name) => {
            return Ok(Summary { skipped: 1, ..Summary::default() });
        }
        IfExists::Fail | IfExists::Skip if folder.is_taken(name) => return Err(Error::OutputExists),
        IfExists::Fail | IfExists::Skip | IfExists::Overwrite => {}
    }
    folder.check_naming(job.existing())?;
    let mut sink = Sink { output: folder.output(None)?, offset: 0, refused: None };
    let translated = translate_stream(job.work, b"", source, &mut sink, observer);
    if let Some(refused) = sink.refused {
        return Err(refused);
    }
    let summary = translated?;
    sink.output.accept_writes()?;
    if job.durable {
        sink.output.sync()?;
    }
    match folder.name(sink.output, name, job.existing()) {
        // Another run has made it meanwhile.
        Err(Error::OutputExists) if job.if_exists == IfExists::Skip && folder.has_output(name) => {
            return Ok(Summary { skipped: 1, ..Summary::default() });
        }
        named => named?,
    }
    if job.durable {
        sync_parents(path, parent)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::job::Work;
    use crate::report::Unobserved;
    use std::fs;

    /// An empty stream during which somebody else makes the output.
    struct Late(std::path::PathBuf);

    impl Read for Late {
        fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            fs::write(&self.0, b"another")?;
            Ok(0)
        }
    }

    /// What stands there decides before the stream is read: a stream may not come twice.
    #[test]
    #[cfg(unix)]
    fn only_a_file_lets_a_stream_be_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), b"mine").unwrap();
        fs::create_dir(path("folder")).unwrap();
        std::os::unix::fs::symlink("nowhere", path("dangling")).unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        let translate = |name: &str, if_exists| {
            let mut source = &b"stream"[..];
            let job = Job { if_exists, ..Job::new(Work::Copy, None) };
            let ended = translate_to_file(&job, &mut source, &path(name), &Unobserved);
            (ended, source.is_empty())
        };
        let (ended, was_read) = translate("file", IfExists::Skip);
        assert_eq!((ended.unwrap().skipped, was_read), (1, false));
        for name in ["folder", "dangling", "link"] {
            let (ended, was_read) = translate(name, IfExists::Skip);
            assert!(matches!(ended, Err(Error::OutputExists)), "{name}");
            assert!(!was_read, "{name}");
        }
        for name in ["file", "folder", "dangling"] {
            let (ended, was_read) = translate(name, IfExists::Fail);
            assert!(matches!(ended, Err(Error::OutputExists)) && !was_read, "{name}");
        }
        let (ended, _) = translate("new", IfExists::Skip);
        assert_eq!((ended.unwrap().files, fs::read(path("new")).unwrap()), (1, b"stream".to_vec()));
        // The file appears while the stream is read.
        let job = Job { if_exists: IfExists::Skip, ..Job::new(Work::Copy, None) };
        let mut source = Late(path("late"));
        let ended = translate_to_file(&job, &mut source, &path("late"), &Unobserved).unwrap();
        assert_eq!(
            (ended.skipped, ended.files, fs::read(path("late")).unwrap()),
            (1, 0, b"another".to_vec())
        );
        let (ended, _) = translate("link", IfExists::Overwrite);
        assert_eq!(ended.unwrap().files, 1);
        assert_eq!(fs::read(path("file")).unwrap(), b"mine", "the link is replaced, not followed");
    }
}
