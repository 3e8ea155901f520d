//! The items of one folder. On Linux they are read without the standard library, whose `ReadDir` panics where closing a folder
//! fails, as it may on file systems over a network.

use super::attributes::{Attributes, attributes};
use super::dropped::{Dropped, Process};
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
pub(super) use linux::{Item, Items, Place};
#[cfg(any(feature = "portable", not(target_os = "linux")))]
pub(super) use portable::{Item, Items, Place};

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod linux {
    use super::super::attributes::{Inode, kept_mode};
    use super::super::dropped::{Dropped, File, Process};
    use super::{Attributes, Kind, Look, OsString, Path, io};
    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat, openat, statat};
    use rustix::io::{Errno, retry_on_intr};
    use std::ffi::{CString, OsStr};
    use std::fs::Permissions;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    /// Bytes of names that one system call gives.
    const NAMES: usize = 32 << 10;

    /// The items of a folder, `.` and `..` left out.
    pub(in crate::tree) struct Items {
        folder: Arc<OwnedFd>,
        /// Those that were read.
        read: std::vec::IntoIter<Item>,
        has_ended: bool,
    }

    /// A folder in which others can be opened, without resolving the path to it once more.
    #[derive(Clone)]
    pub(in crate::tree) struct Place(Arc<OwnedFd>);

    /// One of them.
    pub(in crate::tree) struct Item {
        name: CString,
        kind: FileType,
        folder: Arc<OwnedFd>,
    }

    impl Items {
        /// Those of the folder at `path`.
        pub(in crate::tree) fn of(path: &Path) -> io::Result<Items> {
            Items::open(CWD, path, OFlags::empty())
        }

        /// Those of the folder of this name in `place`. A link that has taken its name is not followed.
        pub(in crate::tree) fn below(place: &Place, name: &OsStr) -> io::Result<Items> {
            Items::open(&place.0, Path::new(name), OFlags::NOFOLLOW)
        }

        fn open(from: impl AsFd, path: &Path, more: OFlags) -> io::Result<Items> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | more;
            let folder = retry_on_intr(|| openat(&from, path, flags, Mode::empty()))?;
            Ok(Items { folder: Arc::new(folder), read: Vec::new().into_iter(), has_ended: false })
        }

        pub(in crate::tree) fn place(&self) -> Place {
            Place(Arc::clone(&self.folder))
        }

        /// The items of one system call; `None` at the end.
        fn read_more(&self) -> io::Result<Option<Vec<Item>>> {
            let mut buffer = [MaybeUninit::uninit(); NAMES];
            let mut names = RawDir::new(&*self.folder, &mut buffer);
            let mut items = Vec::new();
            loop {
                match names.next() {
                    Some(Ok(item)) if matches!(item.file_name().to_bytes(), b"." | b"..") => {}
                    Some(Ok(item)) => items.push(Item {
                        name: item.file_name().to_owned(),
                        kind: item.file_type(),
                        folder: Arc::clone(&self.folder),
                    }),
                    Some(Err(Errno::INTR)) => continue,
                    // A folder that was removed has no items.
                    None | Some(Err(Errno::NOENT)) => return Ok(None),
                    Some(Err(errno)) => return Err(errno.into()),
                }
                if names.is_buffer_empty() {
                    return Ok(Some(items));
                }
            }
        }
    }

    impl Iterator for Items {
        type Item = io::Result<Item>;

        fn next(&mut self) -> Option<io::Result<Item>> {
            while !self.has_ended {
                if let Some(item) = self.read.next() {
                    return Some(Ok(item));
                }
                match self.read_more() {
                    Ok(Some(items)) => self.read = items.into_iter(),
                    Ok(None) => self.has_ended = true,
                    Err(error) => {
                        self.has_ended = true;
                        return Some(Err(error));
                    }
                }
            }
            None
        }
    }

    impl Item {
        pub(in crate::tree) fn name(&self) -> OsString {
            OsString::from_vec(self.name.to_bytes().to_vec())
        }

        /// What it is, which some file systems do not say with the name.
        pub(in crate::tree) fn kind(&self) -> io::Result<Kind> {
            let kind = match self.kind {
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
                inode: (!is_folder).then_some(Inode { device: found.st_dev, number: found.st_ino }),
                has_other_names: !is_folder && found.st_nlink > 1,
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
            let stat = || statat(&self.folder, &*self.name, AtFlags::SYMLINK_NOFOLLOW);
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

        #[test]
        fn a_link_that_took_the_name_of_a_folder_is_not_followed() {
            let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            fs::create_dir(folder.path().join("folder")).unwrap();
            std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
            let place = Items::of(folder.path()).unwrap().place();
            assert!(Items::below(&place, OsStr::new("folder")).is_ok());
            assert!(Items::below(&place, OsStr::new("link")).is_err());
        }

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
                assert_eq!(attributes.inode, crate::tree::attributes(&metadata).inode);
                assert_eq!(attributes.permissions.mode(), metadata.permissions().mode());
            }
        }
    }
}

#[cfg(any(feature = "portable", not(target_os = "linux")))]
mod portable {
    use super::super::dropped::Process;
    use super::{Kind, Look, OsString, Path, io};
    use std::ffi::OsStr;
    use std::fs::{DirEntry, ReadDir, read_dir};
    use std::path::PathBuf;

    /// The items of a folder.
    pub(in crate::tree) struct Items(ReadDir, PathBuf);

    /// A folder in which others can be opened.
    #[derive(Clone)]
    pub(in crate::tree) struct Place(PathBuf);

    /// One of them.
    pub(in crate::tree) struct Item(DirEntry);

    impl Items {
        /// Those of the folder at `path`.
        pub(in crate::tree) fn of(path: &Path) -> io::Result<Items> {
            Ok(Items(read_dir(path)?, path.to_owned()))
        }

        /// Those of the folder of this name in `place`.
        pub(in crate::tree) fn below(place: &Place, name: &OsStr) -> io::Result<Items> {
            Items::of(&place.0.join(name))
        }

        pub(in crate::tree) fn place(&self) -> Place {
            Place(self.1.clone())
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
