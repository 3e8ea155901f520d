//! Removes what is gone from the source: only what the index lists, and only while it is that very stream, link or empty folder.

use super::Sync;
use super::comparison::{Gone, ancestors};
use crate::Error;
use crate::error::IndexFault;
use crate::files::{Ending, Opened, Source, Target};
use crate::index::{IndexKind, path_of, split};
use crate::report::Action;
use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

/// What happened to something that is gone.
enum Removed {
    Yes,
    /// Something that stays is in the folder.
    Holds,
}

/// Removes these, children before their parents, and adds those that are there no longer to `dropped`. What fails is reported
/// and stays in the index. `holds`: folders with something in them that stays.
pub(super) fn remove(
    sync: &Sync<'_>,
    gone: Vec<Gone>,
    holds: &mut HashSet<Vec<u8>>,
    dropped: &mut HashSet<Vec<u8>>,
) {
    let mut removal = match Target::root(sync.root) {
        Ok(root) => Removal { sync, root, opened: Vec::new() },
        Err(error) => return sync.fail(b"", &error),
    };
    // The index has parents before their children.
    for Gone { path, kind, .. } in gone.into_iter().rev() {
        match removal.remove(&path, &kind, holds) {
            Ok(Removed::Yes) => {
                sync.done(Action::Removed, None, &path);
                dropped.insert(path);
            }
            Ok(Removed::Holds) => crate::engine::lock(&sync.counts).gone += 1,
            Err(error) => {
                holds.extend(ancestors(&path).map(<[u8]>::to_vec));
                sync.fail(&path, &error);
            }
        }
    }
    removal.close();
}

struct Removal<'r> {
    sync: &'r Sync<'r>,
    root: Target,
    /// Folders that were read-only.
    opened: Vec<(PathBuf, Opened)>,
}

impl Removal<'_> {
    fn remove(&mut self, path: &[u8], kind: &IndexKind, holds: &HashSet<Vec<u8>>) -> Result<Removed, Error> {
        let (folder, name) = split(path);
        let (folder, name) = (path_of(folder)?, path_of(name)?);
        let parent = match self.root.below(&folder) {
            Err(error) if is_missing(&error) => return Ok(Removed::Yes),
            parent => parent?,
        };
        let Some(found) = parent.look(name.as_os_str()) else { return Ok(Removed::Yes) };
        let is_listed = match kind {
            IndexKind::File(listed) => found.is_file && self.sync.is_listed_stream(path, listed),
            IndexKind::Folder { .. } => found.is_folder,
            IndexKind::Link { target } => Source::root(self.sync.root)
                .and_then(|root| root.below(&folder)?.read_link(name.as_os_str()))
                .is_ok_and(|found| found.as_os_str().as_encoded_bytes() == &**target),
        };
        if !is_listed {
            return Err(IndexFault::Replaced { by: None }.into());
        }
        let is_folder = found.is_folder;
        if is_folder && holds.contains(path) {
            return Ok(Removed::Holds);
        }
        let unlink = || match is_folder {
            true => parent.remove_folder(name.as_os_str()),
            false => parent.remove_file(name.as_os_str()),
        };
        match unlink() {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
                let opened = self.root.open_up(&folder)?;
                self.opened.extend(opened.map(|opened| (folder, opened)));
                unlink()?;
            }
            unlinked => unlinked?,
        }
        Ok(Removed::Yes)
    }

    /// Gives folders that remain their permissions back.
    fn close(self) {
        for (folder, opened) in self.opened.into_iter().rev() {
            let _ = self.root.finish(&folder, Ending::Closed(opened), false);
        }
    }
}

fn is_missing(error: &Error) -> bool {
    // A file in the place of a folder is one of the source, or is reported there.
    matches!(error, Error::Io { source, .. }
        if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
}
