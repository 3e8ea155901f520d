//! Before a device gets work it must give what this processor gives: every key size, counters that carry into every
//! word, lengths that end inside a block, a thread's share and a group. A driver that does not is refused by its name.

use crate::Error;
use crate::circuit::Mode;
use crate::staging::{Staged, Stages, Task};
use cipherloom_kernels::{Accelerator, Aes, Backend, Engine};
use std::sync::{Mutex, PoisonError};

/// First counters: none carries, and one for each word into which a carry goes, none a multiple of a group.
const FIRSTS: [u128; 5] = [7, (1 << 32) - 1000, (1 << 64) - 999, (1 << 96) - 5, u128::MAX - 31];

/// Bytes: beside the ends of a block, of a thread's and a group's share, and of several groups.
const LENGTHS: [usize; 5] = [15, 16 * 33 + 1, 16 * 2048, 16 * 2049 + 3, 16 * 5000];

/// Runs every check; `driver` is named where one fails.
pub(crate) fn check<S: Stages>(staged: &Staged<S>, driver: &str) -> Result<(), Error> {
    let wrong = |what: String| Error::Miscomputes {
        device: staged.name().to_owned(),
        driver: driver.to_owned(),
        what,
    };
    for size in [16, 24, 32_usize] {
        let key: Vec<u8> = (0..size as u8).map(|byte| byte.wrapping_mul(37) ^ 0x5a).collect();
        let cpu = Aes::new(&key, Backend::best()).expect("the best backend runs here");
        let keys = round_keys(&key);
        let rounds = keys.len() as u32 - 1;
        for (first, length) in FIRSTS.into_iter().zip(LENGTHS) {
            let text: Vec<u8> = (0..length).map(|at| (at ^ (at >> 8)) as u8).collect();
            let (mut expected, mut got) = (text.clone(), text.clone());
            cpu.ctr_xor(&first.to_be_bytes(), 0, &mut expected);
            let task = Task { mode: Mode::Ctr, rounds, first, chain: [0; 16] };
            let done = staged.work(&keys, task, &mut got).0;
            let name = format!("AES-{}-CTR, {length} bytes from counter {first:#x}", 8 * size);
            told(staged, done, length)?;
            (got == expected).then_some(()).ok_or_else(|| wrong(name))?;

            let whole = length.next_multiple_of(16);
            let mut text = text;
            text.resize(whole, 0xa5);
            let (mut expected, mut got) = (text.clone(), text);
            let mut chain = [0x3c; 16];
            let task = Task { mode: Mode::CbcDecrypt, rounds, first: 0, chain };
            cpu.cbc_decrypt(&mut chain, &mut expected);
            let (done, after) = staged.work(&keys, task, &mut got);
            told(staged, done, whole)?;
            let name = format!("decryption of AES-{}-CBC, {whole} bytes", 8 * size);
            (got == expected && after == chain).then_some(()).ok_or_else(|| wrong(name))?;
        }
    }
    Ok(())
}

/// A device that stopped on the way says why.
fn told<S: Stages>(staged: &Staged<S>, done: usize, length: usize) -> Result<(), Error> {
    match staged.fault() {
        Some(error) if done < length => Err(error.clone()),
        _ => Ok(()),
    }
}

/// Remembers the round keys that come through the door, and does nothing.
#[derive(Debug)]
struct Listener;

static HEARD: Mutex<Vec<[u8; 16]>> = Mutex::new(Vec::new());

impl Accelerator for Listener {
    fn name(&self) -> &str {
        "self-test"
    }

    fn ctr_xor(&self, round_keys: &[[u8; 16]], _first: u128, _buffer: &mut [u8]) -> usize {
        HEARD.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&round_keys.to_vec());
        0
    }

    fn cbc_decrypt(&self, _keys: &[[u8; 16]], _chain: &mut [u8; 16], _buffer: &mut [u8]) -> usize {
        0
    }
}

/// The round keys of a key that is no secret.
pub(crate) fn round_keys(key: &[u8]) -> Vec<[u8; 16]> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let engine = Engine::with_accelerator(Backend::Soft, &Listener);
    Aes::new(key, engine).expect("a key of AES's lengths").ctr_xor(&[0; 16], 0, &mut [0; 16]);
    HEARD.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
