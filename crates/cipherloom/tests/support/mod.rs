//! Whole streams in memory, sealed and opened segment by segment: the plainest user of `Format`.

#![allow(dead_code, reason = "each test binary uses its part")]

use cipherloom::Error;
use cipherloom::format::{Format, pad};
use std::path::PathBuf;

/// The repository's `vectors/<origin>` folder.
pub(crate) fn vectors(origin: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(origin)
}

/// Bytes that depend on their position, so that swapped or shifted ones are seen.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|position| (position % 251) as u8 ^ (position / 251) as u8).collect()
}

/// Seals a whole plaintext.
pub(crate) fn seal(format: &Format, associated_data: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, Error> {
    let layout = format.layout();
    let length = plaintext.len() as u64;
    let mut ciphertext = vec![0; layout.ciphertext_len(length) as usize];
    let (header, body) = ciphertext.split_at_mut(layout.header as usize);
    let stream = format.seal_stream(associated_data, header)?;
    if let Some((aes, mut iv)) = stream.chain() {
        body[..plaintext.len()].copy_from_slice(plaintext);
        assert_eq!(pad(body, plaintext.len()), body.len());
        aes.cbc_encrypt(&mut iv, body);
        return Ok(ciphertext);
    }
    for index in 0..layout.segments(length) {
        let segment = layout.segment(index, length);
        let from = segment.plaintext_offset as usize;
        let to = segment.ciphertext_offset as usize;
        let buffer = &mut ciphertext[to..][..segment.ciphertext_len as usize];
        let text = &plaintext[from..][..segment.plaintext_len as usize];
        buffer[..text.len()].copy_from_slice(text);
        stream.seal_segment(index, segment.last, buffer)?;
    }
    Ok(ciphertext)
}

/// Opens a whole ciphertext, its segments from last to first: the order must not matter. Segment 0 is asked first, for
/// what fails there tells most.
pub(crate) fn open(format: &Format, associated_data: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, Error> {
    let head = &ciphertext[..ciphertext.len().min(format.head_len())];
    let mut scratch = vec![0; format.largest_segment() as usize];
    let stream = format.open_stream(associated_data, head, head.len() == ciphertext.len(), &mut scratch)?;
    let layout = *stream.layout();
    let length = ciphertext.len() as u64;
    let segments = layout.segments_of_ciphertext(length)?;
    let mut plaintext = vec![0; layout.plaintext_len(length)? as usize];
    for index in std::iter::once(0).chain((1..segments).rev()) {
        let segment = layout.ciphertext_segment(index, length)?;
        let from = segment.ciphertext_offset as usize;
        let mut buffer = ciphertext[from..][..segment.ciphertext_len as usize].to_vec();
        let before = ciphertext[..from].last_chunk::<16>().filter(|_| stream.needs_block_before());
        let result = stream.open_segment(index, segment.last, before, &mut buffer);
        if result.is_err() && format.is_authenticated() {
            // What is left in the buffer is nothing or the ciphertext, never plaintext that failed.
            let is_untouched = ciphertext[from..][..buffer.len()] == buffer;
            assert!(is_untouched || buffer.iter().all(|&byte| byte == 0));
        }
        let opened = result?;
        assert!(
            opened == segment.plaintext_len as usize
                || (segment.last && opened <= segment.plaintext_len as usize)
        );
        let to = segment.plaintext_offset as usize;
        plaintext[to..][..opened].copy_from_slice(&buffer[..opened]);
        if segment.last {
            plaintext.truncate(to + opened);
        }
    }
    Ok(plaintext)
}

/// Reads hexadecimal digits.
pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
