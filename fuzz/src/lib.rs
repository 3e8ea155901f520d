//! What the targets for streams have in common: opening a whole stream held in memory, segment by segment, as the
//! library's pipeline does with a file.

use cipherloom::Format;

/// Opens `ciphertext` from its header to its last segment. `Some` is the plaintext; `None` stands for any error.
///
/// # Panics
/// Where the library breaks its own promises: that is what the targets look for.
#[must_use]
pub fn open(format: &Format, associated_data: &[u8], ciphertext: &[u8]) -> Option<Vec<u8>> {
    let head = &ciphertext[..ciphertext.len().min(format.head_len())];
    let mut scratch = vec![0; format.largest_segment() as usize];
    let is_whole = head.len() == ciphertext.len();
    let stream = format.open_stream(associated_data, head, is_whole, &mut scratch).ok()?;
    let layout = stream.layout();
    let length = ciphertext.len() as u64;
    let segments = layout.segments_of_ciphertext(length).ok()?;
    assert!(segments >= 1, "a stream has at least one segment");
    let mut plaintext = Vec::new();
    for index in 0..segments {
        let segment = layout.ciphertext_segment(index, length).ok()?;
        assert_eq!(segment.last, index + 1 == segments);
        let start = usize::try_from(segment.ciphertext_offset).expect("an offset in memory");
        let mut buffer = ciphertext[start..start + segment.ciphertext_len as usize].to_vec();
        let before: Option<&[u8; 16]> = (stream.needs_block_before() && index > 0)
            .then(|| ciphertext[start - 16..start].try_into().expect("16 bytes"));
        let opened = stream.open_segment(index, segment.last, before, &mut buffer).ok()?;
        assert!(opened <= buffer.len());
        plaintext.extend_from_slice(&buffer[..opened]);
    }
    Some(plaintext)
}

/// An authenticated format opens nothing but what it sealed: what opens must have the length that the layout says.
///
/// # Panics
/// If it has not.
pub fn check_length(format: &Format, ciphertext: &[u8], plaintext: &[u8]) {
    let layout = format.layout();
    assert_eq!(layout.ciphertext_len(plaintext.len() as u64), ciphertext.len() as u64);
}
