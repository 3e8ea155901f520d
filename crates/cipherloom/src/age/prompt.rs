//! What plugins and encrypted identities ask a user.

use crate::key::Passphrase;
use zeroize::Zeroizing;

/// Answers for plugins and encrypted identities. Every question can be refused, which the defaults do. Workers of a run ask
/// from their threads; one plugin asks one question at a time.
///
/// The texts come from a plugin: escape them before they reach a terminal.
pub trait Prompt: Send + Sync {
    /// Shows a message, such as "touch the key". False if that is impossible.
    fn show(&self, plugin: &str, message: &str) -> bool {
        let _ = (plugin, message);
        false
    }

    /// Asks for a text that may be seen while it is typed.
    fn ask_public(&self, plugin: &str, question: &str) -> Option<String> {
        let _ = (plugin, question);
        None
    }

    /// Asks for a secret, such as a PIN.
    fn ask_secret(&self, plugin: &str, question: &str) -> Option<Zeroizing<String>> {
        let _ = (plugin, question);
        None
    }

    /// Asks for a choice: true for `yes`, false for `no`.
    fn confirm(&self, plugin: &str, question: &str, yes: &str, no: Option<&str>) -> Option<bool> {
        let _ = (plugin, question, yes, no);
        None
    }

    /// Asks for the passphrase of an encrypted identity: "the SSH key alice@example" or "the identity file".
    fn ask_passphrase(&self, what: &str) -> Option<Passphrase> {
        let _ = what;
        None
    }

    /// Whether the run was stopped: a plugin that does not answer is then ended. Asked several times a second while a plugin
    /// works.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Refuses every question.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrompt;

impl Prompt for NoPrompt {}
