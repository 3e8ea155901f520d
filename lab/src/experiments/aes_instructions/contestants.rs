//! Contestants in this process: a pass over the entries, and the AES unit on registers alone.

use super::libraries::Pass;
use super::workload::{Cell, Entries};
use crate::measure::{Contestant, Stopwatch};
use crate::record::{Clock, Sample};
use cipherloom_kernels::{Aes, Backend};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A cipher in this process. All share one set of entries, so that caches serve all alike.
pub(super) struct InProcess {
    pub(super) cell: Cell,
    pub(super) pass: Pass,
    pub(super) entries: Rc<RefCell<Entries>>,
    pub(super) turn: Duration,
}

impl Contestant for InProcess {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut entries = Entries::new(self.cell);
        (self.pass)(&mut entries.texts_mut())?;
        Ok(entries.content())
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        let mut entries = self.entries.borrow_mut();
        let mut texts = entries.texts_mut();
        let (watch, start, mut passes) = (Stopwatch::start(Clock::Thread), Instant::now(), 0);
        loop {
            (self.pass)(&mut texts)?;
            passes += 1;
            if start.elapsed() >= self.turn {
                return Ok(watch.stop(passes));
            }
        }
    }
}

/// A backend's AES unit on registers alone, in turns with those that it bounds. Its result is that of the backend itself: the
/// same instructions over the entries.
pub(super) struct Unit {
    aes: Aes,
    blocks: usize,
    checked: InProcess,
}

/// Passes over the registers that are timed at once: some microseconds.
const PASSES: usize = 1000;

impl Unit {
    pub(super) fn new(backend: Backend, checked: InProcess) -> anyhow::Result<Unit> {
        let aes = Aes::new(&[7; 16], backend)?;
        let blocks = aes.unit_bound_encrypt(PASSES);
        Ok(Unit { aes, blocks, checked })
    }

    /// Of one repeat.
    pub(super) fn bytes(&self) -> u64 {
        16 * self.blocks as u64
    }
}

impl Contestant for Unit {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.checked.result()
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        let (watch, start, mut passes) = (Stopwatch::start(Clock::Thread), Instant::now(), 0);
        while passes == 0 || start.elapsed() < self.checked.turn {
            self.aes.unit_bound_encrypt(PASSES);
            passes += 1;
        }
        Ok(watch.stop(passes))
    }
}
