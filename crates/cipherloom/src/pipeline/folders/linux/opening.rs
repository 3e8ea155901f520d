//! Folders of ours that are closed to their owner, opened for the time of a run that goes on with an earlier one: a folder
//! gets its source's permissions when it is complete, and may have lacked some that the next run needs.

use super::super::Opened;
use rustix::fs::{CWD, Mode, chmodat, fstat};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::geteuid;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Gives the owner all permissions on `folder`, a handle that only marks a place, if this user owns it and lacks some;
/// returns the mode before, if it was changed.
pub(super) fn open_up(folder: &OwnedFd) -> Result<Option<Opened>, Errno> {
    let found = fstat(folder)?;
    let mode = found.st_mode & 0o7777;
    if mode & 0o700 == 0o700 || found.st_uid != geteuid().as_raw() {
        return Ok(None);
    }
    // Such a handle takes no `fchmod`, and a folder that cannot be read gives no other. Its name could lead to something
    // else by now.
    let path = format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd());
    retry_on_intr(|| {
        chmodat(CWD, path.as_str(), Mode::from_raw_mode(mode | 0o700), rustix::fs::AtFlags::empty())
    })?;
    Ok(Some(Opened { mode }))
}
