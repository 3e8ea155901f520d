//! Ciphers beside the executor: on threads for blocking work, at most so many at once, with buffers that are used again.

use cipherloom::{Error, Workspace};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// The threads' turns, and their buffers.
#[derive(Debug)]
pub(crate) struct Ciphers {
    turns: Semaphore,
    workspaces: Arc<Mutex<Vec<Workspace>>>,
}

impl Ciphers {
    pub(crate) fn new(threads: usize) -> Ciphers {
        Ciphers { turns: Semaphore::new(threads.max(1)), workspaces: Arc::default() }
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

fn lock(workspaces: &Mutex<Vec<Workspace>>) -> std::sync::MutexGuard<'_, Vec<Workspace>> {
    workspaces.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does what blocks (files) on a thread for it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Error::Stopped),
    }
}
