//! A single stream with `-`: from standard input, to standard output, or both.

use super::keygen::FirstKey;
use super::transform::style;
use crate::arguments::CommonArguments;
use crate::exit_code::{ExitCode, usage};
use crate::interrupt::{self, Interrupt};
use crate::output;
use crate::progress::Progress;
use crate::report::{Printer, Report, Style};
use crate::standard::{self, Input};
use anyhow::Context;
use cipherloom::{Error, IfExists, Job, Observer, Summary, Tree, translate_stream, translate_to_file};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Bytes that standard output gathers before a system call.
const OUTPUT_BUFFER: usize = 64 << 10;

/// Standard input to the job's destination, a file or `-`; nowhere when verifying.
pub fn from_standard_input(
    verb: &str,
    job: &Job<'_>,
    common: &CommonArguments,
    new_key: &FirstKey<'_>,
) -> anyhow::Result<ExitCode> {
    refuse_bound_path(job)?;
    job.destination.as_deref().map_or(Ok(()), refuse_folder)?;
    if job.destination.as_deref() == Some(Path::new("-")) {
        refuse_standard_output(job, common)?;
    } else if let Some(path) = &job.destination
        && job.if_exists == IfExists::Fail
        && path.symlink_metadata().is_ok()
    {
        return Err(Error::OutputExists).with_context(|| output::printable(path));
    }
    let mut source = Input::open()?;
    if job.destination.as_deref() == Some(Path::new("-")) && feeds_itself(&source) {
        return Err(usage(format!("standard input: {FEEDS_ITSELF}")));
    }
    new_key.write()?;
    let watch = Watch::new(common);
    let summary = match job.destination.as_deref() {
        None => {
            interrupt::at_once("nothing is verified");
            let verified = watch.during(0, |observer| {
                translate_stream(job.work, b"", &mut source, &mut io::sink(), observer)
            });
            verified.context("standard input")?
        }
        Some(path) if path == Path::new("-") => watch
            .pass_to_output(0, |sink, observer| translate_stream(job.work, b"", &mut source, sink, observer))
            .context("standard input")?,
        Some(path) => {
            let interrupt = Interrupt::listen();
            let written = watch.during(0, |observer| {
                translate_to_file(job, &mut source, path, &interrupt.watching(observer))
            });
            written
                .inspect_err(|_| {
                    if path.symlink_metadata().is_err() {
                        new_key.take_back();
                    }
                })
                .or_else(|error| interrupt.check("nothing was written").and(Err(error.into())))
                .with_context(|| format!("standard input to {}", output::printable(path)))?
        }
    };
    finish(verb, &summary, common)
}

/// A single file to standard output.
pub fn to_standard_output(
    verb: &str,
    tree: &Tree,
    job: &Job<'_>,
    common: &CommonArguments,
    new_key: &FirstKey<'_>,
) -> anyhow::Result<ExitCode> {
    refuse_bound_path(job)?;
    refuse_standard_output(job, common)?;
    if tree.is_single_file && tree.entries.is_empty() {
        return Err(usage(
            "--include, --exclude or --shard leaves out the one file that should go to standard output",
        ));
    }
    let entry = tree.entries.first().filter(|_| tree.is_single_file);
    let entry =
        entry.ok_or_else(|| usage("only a single file goes to standard output; name a folder as DST"))?;
    let path = tree.root.join(&entry.name);
    let mut source = File::open(&path).with_context(|| output::printable(&path))?;
    if feeds_itself(&source) {
        return Err(usage(format!("{}: {FEEDS_ITSELF}", output::printable(&path))));
    }
    new_key.write()?;
    let summary = Watch::new(common)
        .pass_to_output(entry.size, |sink, observer| {
            translate_stream(job.work, b"", &mut source, sink, observer)
        })
        .with_context(|| output::printable(&path))?;
    finish(verb, &summary, common)
}

pub fn refuse_bound_path(job: &Job<'_>) -> anyhow::Result<()> {
    if job.bind_path {
        return Err(usage("a stream has no path to bind; leave --bind-path out, or name files"));
    }
    Ok(())
}

pub fn refuse_standard_output(job: &Job<'_>, common: &CommonArguments) -> anyhow::Result<()> {
    if common.json {
        return Err(usage("--json prints to standard output, where the content goes; name a file as DST"));
    }
    if job.work.sealing().is_some() && io::stdout().is_terminal() {
        return Err(usage("ciphertext is not for terminals; send standard output to a file or a pipe"));
    }
    standard::refuse_closed_output()
}

/// Refuses a device, FIFO or socket as DST: a complete output takes its name, and would replace it.
pub fn refuse_special(destination: &Path) -> anyhow::Result<()> {
    match std::fs::metadata(destination) {
        Ok(there) if !there.is_file() && !there.is_dir() => Err(usage(format!(
            "{}: a device, FIFO or socket, which the output would replace; give `-` as DST and send standard output \
             there",
            output::printable(destination)
        ))),
        _ => Ok(()),
    }
}

/// Refuses a folder as DST of standard input, which has no name to get there.
fn refuse_folder(destination: &Path) -> anyhow::Result<()> {
    if destination.is_dir() || destination.to_string_lossy().ends_with(std::path::is_separator) {
        return Err(usage(format!(
            "{}: a folder, and standard input has no name; name a file in it",
            output::printable(destination)
        )));
    }
    Ok(())
}

const FEEDS_ITSELF: &str =
    "standard output goes to the same file, which would grow without end; choose another one";

/// Whether standard output is the file that is read, so that what is written would be read again.
#[cfg(unix)]
fn feeds_itself(source: &impl std::os::fd::AsFd) -> bool {
    use std::os::unix::fs::MetadataExt;
    let look =
        |handle: std::os::fd::BorrowedFd<'_>| File::from(handle.try_clone_to_owned().ok()?).metadata().ok();
    let (Some(source), Some(output)) = (look(source.as_fd()), look(std::os::fd::AsFd::as_fd(&io::stdout())))
    else {
        return false;
    };
    output.is_file() && (source.dev(), source.ino()) == (output.dev(), output.ino())
}

/// Elsewhere a file has no number to be known by.
#[cfg(not(unix))]
fn feeds_itself<S>(_source: &S) -> bool {
    false
}

/// What is shown while one stream passes.
pub struct Watch {
    style: Style,
    progress: Progress,
    shows_content: bool,
}

impl Watch {
    pub fn new(common: &CommonArguments) -> Watch {
        Watch { style: style(common), progress: Progress::default(), shows_content: false }
    }

    /// Does `work`, with a line on the terminal; `total`: its bytes, or 0 where nobody knows.
    pub fn during<T>(&self, total: u64, work: impl FnOnce(&dyn Observer) -> T) -> T {
        let printer = Printer::new(self.style, &self.progress, false);
        match self.style {
            // Beside content on the terminal, a line would be in its way.
            Style::Plain if !self.shows_content => self.progress.shown_during(total, 1, || work(&printer)),
            _ => work(&printer),
        }
    }

    /// Does `translate` with standard output as its sink; says in errors whether something has come out.
    pub fn pass_to_output(
        mut self,
        total: u64,
        translate: impl FnOnce(&mut dyn Write, &dyn Observer) -> Result<Summary, Error>,
    ) -> anyhow::Result<Summary> {
        const PART: &str = "the output may be incomplete; discard it";
        // A reader that waits could hold a run up that asks for signals by itself, and nothing is to be taken back.
        interrupt::at_once(PART);
        self.shows_content = io::stdout().is_terminal();
        let mut sink = Sink { output: io::stdout().lock(), has_begun: false };
        let translated = self.during(total, |observer| {
            translate(&mut io::BufWriter::with_capacity(OUTPUT_BUFFER, &mut sink), observer)
        });
        let translated = translated.map_err(anyhow::Error::from);
        translated
            .and_then(|summary| standard::check_close().map(|()| summary))
            .map_err(|error| if sink.has_begun { error.context(PART) } else { error })
    }
}

/// Standard output, and whether anything was written to it.
struct Sink<'o> {
    output: io::StdoutLock<'o>,
    has_begun: bool,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_begun |= !bytes.is_empty();
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// The summary, as every run has one; standard error has room for it.
pub fn finish(verb: &str, summary: &Summary, common: &CommonArguments) -> anyhow::Result<ExitCode> {
    Report::of_stream(summary).print(verb, style(common))?;
    Ok(ExitCode::Success)
}
