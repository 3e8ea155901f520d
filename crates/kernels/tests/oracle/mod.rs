//! The oracle: the modes of SP 800-38A, block by block over the `aes` crate, which shares no code with ours. Also a
//! small deterministic source of test bytes.

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};

/// One key of the independent implementation.
pub(crate) enum Oracle {
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

impl Oracle {
    pub(crate) fn new(key: &[u8]) -> Oracle {
        match key.len() {
            16 => Oracle::Aes128(Box::new(Aes128::new_from_slice(key).unwrap())),
            24 => Oracle::Aes192(Box::new(Aes192::new_from_slice(key).unwrap())),
            32 => Oracle::Aes256(Box::new(Aes256::new_from_slice(key).unwrap())),
            other => panic!("no AES key has {other} bytes"),
        }
    }

    pub(crate) fn encrypt(&self, block: [u8; 16]) -> [u8; 16] {
        let mut block = aes::Block::from(block);
        match self {
            Oracle::Aes128(cipher) => cipher.encrypt_block(&mut block),
            Oracle::Aes192(cipher) => cipher.encrypt_block(&mut block),
            Oracle::Aes256(cipher) => cipher.encrypt_block(&mut block),
        }
        block.into()
    }

    pub(crate) fn decrypt(&self, block: [u8; 16]) -> [u8; 16] {
        let mut block = aes::Block::from(block);
        match self {
            Oracle::Aes128(cipher) => cipher.decrypt_block(&mut block),
            Oracle::Aes192(cipher) => cipher.decrypt_block(&mut block),
            Oracle::Aes256(cipher) => cipher.decrypt_block(&mut block),
        }
        block.into()
    }

    pub(crate) fn ctr(&self, initial: &[u8; 16], first_block: u128, text: &[u8]) -> Vec<u8> {
        let first = u128::from_be_bytes(*initial).wrapping_add(first_block);
        let mut out = Vec::with_capacity(text.len());
        for (index, block) in text.chunks(16).enumerate() {
            let stream = self.encrypt(first.wrapping_add(index as u128).to_be_bytes());
            out.extend(block.iter().zip(stream).map(|(byte, key)| byte ^ key));
        }
        out
    }

    pub(crate) fn cbc_encrypt(&self, iv: &[u8; 16], text: &[u8]) -> Vec<u8> {
        let mut chain = *iv;
        let mut out = Vec::with_capacity(text.len());
        for block in text.chunks_exact(16) {
            chain = self.encrypt(xor(block, &chain));
            out.extend(chain);
        }
        out
    }

    pub(crate) fn cbc_decrypt(&self, iv: &[u8; 16], text: &[u8]) -> Vec<u8> {
        let mut chain = *iv;
        let mut out = Vec::with_capacity(text.len());
        for block in text.chunks_exact(16) {
            let block: [u8; 16] = block.try_into().unwrap();
            out.extend(xor(&self.decrypt(block), &chain));
            chain = block;
        }
        out
    }
}

fn xor(left: &[u8], right: &[u8; 16]) -> [u8; 16] {
    std::array::from_fn(|index| left[index] ^ right[index])
}

/// `length` bytes that look random and depend on `seed` alone (splitmix64).
pub(crate) fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut out = Vec::with_capacity(length + 8);
    while out.len() < length {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        out.extend((word ^ (word >> 31)).to_le_bytes());
    }
    out.truncate(length);
    out
}

pub(crate) fn block(seed: u64) -> [u8; 16] {
    bytes(seed, 16).try_into().unwrap()
}
