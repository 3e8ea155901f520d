//! A stream that is waited for, but not for ever, and what its work reaches into, which is not freed before that work has ended.
//!
//! The driver's own ways to wait (cuStreamSynchronize, and inside of it cuMemFreeHost, cuModuleUnload and others) have no limit: a
//! device that hangs would hang the program. An event behind the work is asked instead, whether it has been reached. That
//! needs no second thread, as a blocking wait with a limit would, and no core, as cuStreamSynchronize does by default
//! (CU_CTX_SCHED_AUTO spins where there are more cores than contexts).

use crate::Error;
use cudarc::driver::{CudaEvent, CudaStream, DriverError};
use std::collections::BTreeSet;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What a launch takes, about: so long a wait asks again and again, and gives its core to others in between.
const BRISK: Duration = Duration::from_micros(20);

/// Then it sleeps for a 16th of the time that has passed, within these bounds. The other slots have work meanwhile, so that
/// waking late costs nothing before a sleep is as long as a piece, of some 300 µs.
const SLEEPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(5)];

/// The numbers of devices that have hung in this process. None of their streams is waited for again, and they are not opened
/// again: cudarc waits for the whole context when it makes the first stream.
static HANGING: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// How long a device is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    device: usize,
    limit: Duration,
}

/// Why work has not ended.
#[derive(Debug)]
pub(crate) enum Unfinished {
    Failed(DriverError),
    Hangs(Duration),
}

/// A stream, and what its work reaches into.
#[derive(Debug)]
pub(crate) struct Bounded<T> {
    patience: Patience,
    stream: Arc<CudaStream>,
    /// Behind the work that is waited for.
    end: CudaEvent,
    /// Always there; taken at the end.
    reached: Option<T>,
}

impl Patience {
    /// With the device of this number.
    pub(crate) fn new(device: usize, limit: Duration) -> Patience {
        Patience { device, limit }
    }

    /// Whether the device has not hung yet.
    pub(crate) fn check(&self) -> Result<(), Unfinished> {
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
    pub(crate) fn told(&self, device: &str, action: &'static str) -> Error {
        match self {
            Unfinished::Failed(error) => super::refused(device, action, error),
            Unfinished::Hangs(limit) => Error::Hangs { device: device.to_owned(), limit: *limit },
        }
    }
}

impl<T> Bounded<T> {
    /// `reached` must hold everything that the stream's work reaches into: buffers at both ends, and the kernels.
    pub(crate) fn new(stream: Arc<CudaStream>, patience: Patience, reached: T) -> Result<Self, DriverError> {
        let end = stream.context().new_event(None)?;
        Ok(Bounded { patience, stream, end, reached: Some(reached) })
    }

    /// The stream and what it reaches into, for new work.
    pub(crate) fn parts(&mut self) -> Result<(&Arc<CudaStream>, &mut T), Unfinished> {
        // The driver's calls on memory that is in use wait for its use to end, without a limit.
        self.patience.check()?;
        Ok((&self.stream, self.reached.as_mut().expect("only the end takes it")))
    }

    /// What the stream was asked so far is what [`Bounded::wait`] waits for.
    pub(crate) fn mark(&self) -> Result<(), DriverError> {
        self.end.record(&self.stream)
    }

    /// Waits for what was marked.
    pub(crate) fn wait(&self) -> Result<(), Unfinished> {
        self.patience.check()?;
        let start = Instant::now();
        let mut is_late = false;
        // Who was kept from the core until the limit was over looks once more.
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
        // A failure of an earlier call that nobody has heard of is told by the first try, in its place.
        let marked = self.mark().or_else(|_| self.mark());
        if marked.map_err(Unfinished::from).and_then(|()| self.wait()).is_err() {
            // A leak by intent. Work that is not known to have ended may go on at any time: memory that it writes would be
            // somebody else's by then, and the driver's calls that free it wait for the work, without a limit.
            mem::forget(self.reached.take());
        }
    }
}
