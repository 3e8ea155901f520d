//! aes-instructions: AES on one core, with and without the processor's AES instructions.
//!
//! Published: MB/s and MB/s per GHz over processors of 2008 to 2013; 8 to 12 times from the instructions, by intrinsics
//! in a plain sequence, "could be optimised further". Here: every backend and mode of the kernels on this processor, and
//! those of others, from 16 bytes to 64 MB; the plain sequence and the step from it to eight blocks in flight; and how
//! much of the AES unit's own speed each reaches.

mod answers;
mod closure;
mod contestants;
mod libraries;
mod oracle;
mod peers;
mod workload;

use super::{Context, Experiment, Findings, Published, factors};
use crate::measure::{Contest, Contestant, Entrant, Stopwatch, clock_gigahertz, median};
use crate::record::{Clock, Level, Work};
use cipherloom_kernels::{Aes, Backend};
use contestants::{InProcess, Unit};
use libraries::Origin;
use oracle::Expected;
use peers::Peers;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use workload::{Cell, Entries, Mode};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "aes-instructions",
    question: "What do AES instructions bring, and how much more is in them than a plain sequence of intrinsics takes out?",
    published: &[Published {
        file: "aes_instructions.csv",
        origin: "AES-128 on processors of 2008 to 2013 with and without AES instructions, by intrinsics in a plain sequence",
        csv: include_str!("../../../published/aes_instructions.csv"),
    }],
    is_ours: |variant| {
        ["intrinsics", "plain C", "the unit of"].iter().any(|ours| variant.starts_with(ours))
            || Backend::ALL.iter().any(|backend| backend.name() == variant)
    },
    run,
    answer: answers::of,
};

fn run(context: &mut Context) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    let peers = start_peers(context, &mut findings);
    findings.parameters.insert("clock_gigahertz".to_owned(), clock_gigahertz().into());
    for backend in Backend::available() {
        let bound = unit_bound(backend)?;
        findings.parameters.insert(answers::bound_name(backend.name()), bound.into());
    }
    let sizes: &[usize] = context.by_extent(
        &[16, 256, 4 << 10, 64 << 10],
        &[16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20, 64 << 20],
    );
    for mode in Mode::ALL {
        for &size in sizes {
            measure(Cell { mode, key_bits: 128, size }, peers.as_ref(), context, &mut findings)?;
        }
    }
    for mode in context.by_extent(&[][..], &[Mode::Ctr, Mode::CbcEncryptLanes, Mode::Gcm]) {
        for size in [4 << 10, 64 << 10] {
            let cell = Cell { mode: *mode, key_bits: 256, size };
            measure(cell, peers.as_ref(), context, &mut findings)?;
        }
    }
    Ok(findings)
}

/// The C programs that this machine can make; what it cannot is noted.
fn start_peers(context: &mut Context, findings: &mut Findings) -> Option<Peers> {
    let (peers, lacking) = match Peers::start(&context.scratch) {
        Ok(mut peers) => {
            findings.versions.extend(peers.versions.iter().cloned());
            let lacking = std::mem::take(&mut peers.lacking);
            (Some(peers), lacking)
        }
        Err(reason) => (None, vec![format!("without any contestant in C: {reason}")]),
    };
    for words in lacking {
        context.progress.note(&words);
        findings.notes.push(words);
    }
    peers
}

/// The backend's AES unit on registers alone: GB/s of processor time, the median of several turns.
fn unit_bound(backend: Backend) -> anyhow::Result<f64> {
    let aes = Aes::new(&[7; 16], backend)?;
    let speeds: Vec<f64> = (0..9)
        .map(|_| {
            let watch = Stopwatch::start(Clock::Thread);
            let mut blocks = 0;
            for _ in 0..20 {
                blocks += aes.unit_bound_encrypt(1000);
            }
            16.0 * blocks as f64 / watch.stop(1).cpu()
        })
        .collect();
    Ok(median(&speeds))
}

fn measure(
    cell: Cell,
    peers: Option<&Peers>,
    context: &mut Context,
    findings: &mut Findings,
) -> anyhow::Result<()> {
    if cell.mode.is_in_lanes() && (cell.size > 1 << 20 || cell.size < 64) {
        return Ok(());
    }
    let expected = Expected::new(cell)?;
    let turn = Duration::from_millis(context.by_extent(2, 4));
    let entries = Rc::new(RefCell::new(Entries::new(cell)));
    let work = Work { bytes: entries.borrow().bytes() as u64, operations: cell.entries() as u64 };
    let entrant = |name: &str, origin: Origin, contestant: Box<dyn Contestant>| {
        let (oracle, expected) = match origin {
            Origin::RustCrypto => (oracle::AWS_LC, &expected.by_aws_lc),
            Origin::Ours | Origin::Other => (oracle::RUSTCRYPTO, &expected.by_rustcrypto),
        };
        Entrant {
            variant: name.to_owned(),
            factors: factors([
                ("mode", Level::from(cell.mode.name())),
                ("key_bits", cell.key_bits.into()),
                ("size", cell.size.into()),
            ]),
            work,
            clock: Clock::Thread,
            oracle,
            expected: Rc::clone(expected),
            contestant,
        }
    };
    let mut entrants = Vec::new();
    for (name, origin, pass) in libraries::all(cell)? {
        let contestant = InProcess { cell, pass, entries: Rc::clone(&entries), turn };
        entrants.push(entrant(name, origin, Box::new(contestant)));
    }
    for (name, peer) in peers.map(|peers| peers.all(cell, turn)).unwrap_or_default() {
        entrants.push(entrant(&name, Origin::Other, Box::new(peer)));
    }
    if cell.size == answers::QUOTED && cell.key_bits == 128 {
        for backend in Backend::available() {
            let own = libraries::all(cell)?.into_iter().find(|(name, ..)| *name == backend.name());
            let Some((_, origin, pass)) = own else { continue };
            let checked = InProcess { cell, pass, entries: Rc::clone(&entries), turn };
            let unit = Unit::new(backend, checked)?;
            let work = Work { bytes: unit.bytes(), operations: 1 };
            let name = answers::unit_variant(backend.name());
            entrants.push(Entrant { work, ..entrant(&name, origin, Box::new(unit)) });
        }
    }
    let rounds = context.by_extent(5, if cell.size > 1 << 20 { 8 } else { 15 });
    let what = format!("AES-{} {}, {}", cell.key_bits, cell.mode.name(), super::size_words(cell.size as u64));
    context.hold(Contest { warm_ups: 1, rounds, seed: context.seed }, &what, entrants, findings);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_gives_the_same_result_in_every_mode() {
        let folder = tempfile::tempdir().unwrap();
        // The C compiler and OpenSSL's headers are what the tests of this project need anyway.
        let peers = Peers::start(folder.path()).unwrap();
        for (mode, key_bits) in Mode::ALL.into_iter().flat_map(|mode| [(mode, 128), (mode, 256)]) {
            let cell = Cell { mode, key_bits, size: 1040 };
            let expected = Expected::new(cell).unwrap();
            assert_eq!(expected.by_rustcrypto, expected.by_aws_lc, "{}", mode.name());
            let entries = Rc::new(RefCell::new(Entries::new(cell)));
            for (name, _, pass) in libraries::all(cell).unwrap() {
                let turn = Duration::ZERO;
                let mut contestant = InProcess { cell, pass, entries: Rc::clone(&entries), turn };
                assert_eq!(
                    contestant.result().unwrap(),
                    expected.by_rustcrypto.to_vec(),
                    "{name}, {}",
                    mode.name()
                );
                assert_eq!(contestant.turn().unwrap().repeats, 1);
            }
            for (name, mut peer) in peers.all(cell, Duration::from_millis(1)) {
                assert_eq!(
                    peer.result().unwrap(),
                    expected.by_rustcrypto.to_vec(),
                    "{name}, {}",
                    mode.name()
                );
                assert!(peer.turn().unwrap().repeats >= 1);
            }
        }
    }

    #[test]
    fn a_kernel_that_is_wrong_in_one_bit_is_caught_in_every_mode() {
        for mode in Mode::ALL {
            let cell = Cell { mode, key_bits: 128, size: 256 };
            let expected = Expected::new(cell).unwrap();
            let (name, _, mut right) = libraries::all(cell).unwrap().remove(0);
            let wrong: libraries::Pass = Box::new(move |texts| {
                right(texts)?;
                // One bit of the last block of one text.
                if let Some((text, _)) = texts.last_mut() {
                    let last = text.len() - 1;
                    text[last] ^= 0x10;
                }
                Ok(())
            });
            let entries = Rc::new(RefCell::new(Entries::new(cell)));
            let entrant = Entrant {
                variant: name.to_owned(),
                factors: factors([]),
                work: Work::default(),
                clock: Clock::Thread,
                oracle: oracle::RUSTCRYPTO,
                expected: Rc::clone(&expected.by_rustcrypto),
                contestant: Box::new(InProcess { cell, pass: wrong, entries, turn: Duration::ZERO }),
            };
            let outcome = Contest { warm_ups: 0, rounds: 1, seed: 1 }.hold(vec![entrant], || ());
            assert!(outcome.series.is_empty(), "{} is timed although wrong", mode.name());
            assert!(outcome.excluded[0].was_wrong, "{:?}", outcome.excluded[0]);
        }
    }
}
