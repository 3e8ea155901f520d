//! PKCS#7 padding to AES blocks (RFC 5652, section 6.3): `n` bytes of value `n`, 1 to 16 of them.

/// Bytes of a block.
const BLOCK: usize = 16;

/// Writes the padding behind `plaintext_len` bytes of `buffer`, and returns the padded length.
///
/// ```
/// let mut buffer = [0; 16];
/// buffer[..13].copy_from_slice(b"one paragraph");
/// assert_eq!(cipherloom::format::pad(&mut buffer, 13), 16);
/// assert_eq!(&buffer, b"one paragraph\x03\x03\x03");
/// ```
///
/// # Panics
/// If `buffer` has no room for it: up to 16 bytes more than the plaintext.
pub fn pad(buffer: &mut [u8], plaintext_len: usize) -> usize {
    let padding = BLOCK - plaintext_len % BLOCK;
    let padded = plaintext_len + padding;
    buffer[plaintext_len..padded].fill(padding as u8);
    padded
}

/// The length without padding, or `None` if there is no valid one. Looks at all 16 bytes whatever they are, so that its
/// time shows nothing of where a wrong byte is.
pub(super) fn unpad(buffer: &[u8]) -> Option<usize> {
    let block: &[u8; BLOCK] = buffer.last_chunk()?;
    let padding = block[BLOCK - 1];
    let mut wrong = u8::from(padding == 0) | u8::from(padding as usize > BLOCK);
    for (from_end, byte) in (0u8..).zip(block.iter().rev()) {
        wrong |= u8::from(from_end < padding) & u8::from(*byte != padding);
    }
    (wrong == 0).then(|| buffer.len() - padding as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_padded_is_unpadded() {
        for length in 0..50 {
            let mut buffer = [0x55; 66];
            let padded = pad(&mut buffer, length);
            assert!(padded > length && padded <= length + 16 && padded.is_multiple_of(16));
            assert_eq!(unpad(&buffer[..padded]), Some(length));
        }
    }

    #[test]
    fn every_wrong_padding_is_refused() {
        for padding in 0..=255u8 {
            let mut block = [0xaa; 16];
            let covered = usize::from(padding).min(16);
            block[16 - covered..].fill(padding);
            block[15] = padding;
            assert_eq!(unpad(&block).is_some(), (1..=16).contains(&padding), "{padding}");
            for position in 0..15 {
                let mut flipped = block;
                flipped[position] ^= 0x80;
                let is_in_padding = position >= 16 - covered;
                assert_eq!(unpad(&flipped).is_some(), (1..=16).contains(&padding) && !is_in_padding);
            }
        }
        assert_eq!(unpad(&[1; 15]), None);
        assert_eq!(unpad(&[]), None);
    }
}
