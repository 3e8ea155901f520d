//! CBC encryption of several streams at once. Within a stream each block waits for the one before it, so a core that
//! works on a single stream idles most of the time; streams that share a key are encrypted interleaved.

use cipherloom_kernels::{Aes, CbcStream};
use std::array;
use std::ops::Range;

/// The most pieces that are encrypted together.
pub const MOST_PIECES: usize = 64;

/// The piece of a CBC stream that is encrypted next.
pub struct CbcPiece<'p> {
    /// The stream's key.
    pub aes: &'p Aes,
    /// The IV, or the last block before this piece. Afterwards, this piece's last block.
    pub chain: &'p mut [u8; 16],
    /// Where it is in the buffer: whole blocks.
    pub body: Range<usize>,
}

/// Encrypts pieces in place, interleaved where they share a key.
///
/// # Panics
/// If there are more than [`MOST_PIECES`], or they do not lie in the buffer one after the other.
pub fn encrypt_pieces<'p>(buffer: &mut [u8], pieces: impl Iterator<Item = CbcPiece<'p>>) {
    let mut streams: [CbcStream<'_>; MOST_PIECES] =
        array::from_fn(|_| CbcStream { chain: [0; 16], buffer: &mut [] });
    let mut owners: [Option<(&Aes, &mut [u8; 16])>; MOST_PIECES] = [const { None }; MOST_PIECES];
    let (mut count, mut rest, mut start) = (0, buffer, 0);
    for piece in pieces {
        let (_, tail) = rest.split_at_mut(piece.body.start - start);
        let (body, tail) = tail.split_at_mut(piece.body.len());
        streams[count] = CbcStream { chain: *piece.chain, buffer: body };
        owners[count] = Some((piece.aes, piece.chain));
        (count, rest, start) = (count + 1, tail, piece.body.end);
    }
    let Some((first, _)) = &owners[0] else { return };
    let shares_key = owners.iter().flatten().all(|(aes, _)| std::ptr::eq(*aes, *first));
    match &mut streams[..count] {
        many if many.len() > 1 && shares_key => first.cbc_encrypt_lanes(many),
        // A single stream's own kernel has the shorter latency.
        each => {
            for (stream, (aes, _)) in each.iter_mut().zip(owners.iter().flatten()) {
                aes.cbc_encrypt(&mut stream.chain, stream.buffer);
            }
        }
    }
    for (stream, (_, chain)) in streams.iter().zip(owners.into_iter().flatten()) {
        *chain = stream.chain;
    }
}
