//! The one executor of the process: connections live as long as it does, so every run uses the same.

use cipherloom::Error;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// The executor; started by whoever asks first.
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
