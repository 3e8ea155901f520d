//! The same work on the `aes` crate's parallel blocks: the loop inside the closure that it hands its backend.

use aes::cipher::array::Array;
use aes::cipher::common::{BlockSizeUser, ParBlocks};
use aes::cipher::typenum::Unsigned;
use aes::cipher::{BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, KeyInit, consts::U16};
use aes::{Aes128, Aes256};

pub(super) enum ClosureAes {
    Aes128(Box<Aes128>),
    Aes256(Box<Aes256>),
}

impl ClosureAes {
    pub(super) fn new(key: &[u8]) -> ClosureAes {
        match key.len() {
            16 => ClosureAes::Aes128(Box::new(Aes128::new_from_slice(key).unwrap())),
            _ => ClosureAes::Aes256(Box::new(Aes256::new_from_slice(key).unwrap())),
        }
    }

    fn with_backend(&self, work: impl BlockCipherEncClosure<BlockSize = U16>) {
        match self {
            ClosureAes::Aes128(cipher) => cipher.encrypt_with_backend(work),
            ClosureAes::Aes256(cipher) => cipher.encrypt_with_backend(work),
        }
    }

    pub(super) fn ecb(&self, text: &mut [u8]) {
        self.with_backend(Blocks { text });
    }

    /// Entries of equal length.
    pub(super) fn cbc_lanes(&self, texts: &mut [(&mut [u8], [u8; 16])]) {
        self.with_backend(Lanes { texts });
    }

    pub(super) fn ctr(&self, initial: &[u8; 16], text: &mut [u8]) {
        self.with_backend(Counter { initial: u128::from_be_bytes(*initial), text });
    }
}

struct Lanes<'a, 'b> {
    texts: &'a mut [(&'b mut [u8], [u8; 16])],
}

impl BlockSizeUser for Lanes<'_, '_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Lanes<'_, '_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let width = B::ParBlocksSize::USIZE;
        for group in self.texts.chunks_mut(width) {
            let mut states: ParBlocks<B> = Default::default();
            for (state, (_, iv)) in states.iter_mut().zip(group.iter()) {
                *state = Array(*iv);
            }
            for at in (0..group[0].0.len()).step_by(16) {
                for (state, (text, _)) in states.iter_mut().zip(group.iter()) {
                    let block: [u8; 16] = text[at..at + 16].try_into().expect("16 bytes");
                    state.0 = (u128::from_ne_bytes(state.0) ^ u128::from_ne_bytes(block)).to_ne_bytes();
                }
                backend.encrypt_par_blocks_inplace(&mut states);
                for (state, (text, _)) in states.iter().zip(group.iter_mut()) {
                    text[at..at + 16].copy_from_slice(state);
                }
            }
        }
    }
}

struct Blocks<'a> {
    text: &'a mut [u8],
}

impl BlockSizeUser for Blocks<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Blocks<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        for chunk in self.text.chunks_mut(16 * B::ParBlocksSize::USIZE) {
            let mut states: ParBlocks<B> = Default::default();
            let count = chunk.len() / 16;
            for (state, text) in states.iter_mut().zip(chunk.chunks_exact(16)) {
                state.copy_from_slice(text);
            }
            if count == B::ParBlocksSize::USIZE {
                backend.encrypt_par_blocks_inplace(&mut states);
            } else {
                backend.encrypt_tail_blocks_inplace(&mut states[..count]);
            }
            for (state, text) in states.iter().zip(chunk.chunks_exact_mut(16)) {
                text.copy_from_slice(state);
            }
        }
    }
}

struct Counter<'a> {
    initial: u128,
    text: &'a mut [u8],
}

impl BlockSizeUser for Counter<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Counter<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(mut self, backend: &B) {
        for chunk in self.text.chunks_mut(16 * B::ParBlocksSize::USIZE) {
            let mut stream: ParBlocks<B> = Default::default();
            for block in stream.iter_mut() {
                *block = Array(self.initial.to_be_bytes());
                self.initial = self.initial.wrapping_add(1);
            }
            if chunk.len() == 16 * B::ParBlocksSize::USIZE {
                backend.encrypt_par_blocks_inplace(&mut stream);
            } else {
                backend.encrypt_tail_blocks_inplace(&mut stream[..chunk.len().div_ceil(16)]);
            }
            let (blocks, rest) = chunk.as_chunks_mut();
            for (text, key) in blocks.iter_mut().zip(stream.iter()) {
                *text = (u128::from_ne_bytes(*text) ^ u128::from_ne_bytes(key.0)).to_ne_bytes();
            }
            for (text, key) in rest.iter_mut().zip(stream[blocks.len().min(stream.len() - 1)]) {
                *text ^= key;
            }
        }
    }
}
