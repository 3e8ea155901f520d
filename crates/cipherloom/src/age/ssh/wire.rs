//! SSH's encoding of values (RFC 4251, section 5): lengths of four bytes, big-endian, in front of strings.

use super::super::fault::AgeFault;

/// These strings, one behind the other.
pub(super) fn strings(strings: &[&[u8]]) -> Vec<u8> {
    let encoded = strings.iter().map(|string| [&(string.len() as u32).to_be_bytes(), *string].concat());
    encoded.collect::<Vec<_>>().concat()
}

/// What is left of an encoding.
pub(super) struct Wire<'b>(pub(super) &'b [u8]);

impl<'b> Wire<'b> {
    pub(super) fn number(&mut self) -> Result<u32, AgeFault> {
        let (number, rest) = self.0.split_first_chunk().ok_or(cut())?;
        self.0 = rest;
        Ok(u32::from_be_bytes(*number))
    }

    pub(super) fn string(&mut self) -> Result<&'b [u8], AgeFault> {
        let len = self.number()? as usize;
        let (string, rest) = self.0.split_at_checked(len).ok_or(cut())?;
        self.0 = rest;
        Ok(string)
    }

    /// A positive integer's bytes, big-endian, without leading zeros.
    pub(super) fn integer(&mut self) -> Result<&'b [u8], AgeFault> {
        let bytes = self.string()?;
        let bytes = bytes.strip_prefix(&[0]).unwrap_or(bytes);
        match bytes.first() {
            None | Some(0) => Err(AgeFault::SshKey { problem: "one of its numbers is not positive" }),
            Some(_) => Ok(bytes),
        }
    }
}

fn cut() -> AgeFault {
    AgeFault::SshKey { problem: "it ends early" }
}
