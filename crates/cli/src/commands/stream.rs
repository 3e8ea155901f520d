//! A single stream with `-`: from standard input, to standard output, or both.

use super::keygen::FirstKey;
use super::transform::style;
use crate::arguments::CommonArguments;
use crate::exit_code::{ExitCode, usage};
use crate::output;
use crate::report::{Report, Style};
use anyhow::Context;
use cipherloom::{Error, IfExists, Job, Summary, Tree, Unobserved, translate_stream, translate_to_file};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
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
    if job.destination.as_deref() == Some(Path::new("-")) && feeds_itself(&io::stdin()) {
        return Err(usage(format!("standard input: {FEEDS_ITSELF}")));
    }
    new_key.write()?;
    let mut source = io::stdin().lock();
    let summary = match job.destination.as_deref() {
        None => {
            let summary = translate(job, &mut source, &mut io::sink()).context("standard input")?;
            // Nothing else speaks for a verification.
            Report::of_stream(&summary).print(verb, style(common))?;
            return Ok(ExitCode::Success);
        }
        Some(path) if path == Path::new("-") => {
            to_output(|sink| translate(job, &mut source, sink)).context("standard input")?
        }
        Some(path) => translate_to_file(job, &mut source, path, &Unobserved)
            .inspect_err(|_| {
                if path.symlink_metadata().is_err() {
                    new_key.take_back();
                }
            })
            .with_context(|| format!("standard input to {}", output::printable(path)))?,
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
    let summary =
        to_output(|sink| translate(job, &mut source, sink)).with_context(|| output::printable(&path))?;
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
    Ok(())
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

/// Does `translate` with standard output as its sink; says in errors whether something has come out.
pub fn to_output(
    translate: impl FnOnce(&mut dyn Write) -> Result<Summary, Error>,
) -> anyhow::Result<Summary> {
    let mut sink = Sink { output: io::stdout().lock(), has_begun: false };
    let translated = translate(&mut io::BufWriter::with_capacity(OUTPUT_BUFFER, &mut sink));
    translated.map_err(|error| {
        let error = anyhow::Error::from(error);
        if sink.has_begun { error.context("do not use what came out, it may be a part only") } else { error }
    })
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

fn translate(job: &Job<'_>, source: &mut dyn Read, sink: &mut dyn Write) -> Result<Summary, Error> {
    translate_stream(job.work, b"", source, sink, &Unobserved)
}

/// What went to a pipe speaks for itself: the sentence is for who asks.
pub fn finish(verb: &str, summary: &Summary, common: &CommonArguments) -> anyhow::Result<ExitCode> {
    let style = style(common);
    let is_silent = style == Style::Plain && summary.skipped == 0;
    if !is_silent {
        Report::of_stream(summary).print(verb, style)?;
    }
    Ok(ExitCode::Success)
}
