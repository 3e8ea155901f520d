//! One round over a book's lanes: fill a piece for each, encrypt all pieces interleaved, write them.

use super::book::Book;
use super::lane::Lane;
use super::plan::MOST_PIECES;
use cipherloom_kernels::CbcStream;
use std::array;
use zeroize::Zeroize;

/// Where a line of the cache begins: buffers that the system copies to begin there.
const ALIGNMENT: usize = 64;

/// The bytes that lanes are filled in; made once a worker, wiped at its end.
pub(super) struct Arena {
    bytes: Vec<u8>,
    used: usize,
}

impl Arena {
    pub(super) fn new(len: usize) -> Arena {
        // Zeroed memory from the system is not touched before it is used.
        Arena { bytes: vec![0; len + ALIGNMENT], used: 0 }
    }

    /// All of it, the first byte aligned.
    pub(super) fn aligned(&mut self) -> &mut [u8] {
        let start = self.bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let len = self.bytes.len() - ALIGNMENT;
        &mut self.bytes[start..start + len]
    }

    /// Up to here it has been used.
    pub(super) fn used_to(&mut self, end: usize) {
        self.used = self.used.max(end);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let used = (self.used + ALIGNMENT).min(self.bytes.len());
        self.bytes[..used].zeroize();
    }
}

/// Encrypts every lane's body in place. The lanes stand in the buffer in their order.
pub(super) fn encrypt(book: &Book, buffer: &mut [u8], lanes: &mut [Option<Lane>]) {
    let mut streams: [CbcStream<'_>; MOST_PIECES] =
        array::from_fn(|_| CbcStream { chain: [0; 16], buffer: &mut [] });
    let mut count = 0;
    let mut rest = buffer;
    let mut start = 0;
    let is_active = |lane: &&mut Lane| lane.is_encrypted && !lane.body.is_empty();
    for lane in lanes.iter_mut().flatten().filter(is_active) {
        let (_, tail) = rest.split_at_mut(lane.body.start - start);
        let (body, tail) = tail.split_at_mut(lane.body.len());
        streams[count] = CbcStream { chain: lane.chain, buffer: body };
        count += 1;
        rest = tail;
        start = lane.body.end;
    }
    match &mut streams[..count] {
        [] => return,
        // Its own kernel has the shorter latency.
        [one] => book.aes.cbc_encrypt(&mut one.chain, one.buffer),
        many => book.aes.cbc_encrypt_lanes(many),
    }
    let chains: [[u8; 16]; MOST_PIECES] = array::from_fn(|index| streams[index].chain);
    for (lane, chain) in lanes.iter_mut().flatten().filter(is_active).zip(chains) {
        lane.chain = chain;
    }
}
