//! A single stream into a file, which gets its name only when the stream has ended well.

use super::job::Job;
use super::single::translate_stream;
use crate::Error;
use crate::files::{IfExists, Output, Target, sync_parents};
use crate::location::split;
use crate::report::{Observer, Report};
use crate::stream::into_io;
use std::fs::Permissions;
use std::io::{self, Read, Write};
use std::path::Path;

/// Translates `source` into the file at `path`, as [`translate_stream`] does, with the job's settings for existing
/// outputs and durability. It gets these permissions, as far as the process's umask lets them through, or those of a new
/// file. If the stream fails, nothing is left of the output.
///
/// # Errors
/// As [`translate_stream`]; [`Error::OutputExists`]; if the file cannot be written or get its name.
pub fn translate_to_file(
    permissions: Option<&Permissions>,
    job: &Job,
    source: &mut dyn Read,
    path: &Path,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    let (parent, name) = split(path)?;
    let folder = Target::root(parent)?;
    // Known before the stream is read, which may not come twice.
    match job.if_exists {
        IfExists::Skip if folder.has_output(name) => {
            return Ok(Report { skipped: 1, ..Report::default() });
        }
        IfExists::Fail | IfExists::Skip if folder.is_taken(name) => return Err(Error::OutputExists),
        IfExists::Fail | IfExists::Skip | IfExists::Overwrite => {}
    }
    folder.check_naming(job.existing())?;
    let mut sink = Sink { output: folder.output(permissions)?, offset: 0 };
    let report = translate_stream(&job.work, b"", source, &mut sink, observer)?;
    sink.output.accept_writes()?;
    if job.durable {
        sink.output.sync()?;
    }
    if observer.is_stopped() {
        return Err(Error::Stopped);
    }
    match folder.name(sink.output, name, job.existing(), &|| Ok(())) {
        // Another run has made it meanwhile.
        Err(Error::OutputExists) if job.if_exists == IfExists::Skip && folder.has_output(name) => {
            return Ok(Report { skipped: 1, ..Report::default() });
        }
        named => named?,
    }
    if job.durable {
        sync_parents(path, parent)?;
    }
    Ok(report)
}

/// An output as a writer.
struct Sink {
    output: Output,
    offset: u64,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes, self.offset).map_err(into_io)?;
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
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
    use std::sync::atomic::{AtomicBool, Ordering};

    /// An empty stream during which somebody else makes the output.
    struct Late(std::path::PathBuf);

    impl Read for Late {
        fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            fs::write(&self.0, b"another")?;
            Ok(0)
        }
    }

    /// A signal often ends the program that writes into the pipe as well: what came of it until then is not complete.
    #[test]
    fn a_stream_that_ends_because_the_run_was_stopped_gives_no_output() {
        struct Stops(AtomicBool);
        impl Observer for Stops {
            fn is_stopped(&self) -> bool {
                self.0.load(Ordering::Relaxed)
            }
        }
        struct Source<'s>(&'s Stops);
        impl Read for Source<'_> {
            fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
                self.0.0.store(true, Ordering::Relaxed);
                Ok(0)
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        let stops = Stops(AtomicBool::new(false));
        let job = Job::new(Work::Copy, None);
        let ended = translate_to_file(None, &job, &mut Source(&stops), &path, &stops);
        assert!(matches!(ended, Err(Error::Stopped)), "{ended:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// Whether the output exists is decided before the stream is read: a stream may not come twice.
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
            let ended = translate_to_file(None, &job, &mut source, &path(name), &Unobserved);
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
        let ended = translate_to_file(None, &job, &mut source, &path("late"), &Unobserved).unwrap();
        assert_eq!(
            (ended.skipped, ended.files, fs::read(path("late")).unwrap()),
            (1, 0, b"another".to_vec())
        );
        let (ended, _) = translate("link", IfExists::Overwrite);
        assert_eq!(ended.unwrap().files, 1);
        assert_eq!(fs::read(path("file")).unwrap(), b"mine", "the link is replaced, not followed");
    }
}
