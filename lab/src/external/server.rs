//! A program that answers a line on its standard input with a line of JSON on its standard output.

use anyhow::{Context, bail};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The running program; ended when dropped.
#[derive(Debug)]
pub struct Server {
    name: String,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    /// Starts `command`; `name` is what errors call it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(name: &str, command: &mut Command) -> anyhow::Result<Server> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let input = child.stdin.take().context("a child has the pipe that was asked for")?;
        let output = child.stdout.take().context("a child has the pipe that was asked for")?;
        Ok(Server { name: name.to_owned(), child, input, output: BufReader::new(output) })
    }

    /// The process's number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Says `line` and gives the answer.
    ///
    /// # Errors
    /// If the program has ended, answers no JSON, or answers `{"error": …}`.
    pub fn ask(&mut self, line: &str) -> anyhow::Result<Value> {
        let gone = || format!("{} ended at `{line}`", self.name);
        writeln!(self.input, "{line}").with_context(gone)?;
        let mut answer = String::new();
        if self.output.read_line(&mut answer).with_context(gone)? == 0 {
            let status = self.child.wait().map_or_else(|_| String::new(), |status| format!(" ({status})"));
            bail!("{} ended at `{line}`{status}", self.name);
        }
        let value: Value =
            serde_json::from_str(&answer).with_context(|| format!("{} answered {answer}", self.name))?;
        match value["error"].as_str() {
            Some(error) => bail!("{}: {error}", self.name),
            None => Ok(value),
        }
    }

    /// The bytes that follow an answer.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn bytes(&mut self, count: usize) -> anyhow::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.output.read_exact(&mut bytes).with_context(|| format!("{} said too little", self.name))?;
        Ok(bytes)
    }
}

/// A whole number in an answer.
///
/// # Errors
/// If it is missing.
pub(crate) fn number(answer: &Value, name: &str) -> anyhow::Result<u64> {
    answer[name].as_u64().with_context(|| format!("the answer {answer} has no number `{name}`"))
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended now, it need not be waited for long; waited for, its processor time counts as ours.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Server {
        Server::start("the shell", Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn answers_bytes_errors_and_an_end_are_told_apart() {
        let mut server =
            shell("read a; echo '{\"n\": 3}'; printf abc; read a; echo '{\"error\": \"no\"}'; read a");
        let answer = server.ask("one").unwrap();
        assert_eq!(number(&answer, "n").unwrap(), 3);
        assert!(number(&answer, "m").is_err());
        assert_eq!(server.bytes(3).unwrap(), b"abc");
        assert!(server.ask("two").unwrap_err().to_string().contains("the shell: no"));
        assert!(server.ask("three").unwrap_err().to_string().contains("ended at `three`"));
    }
}
