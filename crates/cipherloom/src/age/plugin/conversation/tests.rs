use super::*;
use std::collections::VecDeque;
use zeroize::Zeroizing;

/// A stanza's type, arguments and body.
type Said<'s> = (&'s str, &'s [&'s str], &'s [u8]);

/// A plugin that says these stanzas, and what was said to it.
#[derive(Default)]
struct Script {
    says: VecDeque<Stanza>,
    heard: Vec<Stanza>,
}

impl Channel for &mut Script {
    fn send(&mut self, stanza: &Stanza) -> Result<(), String> {
        self.heard.push(stanza.clone());
        Ok(())
    }

    fn receive(&mut self) -> Result<Stanza, String> {
        self.says.pop_front().ok_or_else(|| "ended early".to_owned())
    }
}

fn script(says: &[Said<'_>]) -> Script {
    let says = says.iter().map(|(kind, arguments, body)| Stanza::new(kind, arguments, body)).collect();
    Script { says, heard: Vec::new() }
}

fn unwrap(script: &mut Script, prompt: &dyn Prompt) -> Result<Option<FileKey>, String> {
    let stanzas = [Stanza::new("X25519", &["share"], &[1; 32]), Stanza::new("odd", &[], &[])];
    Conversation { channel: script, name: "test", prompt }.unwrap("AGE-PLUGIN-TEST-1", &stanzas)
}

fn wrap(script: &mut Script) -> Result<(Vec<Stanza>, Vec<String>), String> {
    let key = FileKey::from_bytes(&[7; 16]).unwrap();
    Conversation { channel: script, name: "test", prompt: &NoPrompt }.wrap("age1test1", false, &key)
}

fn kinds(heard: &[Stanza]) -> Vec<&str> {
    heard.iter().map(|stanza| stanza.kind.as_str()).collect()
}

/// Knows the PIN and says yes.
struct Person;

impl Prompt for Person {
    fn show(&self, plugin: &str, message: &str) -> bool {
        (plugin, message) == ("test", "touch it")
    }

    fn ask_public(&self, _plugin: &str, question: &str) -> Option<String> {
        Some(question.to_uppercase())
    }

    fn ask_secret(&self, _plugin: &str, _question: &str) -> Option<Zeroizing<String>> {
        Some(Zeroizing::new("1234".to_owned()))
    }

    fn confirm(&self, _plugin: &str, _question: &str, yes: &str, no: Option<&str>) -> Option<bool> {
        Some(yes == "y" && no.is_none())
    }
}

#[test]
fn a_file_key_is_wrapped_with_labels() {
    let mut plugin = script(&[
        ("recipient-stanza", &["0", "odd", "x"], &[9]),
        ("labels", &["b", "a"], &[]),
        ("done", &[], &[]),
    ]);
    let (stanzas, labels) = wrap(&mut plugin).unwrap();
    assert_eq!(stanzas, [Stanza::new("odd", &["x"], &[9])]);
    assert_eq!(labels, ["b", "a"]);
    let said = ["add-recipient", "wrap-file-key", "extension-labels", "done", "ok", "ok"];
    assert_eq!(kinds(&plugin.heard), said);
    assert_eq!(plugin.heard[1].body, [7; 16]);
}

#[test]
fn a_file_key_is_unwrapped_or_not() {
    let mut plugin = script(&[("file-key", &["0"], &[3; 16]), ("done", &[], &[])]);
    assert_eq!(unwrap(&mut plugin, &NoPrompt).unwrap().unwrap().bytes(), &[3; 16]);
    let said = ["add-identity", "recipient-stanza", "recipient-stanza", "done", "ok"];
    assert_eq!(kinds(&plugin.heard), said);
    assert_eq!(plugin.heard[1].arguments, ["0", "X25519", "share"]);
    assert!(unwrap(&mut script(&[("done", &[], &[])]), &NoPrompt).unwrap().is_none());
}

#[test]
fn questions_are_answered_or_refused_and_unknown_commands_are_unsupported() {
    let says: &[Said<'_>] = &[
        ("msg", &[], b"touch it"),
        ("request-public", &[], b"name"),
        ("request-secret", &[], b"PIN"),
        ("confirm", &["eQ"], b"sure?"),
        ("confirm", &["eQ", "bg"], b"sure?"),
        ("grease-12", &["x"], b"y"),
        ("done", &[], &[]),
    ];
    let mut plugin = script(says);
    unwrap(&mut plugin, &Person).unwrap();
    let answers: Vec<(&str, &[String], &[u8])> = plugin.heard[4..]
        .iter()
        .map(|said| (said.kind.as_str(), &said.arguments[..], &said.body[..]))
        .collect();
    let (yes, no) = (["yes".to_owned()], ["no".to_owned()]);
    let expected: [(&str, &[String], &[u8]); 6] = [
        ("ok", &[], b""),
        ("ok", &[], b"NAME"),
        ("ok", &[], b"1234"),
        ("ok", &yes, b""),
        ("ok", &no, b""),
        ("unsupported", &[], b""),
    ];
    assert_eq!(answers, expected);
    let mut plugin = script(says);
    let problem = unwrap(&mut plugin, &NoPrompt).unwrap_err();
    assert!(problem.starts_with("asked what nobody answered: "), "{problem}");
    assert_eq!(kinds(&plugin.heard[4..]), ["fail", "fail", "fail", "fail", "fail", "unsupported"]);
}

#[test]
fn what_breaks_the_protocol_is_refused() {
    let broken: [&[Said<'_>]; 7] = [
        &[("error", &["internal"], b"no \x1b[31mkey")],
        &[("file-key", &["1"], &[3; 16])],
        &[("file-key", &["0"], &[3; 15])],
        &[("file-key", &[], &[3; 16])],
        &[("file-key", &["0"], &[3; 16]), ("file-key", &["0"], &[3; 16])],
        &[("confirm", &[], b"")],
        &[],
    ];
    for says in broken {
        let problem = unwrap(&mut script(says), &NoPrompt).expect_err(&format!("{says:?}"));
        assert!(!problem.contains('\x1b'), "{problem:?}");
    }
    let broken: [&[Said<'_>]; 5] = [
        &[("done", &[], &[])],
        &[("recipient-stanza", &["1", "x"], &[])],
        &[("recipient-stanza", &["0"], &[])],
        &[("labels", &["a"], &[]), ("labels", &["a"], &[])],
        &[("error", &["recipient", "0"], b"unknown")],
    ];
    for says in broken {
        wrap(&mut script(says)).expect_err(&format!("{says:?}"));
    }
}

#[test]
fn a_plugin_that_never_ends_is_left() {
    let says: Vec<Said<'_>> = vec![("msg", &[], b""); 2 * MOST_COMMANDS];
    let problem = unwrap(&mut script(&says), &NoPrompt).unwrap_err();
    assert!(problem.contains("does not come to an end"), "{problem}");
}
