//! Opens folders below a handle, no link followed on the way: by `openat2` in one call (Linux 5.6), else step by step.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, openat, openat2, statat};
use rustix::io::{Errno, retry_on_intr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// A place to start paths from, which needs no permission to list the folder.
pub(super) const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A folder whose attributes can be set and whose names can be forced to stable storage.
pub(super) const READABLE: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The folder at `relative` below `root`, or `root` itself if that is empty. [`Errno::LOOP`] for a link on the way.
pub(super) fn open_below(root: &OwnedFd, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    if relative.as_os_str().is_empty() {
        return retry_on_intr(|| openat(root, ".", flags, Mode::empty()));
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match retry_on_intr(|| openat2(root, relative, flags, Mode::empty(), resolve)) {
        // Older kernels, and sandboxes that do not know the call.
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
            let open_at_once = |path: &Path| open_below(&handle, path, flags);
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
}
