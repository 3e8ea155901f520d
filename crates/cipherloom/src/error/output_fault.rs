//! What can be wrong with an output, whatever it is made from.

use super::{Error, RunFault};
use std::path::PathBuf;

/// Why an output cannot be made as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutputFault {
    /// The file system has no way to name an output that could not replace another one.
    #[error(
        "this file system can rename only by replacing, so a file that another program creates at the same moment could be lost; choose --if-exists overwrite, or accept that with --non-atomic where the command has it"
    )]
    NamesNotAtomic,
    /// A link of an encrypted tree could lead out of the output tree.
    #[error(
        "the link leads to {goal:?}, which may be outside the output tree, and links are not authenticated; --links copy-all makes it anyway"
    )]
    LinkLeavesTree {
        /// Where it leads.
        goal: PathBuf,
    },
}

/// What is tried with outputs, in the words of [`Error::Io`].
const ABOUT_OUTPUT: [&str; 13] = [
    "create the output",
    "force a folder to stable storage",
    "force the output to stable storage",
    "give the output its name",
    "make the link",
    "make the output folder",
    "open the output folder",
    "remove the output's temporary name",
    "replace the link",
    "replace the output",
    "set a folder's permissions and time",
    "set the output's permissions and time",
    "write the output",
];

impl Error {
    /// True if the trouble is with the output, not with what it is made from: the path to tell is the output's.
    #[must_use]
    pub fn is_about_output(&self) -> bool {
        match self {
            Error::Io { action, .. } => ABOUT_OUTPUT.contains(action),
            Error::OutputExists
            | Error::LinkInDestination
            | Error::Output(OutputFault::NamesNotAtomic)
            | Error::Run(RunFault::DestinationRefused { .. }) => true,
            _ => false,
        }
    }
}
