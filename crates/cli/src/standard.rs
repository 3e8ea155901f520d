//! Standard input and output as source and destination (`-`). A closed stream is refused, a signal interrupts a read that
//! waits, and errors of closing are reported.

use crate::exit_code::{ExitCode, failure};
#[cfg(unix)]
use anyhow::Context;
use std::io;

#[cfg(unix)]
pub use unix::{open_input, wait_for_input};

/// Refuses a standard output that is closed.
///
/// # Errors
/// If it is.
pub fn refuse_closed_output() -> anyhow::Result<()> {
    if is_closed(&io::stdout()) {
        let hint = "open it, or give `>/dev/null` to discard the output";
        return Err(failure(ExitCode::Failure, "standard output is closed", hint));
    }
    Ok(())
}

/// Whether the process began with this stream closed.
///
/// Rust's runtime opens `/dev/null` for reading and writing in the place of a closed one, before `main`. Shells and
/// service managers open it in one direction. A program that starts this one with `/dev/null` open in both (Python's
/// `subprocess.DEVNULL`) looks the same, so this is checked only where the stream carries content: an error is
/// better than lost content.
#[cfg(unix)]
fn is_closed(stream: &impl std::os::fd::AsFd) -> bool {
    use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, stat};
    let (Ok(stream_is), Ok(null), Ok(flags)) = (fstat(stream), stat("/dev/null"), fcntl_getfl(stream)) else {
        return false;
    };
    let is_null = FileType::from_raw_mode(stream_is.st_mode) == FileType::CharacterDevice
        && stream_is.st_rdev == null.st_rdev;
    is_null && flags & OFlags::RWMODE == OFlags::RDWR
}

#[cfg(not(unix))]
fn is_closed<S>(_stream: &S) -> bool {
    false
}

/// Checks for errors that a file system reports only when a file is closed (NFS, FUSE, quotas).
///
/// # Errors
/// If something that was written to standard output is lost, or may be.
pub fn check_close() -> anyhow::Result<()> {
    #[cfg(unix)]
    cipherloom::internal::accept_writes(io::stdout()).context("cannot write to standard output")?;
    Ok(())
}

#[cfg(unix)]
mod unix {
    use crate::exit_code::{ExitCode, failure};
    use crate::interrupt;
    use anyhow::Context;
    use nix::errno::Errno;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::fs::File;
    use std::io::{self, ErrorKind, Read};
    use std::os::fd::AsFd;

    /// Standard input. A read that waits for more fails as soon as a signal has come.
    pub struct Input(File);

    /// Opens standard input.
    ///
    /// # Errors
    /// If it is closed, or no descriptor is free.
    pub fn open_input() -> anyhow::Result<Input> {
        if super::is_closed(&io::stdin()) {
            let hint = "give one with content, or `</dev/null` for none";
            return Err(failure(ExitCode::Failure, "standard input is closed", hint));
        }
        let descriptor = io::stdin().as_fd().try_clone_to_owned();
        Ok(Input(File::from(descriptor.context("cannot open standard input")?)))
    }

    impl AsFd for Input {
        fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
            self.0.as_fd()
        }
    }

    /// Waits until something can be read.
    ///
    /// # Errors
    /// As soon as a signal has come.
    pub fn wait_for_input(source: &impl AsFd) -> io::Result<()> {
        let Some(signal) = interrupt::has_come() else { return Ok(()) };
        let mut waiting =
            [PollFd::new(source.as_fd(), PollFlags::POLLIN), PollFd::new(signal, PollFlags::POLLIN)];
        let polled = loop {
            match poll(&mut waiting, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                polled => break polled,
            }
        };
        let has_come = |polled: &PollFd<'_>| polled.revents().is_some_and(|flags| !flags.is_empty());
        // What cannot be polled is read all the same.
        if polled.is_ok() && has_come(&waiting[1]) {
            return Err(io::Error::other("a signal came"));
        }
        Ok(())
    }

    impl Read for Input {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            wait_for_input(&self.0)?;
            loop {
                match self.0.read(buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    read => return read,
                }
            }
        }
    }
}

/// Opens standard input.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn open_input() -> anyhow::Result<io::Stdin> {
    Ok(io::stdin())
}
