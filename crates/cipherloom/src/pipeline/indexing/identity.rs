//! What identifies the stream in a file: its header and its last bytes, which nothing else needs to be read for.

use crate::Error;
use crate::files::read_up_to;
use crate::index::{StreamIdentity, digest};
use std::fs::File;

/// What identifies the stream in a file of `len` bytes.
pub(super) fn identity(file: &File, len: u64) -> Result<StreamIdentity, Error> {
    const TAIL: u64 = 16;
    let mut bytes = [0; 40 + TAIL as usize];
    read_exactly(file, &mut bytes[..1], 0)?;
    let header = match bytes[0] {
        header @ (24 | 40) => usize::from(header),
        _ => {
            let problem = "its first byte is neither 24 nor 40";
            return Err(Error::NotThisFormat { format: "tink", problem });
        }
    };
    let tail = len.saturating_sub(header as u64).min(TAIL) as usize;
    read_exactly(file, &mut bytes[..header], 0)?;
    read_exactly(file, &mut bytes[header..header + tail], len - tail as u64)?;
    let mut identity = StreamIdentity::default();
    identity.copy_from_slice(&digest(&bytes[..header + tail])[..16]);
    Ok(identity)
}

pub(super) fn read_exactly(file: &File, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
    match read_up_to(file, buffer, offset) {
        Ok(count) if count == buffer.len() => Ok(()),
        Ok(_) => Err(Error::SourceShrank),
        Err(error) => Err(Error::io("read the file", error)),
    }
}
