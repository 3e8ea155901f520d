//! The one executor of the process: connections live as long as it does, so every run uses the same. Ciphers run beside
//! it, on threads for blocking work, at most so many at once, with buffers that are used again. A stop reaches the
//! run's tasks, and the thread that waits for them, at once.

use cipherloom::{
    Error, Observer,
    internal::{Workspace, engine::lock},
};
use std::sync::{Arc, Mutex, OnceLock};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;

/// The executor; the first call starts it.
///
/// # Errors
/// [`Error::Io`] if the system gives no threads for it.
pub(crate) fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime = Builder::new_multi_thread().enable_all().thread_name("cipherloom-stores").build();
    let runtime = runtime.map_err(|error| Error::io("start threads for the stores", error))?;
    // Two that come first together make two, and one of them is dropped unused.
    Ok(RUNTIME.get_or_init(|| runtime))
}

/// What a task has given. A panic of the task continues here; a task that was cancelled was stopped.
pub(crate) fn joined<T>(ended: Result<Result<T, Error>, JoinError>) -> Result<T, Error> {
    match ended {
        Ok(ended) => ended,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Error::Stopped),
    }
}

/// The threads' turns, and their buffers.
#[derive(Debug, Clone)]
pub(crate) struct Ciphers {
    turns: Arc<Semaphore>,
    workspaces: Arc<Mutex<Vec<Workspace>>>,
}

impl Ciphers {
    pub(crate) fn new(threads: usize) -> Ciphers {
        Ciphers { turns: Arc::new(Semaphore::new(threads.max(1))), workspaces: Arc::default() }
    }

    /// Does `work` on a thread for it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Workspace) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let _turn = self.turns.acquire().await.map_err(|_| Error::Stopped)?;
        let workspaces = Arc::clone(&self.workspaces);
        blocking(move || {
            let mut workspace = lock(&workspaces).pop().unwrap_or_default();
            let result = work(&mut workspace);
            lock(&workspaces).push(workspace);
            result
        })
        .await
    }
}

/// Does what blocks (files) on a thread for it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    joined(spawn_blocking(work).await)
}

/// Whether a run is to stop.
pub(crate) struct Stop<'o> {
    observer: &'o dyn Observer,
    is_stopped: watch::Sender<bool>,
    /// What the observer calls, as long as this is there.
    _wake: Arc<dyn Fn() + Send + Sync>,
}

impl<'o> Stop<'o> {
    pub(crate) fn new(observer: &'o dyn Observer) -> Stop<'o> {
        let is_stopped = watch::Sender::new(false);
        let stopping = is_stopped.clone();
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
            stopping.send_replace(true);
        });
        observer.on_stop(Arc::downgrade(&wake));
        Stop { observer, is_stopped, _wake: wake }
    }

    /// For a task, which ends when this turns true.
    pub(crate) fn subscribe(&self) -> watch::Receiver<bool> {
        self.is_stopped.subscribe()
    }

    /// Does `work` on this thread, unless the observer stops the run first.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        runtime()?.block_on(async {
            tokio::select! {
                biased;
                () = self.wait() => Err(Error::Stopped),
                done = work => Ok(done),
            }
        })
    }

    /// Until the run is to stop.
    async fn wait(&self) {
        let mut stopped = self.subscribe();
        while !self.observer.is_stopped() {
            let turned = stopped.wait_for(|is_stopped| *is_stopped);
            match self.observer.watch_interval() {
                None => drop(turned.await),
                Some(interval) => drop(timeout(interval, turned).await),
            }
            if *self.is_stopped.borrow() {
                break;
            }
        }
        // Also where the observer said so without a call.
        self.is_stopped.send_replace(true);
    }
}
