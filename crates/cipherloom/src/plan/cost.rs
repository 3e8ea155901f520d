//! How long a run should take with one thread and with several, from the machine's fixed costs; and with it, how many
//! threads pay.

use super::{MOST_THREADS, Operation, Request};
use crate::format::{Algorithm, Format};
use crate::machine::Machine;

/// Which cipher's rate a run goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CipherCost {
    /// AES-GCM segments.
    Gcm,
    /// ChaCha20-Poly1305 segments.
    ChaChaPoly,
    /// AES-CTR ranges.
    Ctr,
    /// AES-CTR and a hash over every byte.
    CtrHmac,
    /// CBC: a chain within each entry when encrypting, parallel blocks when decrypting.
    CbcChain,
    /// No cipher at all.
    None,
}

impl CipherCost {
    /// The rate that `format` goes by.
    #[must_use]
    pub fn of(format: &Format) -> CipherCost {
        match format.algorithm() {
            Algorithm::Gcm => CipherCost::Gcm,
            Algorithm::ChaChaPoly => CipherCost::ChaChaPoly,
            Algorithm::Ctr => CipherCost::Ctr,
            Algorithm::CtrHmac => CipherCost::CtrHmac,
            Algorithm::Cbc => CipherCost::CbcChain,
        }
    }
}

/// What a run should take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// The number of threads chosen.
    pub(super) threads: usize,
    /// Seconds with one thread.
    pub(super) serial_seconds: f64,
    /// Seconds with [`Estimate::threads`].
    pub(super) seconds: f64,
    /// Seconds that starting another thread takes.
    start_seconds: f64,
    /// Seconds below which no number of threads comes, if it is more than one.
    turns_seconds: f64,
}

impl Estimate {
    /// The same work on so many threads.
    pub(super) fn on(self, threads: usize) -> Estimate {
        let seconds = match threads {
            1 => self.serial_seconds,
            _ => (self.serial_seconds / threads as f64).max(self.turns_seconds),
        };
        Estimate { threads, seconds: seconds + (threads - 1) as f64 * self.start_seconds, ..self }
    }
}

/// Hashing beside encryption, bytes per second: SHA-256 with instructions for it.
const HASH_RATE: f64 = 1.5e9;

/// ChaCha20-Poly1305 with vectors of 32 bytes, bytes per second. Not calibrated: it differs less between machines than AES.
const CHACHA_RATE: f64 = 2.5e9;

/// What an entry takes in turns, in the time that it takes on one thread: each thread sleeps until its turn comes. On XFS two
/// threads take 38 µs for a file of 4 KB in one folder, and one takes 20; at 64 KB they are faster again.
const IN_TURNS: f64 = 2.0;

/// One iteration of PBKDF2-HMAC-SHA256 for the two blocks that a key and an IV take, with instructions for SHA-256.
const ITERATION_SECONDS: f64 = 0.4e-6;

pub(super) fn estimate(
    entries: usize,
    bytes: u64,
    machine: &Machine,
    request: &Request,
    reasons: &mut Vec<String>,
) -> Estimate {
    let per_entry =
        machine.calibration.entry_ns * 1e-9 + f64::from(request.key_iterations) * ITERATION_SECONDS;
    let serial_seconds = entries as f64 * per_entry + bytes as f64 * seconds_per_byte(machine, request);
    let turns = if request.names_in_turns { IN_TURNS * machine.calibration.entry_ns * 1e-9 } else { 0.0 };
    let serial = Estimate {
        threads: 1,
        serial_seconds,
        seconds: serial_seconds,
        start_seconds: machine.calibration.thread_ns * 1e-9,
        turns_seconds: entries as f64 * turns,
    };
    let with = |threads| serial.on(threads).seconds;
    if request.key_iterations > 0 {
        reasons.push(format!(
            "each file's key takes about {}",
            milliseconds(f64::from(request.key_iterations) * ITERATION_SECONDS)
        ));
    }
    let origin = match machine.calibration.measured {
        true => "measured on this machine",
        false => "built-in: `cipherloom calibrate` measures them",
    };
    let cores = machine.cores.get();
    let threads = match request.threads {
        Some(threads) => {
            reasons.push(format!(
                "{threads} thread{}: as asked for; the estimate's figures are {origin}",
                if threads.get() == 1 { "" } else { "s" }
            ));
            threads.get().min(MOST_THREADS)
        }
        None => {
            let best = (1..=cores).min_by(|&a, &b| with(a).total_cmp(&with(b))).unwrap_or(1);
            // Beside one thread stands what was chosen instead, or what was not.
            let against = match best.max(2).min(cores) {
                1 => String::new(),
                other => format!(", {} with {other}", milliseconds(with(other))),
            };
            reasons.push(format!(
                "{best} of {cores} threads: estimated {} with one{against}; one more thread costs {:.0} µs ({origin})",
                milliseconds(with(1)),
                machine.calibration.thread_ns / 1000.0,
            ));
            if serial_seconds / best.max(2) as f64 <= serial.turns_seconds && cores > 1 {
                reasons.push("the destination's file system names one file at a time".to_owned());
            }
            best
        }
    };
    serial.on(threads)
}

fn seconds_per_byte(machine: &Machine, request: &Request) -> f64 {
    let rates = &machine.calibration;
    let cipher = match request.cipher {
        CipherCost::Gcm => 1.0 / rates.gcm_bytes_per_second,
        CipherCost::ChaChaPoly => 1.0 / CHACHA_RATE,
        CipherCost::Ctr => 1.0 / rates.ctr_bytes_per_second,
        CipherCost::CtrHmac => 1.0 / rates.ctr_bytes_per_second + 1.0 / HASH_RATE,
        CipherCost::CbcChain if request.operation == Operation::Encrypt => 1.0 / rates.lanes_bytes_per_second,
        CipherCost::CbcChain => 1.0 / rates.ctr_bytes_per_second,
        CipherCost::None => 0.0,
    };
    let copy = 1.0 / rates.copy_bytes_per_second;
    match request.operation {
        Operation::Verify => cipher + copy / 2.0,
        Operation::Rekey => 2.0 * cipher + copy,
        Operation::Encrypt | Operation::Decrypt | Operation::Copy => cipher + copy,
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Calibration;
    use crate::plan::Plan;
    use std::num::NonZeroUsize;

    #[test]
    fn one_thread_is_compared_with_two() {
        let mut machine = Machine::detect(Calibration::default());
        let mut said = |cores| {
            machine.cores = NonZeroUsize::new(cores).unwrap();
            let mut reasons = Vec::new();
            assert_eq!(estimate(10, 1000, &machine, &chained(0), &mut reasons).threads, 1);
            reasons.pop().unwrap()
        };
        assert!(said(2).contains(" with one, ") && said(2).contains(" ms with 2; "), "{}", said(2));
        assert!(said(1).contains(" ms with one; "), "{}", said(1));
    }

    #[test]
    fn stretched_passphrases_pay_for_threads_where_a_few_small_files_would_not() {
        let mut machine = Machine::detect(Calibration::default());
        machine.cores = NonZeroUsize::new(4).unwrap();
        let threads =
            |key_iterations| estimate(10, 1000, &machine, &chained(key_iterations), &mut Vec::new()).threads;
        assert_eq!(threads(0), 1);
        assert_eq!(threads(10_000), 4);
    }

    #[test]
    fn small_files_that_get_their_names_in_turns_have_one_thread() {
        let mut machine = Machine::detect(Calibration::default());
        machine.cores = NonZeroUsize::new(4).unwrap();
        let planned = |names_in_turns, size: u64| {
            let (request, mut reasons) = (Request { names_in_turns, ..chained(0) }, Vec::new());
            let threads = estimate(10_000, 10_000 * size, &machine, &request, &mut reasons).threads;
            (threads, reasons.iter().any(|reason| reason.contains("names one file at a time")))
        };
        assert_eq!((planned(true, 4096), planned(false, 4096)), ((1, true), (4, false)));
        assert_eq!(planned(true, 1 << 20), (4, false));
    }

    #[test]
    fn a_chain_that_cannot_be_shared_is_planned_and_estimated_on_one_thread() {
        let mut machine = Machine::detect(Calibration::default());
        machine.cores = NonZeroUsize::new(4).unwrap();
        let plan = Plan::new(&[1 << 30], &machine, &chained(0));
        assert_eq!((plan.threads, plan.estimate.threads), (1, 1));
        assert_eq!(plan.estimate.seconds, plan.estimate.serial_seconds);
        let said = "1 in fact: the tree makes no more tasks";
        assert!(plan.reasons.iter().any(|reason| reason == said), "{:?}", plan.reasons);
    }

    fn chained(key_iterations: u32) -> Request {
        Request {
            operation: Operation::Encrypt,
            threads: None,
            cipher: CipherCost::CbcChain,
            key_iterations,
            largest_segment: 0,
            names_in_turns: false,
        }
    }
}
