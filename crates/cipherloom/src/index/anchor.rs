//! An anchor: what this machine remembers of a tree, so that it notices when the whole tree was put back to an earlier state.
//! The index itself is as authentic then as it was.

use super::reader::Index;
use super::root::{Digest, Root};
use super::sealed::hex;
use crate::Error;
use crate::error::IndexFault;
use crate::files::{Draft, IfExists};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file that remembers a tree's newest generation.
#[derive(Debug, Clone)]
pub(crate) struct Anchor {
    path: PathBuf,
    /// What the file holds; `None` if there is none yet.
    known: Option<Known>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    /// The tree's identifier, in hexadecimal digits.
    tree: String,
    generation: u64,
    /// SHA-256 of the root's file, in hexadecimal digits.
    root: String,
}

/// The most bytes of an anchor file.
const LIMIT: u64 = 4096;

impl Anchor {
    /// Reads the anchor file at `path`, which need not be there.
    pub(crate) fn read(path: &Path) -> Result<Anchor, Error> {
        let no_anchor = || Error::from(IndexFault::NotAnAnchor).at(path);
        let known = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("read the file", error).at(path)),
            Ok(found) if !found.is_file() || found.len() > LIMIT => return Err(no_anchor()),
            Ok(_) => {
                let bytes = fs::read(path).map_err(|error| Error::io("read the file", error).at(path))?;
                Some(serde_json::from_slice(&bytes).map_err(|_| no_anchor())?)
            }
        };
        Ok(Anchor { path: path.to_owned(), known })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if this index, or that there is none, is not what can follow what the anchor knows.
    ///
    /// # Errors
    /// [`IndexFault::Removed`], [`IndexFault::OtherTree`], [`IndexFault::RolledBack`], [`IndexFault::Forked`].
    pub(crate) fn check(&self, index: Option<&Index>) -> Result<(), Error> {
        let Some(known) = &self.known else { return Ok(()) };
        let Some(index) = index else { return Err(IndexFault::Removed(known.generation).into()) };
        let (root, found) = (index.root(), index.root().generation);
        let fault = match found {
            _ if hex(&root.tree) != known.tree => IndexFault::OtherTree,
            _ if found < known.generation => IndexFault::RolledBack { found, known: known.generation },
            _ if found == known.generation && hex(index.digest()) != known.root => IndexFault::Forked(found),
            _ if found.checked_sub(1) == Some(known.generation) && hex(&root.previous) != known.root => {
                IndexFault::Forked(known.generation)
            }
            _ => return Ok(()),
        };
        Err(fault.into())
    }

    /// Remembers a generation that was checked, or has just been written.
    pub(crate) fn write(&self, root: &Root, digest: &Digest) -> Result<(), Error> {
        let known = Known { tree: hex(&root.tree), generation: root.generation, root: hex(digest) };
        if self.known.as_ref() == Some(&known) {
            return Ok(());
        }
        let write = || {
            let text = serde_json::to_string(&known).map_err(|error| Error::internal(error.to_string()))?;
            let draft = Draft::begin(&self.path, IfExists::Overwrite)?;
            draft.write_at(format!("{text}\n").as_bytes(), 0)?;
            draft.sync()?;
            draft.publish()
        };
        write().map_err(|error| error.at(&self.path))
    }
}
