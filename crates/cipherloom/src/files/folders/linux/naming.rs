//! How an output gets its final name, found out before the first one is written: what a file system refuses at the end of
//! the work is refused too late.

use super::local;
use super::temporary::{Output, TemporaryName, create, may_link, refused};
use crate::Error;
use crate::files::existing::{Existing, IfExists};
use rustix::fs::{AtFlags, Mode, RenameFlags, fstat, linkat, openat, renameat_with};
use rustix::io::{Errno, retry_on_intr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// The ways, the best first. All but the last never replace what bears the final name, unless that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// A file without a name is linked.
    Unnamed,
    /// A file is renamed, if nothing bears the name.
    Rename,
    /// A file gets a second name by a link and loses its temporary one.
    Link,
    /// A file is renamed, whatever bears the name.
    Replace,
}

impl Naming {
    /// Fails if this way could replace something that must not be, and the user did not accept that.
    pub(super) fn check(self, existing: Existing) -> Result<(), Error> {
        let is_safe = self != Naming::Replace || existing.if_exists == IfExists::Overwrite;
        if is_safe || existing.non_atomic { Ok(()) } else { Err(Error::NamesNotAtomic) }
    }
}

/// How outputs are finished on a file system.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileSystem {
    pub(super) naming: Naming,
    /// Whether closing a file may report a lost write.
    pub(super) may_fail_at_close: bool,
}

/// Device number and magic number.
type Place = (u64, Option<u32>);

/// What was found out: folders of a tree lie on one device or a few, and a device's number may be that of another file system
/// later.
static KNOWN: Mutex<Vec<(Place, FileSystem)>> = Mutex::new(Vec::new());

/// How outputs are finished in `folder`.
pub(super) fn of(folder: &Arc<OwnedFd>) -> Result<FileSystem, Error> {
    let kind = local::kind(folder);
    let place: Place = (fstat(folder).map_err(refused)?.st_dev, kind);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = known().iter().find(|(known, _)| *known == place) {
        return Ok(*found);
    }
    let found = FileSystem { naming: find_out(folder)?, may_fail_at_close: local::may_fail_at_close(kind) };
    known().push((place, found));
    Ok(found)
}

fn find_out(folder: &Arc<OwnedFd>) -> Result<Naming, Error> {
    match retry_on_intr(|| openat(folder, ".", Output::UNNAMED, Mode::from_raw_mode(0o600))) {
        Ok(file) if may_link(&file, folder) => Ok(Naming::Unnamed),
        // What kernels and file systems without unnamed files say.
        Ok(_) | Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => {
            with_names(folder)
        }
        Err(errno) => Err(refused(errno)),
    }
}

/// Tries the ways that need temporary names on an empty file.
fn with_names(folder: &Arc<OwnedFd>) -> Result<Naming, Error> {
    // Open until the end: another run would take it for a leftover.
    let (_file, first) = create(folder, Mode::from_raw_mode(0o600))?;
    // What is refused is told apart by nothing: kernels and file systems have many words for it.
    let renamed = TemporaryName::take(folder, |second| {
        renameat_with(folder, first.name(), folder, second, RenameFlags::NOREPLACE).map_err(refused)
    });
    if let Ok(second) = renamed {
        first.forget();
        second.remove()?;
        return Ok(Naming::Rename);
    }
    let linked = TemporaryName::take(folder, |second| {
        retry_on_intr(|| linkat(folder, first.name(), folder, second, AtFlags::empty())).map_err(refused)
    });
    first.remove()?;
    match linked {
        Ok(second) => second.remove().map(|()| Naming::Link),
        Err(_) => Ok(Naming::Replace),
    }
}
