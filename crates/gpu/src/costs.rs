//! A device's costs, measured in moments when it is opened for a plan, never assumed.

use crate::Error;
use crate::circuit::Mode;
use crate::self_test::round_keys;
use crate::staging::{Staged, Stages, Task};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A device's costs on this machine. Rates are in bytes per second of AES-128-CTR.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Seconds for the smallest piece, there and back.
    pub call_seconds: f64,
    /// Moving there and back without a kernel.
    pub transfer_bytes_per_second: f64,
    /// The kernel on bytes that are on the device already.
    pub kernel_bytes_per_second: f64,
    /// A long buffer, in overlapped pieces.
    pub end_to_end_bytes_per_second: f64,
    /// Bytes that one call should have.
    pub call_bytes: usize,
    /// Bytes of this machine's memory that staging allocates.
    pub staging_bytes: usize,
}

/// Time for each figure, about: the first try shows whether there is time for more.
const TIME: Duration = Duration::from_millis(60);

pub(crate) fn measure<S: Stages>(staged: &Staged<S>) -> Result<Costs, Error> {
    let keys = round_keys(&[0x5a; 16]);
    let task = Task { mode: Mode::Ctr, rounds: 10, first: 0, chain: [0; 16] };
    let piece = staged.with(|stages| stages.piece_bytes());
    // A call has so many pieces that the cost of filling and draining the slots is negligible.
    let call_bytes = 4 * piece;
    let mut buffer = vec![0_u8; call_bytes];
    let call_seconds = median(|| timed(staged, &keys, task, &mut buffer[..16]))?;
    // A software device takes long for a whole piece; a part of it is enough.
    let probe = median(|| timed(staged, &keys, task, &mut buffer[..piece / 16]))?;
    let is_slow = probe > 0.02;
    let bytes = if is_slow { piece / 16 } else { piece };
    let transfer = median(|| {
        let start = Instant::now();
        staged.with(|stages| {
            stages.start(0, None, &buffer[..bytes])?;
            stages.finish(0, &mut buffer[..bytes])
        })?;
        Ok(start.elapsed().as_secs_f64())
    })?;
    let kernel = median(|| staged.with(|stages| stages.kernel_seconds(bytes)))?;
    let whole = if is_slow { piece / 4 } else { call_bytes };
    let end_to_end = median(|| timed(staged, &keys, task, &mut buffer[..whole]))?;
    Ok(Costs {
        call_seconds,
        transfer_bytes_per_second: bytes as f64 / transfer,
        kernel_bytes_per_second: bytes as f64 / kernel,
        end_to_end_bytes_per_second: whole as f64 / end_to_end,
        call_bytes,
        // Each slot has memory for the way there and for the way back.
        staging_bytes: staged.with(|stages| 2 * stages.slots() * stages.piece_bytes()),
    })
}

fn timed<S: Stages>(
    staged: &Staged<S>,
    keys: &[[u8; 16]],
    task: Task,
    buffer: &mut [u8],
) -> Result<f64, Error> {
    let start = Instant::now();
    staged.work_whole(keys, task, buffer)?;
    Ok(start.elapsed().as_secs_f64())
}

/// The median of as many runs as there is time for, at least three; the first is a warm-up and does not count.
fn median(mut run: impl FnMut() -> Result<f64, Error>) -> Result<f64, Error> {
    let first = run()?;
    let most = if first > TIME.as_secs_f64() { 1 } else { 21 };
    let (start, mut samples) = (Instant::now(), Vec::new());
    while samples.len() < most && (samples.len() < 3 || start.elapsed() < TIME) {
        samples.push(run()?);
    }
    samples.sort_by(f64::total_cmp);
    Ok(samples[samples.len() / 2].max(1e-9))
}
