//! What concerns the run as a whole rather than one file of it.

use std::io;

/// Why an entry, or all that follow it, cannot be done in this run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFault {
    /// The file system of the destination gives the outputs of two entries the same name.
    #[error("name collides with {other:?} on the destination's file system; rename one of them")]
    NameCollision {
        /// The name of the other output, or of the other folder.
        other: String,
    },
    /// The destination takes no more outputs. Ends the run.
    #[error("cannot {action}: {source}; the run stopped because every other file would fail too")]
    DestinationRefused {
        /// What was tried, as a verb phrase: "write the output".
        action: &'static str,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },
    /// The key opened none of the first files. Ends the run.
    #[error(
        "the key opened none of the first {tried} files, so the run stopped; check the key, the context and whether paths are bound"
    )]
    KeyOpensNothing {
        /// How many files were tried.
        tried: usize,
    },
}

impl RunFault {
    /// Whether it ended the run.
    #[must_use]
    pub fn ends_run(&self) -> bool {
        matches!(self, RunFault::DestinationRefused { .. } | RunFault::KeyOpensNothing { .. })
    }
}
