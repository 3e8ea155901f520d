//! The header of an age file: which bytes it has, and the code that authenticates it.
//!
//! ```text
//! age-encryption.org/v1
//! -> X25519 XEl0dJ6y3C7KZkgmgWUicg63EyXJiwBJW8PdYJ/cYBE        stanzas, each of which wraps the file key
//! qRS0AMjdjPvZ/WT08U2KL4G+PIooA3hy38SvLpvaC1E
//! --- HK2NmOBN9Dpq0Gw6xMCuhFcQlQLvZ/wQUi/2scLG75s              HMAC-SHA256 of all before, with the three dashes
//! ```
//!
//! A reader accepts exactly the grammar of <https://c2sp.org/age>. Limits are those of Go's age 1.3.

use super::fault::AgeFault;
use super::file_key::FileKey;
use super::stanza::{Stanza, decode_argument, encode_argument, malformed};
use crate::Error;

pub(crate) const VERSION_LINE: &[u8] = b"age-encryption.org/v1\n";
/// What every version begins with.
const ANY_VERSION: &[u8] = b"age-encryption.org/";
const FOOTER: &[u8] = b"---";
/// Characters of the authentication code.
const CODE: usize = 43;
/// More than this no header may have, in bytes and in stanzas.
const LARGEST: usize = 2 << 20;
const MOST_STANZAS: usize = 1024;

/// A header that was read.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) stanzas: Vec<Stanza>,
    /// Bytes up to the line feed of the last line, that included.
    pub(crate) len: usize,
    code: [u8; 32],
}

/// What the beginning of a file says of its header.
#[derive(Debug)]
pub(crate) enum Parsed {
    Whole(Header),
    /// It may go on behind these bytes.
    Incomplete,
}

impl Header {
    /// Bytes of the last line: dashes, a space, the code and a line feed.
    pub(crate) const LAST_LINE: usize = FOOTER.len() + 1 + CODE + 1;

    /// Reads the header that a file begins with.
    pub(crate) fn parse(file: &[u8]) -> Result<Parsed, AgeFault> {
        let mut lines = Lines { file, at: 0 };
        let expected = &VERSION_LINE[..file.len().min(VERSION_LINE.len())];
        if !file.starts_with(expected) {
            let is_age = file.starts_with(&ANY_VERSION[..file.len().min(ANY_VERSION.len())]);
            let problem = if is_age { "its version is unknown" } else { "it does not begin as an age file" };
            return Err(malformed(problem));
        }
        if lines.next().is_none() {
            return Ok(Parsed::Incomplete);
        }
        let mut stanzas: Vec<Stanza> = Vec::new();
        loop {
            if lines.at > LARGEST {
                return Err(malformed("it is longer than 2 MiB"));
            }
            let start = lines.at;
            let Some(line) = lines.next() else { return incomplete(file) };
            if line.starts_with(FOOTER) {
                let code = parse_footer(line)?;
                if stanzas.is_empty() {
                    return Err(malformed("it has no stanza"));
                }
                return Ok(Parsed::Whole(Header { stanzas, len: start + line.len() + 1, code }));
            }
            if stanzas.len() == MOST_STANZAS {
                return Err(malformed("it has more than 1024 stanzas"));
            }
            let mut stanza = Stanza::parse_first_line(line)?;
            loop {
                let Some(line) = lines.next() else { return incomplete(file) };
                if stanza.add_body_line(line)? {
                    break;
                }
            }
            stanzas.push(stanza);
        }
    }

    /// Reads the header of a file that is there up to its end, or up to the header's.
    pub(crate) fn parse_whole(file: &[u8]) -> Result<Header, AgeFault> {
        match Header::parse(file)? {
            Parsed::Whole(header) => Ok(header),
            Parsed::Incomplete => Err(malformed("it ends early")),
        }
    }

    /// The text that wraps this file key in these stanzas.
    pub(crate) fn write(stanzas: &[Stanza], key: &FileKey) -> Result<Vec<u8>, Error> {
        let mut text = VERSION_LINE.to_vec();
        for stanza in stanzas {
            stanza.write(&mut text);
        }
        text.extend_from_slice(FOOTER);
        let code = key.authenticate(&text)?;
        text.push(b' ');
        text.extend_from_slice(encode_argument(code.as_ref()).as_bytes());
        text.push(b'\n');
        Ok(text)
    }

    /// Checks that the header, which `file` begins with, was written with this file key.
    pub(crate) fn verify(&self, file: &[u8], key: &FileKey) -> Result<(), Error> {
        let authenticated = &file[..self.len - CODE - 2];
        if key.is_authentic(authenticated, &self.code)? { Ok(()) } else { Err(AgeFault::HeaderMac.into()) }
    }
}

fn incomplete(file: &[u8]) -> Result<Parsed, AgeFault> {
    if file.len() > LARGEST { Err(malformed("it is longer than 2 MiB")) } else { Ok(Parsed::Incomplete) }
}

fn parse_footer(line: &[u8]) -> Result<[u8; 32], AgeFault> {
    let code = line.strip_prefix(b"--- ").and_then(|code| std::str::from_utf8(code).ok());
    code.and_then(decode_argument)
        .ok_or(malformed("its last line is not three dashes and a code of 32 bytes"))
}

/// Lines that end with a line feed, without it.
struct Lines<'f> {
    file: &'f [u8],
    at: usize,
}

impl<'f> Lines<'f> {
    fn next(&mut self) -> Option<&'f [u8]> {
        let rest = &self.file[self.at..];
        let len = rest.iter().position(|&byte| byte == b'\n')?;
        self.at += len + 1;
        Some(&rest[..len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> (Vec<u8>, FileKey) {
        let key = FileKey::generate().unwrap();
        let stanzas = [Stanza::new("a", &["b"], &[7; 32]), Stanza::new("c", &[], &[])];
        (Header::write(&stanzas, &key).unwrap(), key)
    }

    #[test]
    fn what_was_written_is_read_and_authentic() {
        let (mut file, key) = written();
        let len = file.len();
        file.extend_from_slice(b"payload\n--- not a line of the header");
        let header = Header::parse_whole(&file).unwrap();
        assert_eq!((header.stanzas.len(), header.len), (2, len));
        header.verify(&file, &key).unwrap();
        let other = FileKey::generate().unwrap();
        assert!(matches!(header.verify(&file, &other), Err(Error::Age(AgeFault::HeaderMac))));
    }

    #[test]
    fn every_beginning_is_incomplete_and_every_changed_byte_is_noticed() {
        let (file, key) = written();
        for len in 0..file.len() {
            assert!(matches!(Header::parse(&file[..len]), Ok(Parsed::Incomplete)), "{len}");
            assert!(Header::parse_whole(&file[..len]).is_err());
        }
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut changed = file.clone();
                changed[at] ^= 1 << bit;
                let opened = Header::parse_whole(&changed).map_err(Error::from);
                assert!(
                    opened.and_then(|header| header.verify(&changed, &key)).is_err(),
                    "byte {at} bit {bit}"
                );
            }
        }
    }

    #[test]
    fn limits_hold() {
        let (file, key) = written();
        let many: Vec<Stanza> = (0..=MOST_STANZAS).map(|_| Stanza::new("a", &[], &[])).collect();
        assert!(Header::parse_whole(&Header::write(&many[1..], &key).unwrap()).is_ok());
        assert!(Header::parse_whole(&Header::write(&many, &key).unwrap()).is_err());
        let large = Stanza::new("a", &[], &vec![0; 2 << 20]);
        assert!(Header::parse_whole(&Header::write(&[large], &key).unwrap()).is_err());
        assert!(
            matches!(Header::parse(b"age-encryption.org/v2\n"), Err(AgeFault::Header { problem }) if problem.contains("version"))
        );
        assert!(Header::parse(b"--- ").is_err());
        drop(file);
    }
}
