//! What may be assumed of a file system because it is known to keep its files on this machine.

use rustix::fs::{fstatfs, statfs};
use std::os::fd::OwnedFd;
use std::path::Path;

/// ext2 to ext4, XFS, Btrfs, F2FS, bcachefs, ZFS, JFS, tmpfs, ramfs, FAT, exFAT, NTFS (ntfs3).
///
/// The kernel reports at close what a file system's flush operation returns. These have none, or one that always succeeds;
/// only one of which that is true may be added.
const LOCAL: [u32; 12] = [
    0xef53,
    XFS,
    0x9123_683e,
    0xf2f5_2010,
    0xca45_1a4e,
    0x2fc1_2fc1,
    0x3153_464a,
    0x0102_1994,
    0x8584_58f6,
    0x4d44,
    0x2011_bab0,
    0x7366_746e,
];

/// Files of an overlay are those of a file system below it, which may be any.
const OVERLAY: u32 = 0x794c_7630;

/// Whether a lock on a file is seen by everybody who has its folder: only if all of them are on this machine. Many file systems
/// over a network, and most in user space, keep locks to themselves.
pub(super) fn has_common_locks(kind: Option<u32>) -> bool {
    kind.is_some_and(|kind| kind == OVERLAY || LOCAL.contains(&kind))
}

/// Whether closing a file may report a lost write.
pub(super) fn may_fail_at_close(kind: Option<u32>) -> bool {
    kind.is_none_or(|kind| !LOCAL.contains(&kind))
}

/// XFS puts an unnamed file into a list, and takes it out again for its name. Whoever does either holds a lock of the
/// allocation group, in which all files of a folder are, and the others sleep.
const XFS: u32 = 0x5846_5342;

/// Whether threads wait for each other, longer than the work takes, to give outputs in one folder their names, at or below
/// `destination`.
pub(crate) fn names_in_turns(destination: &Path) -> bool {
    let found = destination.ancestors().find_map(|existing| {
        let existing = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
        statfs(existing).ok()
    });
    found.is_some_and(|found| found.f_type as u32 == XFS)
}

/// The magic number of a folder's file system (`f_type`, statfs(2)).
pub(super) fn kind(folder: &OwnedFd) -> Option<u32> {
    // Some systems have it with a sign.
    fstatfs(folder).ok().map(|found| found.f_type as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_assumed_of_a_file_system_that_is_not_known() {
        let (procfs, nfs, fuse, tmpfs) = (0x9fa0, 0x6969, 0x6573_5546, 0x0102_1994);
        for unknown in [None, Some(procfs), Some(nfs), Some(fuse)] {
            assert!(may_fail_at_close(unknown) && !has_common_locks(unknown));
        }
        assert!(!may_fail_at_close(Some(tmpfs)) && has_common_locks(Some(tmpfs)));
        assert!(may_fail_at_close(Some(OVERLAY)) && has_common_locks(Some(OVERLAY)));
    }
}
