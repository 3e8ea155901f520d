//! What plugins of age and encrypted identity files ask a user, at the terminal. Without one nobody answers, and a line
//! says which question that was.

use crate::{escape, interrupt, output, passphrase, progress};
use cipherloom::age::Prompt;
use cipherloom::key::Passphrase;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Asks at the terminal.
pub struct AgePrompt {
    /// The identity file that is read.
    identity: Option<PathBuf>,
    /// Where its passphrase is.
    passphrase_file: Option<PathBuf>,
}

impl AgePrompt {
    /// For plugins of recipients, which have no identity file.
    pub fn for_plugins() -> AgePrompt {
        AgePrompt { identity: None, passphrase_file: None }
    }

    /// For an identity file.
    pub fn for_identities(path: &Path, passphrase_file: Option<&Path>) -> AgePrompt {
        AgePrompt { identity: Some(path.to_owned()), passphrase_file: passphrase_file.map(Path::to_owned) }
    }
}

impl Prompt for AgePrompt {
    fn show(&self, plugin: &str, message: &str) -> bool {
        progress::pause(|| output::print_line(format_args!("{plugin}: {message}")));
        true
    }

    fn ask_public(&self, plugin: &str, question: &str) -> Option<String> {
        let line = ask(plugin, question, passphrase::Echo::On)?;
        String::from_utf8(line.to_vec()).ok()
    }

    fn ask_secret(&self, plugin: &str, question: &str) -> Option<Zeroizing<String>> {
        let line = ask(plugin, question, passphrase::Echo::Off)?;
        std::str::from_utf8(&line).ok().map(|text| Zeroizing::new(text.to_owned()))
    }

    fn confirm(&self, plugin: &str, question: &str, yes: &str, no: Option<&str>) -> Option<bool> {
        let choices = no.map_or_else(
            || format!("{question} (Enter: {yes})"),
            |no| format!("{question} (1: {yes}, 2: {no})"),
        );
        loop {
            let line = ask(plugin, &choices, passphrase::Echo::On)?;
            match (line.trim_ascii(), no) {
                (b"1", Some(_)) | (b"", None) => return Some(true),
                (b"2", Some(_)) => return Some(false),
                _ => {}
            }
        }
    }

    fn ask_passphrase(&self, what: &str) -> Option<Passphrase> {
        let of = self.identity.as_deref().map_or_else(|| what.to_owned(), escape::path);
        let asked = progress::pause(|| {
            passphrase::existing(self.passphrase_file.as_deref(), &format!("Passphrase of {of}: "))
        });
        asked.inspect_err(output::print_error).ok()
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_raised()
    }
}

fn ask(plugin: &str, question: &str, echo: passphrase::Echo) -> Option<Zeroizing<Vec<u8>>> {
    let question = format!("{plugin}: {}", question.trim_end_matches([':', ' ']));
    let asked = progress::pause(|| passphrase::ask_at_terminal(&format!("{question}: "), echo));
    let said = |error: &anyhow::Error| output::print_line(format_args!("{question}: {error:#}"));
    asked.inspect_err(said).ok()
}
