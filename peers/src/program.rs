//! Runs other programs: says what it runs before it runs it, and fails with the command's own words.

use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program with its arguments, folder and environment, not yet started.
#[derive(Debug, Clone)]
pub struct Program {
    name: OsString,
    arguments: Vec<OsString>,
    folder: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
}

impl Program {
    /// `name` is looked up on the search path unless it holds a slash.
    pub fn new(name: impl AsRef<OsStr>) -> Program {
        Program {
            name: name.as_ref().to_owned(),
            arguments: Vec::new(),
            folder: None,
            environment: Vec::new(),
        }
    }

    /// The cargo that started this process, so that the pinned tool chain stays the one in use.
    pub fn cargo() -> Program {
        Program::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Program {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, arguments: I) -> Program {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Runs it in this folder.
    #[must_use]
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Program {
        self.folder = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn environment(mut self, name: &str, value: impl AsRef<OsStr>) -> Program {
        self.environment.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Runs it with this process's output and no input.
    ///
    /// # Errors
    /// If the program cannot be started or does not end with exit code 0.
    pub fn run(&self) -> Result<()> {
        println!("$ {}", self.line());
        let status = self.command().stdin(Stdio::null()).status().with_context(|| self.not_started())?;
        if !status.success() {
            bail!("`{}` ended with {status}{}", self.line(), self.place());
        }
        Ok(())
    }

    /// Runs what downloads something, and runs it again if it fails: networks fail for a moment.
    ///
    /// # Errors
    /// As [`Program::run`], if it fails a third time.
    pub fn fetch(&self) -> Result<()> {
        self.run().or_else(|_| self.run()).or_else(|_| self.run())
    }

    /// Runs it silently and gives its standard output.
    ///
    /// # Errors
    /// As [`Program::run`]; what the program wrote to standard error is in the message.
    pub fn output(&self) -> Result<String> {
        let output = self.command().stdin(Stdio::null()).output().with_context(|| self.not_started())?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            bail!("`{}` ended with {}{}:\n{}", self.line(), output.status, self.place(), words.trim_end());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The program as the standard library wants it, for callers that measure it themselves.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.name);
        command.args(&self.arguments);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        command
    }

    /// The command as a reader could type it.
    pub fn line(&self) -> String {
        let mut line = String::new();
        for (name, value) in &self.environment {
            line.push_str(&format!("{}={} ", name.to_string_lossy(), quoted(value)));
        }
        line.push_str(&quoted(&self.name));
        for argument in &self.arguments {
            line.push(' ');
            line.push_str(&quoted(argument));
        }
        line
    }

    fn place(&self) -> String {
        self.folder.as_ref().map(|folder| format!(" in {}", folder.display())).unwrap_or_default()
    }

    fn not_started(&self) -> String {
        format!("cannot start `{}`{}; is it installed?", self.line(), self.place())
    }
}

/// True if a program of this name is on the search path.
pub fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%*".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into_owned() } else { format!("'{word}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_named_with_its_arguments() {
        let error = Program::new("sh").args(["-c", "exit 3"]).run().unwrap_err().to_string();
        assert!(error.contains("sh -c 'exit 3'") && error.contains('3'), "{error}");
    }

    #[test]
    fn a_missing_program_says_so() {
        let error = Program::new("/nowhere/at-all").run().unwrap_err().to_string();
        assert!(error.contains("/nowhere/at-all") && error.contains("installed"), "{error}");
    }

    #[test]
    fn output_carries_what_the_program_said_when_it_failed() {
        let error = Program::new("sh").args(["-c", "echo why >&2; exit 1"]).output().unwrap_err();
        assert!(error.to_string().contains("why"), "{error}");
    }
}
