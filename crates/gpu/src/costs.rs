//! What a device costs: measured in moments when it is opened for a plan, never assumed.

use crate::Error;
use crate::circuit::Mode;
use crate::self_test::round_keys;
use crate::staging::{Staged, Stages, Task};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A device's costs on this machine. Rates are in bytes per second of AES-128-CTR.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Seconds of the smallest piece, there and back.
    pub call_seconds: f64,
    /// Moving there and back without a kernel.
    pub transfer_bytes_per_second: f64,
    /// The kernel on bytes that are there already.
    pub kernel_bytes_per_second: f64,
    /// A long buffer, in overlapped pieces.
    pub end_to_end_bytes_per_second: f64,
    /// Bytes that one call should bring.
    pub call_bytes: usize,
    /// Bytes of this machine's memory that are held for staging.
    pub staging_bytes: usize,
}

/// What a device can say of its parts: seconds of a piece's transfer alone, and of its kernel alone.
pub(crate) trait Parts: Stages {
    fn transfer_seconds(&mut self, bytes: usize) -> Result<f64, Error>;
    fn kernel_seconds(&mut self, bytes: usize) -> Result<f64, Error>;
    fn staging_bytes(&self) -> usize;
}

/// Time for each figure, about: the first try shows whether there is time for more.
const TIME: Duration = Duration::from_millis(60);

pub(crate) fn measure<S: Parts>(staged: &Staged<S>) -> Result<Costs, Error> {
    let keys = round_keys(&[0x5a; 16]);
    let task = Task { mode: Mode::Ctr, rounds: 10, first: 0, chain: [0; 16] };
    let piece = staged.with(|stages| stages.piece_bytes());
    // A call brings so many pieces that filling and draining the slots does not count.
    let call_bytes = 4 * piece;
    let mut buffer = vec![0_u8; call_bytes];
    let call_seconds = median(|| timed(staged, &keys, task, &mut buffer[..16]))?;
    // A software device takes long for a whole piece: less of it tells as much.
    let probe = median(|| timed(staged, &keys, task, &mut buffer[..piece / 16]))?;
    let is_slow = probe > 0.02;
    let bytes = if is_slow { piece / 16 } else { piece };
    let transfer = median(|| staged.with(|stages| stages.transfer_seconds(bytes)))?;
    let kernel = median(|| staged.with(|stages| stages.kernel_seconds(bytes)))?;
    let whole = if is_slow { piece / 4 } else { call_bytes };
    let end_to_end = median(|| timed(staged, &keys, task, &mut buffer[..whole]))?;
    Ok(Costs {
        call_seconds,
        transfer_bytes_per_second: bytes as f64 / transfer,
        kernel_bytes_per_second: bytes as f64 / kernel,
        end_to_end_bytes_per_second: whole as f64 / end_to_end,
        call_bytes,
        staging_bytes: staged.with(|stages| stages.staging_bytes()),
    })
}

fn timed<S: Stages>(
    staged: &Staged<S>,
    keys: &[[u8; 16]],
    task: Task,
    buffer: &mut [u8],
) -> Result<f64, Error> {
    let start = Instant::now();
    let done = staged.work(keys, task, buffer).0;
    match staged.fault() {
        Some(error) if done < buffer.len() => Err(error.clone()),
        _ => Ok(start.elapsed().as_secs_f64()),
    }
}

/// The median of as many runs as there is time for, three at least; the first warms up and does not count.
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
