//! Removes what is gone from the source: only what the index lists, and only while it is that very stream, link or empty folder.

use super::comparison::{Gone, ancestors};
use super::twins::{ignores_case, lower_case};
use super::{Sync, SyncStore, listed_stream, output_path};
use crate::Error;
use crate::error::IndexFault;
use crate::files::{Ending, Opened, Source, Target};
use crate::index::{IndexKind, path_of, split};
use crate::pipeline::indexing::bytes_of;
use crate::report::Action;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;

/// Paths at which the index lists something else than the source has: a file in a folder's place, or the other way round.
#[derive(Default)]
pub(super) struct Obstacles {
    listed: HashSet<Vec<u8>>,
    /// Those at which nobody has removed or replaced what the index lists.
    kept: HashSet<Vec<u8>>,
}

impl Obstacles {
    pub(super) fn insert(&mut self, path: Vec<u8>, is_kept: bool) {
        self.kept.extend(is_kept.then(|| path.clone()));
        self.listed.insert(path);
    }

    /// Notes that the one at this path is renamed.
    pub(super) fn release(&mut self, path: &[u8]) {
        self.kept.remove(path);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Whether one is at this path, or above.
    pub(super) fn block(&self, path: &[u8]) -> bool {
        has_or_is_below(&self.listed, path)
    }

    /// Whether nothing can be made at this path before an obstacle is removed.
    pub(super) fn prevent(&self, path: &[u8]) -> bool {
        has_or_is_below(&self.kept, path)
    }
}

fn has_or_is_below(paths: &HashSet<Vec<u8>>, path: &[u8]) -> bool {
    !paths.is_empty() && (paths.contains(path) || ancestors(path).any(|folder| paths.contains(folder)))
}

/// What happened to something that is gone.
enum Removed {
    Yes,
    /// The file system does not tell its name from that of another output, which has taken its place.
    Renamed,
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
    let mut folder = None;
    let mut objects = Vec::new().into_iter();
    match sync.store() {
        Some(store) => objects = remove_objects(sync, store, &gone).into_iter(),
        None => match Target::root(sync.root) {
            Ok(root) => folder = Some(Removal { sync, root, opened: Vec::new(), by_lower_case: None }),
            Err(error) => return sync.fail(b"", &error),
        },
    }
    // The index has parents before their children.
    for Gone { path, kind, .. } in gone.into_iter().rev() {
        let removed = match &mut folder {
            Some(removal) => removal.remove(&path, &kind, holds),
            None => match objects.next() {
                Some(_) if matches!(kind, IndexKind::Folder { .. }) && holds.contains(&path) => {
                    Ok(Removed::Holds)
                }
                Some(removed) => removed,
                None => Ok(Removed::Holds),
            },
        };
        match removed {
            Ok(Removed::Yes) => {
                sync.done(Action::Removed, None, &path);
                dropped.insert(path);
            }
            Ok(Removed::Renamed) => {
                dropped.insert(path);
            }
            Ok(Removed::Holds) => {
                holds.extend(ancestors(&path).map(<[u8]>::to_vec));
                crate::engine::lock(&sync.counts).gone += 1;
            }
            Err(error) => {
                holds.extend(ancestors(&path).map(<[u8]>::to_vec));
                sync.fail(&path, &error);
            }
        }
    }
    if let Some(removal) = folder {
        removal.close();
    }
}

/// Removes the files among these from an object store. Returns what became of each of `gone`, the last one first.
fn remove_objects(sync: &Sync<'_>, store: &dyn SyncStore, gone: &[Gone]) -> Vec<Result<Removed, Error>> {
    let streams = gone.iter().rev().filter_map(|gone| match &gone.kind {
        IndexKind::File(listed) => Some(listed_stream(&gone.path, listed)),
        IndexKind::Folder { .. } | IndexKind::Link { .. } => None,
    });
    let streams: Vec<_> = streams.collect();
    let mut removed = store.remove(&streams, sync.observer).into_iter();
    let of_each = gone.iter().rev().map(|gone| match gone.kind {
        IndexKind::File(_) => match removed.next() {
            Some(Ok(())) => Ok(Removed::Yes),
            Some(Err(error)) if !matches!(error, Error::Stopped) => Err(error),
            Some(Err(_)) | None => Ok(Removed::Holds),
        },
        // A store has neither.
        IndexKind::Folder { .. } | IndexKind::Link { .. } => Ok(Removed::Yes),
    });
    of_each.collect()
}

struct Removal<'r> {
    sync: &'r Sync<'r>,
    root: Target,
    /// Folders that were read-only.
    opened: Vec<(PathBuf, Opened)>,
    /// The paths of all outputs and folders, by what they are in lower case; none where the disk tells them apart.
    by_lower_case: Option<HashMap<String, Vec<u8>>>,
}

impl Removal<'_> {
    fn remove(&mut self, path: &[u8], kind: &IndexKind, holds: &HashSet<Vec<u8>>) -> Result<Removed, Error> {
        let hidden = match kind {
            IndexKind::File(listed) => listed.name.map(|name| bytes_of(&name.path())),
            // Only the index has it.
            _ if self.sync.job.hides_names() => {
                return Ok(if holds.contains(path) { Removed::Holds } else { Removed::Yes });
            }
            _ => None,
        };
        if hidden.is_none() && self.is_other_spelling(path) {
            return Ok(Removed::Renamed);
        }
        let (folder, name) = split(hidden.as_deref().unwrap_or(path));
        let (folder, name) = (path_of(folder)?, path_of(name)?);
        let parent = match self.root.below(&folder) {
            Err(error) if is_missing(&error) => return Ok(Removed::Yes),
            parent => parent?,
        };
        let found = match parent.look(name.as_os_str()) {
            Err(error) if is_refused(&error) => {
                self.open_up(folder.clone())?;
                parent.look(name.as_os_str())?
            }
            found => found?,
        };
        let Some(found) = found else { return Ok(Removed::Yes) };
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
        if is_folder {
            // Else it would not be empty.
            self.root.remove_leftovers(&path_of(path)?);
        }
        let unlink = || match is_folder {
            true => parent.remove_folder(name.as_os_str()),
            false => parent.remove_file(name.as_os_str()),
        };
        match unlink() {
            Err(error) if is_refused(&error) => {
                self.open_up(folder)?;
                unlink()?;
            }
            unlinked => unlinked?,
        }
        Ok(Removed::Yes)
    }

    /// Whether this path differs in case alone from an output's, or from that of a folder of outputs, where the disk ignores case.
    fn is_other_spelling(&mut self, path: &[u8]) -> bool {
        let Sync { tree, job, root, .. } = *self.sync;
        let outputs = self.by_lower_case.get_or_insert_with(|| {
            if !ignores_case(root) {
                return HashMap::new();
            }
            let outputs = (0..).take(tree.entries.len()).map(|entry| output_path(tree, job, entry));
            let folders = tree.directories.iter().map(|folder| bytes_of(&folder.path));
            outputs.chain(folders).map(|path| (lower_case(&path), path)).collect()
        });
        outputs.get(&lower_case(path)).is_some_and(|output| **output != *path)
    }

    fn open_up(&mut self, folder: PathBuf) -> Result<(), Error> {
        let opened = self.root.open_up(&folder)?;
        self.opened.extend(opened.map(|opened| (folder, opened)));
        Ok(())
    }

    /// Gives folders that remain their permissions back.
    fn close(self) {
        for (folder, opened) in self.opened.into_iter().rev() {
            let _ = self.root.finish(&folder, Ending::Closed(opened), false);
        }
    }
}

fn is_refused(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
}

fn is_missing(error: &Error) -> bool {
    // A file in the place of a folder is one of the source, or is reported there.
    matches!(error, Error::Io { source, .. }
        if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
}
