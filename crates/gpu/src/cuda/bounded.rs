//! A stream with a time limit for waiting, and the memory that its work accesses, which is not freed before that work has ended.
//!
//! The driver's own wait calls (cuStreamSynchronize, and inside of it cuMemFreeHost, cuModuleUnload and others) have no time limit,
//! so a device that hangs would hang the program. This code polls an event behind the work instead. Polling needs no second
//! thread, as a blocking wait with a limit would. It needs no core either, as cuStreamSynchronize does by default
//! (CU_CTX_SCHED_AUTO spins if there are more cores than contexts).

use crate::Error;
use cudarc::driver::{CudaEvent, CudaStream, DriverError};
use std::collections::BTreeSet;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// About the duration of a launch. For so long a wait polls without sleeping, and yields its core between polls.
const BRISK: Duration = Duration::from_micros(20);

/// After that it sleeps for a 16th of the time that has passed, within these bounds. The other slots have work meanwhile, so
/// late waking costs nothing while a sleep is shorter than a piece, which takes some 300 µs.
const SLEEPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(5)];

/// The numbers of devices that have hung in this process. None of their streams is waited for again, and they are not opened
/// again: cudarc waits for the whole context when it makes the first stream.
static HANGING: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// How long to wait for a device.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    device: usize,
    limit: Duration,
}

/// Why work has not ended.
#[derive(Debug)]
pub enum Unfinished {
    /// The driver refused or the work failed.
    Failed(DriverError),
    /// It did not end within this time.
    Hangs(Duration),
}

/// A stream, and the memory that its work accesses.
#[derive(Debug)]
pub struct Bounded<T> {
    patience: Patience,
    stream: Arc<CudaStream>,
    /// The event behind the work to wait for.
    end: CudaEvent,
    /// Always `Some`; taken at the end.
    reached: Option<T>,
}

impl Patience {
    /// With the device of this number.
    pub fn new(device: usize, limit: Duration) -> Patience {
        Patience { device, limit }
    }

    /// Whether the device has not hung yet.
    ///
    /// # Errors
    /// [`Unfinished::Hangs`].
    pub fn check(&self) -> Result<(), Unfinished> {
        let hanging = HANGING.lock().unwrap_or_else(PoisonError::into_inner);
        if hanging.contains(&self.device) { Err(Unfinished::Hangs(self.limit)) } else { Ok(()) }
    }

    fn give_up(&self) -> Unfinished {
        HANGING.lock().unwrap_or_else(PoisonError::into_inner).insert(self.device);
        Unfinished::Hangs(self.limit)
    }
}

impl From<DriverError> for Unfinished {
    fn from(error: DriverError) -> Unfinished {
        Unfinished::Failed(error)
    }
}

impl Unfinished {
    /// As an error of the device that was to do this.
    pub fn told(&self, device: &str, action: &'static str) -> Error {
        match self {
            Unfinished::Failed(error) => super::refused(device, action, error),
            Unfinished::Hangs(limit) => Error::Hangs { device: device.to_owned(), limit: *limit },
        }
    }
}

impl<T> Bounded<T> {
    /// `reached` must hold everything that the stream's work reaches into: buffers at both ends, and the kernels.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(stream: Arc<CudaStream>, patience: Patience, reached: T) -> Result<Self, DriverError> {
        let end = stream.context().new_event(None)?;
        Ok(Bounded { patience, stream, end, reached: Some(reached) })
    }

    /// The stream and what it reaches into, for new work.
    ///
    /// # Errors
    /// [`Unfinished::Hangs`] if the device has hung.
    ///
    /// # Panics
    /// Never: only the end takes what is reached.
    pub fn parts(&mut self) -> Result<(&Arc<CudaStream>, &mut T), Unfinished> {
        // The driver's calls on memory that is in use wait for its use to end, without a limit.
        self.patience.check()?;
        Ok((&self.stream, self.reached.as_mut().expect("only the end takes it")))
    }

    /// What the stream was asked so far is what [`Bounded::wait`] waits for.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn mark(&self) -> Result<(), DriverError> {
        self.end.record(&self.stream)
    }

    /// Waits for what was marked.
    ///
    /// # Errors
    /// If the work failed, or does not end in time.
    pub fn wait(&self) -> Result<(), Unfinished> {
        self.patience.check()?;
        let start = Instant::now();
        let mut is_late = false;
        // A thread that got no core until the limit had passed polls once more.
        while !self.end.try_is_complete()? {
            if is_late {
                return Err(self.patience.give_up());
            }
            let passed = start.elapsed();
            is_late = passed >= self.patience.limit;
            if passed < BRISK {
                thread::yield_now();
            } else {
                thread::sleep((passed / 16).clamp(SLEEPS[0], SLEEPS[1]));
            }
        }
        Ok(())
    }
}

impl<T> Drop for Bounded<T> {
    fn drop(&mut self) {
        // The first attempt may report an unreported failure of an earlier call instead.
        let marked = self.mark().or_else(|_| self.mark());
        if marked.map_err(Unfinished::from).and_then(|()| self.wait()).is_err() {
            // An intended leak. Work that may not have ended can continue at any time. The memory that it writes could belong
            // to somebody else by then, and the driver's calls that free it wait for the work, without a limit.
            mem::forget(self.reached.take());
        }
    }
}
