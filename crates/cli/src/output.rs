//! Everything that is printed: lines for people, JSON for programs, and the numbers in them.
//!
//! Nothing here panics when the reader closes its end, as `println!` would: `cipherloom … | head -1` ends quietly. Control
//! characters are escaped here ([`crate::escape`]).

use crate::{escape, standard};
use anyhow::Context;
use serde::Serialize;
use std::fmt::{Display, Write as _};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The first error of writing to standard output.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints lines to standard output. Untrusted parts must be in one line each ([`escape::line`]), or they could forge others.
///
/// # Errors
/// If they cannot be written, which [`finish`] reports again. A closed pipe is no error: its reader wanted no more.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(escape::lines(text).as_bytes()).and_then(|()| stdout.flush());
    let Err(error) = written else { return Ok(()) };
    if error.kind() == ErrorKind::BrokenPipe {
        return Ok(());
    }
    let again = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
    LOST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(again);
    Err(error).context(CANNOT_WRITE)
}

const CANNOT_WRITE: &str = "cannot write to standard output";

/// Checks at the end of the command that everything printed was written.
///
/// # Errors
/// If something could not be written, or is lost with the closing of standard output.
pub fn finish() -> anyhow::Result<()> {
    if let Some(error) = LOST.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error).context(CANNOT_WRITE);
    }
    standard::check_close()
}

/// Prints a value as one line of JSON, its fields in the order of their declaration; errors as [`print`].
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&(escape::json(&serde_json::to_string(value)?).into_owned() + "\n"))
}

/// Prints a value as JSON, or else as text; errors as [`print`].
pub fn print_as(json: bool, value: &impl Serialize, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    if json { print_json(value) } else { print(&text()) }
}

/// A line to standard error, whole even if other threads write too.
pub fn print_line(line: impl Display) {
    let line = line.to_string();
    let _ = io::stderr().lock().write_all(format!("{}\n", escape::line(&line)).as_bytes());
}

/// Lines to standard error, as [`print`] writes them.
pub fn print_lines(text: &str) {
    let _ = io::stderr().lock().write_all(format!("{}\n", escape::lines(text.trim_end())).as_bytes());
}

/// Whether the user wants errors only.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Prints no warnings from now on: `--quiet`.
pub fn suppress_warnings() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// A warning on standard error.
pub fn warn(text: impl Display) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        print_line(format_args!("cipherloom: warning: {text}"));
    }
}

/// Prints an error and its hint on standard error.
pub fn print_error(error: &anyhow::Error) {
    print_line(format_args!("cipherloom: {}", message(error)));
    crate::hint::of_chain(error).into_iter().for_each(hint);
}

/// Prints what the user can do about the error before it.
pub fn hint(text: impl Display) {
    print_line(format_args!("hint: {text}"));
}

/// An error with its causes in one line. A cause that the text already ends with is not repeated.
pub fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            let _ = write!(text, ": {cause}");
        }
    }
    text
}

/// Whether the command ended because the reader of its output closed the pipe.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_broken = |error: &io::Error| error.kind() == ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(is_broken))
}

/// `path: words`, with the path in one line.
pub fn at(path: &Path, words: impl Display) -> String {
    format!("{}: {words}", escape::path(path))
}

/// Bytes as a person reads them.
pub fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (value, unit) = in_unit(bytes as f64);
    format!("{value:.1} {unit}")
}

/// Bytes per second in the units of [`size`], with three significant digits.
pub fn rate(bytes_per_second: f64) -> String {
    let (value, unit) = in_unit(bytes_per_second);
    match value {
        ..9.995 => format!("{value:.2} {unit}/s"),
        ..99.95 => format!("{value:.1} {unit}/s"),
        _ => format!("{value:.0} {unit}/s"),
    }
}

fn in_unit(bytes: f64) -> (f64, &'static str) {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut value, mut unit) = (bytes, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    (value, UNITS[unit])
}

/// A duration as a person reads it.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..1e-3 => format!("{:.0} µs", seconds * 1e6),
        1e-3..1.0 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// A moment in seconds since 1970, as `2026-11-04T00:08:15Z`.
pub fn utc(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years begin in March here, so that the day of a leap year comes last; eras of 400 years have the same days.
    let day = days + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = 400 * era + year + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

/// How much was processed in which time: `2.0 KiB in 500.0 ms (4.0 KiB/s)`.
pub fn pace(bytes: u64, seconds: f64) -> String {
    let rate = size((bytes as f64 / seconds.max(1e-9)) as u64);
    format!("{} in {} ({rate}/s)", size(bytes), duration(seconds))
}

/// A table of two columns, without the rows that have no value.
pub fn table<'n>(rows: impl IntoIterator<Item = (&'n str, Option<String>)>) -> String {
    let rows = rows.into_iter().filter_map(|(name, value)| Some(format!("{name:<10}{}\n", value?)));
    rows.collect()
}

/// `1 file`, `2 files`.
pub fn count(number: u64, singular: &str) -> String {
    format!("{number} {singular}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1 << 20), "1.0 MiB");
        assert_eq!(size(u64::MAX), "16384.0 PiB");
        assert_eq!(rate(999.0), "999 B/s");
        assert_eq!(rate(2_500_000.0), "2.38 MiB/s");
        assert_eq!(rate(59_900_000.0), "57.1 MiB/s");
        assert_eq!(rate(871e6), "831 MiB/s");
        assert_eq!(rate(16.25e9), "15.1 GiB/s");
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_827_696, "2000-02-29T12:34:56Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
        assert_eq!(duration(0.000_42), "420 µs");
        assert_eq!(duration(0.0123), "12.3 ms");
        assert_eq!(duration(61.0), "61.00 s");
        assert_eq!([count(0, "file"), count(1, "file"), count(2, "file")], ["0 files", "1 file", "2 files"]);
    }

    #[test]
    fn a_newline_in_a_name_stays_in_the_line() {
        assert_eq!(at(Path::new("a\nb"), "x"), "a\\nb: x");
        assert_eq!(at(Path::new("Büch er"), "x"), "Büch er: x");
    }

    #[test]
    fn a_cause_is_printed_once() {
        let cause = || io::Error::from(ErrorKind::NotFound);
        let library = cipherloom::Error::io("read the source", cause());
        let told = message(&anyhow::Error::from(library).context("book"));
        assert_eq!(told, format!("book: cannot read the source: {}", cause()));
        let told = message(&anyhow::Error::from(cause()).context("book"));
        assert_eq!(told, format!("book: {}", cause()));
    }
}
