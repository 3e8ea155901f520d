//! An entry's content as it was listed: reads are checked against the listed size, and in the end size and times of the
//! last change are looked at, so that a file which shrinks, grows or is rewritten while it is read fails instead of giving
//! a mixture. A file of one read is no exception: Linux lets a writer in between two pages of a read. Writers that set the time
//! of the content back are noticed by the other time (ctime). What leaves no time behind is not: SECURITY.md has the list.

use super::folders::{Folders, Source};
use crate::location::split;
use crate::tree::{Attributes, Entry, Tree, changed};
use crate::{Error, error::LocationFault};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

#[derive(Debug)]
pub(crate) struct Input {
    file: File,
    len: u64,
    modified: Option<SystemTime>,
    changed: Option<(i64, i64)>,
}

impl Input {
    pub(crate) fn new(file: File, len: u64, listed: &Attributes) -> Input {
        Input { file, len, modified: listed.modified, changed: listed.changed }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Fills `buffer[..len]` from `offset`. `buffer` has one byte more: where the range ends at the listed end of the
    /// file, that byte is asked for too, so that growth is noticed without another system call.
    pub(crate) fn read(&self, buffer: &mut [u8], len: usize, offset: u64) -> Result<(), Error> {
        read_listed(&self.file, self.len, buffer, len, offset)
    }

    /// When all is read: fails if the file was changed since it was listed. `may_be_renamed`: this run replaces files in place,
    /// which changes the status of what has another name among them (a hard link).
    pub(crate) fn check_unchanged(&self, may_be_renamed: bool) -> Result<(), Error> {
        let metadata = self.file.metadata().map_err(|error| Error::io("read the attributes", error))?;
        if metadata.len() < self.len {
            return Err(Error::SourceShrank);
        }
        let same_time = (self.modified.is_none() || metadata.modified().ok() == self.modified)
            && (may_be_renamed || self.changed.is_none() || changed(&metadata) == self.changed);
        if metadata.len() == self.len && same_time { Ok(()) } else { Err(Error::SourceChanged) }
    }
}

/// Whether a file has extended attributes (access control lists are some): outputs do not get them. The label that SELinux
/// gives every file does not count.
#[cfg(target_os = "linux")]
pub(crate) fn has_extended_attributes(file: &File) -> bool {
    let mut names = [0; 1024];
    match rustix::fs::flistxattr(file, &mut names[..]) {
        Ok(len) => {
            let mut names = names[..len].split(|byte| *byte == 0);
            names.any(|name| !name.is_empty() && name != b"security.selinux")
        }
        Err(rustix::io::Errno::RANGE) => true,
        Err(_) => false,
    }
}

/// There these are not looked at.
#[cfg(not(target_os = "linux"))]
pub(crate) fn has_extended_attributes(_file: &File) -> bool {
    false
}

/// As [`Input::read`], of a file that is to have `file_len` bytes.
pub(crate) fn read_listed(
    file: &File,
    file_len: u64,
    buffer: &mut [u8],
    len: usize,
    offset: u64,
) -> Result<(), Error> {
    let ends = offset + len as u64 == file_len;
    let wanted = &mut buffer[..len + usize::from(ends)];
    let mut filled = 0;
    while filled < wanted.len() {
        match read_at(file, &mut wanted[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("read the file", error)),
        }
        if filled == len {
            // A short read that ends where the file was listed to end. Growth shows in `check_unchanged`, where that is asked.
            break;
        }
    }
    match filled {
        filled if filled < len => Err(Error::SourceShrank),
        filled if filled > len => Err(Error::SourceChanged),
        _ => Ok(()),
    }
}

/// Fills `buffer` with what the file has from `offset` on; returns how many bytes that were.
///
/// # Errors
/// Those of the operating system.
pub fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read_at(file, &mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Opens the file at `path`, which may be named through links: the user pointed at it. A FIFO does not block, and gives a
/// file that is none.
///
/// # Errors
/// [`Error::Io`]; [`LocationFault::NoName`].
pub fn open_file(path: &Path) -> Result<File, Error> {
    let (folder, name) = split(path)?;
    Source::root(folder)?.input(name, true)
}

/// Opens the file at `relative` below the folder `root`. No link is followed below it, and a FIFO does not block.
///
/// # Errors
/// [`Error::Io`]; [`Error::SourceChanged`] for a link; [`LocationFault::NoName`].
pub fn open_file_below(root: &Path, relative: &Path) -> Result<File, Error> {
    let name = relative.file_name().ok_or(LocationFault::NoName)?;
    Source::root(root)?.below(relative.parent().unwrap_or(Path::new("")))?.input(name, false)
}

/// A file of a listed tree, for those who read its bytes themselves: never through a link put there since, and checked
/// against what was listed.
#[derive(Debug)]
pub struct SourceFile(Input);

impl SourceFile {
    /// Opens an entry of `tree`. Below the tree's root no link is followed.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::SourceChanged`] if there is a link now.
    pub fn open(tree: &Tree, entry: Entry<'_>) -> Result<SourceFile, Error> {
        let mut folders = Folders::new(tree, None);
        let file = folders.open(entry.directory())?.source.input(entry.name(), tree.is_single_file)?;
        Ok(SourceFile(Input::new(file, entry.size(), &entry.attributes())))
    }

    /// `len` bytes from `offset`.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::SourceShrank`] or [`Error::SourceChanged`] where the length is another one now.
    pub fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; len + 1];
        self.0.read(&mut bytes, len, offset)?;
        bytes.truncate(len);
        Ok(bytes)
    }

    /// Fails if the file was changed since it was listed: to be asked when all is read.
    ///
    /// # Errors
    /// [`Error::SourceShrank`], [`Error::SourceChanged`], [`Error::Io`].
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.0.check_unchanged(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file
    }

    fn input(content: &[u8], len: u64, modified: Option<SystemTime>) -> Input {
        let file = file(content);
        let permissions = file.metadata().unwrap().permissions();
        Input::new(file, len, &Attributes::new(permissions, modified))
    }

    #[test]
    fn notices_what_changed() {
        let mut buffer = [0u8; 11];
        assert!(input(b"0123456789", 10, None).read(&mut buffer, 10, 0).is_ok());
        assert_eq!(&buffer[..10], b"0123456789");
        let shrank = input(b"0123", 10, None).read(&mut buffer, 10, 0);
        assert!(matches!(shrank, Err(Error::SourceShrank)));
        let grew = input(b"0123456789a", 10, None).read(&mut buffer, 10, 0);
        assert!(matches!(grew, Err(Error::SourceChanged)));
        let rewritten = input(b"0123456789", 10, Some(SystemTime::UNIX_EPOCH));
        assert!(matches!(rewritten.check_unchanged(false), Err(Error::SourceChanged)));
    }

    /// A writer that sets the time back, as `rsync --times` and `cp --preserve` do.
    #[test]
    #[cfg(unix)]
    fn notices_what_was_changed_and_dated_back() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"0123456789").unwrap();
        let tree = crate::tree::Tree::list(folder.path(), &crate::tree::Selection::default()).unwrap();
        let listed = &tree.entries.get(0).attributes();
        let open = || Input::new(File::open(&path).unwrap(), 10, listed);
        open().check_unchanged(false).unwrap();
        let changed = || {
            let metadata = path.metadata().unwrap();
            (metadata.ctime(), metadata.ctime_nsec())
        };
        let before = changed();
        let mut writer = File::options().write(true).open(&path).unwrap();
        writer.write_all(b"9876543210").unwrap();
        // The clock of coarse systems ticks seldom.
        loop {
            writer.set_modified(listed.modified.unwrap()).unwrap();
            if changed() != before {
                break;
            }
        }
        assert_eq!(writer.metadata().unwrap().modified().ok(), listed.modified);
        assert!(matches!(open().check_unchanged(false), Err(Error::SourceChanged)));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn extended_attributes_are_noticed() {
        let file = tempfile::tempfile_in(std::env::current_dir().unwrap()).unwrap();
        assert!(!has_extended_attributes(&file));
        rustix::fs::fsetxattr(&file, "user.note", b"words", rustix::fs::XattrFlags::empty()).unwrap();
        assert!(has_extended_attributes(&file));
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed_only_where_the_user_named_them() {
        use std::fs;
        use std::os::unix::fs::symlink;
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(root.path().join("a")).unwrap();
        fs::write(root.path().join("a/book"), b"text").unwrap();
        fs::write(outside.path().join("book"), b"other").unwrap();
        symlink(outside.path(), root.path().join("link")).unwrap();
        symlink(outside.path().join("book"), root.path().join("a/link")).unwrap();
        assert!(open_file(&root.path().join("a/link")).is_ok());
        assert!(open_file_below(root.path(), Path::new("a/book")).is_ok());
        for linked in ["a/link", "link/book"] {
            let opened = open_file_below(root.path(), Path::new(linked));
            assert!(matches!(opened, Err(Error::SourceChanged)), "{linked}");
        }
    }
}
