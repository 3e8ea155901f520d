//! Who is measured: our backends, the `aes` crate's parallel blocks, and the programs in C.

use crate::closure::ClosureAes;
use crate::peers::Peers;
use crate::workload::{Cell, Entries, Mode};
use cipherloom_kernels::{Aes, Backend, CbcStream};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Processor time of one turn of one contestant.
const TURN: Duration = Duration::from_millis(4);

pub(crate) enum Contestant<'a> {
    /// Ours.
    Backend(Box<Aes>),
    /// The `aes` crate with the whole loop inside its closure.
    Closure(ClosureAes),
    /// A library behind the C program.
    Peer(&'a mut Peers, &'static str),
}

/// As in the table and the records.
pub(crate) fn name(contestant: &Contestant<'_>) -> &'static str {
    match contestant {
        Contestant::Backend(aes) => aes.backend().name(),
        Contestant::Closure(_) => "aes crate",
        Contestant::Peer(_, library) => library,
    }
}

/// Our backends and the `aes` crate for `cell`.
pub(crate) fn ours(cell: Cell) -> Vec<Contestant<'static>> {
    let key = cell.key();
    let mut all: Vec<_> = Backend::available()
        .map(|backend| Contestant::Backend(Box::new(Aes::new(&key, backend).unwrap())))
        .collect();
    if matches!(cell.mode, Mode::Ctr | Mode::CbcEncryptLanes) {
        all.push(Contestant::Closure(ClosureAes::new(&key)));
    }
    all
}

/// Does every entry once.
pub(crate) fn pass(contestant: &Contestant<'_>, mode: Mode, texts: &mut [(&mut [u8], [u8; 16])]) {
    match contestant {
        Contestant::Backend(aes) => match mode {
            Mode::Ctr => texts.iter_mut().for_each(|(text, iv)| aes.ctr_xor(iv, 0, text)),
            Mode::CbcDecrypt => {
                texts.iter_mut().for_each(|(text, iv)| aes.cbc_decrypt(&mut iv.clone(), text))
            }
            Mode::CbcEncryptOne => {
                texts.iter_mut().for_each(|(text, iv)| aes.cbc_encrypt(&mut iv.clone(), text));
            }
            Mode::CbcEncryptLanes | Mode::CbcEncryptUneven => {
                let mut streams: Vec<_> =
                    texts.iter_mut().map(|(text, iv)| CbcStream { chain: *iv, buffer: text }).collect();
                aes.cbc_encrypt_lanes(&mut streams);
            }
        },
        Contestant::Closure(aes) => match mode {
            Mode::Ctr => texts.iter_mut().for_each(|(text, iv)| aes.ctr(iv, text)),
            _ => aes.cbc_lanes(texts),
        },
        Contestant::Peer(..) => unreachable!("peers do their passes in their own process"),
    }
}

/// Time that this thread has had on a processor: what others do on the machine counts less than on the wall.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// One turn: nanoseconds per byte.
pub(crate) fn turn(contestant: &mut Contestant<'_>, cell: Cell, entries: &mut Entries) -> f64 {
    if let Contestant::Peer(peers, library) = contestant {
        return peers.time(library, cell, TURN);
    }
    let bytes = entries.bytes();
    let mut texts = entries.texts_mut();
    let (start, mut passes) = (processor_time(), 0);
    loop {
        pass(contestant, cell.mode, &mut texts);
        passes += 1;
        let elapsed = processor_time() - start;
        if elapsed >= TURN {
            return elapsed.as_nanos() as f64 / (passes * bytes) as f64;
        }
    }
}

/// One turn of the AES unit alone: nanoseconds per byte.
pub(crate) fn bound_turn(aes: &Aes) -> f64 {
    let (start, mut blocks) = (processor_time(), 0);
    loop {
        blocks += aes.unit_bound_encrypt(1000);
        let elapsed = processor_time() - start;
        if elapsed >= TURN / 2 {
            return elapsed.as_nanos() as f64 / (16 * blocks) as f64;
        }
    }
}

/// What the entries must become: from `soft`, which `cargo test` holds against the published vectors.
pub(crate) fn expected(cell: Cell) -> u64 {
    let soft = Contestant::Backend(Box::new(Aes::new(&cell.key(), Backend::Soft).unwrap()));
    let mut entries = Entries::new(cell);
    pass(&soft, cell.mode, &mut entries.texts_mut());
    entries.checksum()
}

/// What `contestant` makes of the entries.
pub(crate) fn actual(contestant: &mut Contestant<'_>, cell: Cell) -> u64 {
    if let Contestant::Peer(peers, library) = contestant {
        return peers.checksum(library, cell);
    }
    let mut entries = Entries::new(cell);
    pass(contestant, cell.mode, &mut entries.texts_mut());
    entries.checksum()
}
