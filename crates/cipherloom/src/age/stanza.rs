//! Stanzas: what an age header and the plugin protocol are made of (<https://c2sp.org/age>, "ABNF definition of file header").
//!
//! ```text
//! -> type argument argument …           printable ASCII, one space between
//! base64 of the body, 64 columns         no padding, canonical
//! the last line is shorter than 64, perhaps empty
//! ```

use super::fault::AgeFault;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use zeroize::Zeroize;

/// Columns of a body's full line, and the bytes in it.
const COLUMNS: usize = 64;
const LINE_BYTES: usize = 48;

/// As many arguments as Go's age accepts.
const MOST_ARGUMENTS: usize = 128;

/// A type, its arguments and a body. In the plugin protocol bodies hold secrets, so they are wiped.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Stanza {
    pub(crate) kind: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Stanza {
    pub(crate) fn new(kind: &str, arguments: &[&str], body: &[u8]) -> Stanza {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Stanza { kind: kind.to_owned(), arguments, body: body.to_vec() }
    }

    /// Appends the stanza's text.
    pub(crate) fn write(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(b"-> ");
        text.extend_from_slice(self.kind.as_bytes());
        for argument in &self.arguments {
            text.push(b' ');
            text.extend_from_slice(argument.as_bytes());
        }
        text.push(b'\n');
        let mut line = [0; COLUMNS];
        for bytes in self.body.chunks(LINE_BYTES) {
            let len = STANDARD_NO_PAD.encode_slice(bytes, &mut line).expect("48 bytes fill 64 columns");
            text.extend_from_slice(&line[..len]);
            text.push(b'\n');
        }
        line.zeroize();
        if self.body.len().is_multiple_of(LINE_BYTES) {
            text.push(b'\n');
        }
    }

    /// The line with type and arguments, without its line feed.
    pub(crate) fn parse_first_line(line: &[u8]) -> Result<Stanza, AgeFault> {
        let arguments =
            line.strip_prefix(b"-> ").ok_or(malformed("a stanza does not begin with an arrow"))?;
        let mut words = Vec::new();
        for word in arguments.split(|&byte| byte == b' ') {
            let is_visible = !word.is_empty() && word.iter().all(|byte| (33..=126).contains(byte));
            if !is_visible {
                return Err(malformed("a stanza's argument is empty or has other than printable characters"));
            }
            if words.len() > MOST_ARGUMENTS {
                return Err(malformed("a stanza has too many arguments"));
            }
            words.push(String::from_utf8_lossy(word).into_owned());
        }
        let kind = words.remove(0);
        Ok(Stanza { kind, arguments: words, body: Vec::new() })
    }

    /// Adds a line of the body, without its line feed. True if it is the last.
    pub(crate) fn add_body_line(&mut self, line: &[u8]) -> Result<bool, AgeFault> {
        if line.len() > COLUMNS {
            return Err(malformed("a line of a stanza's body is too long"));
        }
        let mut bytes = [0; LINE_BYTES];
        let len = STANDARD_NO_PAD
            .decode_slice(line, &mut bytes)
            .map_err(|_| malformed("a stanza's body is not canonical base64"))?;
        self.body.extend_from_slice(&bytes[..len]);
        bytes.zeroize();
        Ok(line.len() < COLUMNS)
    }
}

impl Drop for Stanza {
    fn drop(&mut self) {
        self.body.zeroize();
    }
}

impl std::fmt::Debug for Stanza {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Stanza").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Decodes canonical base64 of exactly `LEN` bytes: an argument that is a key or a salt.
pub(crate) fn decode_argument<const LEN: usize>(argument: &str) -> Option<[u8; LEN]> {
    STANDARD_NO_PAD.decode(argument).ok()?.try_into().ok()
}

/// Canonical base64 without padding.
pub(crate) fn encode_argument(bytes: &[u8]) -> String {
    STANDARD_NO_PAD.encode(bytes)
}

pub(super) const fn malformed(problem: &'static str) -> AgeFault {
    AgeFault::Header { problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<Stanza, AgeFault> {
        let mut lines = text.split(|&byte| byte == b'\n');
        let mut stanza = Stanza::parse_first_line(lines.next().unwrap())?;
        for line in lines {
            if stanza.add_body_line(line)? {
                return Ok(stanza);
            }
        }
        Err(malformed("it ends early"))
    }

    #[test]
    fn round_trips_with_bodies_around_a_line() {
        for len in [0, 1, 32, 47, 48, 49, 95, 96, 97, 1000] {
            let body: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let stanza = Stanza::new("X25519", &["one", "!~"], &body);
            let mut text = Vec::new();
            stanza.write(&mut text);
            assert!(text.split(|&byte| byte == b'\n').all(|line| line.len() <= COLUMNS));
            assert_eq!(parse(&text), Ok(stanza), "{len}");
        }
    }

    #[test]
    fn refuses_what_the_grammar_does_not_have() {
        for text in
            ["->\n\n", "-> \n\n", "-> a  b\n\n", "-> a \n\n", "->a\n\n", "-> a\tb\n\n", "-> \u{e9}\n\n"]
        {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
        for body in ["AA==", "AB", "A", "AAAA\r", "A A", &"A".repeat(65)] {
            assert!(parse(format!("-> a\n{body}\n").as_bytes()).is_err(), "{body:?}");
        }
    }
}
