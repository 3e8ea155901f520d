//! Plugins: recipients `age1name1…` and identities `AGE-PLUGIN-NAME-1…`, for which the program `age-plugin-name` wraps and
//! unwraps file keys (<https://c2sp.org/age-plugin>).

mod conversation;
mod process;

pub use conversation::hear;

use super::encoding;
use super::fault::AgeFault;
use super::file_key::FileKey;
use super::prompt::Prompt;
use super::stanza::Stanza;
use crate::Error;
use conversation::Conversation;
use process::Process;
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::Zeroizing;

/// A recipient or identity of a plugin.
#[derive(Clone)]
pub(super) struct Plugin {
    name: String,
    text: Arc<Zeroizing<String>>,
    is_identity: bool,
    prompt: Arc<dyn Prompt>,
    /// One conversation at a time: a person answers one question after the other.
    turn: Arc<Mutex<()>>,
}

impl Plugin {
    pub(super) fn from_recipient(text: &str, prompt: &Arc<dyn Prompt>) -> Result<Plugin, AgeFault> {
        let refused = |problem| AgeFault::Recipient { problem };
        let (prefix, _) = encoding::decode(text).ok_or(refused("it is not Bech32 text"))?;
        let name = prefix.strip_prefix("age1").filter(|name| is_name(name));
        let name = name.ok_or(refused("it names no plugin that could exist"))?;
        Ok(Plugin::new(name.to_owned(), text, false, prompt))
    }

    pub(super) fn from_identity(text: &str, prompt: &Arc<dyn Prompt>) -> Result<Plugin, AgeFault> {
        let refused = |problem| AgeFault::Identity { problem };
        let (prefix, _) = encoding::decode(text).ok_or(refused("it is not Bech32 text"))?;
        let name = prefix.strip_prefix("AGE-PLUGIN-").and_then(|name| name.strip_suffix('-'));
        let name = name.map(str::to_lowercase).filter(|name| is_name(name));
        let name = name.ok_or(refused("it names no plugin that could exist"))?;
        Ok(Plugin::new(name, text, true, prompt))
    }

    fn new(name: String, text: &str, is_identity: bool, prompt: &Arc<dyn Prompt>) -> Plugin {
        let text = Arc::new(Zeroizing::new(text.to_owned()));
        Plugin { name, text, is_identity, prompt: Arc::clone(prompt), turn: Arc::default() }
    }

    /// The text of the recipient or identity.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The program of an identity, whose text may be secret.
    pub(super) fn program_of_identity(&self) -> Option<String> {
        self.is_identity.then(|| format!("age-plugin-{}", self.name))
    }

    /// The stanzas that wrap a file key, and the labels of this recipient.
    pub(super) fn wrap(&self, key: &FileKey) -> Result<(Vec<Stanza>, Vec<String>), Error> {
        self.converse("recipient-v1", |conversation| conversation.wrap(&self.text, self.is_identity, key))
    }

    /// The file key, if the plugin unwraps one of these stanzas.
    pub(super) fn unwrap(&self, stanzas: &[Stanza]) -> Result<Option<FileKey>, Error> {
        self.converse("identity-v1", |conversation| conversation.unwrap(&self.text, stanzas))
    }

    fn converse<T>(
        &self,
        machine: &str,
        talk: impl FnOnce(&mut Conversation<'_, Process<'_>>) -> Result<T, String>,
    ) -> Result<T, Error> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let said = Process::start(&self.name, machine, &*self.prompt).and_then(|process| {
            let mut conversation = Conversation { channel: process, name: &self.name, prompt: &*self.prompt };
            talk(&mut conversation)
        });
        if self.prompt.is_stopped() {
            return Err(Error::Stopped);
        }
        said.map_err(|problem| AgeFault::Plugin { name: self.name.clone(), problem }.into())
    }
}

/// What may be part of a program's name, as age has it.
fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte);
    !name.is_empty() && name.bytes().all(is_part)
}
