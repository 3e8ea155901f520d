//! Before a device gets work, its results must equal this processor's. The test covers every key size, counters that carry into
//! every word, lengths that end inside a block, inside a thread's share and inside a group, and pieces in all slots at once, as
//! in real work. The pieces are whole ones if the device is fast enough. A driver with wrong results is refused by name.

use crate::Error;
use crate::circuit::Mode;
use crate::staging::{Staged, Stages, Task};
use cipherloom_kernels::{Accelerator, Aes, Backend, Engine};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// First counters: one without a carry, and one for each word into which a carry goes; none is a multiple of a group.
const FIRSTS: [u128; 5] = [7, (1 << 32) - 1000, (1 << 64) - 999, (1 << 96) - 5, u128::MAX - 31];

/// Lengths in bytes: next to the ends of a block, of a thread's and a group's share, and of several groups.
const LENGTHS: [usize; 5] = [15, 16 * 33 + 1, 16 * 2048, 16 * 2049 + 3, 16 * 5000];

/// Pieces that show, on any device, whether each continues where the previous one ended: two turns of three slots, and a rest.
const SMALL_PIECE_BYTES: usize = 16 * 2048;
const SMALL_PIECES: usize = 6 * SMALL_PIECE_BYTES + 16;

/// Whole pieces of all slots are tested if that takes no longer than this.
const PATIENCE: Duration = Duration::from_millis(250);

/// Runs every check; the error names `driver` if one fails.
pub(crate) fn check<S: Stages>(staged: &Staged<S>, driver: &str) -> Result<(), Error> {
    for size in [16, 24, 32_usize] {
        let key: Vec<u8> = (0..size as u8).map(|byte| byte.wrapping_mul(37) ^ 0x5a).collect();
        for (first, length) in FIRSTS.into_iter().zip(LENGTHS) {
            compare(staged, driver, &key, first, length)?;
        }
    }
    let key = [0x3c; 16];
    staged.set_piece_bytes(SMALL_PIECE_BYTES);
    let start = Instant::now();
    let small = compare(staged, driver, &key, 7, SMALL_PIECES);
    let rate = SMALL_PIECES as f64 / start.elapsed().as_secs_f64();
    staged.set_piece_bytes(usize::MAX);
    small?;
    let (slots, piece_bytes) = staged.with(|stages| (stages.slots(), stages.piece_bytes()));
    let whole = slots * piece_bytes + SMALL_PIECE_BYTES;
    if whole as f64 / rate > PATIENCE.as_secs_f64() {
        return Ok(());
    }
    compare(staged, driver, &key, (1 << 64) - 5, whole)
}

/// Both modes on so many bytes (CBC: whole blocks).
fn compare<S: Stages>(
    staged: &Staged<S>,
    driver: &str,
    key: &[u8],
    first: u128,
    length: usize,
) -> Result<(), Error> {
    let wrong = |what: String| Error::Miscomputes {
        device: staged.name().to_owned(),
        driver: driver.to_owned(),
        what,
    };
    let cpu = Aes::new(key, Backend::best()).expect("the best backend runs here");
    let keys = round_keys(key);
    let rounds = keys.len() as u32 - 1;
    let text: Vec<u8> = (0..length).map(|at| (at ^ (at >> 8)) as u8).collect();
    let (mut expected, mut got) = (text.clone(), text.clone());
    cpu.ctr_xor(&first.to_be_bytes(), 0, &mut expected);
    let task = Task { mode: Mode::Ctr, rounds, first, chain: [0; 16] };
    staged.work_whole(&keys, task, &mut got)?;
    if got != expected {
        return Err(wrong(format!("AES-{}-CTR, {length} bytes from counter {first:#x}", 8 * key.len())));
    }
    let whole = length.next_multiple_of(16);
    let mut text = text;
    text.resize(whole, 0xa5);
    let (mut expected, mut got) = (text.clone(), text);
    let mut chain = [0x3c; 16];
    let task = Task { mode: Mode::CbcDecrypt, rounds, first: 0, chain };
    cpu.cbc_decrypt(&mut chain, &mut expected);
    let after = staged.work_whole(&keys, task, &mut got)?;
    if got != expected || after != chain {
        return Err(wrong(format!("decryption of AES-{}-CBC, {whole} bytes", 8 * key.len())));
    }
    Ok(())
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
///
/// # Panics
/// If the key's length is none of AES's.
pub fn round_keys(key: &[u8]) -> Vec<[u8; 16]> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let engine = Engine::with_accelerator(Backend::Soft, &Listener);
    Aes::new(key, engine).expect("a key of AES's lengths").ctr_xor(&[0; 16], 0, &mut [0; 16]);
    HEARD.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
