//! What the listing asks of a file or folder beside its size, and how the standard library's words for it are understood.

use crate::Error;
use std::fs::{Metadata, Permissions};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What is carried over from a file or folder to its output.
#[derive(Debug, Clone)]
pub struct Attributes {
    /// Permission bits (Unix) or the read-only flag (Windows).
    pub permissions: Permissions,
    /// Time of the last change of the content, where the file system has one.
    pub modified: Option<SystemTime>,
    /// Time of the last change of content or attributes (Unix: ctime, in seconds and nanoseconds), which no program can set.
    pub(crate) changed: Option<(i64, i64)>,
    /// Which file this is, where files have numbers.
    pub(crate) inode: Option<Inode>,
    /// Whether the file has several names (hard links), as far as that is known.
    pub(crate) has_other_names: bool,
}

/// A time of the last change, in seconds and nanoseconds since 1970.
pub(crate) type Moment = (i64, u32);

impl Attributes {
    /// The permission bits.
    #[cfg(unix)]
    pub(crate) fn mode(&self) -> u32 {
        std::os::unix::fs::PermissionsExt::mode(&self.permissions) & 0o7777
    }

    /// What comes nearest to permission bits.
    #[cfg(not(unix))]
    pub(crate) fn mode(&self) -> u32 {
        if self.permissions.readonly() { 0o444 } else { 0o644 }
    }

    /// The time that [`Attributes::moment`] gives, as one of this system.
    pub(crate) fn time_of(moment: Moment) -> Option<SystemTime> {
        let (seconds, nanoseconds) = moment;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let time = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
        time?.checked_add(Duration::from_nanos(u64::from(nanoseconds)))
    }

    /// The time of the last change of the content, in seconds and nanoseconds since 1970.
    #[must_use]
    pub fn moment(&self) -> Option<Moment> {
        match self.modified?.duration_since(UNIX_EPOCH) {
            Ok(since) => Some((i64::try_from(since.as_secs()).ok()?, since.subsec_nanos())),
            Err(before) => {
                let before = before.duration();
                let seconds = -i64::try_from(before.as_secs()).ok()?;
                match before.subsec_nanos() {
                    0 => Some((seconds, 0)),
                    nanoseconds => Some((seconds - 1, 1_000_000_000 - nanoseconds)),
                }
            }
        }
    }
}

/// What a file keeps when it is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Inode {
    pub(crate) device: u64,
    pub(crate) number: u64,
}

impl Attributes {
    /// Attributes of an object of a store, which keeps neither permissions nor times: those of any new file, or folder.
    ///
    /// # Errors
    /// [`Error::Io`], on systems that give permissions only with a file.
    pub fn of_object(is_folder: bool) -> Result<Attributes, Error> {
        Attributes::with_mode(if is_folder { 0o755 } else { 0o644 })
    }

    /// Attributes with these permission bits, as far as there are some, and without a time.
    pub(crate) fn with_mode(mode: u32) -> Result<Attributes, Error> {
        #[cfg(unix)]
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        #[cfg(not(unix))]
        let permissions = {
            let _ = mode;
            let found = std::fs::metadata(".").map_err(|error| Error::io("read the attributes", error))?;
            found.permissions()
        };
        Ok(Attributes::new(permissions, None))
    }

    /// Attributes of something that is no file of this system.
    #[must_use]
    pub fn new(permissions: Permissions, modified: Option<SystemTime>) -> Attributes {
        Attributes { permissions, modified, changed: None, inode: None, has_other_names: false }
    }
}

pub(crate) fn attributes(metadata: &Metadata) -> Attributes {
    let (inode, has_other_names) = inode(metadata);
    Attributes {
        permissions: permissions(metadata),
        modified: metadata.modified().ok(),
        changed: changed(metadata),
        inode,
        has_other_names,
    }
}

/// Which file this is, and whether it has several names.
#[cfg(unix)]
fn inode(metadata: &Metadata) -> (Option<Inode>, bool) {
    use std::os::unix::fs::MetadataExt;
    let inode = Inode { device: metadata.dev(), number: metadata.ino() };
    (metadata.is_file().then_some(inode), metadata.is_file() && metadata.nlink() > 1)
}

#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> (Option<Inode>, bool) {
    (None, false)
}

/// See [`Attributes`].
#[cfg(unix)]
pub(crate) fn changed(metadata: &Metadata) -> Option<(i64, i64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(not(unix))]
pub(crate) fn changed(_metadata: &Metadata) -> Option<(i64, i64)> {
    None
}

/// Without the bits that let a program run as somebody else: an output is not the program that these were given to. The
/// sticky bit of a folder stays, which keeps its users from removing each other's files.
#[cfg(unix)]
pub(super) fn kept_mode(mode: u32, is_folder: bool) -> u32 {
    mode & !if is_folder { 0o6000 } else { 0o7000 }
}

#[cfg(unix)]
fn permissions(metadata: &Metadata) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(kept_mode(metadata.permissions().mode(), metadata.is_dir()))
}

#[cfg(not(unix))]
fn permissions(metadata: &Metadata) -> Permissions {
    metadata.permissions()
}
