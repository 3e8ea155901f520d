//! A plugin's process: its lines arrive from a thread, so that a plugin that hangs can be left when the run is stopped.

use super::super::prompt::Prompt;
use super::super::stanza::Stanza;
use super::conversation::{Channel, read_stanza};
use crate::error::escape;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// How often a silent plugin's run is asked whether it was stopped. Nothing can wait for a pipe and for that at once.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// How long a plugin may take to end once it has said everything.
const TIME_TO_END: Duration = Duration::from_secs(2);
/// The longest line; a file key or a question needs far less.
const LONGEST_LINE: u64 = 1 << 20;
/// How much of what a plugin complains is shown.
const COMPLAINT: usize = 400;

type Line = Zeroizing<Vec<u8>>;

struct LineBytes(Line);

impl AsRef<[u8]> for LineBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

pub(super) struct Process<'p> {
    child: Child,
    /// To the thread that writes: a plugin that does not read must not block us.
    said: Option<Sender<Line>>,
    heard: Receiver<Line>,
    complaint: Option<JoinHandle<Vec<u8>>>,
    prompt: &'p dyn Prompt,
}

impl<'p> Process<'p> {
    /// Starts `age-plugin-name` from the PATH, away from the working directory, which differs between users of a plugin.
    pub(super) fn start(name: &str, machine: &str, prompt: &'p dyn Prompt) -> Result<Process<'p>, String> {
        let started = Command::new(format!("age-plugin-{name}"))
            .arg(format!("--age-plugin={machine}"))
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.map_err(|error| match error.kind() {
            ErrorKind::NotFound => "is not installed: no folder of the PATH has it".to_owned(),
            _ => format!("cannot be started: {}", escape::line(&error.to_string())),
        })?;
        let (said, to_say) = mpsc::channel();
        let (hears, heard) = mpsc::channel();
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let complaint = child.stderr.take().map(|pipe| thread::spawn(move || read_complaint(pipe)));
        if let (Some(input), Some(output)) = (input, output) {
            thread::spawn(move || write_lines(input, &to_say));
            thread::spawn(move || read_lines(output, &hears));
        }
        Ok(Process { child, said: Some(said), heard, complaint, prompt })
    }

    fn line(&mut self) -> Result<Line, String> {
        loop {
            match self.heard.recv_timeout(ASK_EVERY) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Timeout) if self.prompt.is_stopped() => {
                    return Err("was ended, for the run was stopped".to_owned());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.describe_end()),
            }
        }
    }

    /// Why a plugin said nothing more.
    fn describe_end(&mut self) -> String {
        let status = self.end();
        let complaint = self.complaint.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        let complaint = String::from_utf8_lossy(&complaint);
        let complaint = complaint.trim();
        let separator = if complaint.is_empty() { "" } else { ": " };
        format!("ended early ({status}){separator}{}", escape::line(complaint))
    }

    /// Waits for the plugin's end, and brings it about if it takes too long.
    fn end(&mut self) -> String {
        self.said = None;
        let begun = Instant::now();
        while begun.elapsed() < TIME_TO_END && !self.prompt.is_stopped() {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.to_string(),
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Err(_) => break,
            }
        }
        let _ = self.child.kill();
        self.child.wait().map_or_else(|error| error.to_string(), |_| "it did not exit".to_owned())
    }
}

impl Channel for Process<'_> {
    fn send(&mut self, stanza: &Stanza) -> Result<(), String> {
        let mut text = Zeroizing::new(Vec::new());
        stanza.write(&mut text);
        // Whether the plugin still listens shows when it is to answer.
        if let Some(said) = &self.said {
            let _ = said.send(text);
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<Stanza, String> {
        read_stanza(&mut || self.line().map(LineBytes))
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn write_lines(mut input: ChildStdin, to_say: &Receiver<Line>) {
    while let Ok(text) = to_say.recv() {
        if input.write_all(&text).and_then(|()| input.flush()).is_err() {
            return;
        }
    }
}

/// Whole lines, without their line feeds; ends with the plugin's output, or if a line is too long.
fn read_lines(output: ChildStdout, hears: &Sender<Line>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Zeroizing::new(Vec::new());
        let read = output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        if read.is_err() || line.pop() != Some(b'\n') || hears.send(line).is_err() {
            return;
        }
    }
}

/// The beginning of what a plugin writes to its standard error; all of it is read, so that the plugin never blocks.
fn read_complaint(mut pipe: ChildStderr) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return kept,
            Ok(count) => {
                let room = COMPLAINT.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..count.min(room)]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return kept,
        }
    }
}
