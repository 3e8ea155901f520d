//! What is right: RustCrypto's block cipher, with each mode written out block by block (NIST SP 800-38A), and its GCM.
//! RustCrypto's own contestants are held against AWS-LC instead.

use super::libraries;
use super::workload::{Cell, Entries, Mode, Text};
use crate::record::Oracle;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit, array::Array};
use aes::{Aes128, Aes256};
use aes_gcm::aead::AeadInPlace;
use anyhow::ensure;
use std::rc::Rc;

/// The results that contestants are held against.
pub(super) struct Expected {
    pub(super) by_rustcrypto: Rc<[u8]>,
    pub(super) by_aws_lc: Rc<[u8]>,
}

pub(super) const RUSTCRYPTO: Oracle = Oracle("RustCrypto");
pub(super) const AWS_LC: Oracle = Oracle("AWS-LC");

impl Expected {
    /// # Errors
    /// If a library refuses.
    pub(super) fn new(cell: Cell) -> anyhow::Result<Expected> {
        let mut entries = Entries::new(cell);
        entries.texts_mut().into_iter().try_for_each(|text| one(cell, text))?;
        let by_rustcrypto = entries.content().into();
        let mut entries = Entries::new(cell);
        libraries::aws_lc(cell)?(&mut entries.texts_mut())?;
        Ok(Expected { by_rustcrypto, by_aws_lc: entries.content().into() })
    }
}

fn one(cell: Cell, (text, iv): Text<'_>) -> anyhow::Result<()> {
    let key = cell.key();
    if cell.mode == Mode::Gcm {
        return gcm(&key, text, &iv);
    }
    match Aes128::new_from_slice(&key) {
        Ok(cipher) => modes(cell.mode, &cipher, text, iv),
        Err(_) => modes(cell.mode, &Aes256::new_from_slice(&key)?, text, iv),
    }
    Ok(())
}

fn modes(
    mode: Mode,
    cipher: &(impl BlockCipherEncrypt<BlockSize = aes::cipher::consts::U16> + BlockCipherDecrypt),
    text: &mut [u8],
    iv: [u8; 16],
) {
    let encrypted = |block: [u8; 16]| {
        let mut state = Array(block);
        cipher.encrypt_block(&mut state);
        state.0
    };
    let xor = |left: [u8; 16], right: [u8; 16]| {
        (u128::from_ne_bytes(left) ^ u128::from_ne_bytes(right)).to_ne_bytes()
    };
    let mut chain = iv;
    for block in text.as_chunks_mut::<16>().0 {
        match mode {
            Mode::Ecb => *block = encrypted(*block),
            Mode::Ctr => {
                *block = xor(*block, encrypted(chain));
                chain = u128::from_be_bytes(chain).wrapping_add(1).to_be_bytes();
            }
            Mode::CbcDecrypt => {
                let mut state = Array(*block);
                cipher.decrypt_block(&mut state);
                let plain = xor(state.0, chain);
                chain = *block;
                *block = plain;
            }
            Mode::CbcEncryptOne | Mode::CbcEncryptLanes | Mode::CbcEncryptUneven => {
                *block = encrypted(xor(*block, chain));
                chain = *block;
            }
            Mode::Gcm => unreachable!("done by the library"),
        }
    }
}

/// Also a contestant.
pub(super) fn gcm(key: &[u8], text: &mut [u8], iv: &[u8; 16]) -> anyhow::Result<()> {
    use aes_gcm::aead::KeyInit as _;
    use aes_gcm::aead::generic_array::GenericArray;
    let (text, tag) = text.split_at_mut(text.len() - 16);
    let nonce = GenericArray::from_slice(&iv[..12]);
    let made =
        match key.len() {
            16 => aes_gcm::Aes128Gcm::new(GenericArray::from_slice(key))
                .encrypt_in_place_detached(nonce, b"", text),
            _ => aes_gcm::Aes256Gcm::new(GenericArray::from_slice(key))
                .encrypt_in_place_detached(nonce, b"", text),
        };
    ensure!(made.is_ok(), "RustCrypto's GCM refuses {} bytes", text.len());
    tag.copy_from_slice(&made.unwrap_or_default());
    Ok(())
}
