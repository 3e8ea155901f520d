//! Opens folders below a root, through no link.

use super::FOLDER;
use crate::engine::lock;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, openat, openat2, statat};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A waypoint lies this many levels below the root or the waypoint above.
const STRIDE: usize = 16;

/// How many waypoints all threads keep. The listing goes into the depth below 32 folders at a time.
const KEPT: usize = 32;

/// Where a folder may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mounts {
    All,
    /// On the mount of the folder where the path starts; [`Errno::XDEV`] if not, or if that cannot be told.
    Same,
}

/// Folders on the way to others far below the root. They are kept open, so that the kernel need not resolve all of a long path
/// for each of many folders.
#[derive(Debug)]
pub(super) struct Waypoints {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    waypoints: Vec<(PathBuf, Mounts, OwnedFd)>,
    /// Which one the next one replaces.
    oldest: usize,
}

impl Waypoints {
    /// Those of one of `threads` threads.
    pub(super) fn of_one(threads: usize) -> Waypoints {
        Waypoints { most: KEPT.div_ceil(threads), kept: Mutex::default() }
    }

    /// As [`open_below`].
    pub(super) fn open(
        &self,
        root: &OwnedFd,
        relative: &Path,
        flags: OFlags,
        mounts: Mounts,
    ) -> Result<OwnedFd, Errno> {
        let Some((above, rest)) = divide(relative) else {
            return open_below(root, relative, flags, mounts);
        };
        let Kept { waypoints, oldest } = &mut *lock(&self.kept);
        let is_it = |(path, of, _): &(PathBuf, Mounts, OwnedFd)| {
            *of == mounts && path.as_os_str() == above.as_os_str()
        };
        let place = match waypoints.iter().position(is_it) {
            Some(place) => place,
            None => {
                let folder = (above.to_owned(), mounts, open_below(root, above, FOLDER, mounts)?);
                let place = *oldest;
                *oldest = (place + 1) % self.most;
                match waypoints.get_mut(place) {
                    Some(old) => *old = folder,
                    None => waypoints.push(folder),
                }
                place
            }
        };
        open_below(&waypoints[place].2, rest, flags, mounts)
    }
}

/// The path of the last waypoint above a folder, and the rest of its path; `None` where that is the root.
fn divide(relative: &Path) -> Option<(&Path, &Path)> {
    let path = relative.as_os_str().as_bytes();
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let (place, _) = slashes.skip(STRIDE - 1).step_by(STRIDE).last()?;
    let path_of = |bytes| Path::new(OsStr::from_bytes(bytes));
    Some((path_of(&path[..place]), path_of(&path[place + 1..])))
}

/// The folder at `relative` below `root`, or `root` itself if that is empty: by `openat2` in one call (Linux 5.6), else step by
/// step. No link is followed on the way: [`Errno::LOOP`] for a link on the way.
pub(super) fn open_below(
    root: &OwnedFd,
    relative: &Path,
    flags: OFlags,
    mounts: Mounts,
) -> Result<OwnedFd, Errno> {
    if relative.as_os_str().is_empty() {
        return retry_on_intr(|| openat(root, ".", flags, Mode::empty()));
    }
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    if mounts == Mounts::Same {
        resolve |= ResolveFlags::NO_XDEV;
    }
    match retry_on_intr(|| openat2(root, relative, flags, Mode::empty(), resolve)) {
        // Older kernels, and sandboxes that do not know the call.
        Err(Errno::NOSYS | Errno::PERM) if mounts == Mounts::Same => Err(Errno::XDEV),
        Err(Errno::NOSYS | Errno::PERM) => open_by_steps(root.as_fd(), relative, flags),
        result => result,
    }
}

/// Each step from the handle of the one before. The listing gives names only: nothing here leads up.
fn open_by_steps(root: BorrowedFd<'_>, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut reached: Option<OwnedFd> = None;
    let mut names = relative.iter().peekable();
    while let Some(name) = names.next() {
        let from = reached.as_ref().map_or(root, AsFd::as_fd);
        let flags = if names.peek().is_some() { FOLDER } else { flags };
        let open = || openat(from, name, flags | OFlags::NOFOLLOW, Mode::empty());
        let opened = retry_on_intr(open).map_err(|errno| {
            // What is no folder is told apart only now: this way a link is just another thing that is none.
            let is_link = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink);
            if is_link { Errno::LOOP } else { errno }
        })?;
        reached = Some(opened);
    }
    reached.ok_or(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use super::super::READABLE;
    use super::*;
    use rustix::fs::{CWD, fstat};
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    type Way<'w> = dyn Fn(&Path) -> Result<OwnedFd, Errno> + 'w;

    #[test]
    fn both_ways_lead_to_the_same_folder_and_through_no_link() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        fs::create_dir(outside.path().join("b")).unwrap();
        symlink(outside.path(), root.path().join("link")).unwrap();
        symlink("a", root.path().join("near")).unwrap();
        fs::write(root.path().join("file"), b"").unwrap();
        let handle = openat(CWD, root.path(), FOLDER, Mode::empty()).unwrap();
        for flags in [FOLDER, READABLE] {
            let open_at_once = |path: &Path| open_below(&handle, path, flags, Mounts::All);
            let open_stepping = |path: &Path| open_by_steps(handle.as_fd(), path, flags);
            let ways: [&Way<'_>; 2] = [&open_at_once, &open_stepping];
            for open in ways {
                let found = fstat(open(Path::new("a/b")).unwrap()).unwrap().st_ino;
                assert_eq!(found, fs::metadata(root.path().join("a/b")).unwrap().ino());
                for astray in ["link", "link/b", "near", "near/b"] {
                    assert_eq!(open(Path::new(astray)).unwrap_err(), Errno::LOOP, "{astray}");
                }
                assert_eq!(open(Path::new("file")).unwrap_err(), Errno::NOTDIR);
                assert_eq!(open(Path::new("a/missing")).unwrap_err(), Errno::NOENT);
            }
        }
    }

    #[test]
    fn deep_folders_are_opened_from_waypoints_and_through_no_link() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let deep = |top: usize, levels: usize| -> PathBuf {
            std::iter::once(format!("top-{top}")).chain((1..levels).map(|level| level.to_string())).collect()
        };
        let tops = KEPT + 2;
        for top in 0..tops {
            fs::create_dir_all(root.path().join(deep(top, 3 * STRIDE))).unwrap();
        }
        let handle = openat(CWD, root.path(), FOLDER, Mode::empty()).unwrap();
        let waypoints = Waypoints::of_one(1);
        let open = |path: &Path| waypoints.open(&handle, path, FOLDER, Mounts::Same);
        let levels = [1, STRIDE, STRIDE + 1, 2 * STRIDE, 3 * STRIDE];
        for (top, levels) in (0..tops).flat_map(|top| levels.map(|levels| (top, levels))) {
            let path = deep(top, levels);
            let found = fstat(open(&path).unwrap()).unwrap().st_ino;
            assert_eq!(found, fs::metadata(root.path().join(&path)).unwrap().ino(), "{}", path.display());
        }
        assert_eq!(lock(&waypoints.kept).waypoints.len(), KEPT);
        fs::create_dir_all(outside.path().join(deep(0, 2 * STRIDE))).unwrap();
        for levels in [1, STRIDE - 1, STRIDE + 1] {
            symlink(outside.path(), root.path().join(deep(0, levels)).join("link")).unwrap();
            let linked = deep(0, levels).join("link").join(deep(0, 2 * STRIDE));
            assert_eq!(open(&linked).unwrap_err(), Errno::LOOP, "{levels}");
        }
        assert_eq!(open(&deep(tops, 3 * STRIDE)).unwrap_err(), Errno::NOENT);
    }
}
