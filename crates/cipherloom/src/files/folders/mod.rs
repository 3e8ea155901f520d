//! The folders that a worker reads from and writes to: opened once, kept while the worker stays near.
//!
//! Linux has files without names and paths relative to a folder handle (`linux.rs`); elsewhere a temporary name in the same
//! folder stands in, and paths are looked at step by step (`portable.rs`). On Linux the tests compile both, and hold both to
//! the same rules. With the feature `portable` Linux uses the second way for everything, so that all tests can run over it.

#[cfg(all(target_os = "linux", any(test, not(feature = "portable"))))]
#[cfg_attr(feature = "portable", allow(dead_code, reason = "only its own tests use it then"))]
mod linux;
#[cfg(any(test, feature = "portable", not(target_os = "linux")))]
mod portable;
#[cfg(all(test, unix))]
mod tests;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(crate) use linux::{Output, Source, Target, names_in_turns};
#[cfg(any(feature = "portable", not(target_os = "linux")))]
pub(crate) use portable::{Output, Source, Target};

use crate::Error;
use crate::index::{HiddenName, folder_path};
use crate::tree::Moment;
use crate::tree::{Attributes, Tree};
use std::fs::{File, Permissions};
use std::io;
use std::path::Path;

/// How many folders a worker keeps open. Entries come folder by folder; shared and large ones jump about.
const KEPT: usize = 8;

/// Nothing is known of the file systems.
#[cfg(any(feature = "portable", not(target_os = "linux")))]
pub(crate) fn names_in_turns(_destination: &Path) -> bool {
    false
}

/// A folder of the source and its twin of the output.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) source: Source,
    target: Option<Target>,
}

impl Folder {
    fn root(source: &Path, target: Option<&Path>) -> Result<Folder, Error> {
        let target = target.map(Target::root).transpose()?;
        target.iter().for_each(Target::find_file_system);
        Ok(Folder { source: Source::root(source)?, target })
    }

    fn below(&self, source: &Path, target: &Path) -> Result<Folder, Error> {
        let target = self.target.as_ref().map(|root| root.below(target)).transpose()?;
        Ok(Folder { source: self.source.below(source)?, target })
    }

    pub(crate) fn target(&self) -> &Target {
        self.target.as_ref().expect("a job that writes has a destination")
    }
}

/// Where an entry is whose name is hidden in its source or output, or in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hidden {
    pub(crate) name: HiddenName,
    pub(crate) in_source: bool,
    pub(crate) in_output: bool,
}

/// A folder of the tree, or one with hidden names beside or instead of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    directory: u32,
    hidden: Option<u8>,
}

/// A worker's folders.
#[derive(Debug)]
pub(crate) struct Folders<'t> {
    tree: &'t Tree,
    target: Option<&'t Path>,
    /// Both roots, opened when first needed; every other folder is found below them.
    root: Option<Folder>,
    kept: [Option<(Place, Folder)>; KEPT],
    next: usize,
}

impl<'t> Folders<'t> {
    pub(crate) fn new(tree: &'t Tree, target: Option<&'t Path>) -> Folders<'t> {
        Folders { tree, target, root: None, kept: [const { None }; KEPT], next: 0 }
    }

    /// The tree's folder with this index. Below the roots no link is followed: a tree's outputs stay in its destination.
    pub(crate) fn open(&mut self, index: u32) -> Result<&Folder, Error> {
        self.open_hidden(index, None)
    }

    /// The folders of an entry of the tree's folder with this index.
    pub(crate) fn open_hidden(&mut self, index: u32, hidden: Option<Hidden>) -> Result<&Folder, Error> {
        let relative = &self.tree.directories[index as usize].path;
        if self.root.is_none() {
            self.root = Some(Folder::root(&self.tree.root, self.target)?);
        }
        let root = self.root.as_ref().expect("opened above");
        if relative.as_os_str().is_empty() && hidden.is_none() {
            return Ok(root);
        }
        let this = Place { directory: index, hidden: hidden.map(|hidden| hidden.name.folder()) };
        let is_this = |kept: &Option<(Place, Folder)>| kept.as_ref().is_some_and(|(kept, _)| *kept == this);
        let place = match self.kept.iter().position(is_this) {
            Some(place) => place,
            None => {
                let folder = match hidden {
                    None => root.below(relative, relative)?,
                    Some(Hidden { name, in_source, in_output }) => {
                        let folder = folder_path(name.folder());
                        let place = |is_hidden| if is_hidden { &*folder } else { &**relative };
                        root.below(place(in_source), place(in_output))?
                    }
                };
                let place = self.next;
                self.next = (place + 1) % KEPT;
                self.kept[place] = Some((this, folder));
                place
            }
        };
        Ok(&self.kept[place].as_ref().expect("filled above").1)
    }
}

/// How a folder of the output came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MadeFolder {
    /// It is new.
    New,
    /// It was there before.
    Found,
}

/// A folder that was there, and whose owner had to be given permissions on it to fill it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opened {
    /// Its mode before.
    pub(crate) mode: u32,
}

/// Which file or folder a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) number: u64,
    /// False for a file with several names (hard links).
    pub(crate) is_only_name: bool,
}

/// What bears a name, as far as its attributes tell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looked {
    pub(crate) is_file: bool,
    pub(crate) is_folder: bool,
    pub(crate) is_link: bool,
    /// 0 where the system does not say it.
    pub(crate) device: u64,
    /// The permission bits.
    pub(crate) mode: u32,
    pub(crate) len: u64,
    pub(crate) modified: Option<Moment>,
}

/// What a folder of the output gets when all that goes into it is there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ending<'t> {
    /// Its twin's time and permissions, as far as it got them when it was made for it.
    Made(&'t Attributes),
    /// Its twin's time and exactly its permissions.
    Preserved(&'t Attributes),
    /// Its twin's time, and no permission that its twin lacks or that it did not have itself: somebody made it before.
    /// Its owner gets what its twin's has, if it had been opened for this run.
    Resumed(&'t Attributes, Option<Opened>),
    /// The permissions that it had before it was opened.
    Closed(Opened),
    /// Nothing.
    AsItIs,
}

/// Carries an ending out on an open folder; false if the file system did not take permissions or time.
#[cfg(unix)]
fn settle(folder: &File, ending: Ending<'_>, durable: bool) -> Result<bool, Error> {
    let taken = |done: io::Result<()>| match done {
        Ok(()) => Ok(true),
        Err(error) if is_refused_by_kind(&error) => Ok(false),
        Err(error) => Err(Error::io("set a folder's permissions and time", error)),
    };
    let mut all_taken = true;
    if let Ending::Made(twin) | Ending::Preserved(twin) | Ending::Resumed(twin, _) = ending
        && let Some(modified) = twin.modified
    {
        all_taken &= taken(folder.set_modified(modified))?;
    }
    all_taken &= taken(set_mode(folder, ending))?;
    if durable {
        super::stable::sync(folder)?;
    }
    Ok(all_taken)
}

#[cfg(unix)]
fn set_mode(folder: &File, ending: Ending<'_>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    // Whether it is inherited decides about the set-group-ID bit, not the twin.
    const OWN: u32 = 0o6000;
    let mode = |twin: &Attributes| twin.permissions.mode();
    if matches!(ending, Ending::AsItIs) {
        return Ok(());
    }
    // Some file systems give a new folder more than was asked for: FAT, CIFS, inherited access control lists.
    let now = folder.metadata()?.permissions().mode() & 0o7777;
    let wanted = match ending {
        Ending::AsItIs => return Ok(()),
        Ending::Closed(Opened { mode }) => mode,
        Ending::Made(twin) => now & (mode(twin) | !0o777),
        Ending::Preserved(twin) => now & OWN | mode(twin) & !OWN & 0o7777,
        // Bits above these (set-group-ID, sticky) are the folder's own.
        Ending::Resumed(twin, None) => now & (mode(twin) | !0o777),
        Ending::Resumed(twin, Some(before)) => before.mode & (mode(twin) | !0o777) | mode(twin) & 0o700,
    };
    if wanted == now { Ok(()) } else { folder.set_permissions(Permissions::from_mode(wanted)) }
}

/// What file systems say that keep no permissions or times, or none but their mount's: FAT, exFAT, some of FUSE. The
/// content is there nevertheless.
pub(crate) fn is_refused_by_kind(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported)
}

/// The mode that a new file asks for: its source's (or a new file's usual one), of which the process's umask takes its part.
#[cfg(unix)]
fn file_mode(permissions: Option<&Permissions>) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    permissions.map_or(0o666, |permissions| permissions.mode() & 0o777)
}

/// The mode that a new folder asks for, likewise: usable by its owner until it is complete, and with the sticky bit, without
/// which a shared folder would let everybody remove the others' files.
#[cfg(unix)]
fn created_mode(permissions: Option<&Permissions>) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    permissions.map_or(0o777, |permissions| permissions.mode() & 0o1777 | 0o700)
}

/// Makes the folder at `path` with these permissions (or a new folder's usual ones), as far as the process's umask lets
/// them through, and usable by its owner.
#[cfg(unix)]
pub(crate) fn make_folder(path: &Path, permissions: Option<&Permissions>) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(created_mode(permissions)).create(path)
}

#[cfg(not(unix))]
pub(crate) fn make_folder(path: &Path, _permissions: Option<&Permissions>) -> io::Result<()> {
    std::fs::create_dir(path)
}

/// Which permissions a new file gets when it asks for some: the process's mask is not known without changing it, so
/// the first file of each kind tells.
#[derive(Debug, Default)]
pub(crate) struct Granted(Option<(Permissions, bool)>);

impl Granted {
    /// Whether `file`, created with `wanted`, has them.
    pub(crate) fn matches(&mut self, file: &File, wanted: &Permissions) -> io::Result<bool> {
        if let Some((known, matches)) = &self.0
            && known == wanted
        {
            return Ok(*matches);
        }
        let matches = file.metadata()?.permissions() == *wanted;
        self.0 = Some((wanted.clone(), matches));
        Ok(matches)
    }
}
