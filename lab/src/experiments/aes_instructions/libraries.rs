//! Ciphers in this process: our backends, and the Rust libraries of others.

use super::closure::ClosureAes;
use super::oracle;
use super::workload::{Cell, Mode, Text};
use anyhow::anyhow;
use aws_lc_rs::cipher::{
    self, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use cipherloom_kernels::{Aes, Backend, CbcStream};

/// Does every entry once.
pub(super) type Pass = Box<dyn FnMut(&mut [Text<'_>]) -> anyhow::Result<()>>;

/// Whose code it is: nobody is held against himself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Ours,
    RustCrypto,
    Other,
}

/// Everybody in this process who does `cell`.
///
/// # Errors
/// If a library refuses the key.
pub(super) fn all(cell: Cell) -> anyhow::Result<Vec<(&'static str, Origin, Pass)>> {
    let mut all: Vec<(&'static str, Origin, Pass)> = Vec::new();
    if !matches!(cell.mode, Mode::Ecb | Mode::Gcm) {
        // Bitsliced code does eight blocks at once, of which one CBC chain fills one: seconds a turn, and nothing new.
        let is_endless = cell.mode == Mode::CbcEncryptOne && cell.size > 1 << 20;
        for backend in Backend::available().filter(|&backend| !(is_endless && backend == Backend::Soft)) {
            all.push((backend.name(), Origin::Ours, ours(cell, Aes::new(&cell.key(), backend)?)));
        }
    }
    if matches!(cell.mode, Mode::Ecb | Mode::Ctr | Mode::CbcEncryptLanes) {
        all.push(("RustCrypto", Origin::RustCrypto, rustcrypto(cell)));
    }
    if cell.mode == Mode::Gcm {
        let key = cell.key();
        let pass = move |texts: &mut [Text<'_>]| {
            texts.iter_mut().try_for_each(|(text, iv)| oracle::gcm(&key, text, iv))
        };
        all.push(("RustCrypto", Origin::RustCrypto, Box::new(pass)));
        all.push(("ring", Origin::Other, ring_gcm(cell)?));
    }
    if !cell.mode.is_in_lanes() {
        all.push(("aws-lc-rs", Origin::Other, aws_lc(cell)?));
    }
    Ok(all)
}

fn ours(cell: Cell, aes: Aes) -> Pass {
    let mode = cell.mode;
    Box::new(move |texts| {
        match mode {
            Mode::Ctr => texts.iter_mut().for_each(|(text, iv)| aes.ctr_xor(iv, 0, text)),
            Mode::CbcDecrypt => {
                texts.iter_mut().for_each(|(text, iv)| aes.cbc_decrypt(&mut iv.clone(), text))
            }
            Mode::CbcEncryptOne => {
                texts.iter_mut().for_each(|(text, iv)| aes.cbc_encrypt(&mut iv.clone(), text))
            }
            Mode::CbcEncryptLanes | Mode::CbcEncryptUneven => {
                let mut streams: Vec<_> =
                    texts.iter_mut().map(|(text, iv)| CbcStream { chain: *iv, buffer: text }).collect();
                aes.cbc_encrypt_lanes(&mut streams);
            }
            Mode::Ecb | Mode::Gcm => return Err(anyhow!("the kernels do not offer {}", mode.name())),
        }
        Ok(())
    })
}

fn rustcrypto(cell: Cell) -> Pass {
    let (aes, mode) = (ClosureAes::new(&cell.key()), cell.mode);
    Box::new(move |texts| {
        match mode {
            Mode::Ecb => texts.iter_mut().for_each(|(text, _)| aes.ecb(text)),
            Mode::Ctr => texts.iter_mut().for_each(|(text, iv)| aes.ctr(iv, text)),
            _ => aes.cbc_lanes(texts),
        }
        Ok(())
    })
}

/// GCM by one of the two libraries that have the same interface.
macro_rules! gcm {
    ($name:ident, $library:ident, $words:literal) => {
        fn $name(cell: Cell) -> anyhow::Result<Pass> {
            use $library::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
            let algorithm = if cell.key_bits == 128 { &AES_128_GCM } else { &AES_256_GCM };
            let refused = |_| anyhow!($words);
            let key = LessSafeKey::new(UnboundKey::new(algorithm, &cell.key()).map_err(refused)?);
            Ok(Box::new(move |texts| {
                texts.iter_mut().try_for_each(|(text, iv)| {
                    let (text, place) = text.split_at_mut(text.len() - 16);
                    let nonce = Nonce::try_assume_unique_for_key(&iv[..12]).map_err(refused)?;
                    let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), text).map_err(refused)?;
                    place.copy_from_slice(tag.as_ref());
                    Ok(())
                })
            }))
        }
    };
}

gcm!(ring_gcm, ring, "ring refuses");
gcm!(aws_lc_gcm, aws_lc_rs, "AWS-LC refuses");

/// AWS-LC, in every mode: contestant, and the other oracle.
///
/// # Errors
/// If it refuses the key.
pub(super) fn aws_lc(cell: Cell) -> anyhow::Result<Pass> {
    let refused = |_| anyhow!("AWS-LC refuses");
    if cell.mode == Mode::Gcm {
        return aws_lc_gcm(cell);
    }
    let algorithm = if cell.key_bits == 128 { &cipher::AES_128 } else { &cipher::AES_256 };
    let key = UnboundCipherKey::new(algorithm, &cell.key()).map_err(refused)?;
    if cell.mode == Mode::CbcDecrypt {
        let key = DecryptingKey::cbc(key).map_err(refused)?;
        return Ok(Box::new(move |texts| {
            texts.iter_mut().try_for_each(|(text, iv)| {
                key.decrypt(text, DecryptionContext::Iv128(FixedLength::from(*iv))).map(drop).map_err(refused)
            })
        }));
    }
    let mode = cell.mode;
    let key = match mode {
        Mode::Ecb => EncryptingKey::ecb(key),
        Mode::Ctr => EncryptingKey::ctr(key),
        _ => EncryptingKey::cbc(key),
    };
    let key = key.map_err(refused)?;
    Ok(Box::new(move |texts| {
        texts.iter_mut().try_for_each(|(text, iv)| {
            let context = match mode {
                Mode::Ecb => EncryptionContext::None,
                _ => EncryptionContext::Iv128(FixedLength::from(*iv)),
            };
            key.less_safe_encrypt(text, context).map(drop).map_err(refused)
        })
    }))
}
