//! Distributes work to threads, for everything in this workspace that runs on several cores.
//!
//! ```text
//! Workers::run        the same function on several threads, until all have returned
//! Workers::run_each   numbers 0..n, each handled by one thread
//! Workers::run_items  items that open into parts; threads without an item of their own help with the others' parts
//! Workers::run_pool   tasks of one thread, which gives them as it comes to know them, and takes their results
//! ```
//!
//! The calling thread is one of the workers, so a small run does not wait for another thread to start. If the system
//! refuses a thread, the others do its work. A panic stops the run and becomes [`crate::Error::Internal`]. Threads wait
//! for notifications; nothing polls, except a calling thread whose observer wants it ([`Observer::watch_interval`]).
//!
//! [`Observer::watch_interval`]: crate::Observer::watch_interval

mod chains;
mod counter;
mod items;
mod pool;
mod spread;
mod workers;

pub use chains::{CbcPiece, MOST_PIECES, encrypt_pieces};
pub use counter::Counter;
pub use items::Items;
pub(crate) use pool::{Leader, Ticket};
pub use workers::{Workers, lock};
