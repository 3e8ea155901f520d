//! What is said between us and a plugin: stanzas both ways, in the state machines `recipient-v1` and `identity-v1`.
//!
//! ```text
//! we       add-recipient (or add-identity), wrap-file-key, extension-labels, done
//! plugin   msg, confirm, request-public, request-secret, recipient-stanza, labels, error, done     each is answered
//!
//! we       add-identity, recipient-stanza …, done
//! plugin   msg, confirm, request-public, request-secret, file-key, error, done                     each is answered
//! ```

use super::super::fault::AgeFault;
use super::super::file_key::FileKey;
use super::super::prompt::{NoPrompt, Prompt};
use super::super::stanza::Stanza;
use crate::error::escape;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// A plugin that says more than this before its end is broken.
const MOST_COMMANDS: usize = 4096;

/// The way to a plugin and back. What goes wrong is said in words that follow "the plugin NAME".
pub(super) trait Channel {
    fn send(&mut self, stanza: &Stanza) -> Result<(), String>;
    fn receive(&mut self) -> Result<Stanza, String>;
}

/// A conversation with the plugin `name`.
pub(super) struct Conversation<'p, C> {
    pub(super) channel: C,
    pub(super) name: &'p str,
    pub(super) prompt: &'p dyn Prompt,
}

impl<C: Channel> Conversation<'_, C> {
    pub(super) fn wrap(
        &mut self,
        text: &str,
        is_identity: bool,
        key: &FileKey,
    ) -> Result<(Vec<Stanza>, Vec<String>), String> {
        let add = if is_identity { "add-identity" } else { "add-recipient" };
        self.channel.send(&Stanza::new(add, &[text], &[]))?;
        self.channel.send(&Stanza::new("wrap-file-key", &[], key.bytes()))?;
        self.say("extension-labels")?;
        self.say("done")?;
        let (mut stanzas, mut labels) = (Vec::new(), None);
        let unanswered = self.listen(|command| {
            match (command.kind.as_str(), command.arguments.as_slice()) {
                ("recipient-stanza", [index, kind, rest @ ..]) => {
                    only_file(index)?;
                    let arguments: Vec<&str> = rest.iter().map(String::as_str).collect();
                    stanzas.push(Stanza::new(kind, &arguments, &command.body));
                }
                ("recipient-stanza", _) => return Err("sent a stanza without a type".to_owned()),
                ("labels", found) => {
                    if labels.replace(found.to_vec()).is_some() {
                        return Err("sent labels twice".to_owned());
                    }
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        match (stanzas.is_empty(), unanswered) {
            (false, _) => Ok((stanzas, labels.unwrap_or_default())),
            (true, Some(question)) => Err(no_answer_to(&question)),
            (true, None) => Err("wrapped no file key".to_owned()),
        }
    }

    pub(super) fn unwrap(&mut self, text: &str, stanzas: &[Stanza]) -> Result<Option<FileKey>, String> {
        self.channel.send(&Stanza::new("add-identity", &[text], &[]))?;
        for stanza in stanzas {
            let mut arguments = vec!["0", &stanza.kind];
            arguments.extend(stanza.arguments.iter().map(String::as_str));
            self.channel.send(&Stanza::new("recipient-stanza", &arguments, &stanza.body))?;
        }
        self.say("done")?;
        let mut key = None;
        let unanswered = self.listen(|command| {
            match (command.kind.as_str(), command.arguments.as_slice()) {
                ("file-key", [index]) => {
                    only_file(index)?;
                    let found = FileKey::from_bytes(&command.body);
                    if key.replace(found.ok_or("sent a file key of other than 16 bytes")?).is_some() {
                        return Err("sent two file keys".to_owned());
                    }
                }
                ("file-key", _) => return Err("sent a file key with another number of arguments".to_owned()),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        match (key, unanswered) {
            (None, Some(question)) => Err(no_answer_to(&question)),
            (key, _) => Ok(key),
        }
    }

    fn say(&mut self, kind: &str) -> Result<(), String> {
        self.channel.send(&Stanza::new(kind, &[], &[]))
    }

    /// Answers the plugin's commands up to its end. `take` says whether a command was one of the state machine's own.
    /// Returns the last question that nobody answered.
    fn listen(
        &mut self,
        mut take: impl FnMut(&Stanza) -> Result<bool, String>,
    ) -> Result<Option<String>, String> {
        let mut unanswered = None;
        for _ in 0..MOST_COMMANDS {
            let command = self.channel.receive()?;
            match command.kind.as_str() {
                "done" => return Ok(unanswered),
                "error" => {
                    // The plugin's reason counts, not whether it still listens.
                    let _ = self.say("ok");
                    return Err(format!("failed: {}", escape::line(&text_of(&command.body))));
                }
                "msg" => {
                    let is_shown = self.prompt.show(self.name, &text_of(&command.body));
                    self.say(if is_shown { "ok" } else { "fail" })?;
                }
                "request-public" => {
                    let question = text_of(&command.body);
                    let answer = self.prompt.ask_public(self.name, &question);
                    self.answer(answer.as_deref().map(str::as_bytes))?;
                    unanswered = answer.is_none().then_some(question).or(unanswered);
                }
                "request-secret" => {
                    let question = text_of(&command.body);
                    let answer = self.prompt.ask_secret(self.name, &question);
                    self.answer(answer.as_ref().map(|secret| secret.as_bytes()))?;
                    unanswered = answer.is_none().then_some(question).or(unanswered);
                }
                "confirm" => {
                    let question = text_of(&command.body);
                    let is_answered = self.confirm(&command, &question)?;
                    unanswered = (!is_answered).then_some(question).or(unanswered);
                }
                _ => {
                    let is_known = take(&command)?;
                    self.say(if is_known { "ok" } else { "unsupported" })?;
                }
            }
        }
        Err("does not come to an end".to_owned())
    }

    fn answer(&mut self, answer: Option<&[u8]>) -> Result<(), String> {
        match answer {
            Some(answer) => self.channel.send(&Stanza::new("ok", &[], answer)),
            None => self.say("fail"),
        }
    }

    /// Whether somebody chose.
    fn confirm(&mut self, command: &Stanza, question: &str) -> Result<bool, String> {
        let (yes, no) = match command.arguments.as_slice() {
            [yes] => (choice(yes)?, None),
            [yes, no] => (choice(yes)?, Some(choice(no)?)),
            _ => return Err("asked for a choice with another number of options".to_owned()),
        };
        let choice = self.prompt.confirm(self.name, question, &yes, no.as_deref());
        match choice {
            Some(is_yes) => self.channel.send(&Stanza::new("ok", &[if is_yes { "yes" } else { "no" }], &[])),
            None => self.say("fail"),
        }?;
        Ok(choice.is_some())
    }
}

fn no_answer_to(question: &str) -> String {
    format!("asked what nobody answered: {}", escape::line(question))
}

/// We only ever talk about one file.
fn only_file(index: &str) -> Result<(), String> {
    if index == "0" { Ok(()) } else { Err("spoke of a file that it was not given".to_owned()) }
}

fn choice(encoded: &str) -> Result<String, String> {
    let bytes = STANDARD_NO_PAD.decode(encoded);
    bytes.map(|bytes| text_of(&bytes)).map_err(|_| "asked for a choice with a malformed option".to_owned())
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A plugin that says this, whatever it hears.
struct Monologue<'b>(&'b [u8]);

impl Channel for Monologue<'_> {
    fn send(&mut self, _stanza: &Stanza) -> Result<(), String> {
        Ok(())
    }

    fn receive(&mut self) -> Result<Stanza, String> {
        let mut line = || {
            let len = self.0.iter().position(|&byte| byte == b'\n').ok_or("ended")?;
            let line = &self.0[..len];
            self.0 = &self.0[len + 1..];
            Ok::<_, String>(line)
        };
        read_stanza(&mut line)
    }
}

/// Lets a plugin say these bytes in both state machines: for a fuzz target.
pub fn hear(bytes: &[u8]) {
    let Some(key) = FileKey::from_bytes(&[0; 16]) else { return };
    let mut conversation = Conversation { channel: Monologue(bytes), name: "fuzz", prompt: &NoPrompt };
    let _ = conversation.wrap("age1fuzz1", false, &key);
    conversation.channel = Monologue(bytes);
    let _ = conversation.unwrap("AGE-PLUGIN-FUZZ-1", &[]);
}

/// Reads a stanza line by line.
pub(super) fn read_stanza<L: AsRef<[u8]>>(
    line: &mut impl FnMut() -> Result<L, String>,
) -> Result<Stanza, String> {
    let broken = |fault: AgeFault| format!("does not speak the protocol: {fault}");
    let mut stanza = Stanza::parse_first_line(line()?.as_ref()).map_err(broken)?;
    while !stanza.add_body_line(line()?.as_ref()).map_err(broken)? {}
    Ok(stanza)
}

#[cfg(test)]
mod tests;
