//! The plan of a run: how many threads, lanes and bytes of buffer, and why. A pure function of sizes and machine.

use super::Job;
use cipherloom::machine::Machine;
use std::num::NonZeroUsize;

/// Bytes of a part that one lane holds at a time.
pub(super) const PIECE: usize = 64 << 10;

/// Looking at a publication, its folder's entries and its name, in seconds.
const BOOK_SECONDS: f64 = 300e-6;

/// SHA-256 with instructions for it, and inflating, in bytes per second.
const HASH_RATE: f64 = 1.5e9;
const INFLATE_RATE: f64 = 0.6e9;

/// More than any machine gains from.
const MOST_THREADS: usize = 256;

/// What would run, and why.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// Worker threads.
    pub threads: usize,
    /// Parts whose CBC chains each worker interleaves.
    pub lanes: usize,
    /// Bytes of buffer in which each worker encrypts.
    pub buffer_len: usize,
    /// Why so, in words.
    pub reasons: Vec<String>,
}

impl Plan {
    /// Plans a job. `threads`: how many to use, instead of as many as the machine gains from.
    #[must_use]
    pub fn new(job: &Job, machine: &Machine, threads: Option<NonZeroUsize>) -> Plan {
        let backend = job.backend;
        let lanes = backend.lanes();
        let rates = &machine.calibration;
        let hashing = if job.checksums { 2.0 / HASH_RATE } else { 0.0 };
        let per_byte = 1.0 / rates.lanes_bytes_per_second
            + 1.0 / rates.copy_bytes_per_second
            + hashing
            + 1.0 / INFLATE_RATE;
        let bytes: u64 = job.sources.iter().map(|source| source.size).sum();
        let serial = job.sources.len() as f64 * BOOK_SECONDS + bytes as f64 * per_byte;
        let with = |threads: usize| serial / threads as f64 + (threads - 1) as f64 * rates.thread_ns * 1e-9;
        let cores = machine.cores.get();
        let mut reasons = Vec::new();
        let threads = match threads {
            Some(threads) => {
                reasons.push(format!("{threads} threads: as asked for"));
                threads.get().min(MOST_THREADS)
            }
            None => {
                let best =
                    (1..=cores.min(MOST_THREADS)).min_by(|&a, &b| with(a).total_cmp(&with(b))).unwrap_or(1);
                reasons.push(format!(
                    "{best} of {cores} threads: estimated {:.1} ms with one, {:.1} ms with {best}",
                    with(1) * 1e3,
                    with(best) * 1e3
                ));
                best
            }
        };
        reasons.push(format!(
            "CBC is a chain within a part: up to {lanes} parts of a book are interleaved in each core ({} backend)",
            backend.name()
        ));
        // Small parts go whole: more of them than lanes fit.
        Plan { threads, lanes, buffer_len: lanes.max(4) * (PIECE + 256), reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Publication;
    use super::*;
    use cipherloom::machine::Calibration;
    use std::path::PathBuf;

    #[test]
    fn one_small_book_takes_one_thread_and_a_catalogue_takes_all() {
        let mut machine = Machine::detect(Calibration::default());
        machine.cores = NonZeroUsize::new(4).unwrap();
        let job = |sizes: &[u64]| {
            let source =
                |&size: &u64| Publication { path: "a".into(), size, folder: PathBuf::new(), root: None };
            Job::new(sizes.iter().map(source).collect(), "out", "keys")
        };
        let threads = |sizes: &[u64]| Plan::new(&job(sizes), &machine, None).threads;
        assert_eq!(threads(&[10_000]), 1);
        assert_eq!(threads(&[1 << 20; 500]), 4);
        assert_eq!(threads(&[300 << 20]), 4);
        assert_eq!(Plan::new(&job(&[1]), &machine, NonZeroUsize::new(3)).threads, 3);
    }
}
