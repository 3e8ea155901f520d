//! Measures a machine's fixed costs, once, in a second or two: medians of short repeated runs.

use super::Calibration;
use crate::Error;
use cipherloom_kernels::{Aes, Backend, CbcStream};
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::path::Path;
use std::thread;
use std::time::Instant;

const ROUNDS: usize = 9;
const BULK: usize = 1 << 20;
const LANE: usize = 4096;

/// Measures this machine. Writes a few small files into `folder`, which should lie where outputs usually go, and
/// removes them again.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// # let folder = scratch.path();
/// use cipherloom::machine::Backend;
/// use cipherloom::machine::{Calibration, calibrate};
///
/// let calibration = calibrate(folder, Backend::best())?;
/// assert!(calibration.measured && calibration.figures().iter().all(|(_, figure)| *figure > 0.0));
/// assert!(Calibration::from_json(calibration.to_json().as_bytes())?.measured);
/// # Ok::<(), cipherloom::Error>(())
/// ```
///
/// # Errors
/// If files cannot be written and read there.
pub fn calibrate(folder: &Path, backend: Backend) -> Result<Calibration, Error> {
    let scratch = tempfile::Builder::new()
        .prefix(".cipherloom-calibrate-")
        .tempdir_in(folder)
        .map_err(|error| Error::io("make a folder to measure in", error))?;
    let folder = scratch.path();
    let files = |error| Error::io("write and read files to measure with", error);
    let aes =
        Aes::new(&[0x5a; 16], backend).map_err(|_| Error::BackendUnavailable { name: backend.name() })?;
    Ok(Calibration {
        measured: true,
        thread_ns: thread_seconds(folder).map_err(files)? * 1e9,
        entry_ns: entry_seconds(folder, 1).map_err(files)? / ENTRIES as f64 * 1e9,
        copy_bytes_per_second: BULK as f64 / copy_seconds(folder).map_err(files)?,
        gcm_bytes_per_second: gcm_rate()?,
        ctr_bytes_per_second: bulk_rate(|buffer| aes.ctr_xor(&[0; 16], 0, buffer)),
        cbc_bytes_per_second: bulk_rate(|buffer| aes.cbc_encrypt(&mut [0; 16], buffer)),
        lanes_bytes_per_second: lanes_rate(&aes, backend.lanes()),
        ..Calibration::default()
    })
}

/// Median time of `run`, after one run to warm up.
fn seconds(mut run: impl FnMut()) -> f64 {
    let timed = try_seconds(|| {
        run();
        Ok(())
    });
    timed.expect("nothing that fails was timed")
}

/// As [`seconds`], for what may fail.
fn try_seconds(mut run: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    run()?;
    let mut samples = [0.0; ROUNDS];
    for sample in &mut samples {
        let start = Instant::now();
        run()?;
        *sample = start.elapsed().as_secs_f64();
    }
    samples.sort_by(f64::total_cmp);
    Ok(samples[ROUNDS / 2].max(1e-9))
}

fn bulk_rate(mut run: impl FnMut(&mut [u8])) -> f64 {
    let mut buffer = vec![0u8; BULK];
    BULK as f64 / seconds(|| run(&mut buffer))
}

fn lanes_rate(aes: &Aes, lanes: usize) -> f64 {
    // A line apart, as the pipeline places them: at powers of two all lanes would share one set of the cache.
    const APART: usize = LANE + 64;
    let count = 4 * lanes;
    let mut buffer = vec![0u8; count * APART];
    let time = seconds(|| {
        let mut streams: Vec<CbcStream<'_>> = buffer
            .chunks_mut(APART)
            .map(|place| CbcStream { chain: [0; 16], buffer: &mut place[..LANE] })
            .collect();
        aes.cbc_encrypt_lanes(&mut streams);
    });
    (count * LANE) as f64 / time
}

fn gcm_rate() -> Result<f64, Error> {
    use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
    let key = UnboundKey::new(&AES_256_GCM, &[0x5a; 32])
        .map_err(|_| Error::internal("AES-256-GCM refused its key"))?;
    let key = LessSafeKey::new(key);
    Ok(bulk_rate(|buffer| {
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), buffer);
        black_box(tag.is_ok());
    }))
}

/// Small files that one timing makes.
const ENTRIES: usize = 64;

/// What a second thread costs beyond the half that it takes over; at least what starting it costs.
fn thread_seconds(folder: &Path) -> io::Result<f64> {
    let start = try_seconds(|| {
        thread::scope(|scope| thread::Builder::new().spawn_scoped(scope, || black_box(1)).map(drop))
    })?;
    let (one, two) = (entry_seconds(folder, 1)?, entry_seconds(folder, 2)?);
    Ok((two - one / 2.0).max(start))
}

/// Seconds for [`ENTRIES`] small files, shared by so many threads.
fn entry_seconds(folder: &Path, threads: usize) -> io::Result<f64> {
    let source = folder.join("entry");
    fs::write(&source, [0u8; 128])?;
    let mut round = 0;
    try_seconds(|| {
        round += 1;
        let make = |part: usize| -> io::Result<()> {
            for file in (part..ENTRIES).step_by(threads) {
                let content = fs::read(&source)?;
                File::create(folder.join(format!("entry-{threads}-{round}-{file}")))?.write_all(&content)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let start = |part| thread::Builder::new().spawn_scoped(scope, move || make(part));
            let others = (1..threads).map(start).collect::<io::Result<Vec<_>>>()?;
            let own = make(0);
            others.into_iter().filter_map(|other| other.join().ok()).fold(own, |all, one| all.and(one))
        })
    })
}

fn copy_seconds(folder: &Path) -> io::Result<f64> {
    let source = folder.join("bulk");
    fs::write(&source, vec![1u8; BULK])?;
    let mut buffer = vec![0u8; BULK];
    let mut round = 0;
    try_seconds(|| {
        round += 1;
        File::open(&source)?.read_exact(&mut buffer)?;
        File::create(folder.join(format!("bulk-{round}")))?.write_all(&buffer)
    })
}
