//! Asks something at the terminal: with its echo off for passphrases and PINs.
//!
//! The line discipline stays as it is otherwise: Ctrl-C and Ctrl-Z send their signals, which another thread handles
//! ([`crate::interrupt`]). It switches the echo on again before the process ends or stops ([`restore`], [`suspend`]), so
//! that no signal but SIGKILL leaves the terminal without it.

use crate::passphrase::Echo;
use crate::{interrupt, standard};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::SIGSTOP;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// The longest line that a terminal gives.
const LINE: usize = 4096;

/// A question that is not answered yet.
struct Question {
    terminal: File,
    text: String,
    before: Termios,
    /// While it is open.
    asking: Termios,
}

impl Question {
    fn begin(&self) -> io::Result<()> {
        Ok(tcsetattr(&self.terminal, OptionalActions::Now, &self.asking)?)
    }

    fn restore(&self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

static QUESTION: Mutex<Option<Question>> = Mutex::new(None);

fn question() -> MutexGuard<'static, Option<Question>> {
    QUESTION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks, and gives the line that was typed, without its end.
///
/// # Errors
/// If there is no terminal, or it gives no line.
pub fn ask(text: &str, echo: Echo) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let before = tcgetattr(&terminal)?;
    let mut asking = before.clone();
    if echo == Echo::Off {
        asking.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
    }
    interrupt::listen_for_suspension()?;
    let new = Question { terminal: terminal.try_clone()?, text: text.to_owned(), before, asking };
    // From here on signals restore the terminal. Nothing is written under the lock: a stopped terminal (Ctrl-S) would block
    // them.
    let begun = question().insert(new).begin();
    let line =
        begun.and_then(|()| terminal.write_all(text.as_bytes())).and_then(|()| read_line(&mut terminal));
    // With the echo on, the newline that was typed is on the terminal.
    if restore() && (echo == Echo::Off || line.is_err()) {
        terminal.write_all(b"\n")?;
    }
    line
}

/// Ends the question that is open and switches the echo on again. Whether there was one.
pub fn restore() -> bool {
    question().take().inspect(Question::restore).is_some()
}

/// Stops the process as Ctrl-Z does. An open question is printed again when the process continues.
pub fn suspend() {
    if !can_be_continued() {
        return;
    }
    if let Some(question) = question().as_ref() {
        question.restore();
        let _ = (&question.terminal).write_all(b"\n");
    }
    let _ = signal_hook::low_level::raise(SIGSTOP);
    if let Some(question) = question().as_ref() {
        let _ = question.begin();
        let _ = (&question.terminal).write_all(question.text.as_bytes());
    }
}

/// Whether the parent is in the same session, as a shell with job control is: without one nothing could continue this
/// process, and the kernel itself ignores Ctrl-Z then.
fn can_be_continued() -> bool {
    use nix::unistd::{getppid, getsid};
    // Not rustix's getsid: the session of a parent outside this PID namespace is 0, which its type cannot hold.
    let parent = getppid();
    parent.as_raw() != 0 && getsid(Some(parent)).is_ok_and(|session| getsid(None) == Ok(session))
}

fn read_line(terminal: &mut File) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut line = Zeroizing::new(vec![0; LINE]);
    let mut length = 0;
    loop {
        if length == line.len() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the line is too long"));
        }
        standard::wait_for_input(&*terminal)?;
        match terminal.read(&mut line[length..]) {
            Ok(0) if length == 0 => {
                return Err(io::Error::new(ErrorKind::UnexpectedEof, "nothing was typed"));
            }
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if line[..length].contains(&b'\n') {
            break;
        }
    }
    let end = line[..length].iter().position(|byte| *byte == b'\n').unwrap_or(length);
    line.truncate(end);
    Ok(line)
}
