//! A single stream with `-`: standard input to a file or object, a file or object to standard output, or both.

use super::sources::Source;
use super::stores;
use super::transform::Run;
use crate::escape;
use crate::exit_code::{ExitCode, usage};
use crate::interrupt::{self, Interrupt};
use crate::output::at;
use crate::progress::Found;
use crate::report::{Printer, RunSummary};
use crate::standard;
use anyhow::Context;
use cipherloom::internal::location::Location;
use cipherloom::{
    Error, IfExists, Observer, Report,
    internal::{PassedOver, Tree, translate_stream, translate_to_file},
};
use std::fs::{File, Permissions};
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

/// Bytes that standard output gathers before a system call.
const OUTPUT_BUFFER: usize = 64 << 10;

const STANDARD_INPUT: &str = "standard input";

/// Standard input to the destination, a file, an object or `-`; nowhere when verifying.
pub fn from_standard_input(run: &Run<'_>) -> anyhow::Result<ExitCode> {
    refuse_bound_path(run)?;
    let (job, path) = (&run.job, run.output_path());
    match run.folder {
        Some(Location::StandardStream) => refuse_standard_output(run)?,
        Some(Location::Path(_)) if job.if_exists == IfExists::Fail && path.symlink_metadata().is_ok() => {
            return Err(Error::OutputExists.at(&path).into());
        }
        _ => {}
    }
    let mut source = standard::open_input()?;
    if run.folder == Some(Location::StandardStream) && feeds_itself(&source) {
        return Err(feeds_itself_error(Path::new(STANDARD_INPUT)));
    }
    let printer = Printer::new(run.style(), false);
    if let Some(Location::Path(_) | Location::Store(_)) = run.folder {
        return write_single(run, &mut source, STANDARD_INPUT, None, &printer);
    }
    run.write_key()?;
    let mut translate = |sink: &mut dyn Write, observer: &dyn Observer| {
        translate_stream(&job.work, b"", &mut source, sink, observer)
    };
    let translated = if run.folder.is_some() {
        pass_to_output(printer, &unknown, translate)
    } else {
        interrupt::set_done("nothing is verified");
        printer.watch(&unknown, |observer| translate(&mut io::sink(), observer)).map_err(Into::into)
    };
    finish(run, translated.context(STANDARD_INPUT)?)
}

/// A single file that is armored, or will be, to a file or object; nowhere when verifying.
pub fn from_armored_file(run: &Run<'_>, tree: &Tree) -> anyhow::Result<ExitCode> {
    refuse_bound_path(run)?;
    if run.dry_run {
        return Err(usage("an armored file is a single stream, which has no plan", "leave --dry-run out"));
    }
    cipherloom::internal::check(tree, &run.job).map_err(|error| error.at(&run.output_path()))?;
    let entry = tree.entries.first().context("the file is left out")?;
    let path = tree.root.join(entry.name());
    let mut source = File::open(&path).with_context(|| escape::path(&path))?;
    let printer = Printer::new(run.style(), false);
    if run.folder.is_some() {
        let permissions = Some(&entry.attributes().permissions);
        return write_single(run, &mut source, &escape::path(&path), permissions, &printer);
    }
    interrupt::set_done("nothing is verified");
    let verified = printer.watch(&|| (1, entry.size(), true), |observer| {
        translate_stream(&run.job.work, b"", &mut source, &mut io::sink(), observer)
    });
    finish(run, verified.map_err(anyhow::Error::from).with_context(|| escape::path(&path))?)
}

/// A stream to a file or object. `name`: what it is in an error. `permissions`: those of its file.
fn write_single(
    run: &Run<'_>,
    source: &mut dyn Read,
    name: &str,
    permissions: Option<&Permissions>,
    printer: &Printer,
) -> anyhow::Result<ExitCode> {
    let path = &run.output_path();
    let is_local = !run.folder.as_ref().is_some_and(Location::is_store);
    let store = if is_local { None } else { Some(stores::open(run, run.job.clone())?) };
    let interrupt = Interrupt::listen();
    run.write_key()?;
    let written = printer.watch(&unknown, |observer| match &store {
        None => translate_to_file(permissions, &run.job, source, path, observer),
        Some(store) => store.write_single(source, observer),
    });
    if written.is_err() && is_local && path.symlink_metadata().is_err() {
        run.take_key_back();
    }
    let written = written
        .or_else(|error| interrupt.check("nothing was written", "").and(Err(error.into())))
        .with_context(|| format!("{name} to {}", escape::path(path)))?;
    finish(run, written)
}

/// A single file or object to standard output.
pub fn to_standard_output(run: &Run<'_>, source: Source) -> anyhow::Result<ExitCode> {
    refuse_bound_path(run)?;
    refuse_standard_output(run)?;
    let printer = Printer::new(run.style(), false);
    let tree = match source {
        Source::Tree(tree) => tree,
        Source::Listing(found) => return finish(run, stores::read(run, &found, printer)?),
        Source::StandardInput => return from_standard_input(run),
    };
    let left_out =
        "--include, --exclude or --shard leaves out the one file that should go to standard output";
    let entry = tree.entries.first().ok_or_else(|| usage(left_out, ""))?;
    let path = tree.root.join(entry.name());
    let name = || escape::path(&path);
    let mut source = File::open(&path).with_context(name)?;
    if feeds_itself(&source) {
        return Err(feeds_itself_error(&path));
    }
    run.write_key()?;
    let translated = pass_to_output(printer, &|| (1, entry.size(), true), |sink, observer| {
        translate_stream(&run.job.work, b"", &mut source, sink, observer)
    });
    finish(run, translated.with_context(name)?)
}

/// One stream of unknown length.
fn unknown() -> (u64, u64, bool) {
    (1, 0, true)
}

fn refuse_bound_path(run: &Run<'_>) -> anyhow::Result<()> {
    if run.job.bind_path {
        return Err(usage("a stream has no path to bind", "leave --bind-path out, or name files"));
    }
    Ok(())
}

fn refuse_standard_output(run: &Run<'_>) -> anyhow::Result<()> {
    if run.common.report.json {
        let message = "--json prints to standard output, where the content goes";
        return Err(usage(message, "name a file as DST"));
    }
    if run.job.work.sealing().is_some() && io::stdout().is_terminal() {
        let hint = "redirect standard output to a file or a pipe";
        return Err(usage("ciphertext is not for terminals", hint));
    }
    standard::refuse_closed_output()
}

fn feeds_itself_error(source: &Path) -> anyhow::Error {
    let words = "standard output goes to the same file, which would grow without end";
    usage(at(source, words), "choose another one")
}

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

/// Calls `translate` with standard output as its sink. An error says whether some output was written.
pub fn pass_to_output(
    mut printer: Printer,
    found: &Found<'_>,
    translate: impl FnOnce(&mut dyn Write, &dyn Observer) -> Result<Report, Error>,
) -> anyhow::Result<Report> {
    const PART: &str = "the output may be incomplete; discard it";
    // A signal ends the process at once: a slow reader could delay a clean stop, and no file has to be removed.
    interrupt::set_done(PART);
    if io::stdout().is_terminal() {
        printer.leave_progress_out();
    }
    let mut sink = Sink { output: io::stdout().lock(), has_begun: false };
    let translated = printer.watch(found, |observer| {
        translate(&mut io::BufWriter::with_capacity(OUTPUT_BUFFER, &mut sink), observer)
    });
    let translated = translated.map_err(anyhow::Error::from);
    translated
        .and_then(|report| standard::check_close().map(|()| report))
        .map_err(|error| if sink.has_begun { error.context(PART) } else { error })
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

/// Prints the summary.
fn finish(run: &Run<'_>, report: Report) -> anyhow::Result<ExitCode> {
    RunSummary::of_run(report, 0, PassedOver::default()).print(run.verb(), run.style())?;
    Ok(ExitCode::Success)
}
