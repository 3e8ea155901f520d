//! The items of one folder. On Linux they are read without the standard library, whose `ReadDir` panics where closing a folder
//! fails, as it may on file systems over a network.

use super::Attributes;
use super::dropped::{Dropped, Process};
use super::walk::attributes;
use std::ffi::OsString;
use std::fs::{FileType, Metadata};
use std::io;
use std::path::Path;

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    Regular,
    Link,
    /// FIFO, socket or device.
    Special,
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Kind {
        match () {
            () if kind.is_dir() => Kind::Folder,
            () if kind.is_file() => Kind::Regular,
            () if kind.is_symlink() => Kind::Link,
            () => Kind::Special,
        }
    }
}

/// What the listing notes of a file or folder.
pub(super) struct Look {
    pub(super) size: u64,
    pub(super) attributes: Attributes,
    pub(super) dropped: Dropped,
}

impl Look {
    pub(super) fn of(metadata: &Metadata, process: Process) -> Look {
        Look {
            size: metadata.len(),
            attributes: attributes(metadata),
            dropped: Dropped::of_metadata(metadata, process),
        }
    }
}

#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(super) use linux::{Item, Items};
#[cfg(any(feature = "portable", not(target_os = "linux")))]
pub(super) use portable::{Item, Items};

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod linux {
    use super::super::dropped::{Dropped, File, Process};
    use super::super::walk::kept_mode;
    use super::{Attributes, Kind, Look, OsString, Path, io};
    use rustix::fs::{AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, Stat, openat, statat};
    use rustix::io::retry_on_intr;
    use std::fs::Permissions;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    /// The items of a folder, `.` and `..` left out.
    pub(in crate::tree) struct Items {
        items: Dir,
        folder: Arc<OwnedFd>,
    }

    /// One of them.
    pub(in crate::tree) struct Item {
        item: DirEntry,
        folder: Arc<OwnedFd>,
    }

    impl Items {
        /// Those of the folder at `path`.
        pub(in crate::tree) fn of(path: &Path) -> io::Result<Items> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = retry_on_intr(|| openat(CWD, path, flags, Mode::empty()))?;
            Ok(Items { items: Dir::read_from(&folder)?, folder: Arc::new(folder) })
        }
    }

    impl Iterator for Items {
        type Item = io::Result<Item>;

        fn next(&mut self) -> Option<io::Result<Item>> {
            loop {
                match self.items.next()? {
                    Ok(item) if matches!(item.file_name().to_bytes(), b"." | b"..") => {}
                    Ok(item) => return Some(Ok(Item { item, folder: Arc::clone(&self.folder) })),
                    Err(errno) => return Some(Err(errno.into())),
                }
            }
        }
    }

    impl Item {
        pub(in crate::tree) fn name(&self) -> OsString {
            OsString::from_vec(self.item.file_name().to_bytes().to_vec())
        }

        /// What it is, which some file systems do not say with the name.
        pub(in crate::tree) fn kind(&self) -> io::Result<Kind> {
            let kind = match self.item.file_type() {
                FileType::Unknown => FileType::from_raw_mode(self.stat()?.st_mode),
                kind => kind,
            };
            Ok(match kind {
                FileType::Directory => Kind::Folder,
                FileType::RegularFile => Kind::Regular,
                FileType::Symlink => Kind::Link,
                _ => Kind::Special,
            })
        }

        /// Its size and attributes.
        pub(in crate::tree) fn look(&self, process: Process) -> io::Result<Look> {
            let found = self.stat()?;
            let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            let attributes = Attributes {
                permissions: Permissions::from_mode(kept_mode(found.st_mode, is_folder)),
                modified: time(found.st_mtime, found.st_mtime_nsec),
                changed: Some((found.st_ctime, found.st_ctime_nsec as i64)),
            };
            let size = found.st_size as u64;
            let file = File {
                owner: found.st_uid,
                has_other_names: found.st_nlink > 1,
                blocks: found.st_blocks as u64,
                size,
                mode: found.st_mode,
            };
            Ok(Look { size, attributes, dropped: Dropped::of(&file, process) })
        }

        fn stat(&self) -> io::Result<Stat> {
            let stat = || statat(&self.folder, self.item.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            Ok(retry_on_intr(stat)?)
        }
    }

    fn time(seconds: i64, nanoseconds: u64) -> Option<SystemTime> {
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let start = SystemTime::UNIX_EPOCH;
        let time = if seconds < 0 { start.checked_sub(whole) } else { start.checked_add(whole) };
        time?.checked_add(Duration::from_nanos(nanoseconds))
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::fs;

        /// What the standard library says of a file, which readers compare with, and what the listing says, are the same.
        #[test]
        fn attributes_are_those_of_the_standard_library() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            fs::write(&path, b"123").unwrap();
            let before_1970 = SystemTime::UNIX_EPOCH - Duration::from_millis(1_234_567);
            for modified in [before_1970, SystemTime::UNIX_EPOCH, SystemTime::now()] {
                let times = fs::FileTimes::new().set_modified(modified);
                fs::OpenOptions::new().write(true).open(&path).unwrap().set_times(times).unwrap();
                let metadata = fs::metadata(&path).unwrap();
                let items: Vec<_> = Items::of(folder.path()).unwrap().map(Result::unwrap).collect();
                assert_eq!((items.len(), items[0].name()), (1, "file".into()));
                let Look { size, attributes, dropped } = items[0].look(Process::this()).unwrap();
                assert_eq!((size, items[0].kind().unwrap()), (3, Kind::Regular));
                assert_eq!(dropped, Dropped::of_metadata(&metadata, Process::this()));
                assert_eq!(attributes.modified, metadata.modified().ok());
                assert_eq!(attributes.changed, crate::tree::changed(&metadata));
                assert_eq!(attributes.permissions.mode(), metadata.permissions().mode());
            }
        }
    }
}

#[cfg(any(feature = "portable", not(target_os = "linux")))]
mod portable {
    use super::super::dropped::Process;
    use super::{Kind, Look, OsString, Path, io};
    use std::fs::{DirEntry, ReadDir, read_dir};

    /// The items of a folder.
    pub(in crate::tree) struct Items(ReadDir);

    /// One of them.
    pub(in crate::tree) struct Item(DirEntry);

    impl Items {
        /// Those of the folder at `path`.
        pub(in crate::tree) fn of(path: &Path) -> io::Result<Items> {
            Ok(Items(read_dir(path)?))
        }
    }

    impl Iterator for Items {
        type Item = io::Result<Item>;

        fn next(&mut self) -> Option<io::Result<Item>> {
            Some(self.0.next()?.map(Item))
        }
    }

    impl Item {
        pub(in crate::tree) fn name(&self) -> OsString {
            self.0.file_name()
        }

        /// What it is, which some file systems do not say with the name.
        pub(in crate::tree) fn kind(&self) -> io::Result<Kind> {
            self.0.file_type().map(Kind::from)
        }

        /// Its size and attributes.
        pub(in crate::tree) fn look(&self, process: Process) -> io::Result<Look> {
            Ok(Look::of(&self.0.metadata()?, process))
        }
    }
}
