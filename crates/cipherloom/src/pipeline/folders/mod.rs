//! The folders that a worker reads from and writes to: opened once, kept while the worker stays near.
//!
//! Linux has files without names and paths relative to a folder handle; elsewhere, and on file systems that know no
//! unnamed files, a temporary name in the same folder stands in. Both ways are always compiled on Linux, and tested.

#[cfg(target_os = "linux")]
mod linux;
mod portable;

#[cfg(target_os = "linux")]
pub(super) use linux::Folder;
#[cfg(not(target_os = "linux"))]
pub(super) use portable::Folder;

use crate::Error;
use std::fs::{File, Permissions};
use std::io;
use std::path::Path;

/// How many folders a worker keeps open. Entries come folder by folder; shared and large ones jump about.
const KEPT: usize = 8;

/// A worker's folders.
#[derive(Debug)]
pub(super) struct Folders<'t> {
    source: &'t Path,
    target: Option<&'t Path>,
    /// Both roots, opened when first needed; every other folder is found below them.
    root: Option<Folder>,
    kept: [Option<(u32, Folder)>; KEPT],
    next: usize,
}

impl<'t> Folders<'t> {
    pub(super) fn new(source: &'t Path, target: Option<&'t Path>) -> Folders<'t> {
        Folders { source, target, root: None, kept: [const { None }; KEPT], next: 0 }
    }

    /// The folder with this index, whose path relative to both roots is `relative`. Below the roots no link is
    /// followed: a tree's outputs stay in its destination.
    pub(super) fn open(&mut self, index: u32, relative: &Path) -> Result<&Folder, Error> {
        if self.root.is_none() {
            self.root = Some(Folder::root(self.source, self.target)?);
        }
        let root = self.root.as_ref().expect("opened above");
        if relative.as_os_str().is_empty() {
            return Ok(root);
        }
        let is_this = |kept: &Option<(u32, Folder)>| kept.as_ref().is_some_and(|(kept, _)| *kept == index);
        let place = match self.kept.iter().position(is_this) {
            Some(place) => place,
            None => {
                let folder = root.below(relative)?;
                let place = self.next;
                self.next = (place + 1) % KEPT;
                self.kept[place] = Some((index, folder));
                place
            }
        };
        Ok(&self.kept[place].as_ref().expect("filled above").1)
    }
}

/// Which permissions a new file gets when it asks for some: the process's mask is not known without changing it, so
/// the first file of each kind tells.
#[derive(Debug, Default)]
pub(super) struct Granted(Option<(Permissions, bool)>);

impl Granted {
    /// Whether `file`, created with `wanted`, has them.
    pub(super) fn matches(&mut self, file: &File, wanted: &Permissions) -> io::Result<bool> {
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

/// Where a name for a temporary file begins; a listing of the destination shows whose it is.
const TEMPORARY_PREFIX: &str = ".cipherloom-";
