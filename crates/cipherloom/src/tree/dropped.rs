//! What outputs do not carry over, counted from the attributes that the listing reads anyway. Extended attributes and access
//! control lists are counted when a file is opened (`files/input.rs`).

use serde::Serialize;
use std::fs::Metadata;

/// How many files have something that their outputs lack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Files of another owner than this process.
    pub owners: u64,
    /// Files with more than one name: each becomes a file of its own.
    pub hard_links: u64,
    /// Files with holes, as far as the blocks that they take tell: they are filled with zeros.
    pub holes: u64,
    /// Files with set-user-ID, set-group-ID or sticky bits.
    pub set_id: u64,
}

/// Who this process is, asked once for a listing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    #[cfg(unix)]
    user: u32,
}

#[cfg(unix)]
impl Process {
    pub(super) fn this() -> Process {
        Process { user: rustix::process::geteuid().as_raw() }
    }
}

#[cfg(not(unix))]
impl Process {
    pub(super) fn this() -> Process {
        Process {}
    }
}

/// A file's blocks are counted in these, whatever the file system's own are.
#[cfg(unix)]
const BLOCK: u64 = 512;

/// A file system may keep the end of a file elsewhere, so a hole is no smaller than this.
#[cfg(unix)]
const SMALLEST_HOLE: u64 = 64 << 10;

/// What is known of a file, in the system's own terms.
#[cfg(unix)]
pub(super) struct File {
    pub(super) owner: u32,
    pub(super) has_other_names: bool,
    pub(super) blocks: u64,
    pub(super) size: u64,
    pub(super) mode: u32,
}

impl Dropped {
    /// What of this file its output will lack.
    #[cfg(unix)]
    pub(super) fn of(file: &File, process: Process) -> Dropped {
        Dropped {
            owners: u64::from(file.owner != process.user),
            hard_links: u64::from(file.has_other_names),
            holes: u64::from(file.blocks * BLOCK + SMALLEST_HOLE <= file.size),
            set_id: u64::from(file.mode & 0o7000 != 0),
        }
    }

    /// What of the file with this metadata its output will lack. On systems other than Unix that is not known.
    pub(super) fn of_metadata(file: &Metadata, process: Process) -> Dropped {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let file = File {
                owner: file.uid(),
                has_other_names: file.nlink() > 1,
                blocks: file.blocks(),
                size: file.len(),
                mode: file.mode(),
            };
            Dropped::of(&file, process)
        }
        #[cfg(not(unix))]
        {
            let _ = (file, process);
            Dropped::default()
        }
    }

    /// What outputs lack that replace their sources in place: to these, the superuser gives the sources' owners.
    #[must_use]
    pub fn in_place(self) -> Dropped {
        #[cfg(unix)]
        let keeps_owners = rustix::process::geteuid().is_root();
        #[cfg(not(unix))]
        let keeps_owners = false;
        Dropped { owners: if keeps_owners { 0 } else { self.owners }, ..self }
    }

    /// Counts what one more file has.
    pub(super) fn add(&mut self, other: Dropped) {
        self.owners += other.owners;
        self.hard_links += other.hard_links;
        self.holes += other.holes;
        self.set_id += other.set_id;
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use crate::tree::{Selection, Tree};
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::{PermissionsExt, fchown};
    use std::path::PathBuf;

    #[test]
    fn each_is_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("plain"), b"words").unwrap();
        let counted = || Tree::list(folder.path(), &Selection::default()).unwrap().dropped;
        assert_eq!(counted(), super::Dropped::default());
        fs::hard_link(at("plain"), at("other")).unwrap();
        fs::write(at("program"), b"").unwrap();
        fs::set_permissions(at("program"), Permissions::from_mode(0o4755)).unwrap();
        File::create(at("sparse")).unwrap().set_len(1 << 20).unwrap();
        let is_given = fchown(File::open(at("sparse")).unwrap(), Some(12345), None).is_ok();
        let expected = super::Dropped { owners: u64::from(is_given), hard_links: 2, holes: 1, set_id: 1 };
        assert_eq!(counted(), expected);
        let names = ["plain", "program"].map(PathBuf::from);
        let named = Tree::named(folder.path(), &names, &|| false).unwrap().dropped;
        assert_eq!((named.hard_links, named.set_id, named.holes), (1, 1, 0));
    }
}
