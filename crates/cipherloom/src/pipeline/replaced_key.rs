//! A key file that is changed: the new one replaces the old one by one rename, and the old one is kept under another name.
//! Whatever happens on the way, a whole key file has the name.

use super::key_file::write_key_file;
use super::stable::sync_parents;
use crate::Error;
use crate::key::{SECRET_LIMIT, read_secret};
use crate::tree::temporary_name;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Replaces the key file at `path` with `contents`, which are on stable storage before. The new file has the mode and, as far
/// as the system allows, the owner of the old one, which stays beside it as `NAME.old` (`NAME.old.2` and so on where that is
/// taken). Returns the old file's new path. A file named through a symbolic link is replaced where it is.
///
/// # Errors
/// [`Error::Io`]; then nothing has changed, or the old file has a second name.
pub fn replace_key_file(path: &Path, contents: &[u8]) -> Result<PathBuf, Error> {
    let refused = |error| Error::io("replace the key file", error);
    let path = &fs::canonicalize(path).map_err(refused)?;
    let metadata = fs::metadata(path).map_err(refused)?;
    if !metadata.is_file() {
        return Err(refused(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")));
    }
    let temporary = path.with_file_name(temporary_name()?);
    write_key_file(&temporary, contents)?;
    let replaced = take_attributes(&temporary, &metadata)
        .and_then(|()| keep(path))
        .and_then(|kept| fs::rename(&temporary, path).map(|()| kept))
        .inspect_err(|_| {
            let _ = fs::remove_file(&temporary);
        });
    let kept = replaced.map_err(refused)?;
    sync_parents(path, path.parent().unwrap_or(Path::new(".")))?;
    Ok(kept)
}

/// Gives the old file a second name.
fn keep(path: &Path) -> io::Result<PathBuf> {
    for number in 1_u32.. {
        let mut name = OsString::from(path.file_name().unwrap_or_default());
        name.push(if number == 1 { ".old".to_owned() } else { format!(".old.{number}") });
        let kept = path.with_file_name(name);
        match fs::hard_link(path, &kept) {
            Ok(()) => return Ok(kept),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            // A file system without hard links: a copy.
            Err(_) => match copy(path, &kept) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                copied => return copied.map(|()| kept),
            },
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn copy(path: &Path, kept: &Path) -> io::Result<()> {
    let old = read_secret(path, SECRET_LIMIT)?;
    write_key_file(kept, &old.contents).map_err(|error| match error {
        Error::Io { source, .. } => source,
        other => io::Error::other(other.to_string()),
    })
}

#[cfg(unix)]
fn take_attributes(file: &Path, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    // Only root may give a file away. What was open to another group must not become open to ours.
    let mask = if chown(file, Some(old.uid()), Some(old.gid())).is_ok() { 0o777 } else { 0o700 };
    fs::set_permissions(file, fs::Permissions::from_mode(old.permissions().mode() & mask))
}

#[cfg(not(unix))]
fn take_attributes(_file: &Path, _old: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_file_is_kept_and_nothing_else_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.json");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        write_key_file(&path, b"first").unwrap();
        fs::write(folder.path().join("key.json.old"), "another key").unwrap();
        let kept = replace_key_file(&path, b"second").unwrap();
        assert!(kept.ends_with("key.json.old.2"));
        assert_eq!((read("key.json"), read("key.json.old.2")), ("second".into(), "first".into()));
        assert_eq!(read("key.json.old"), "another key");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        assert!(replace_key_file(&folder.path().join("missing"), b"x").is_err());
        assert!(replace_key_file(folder.path(), b"x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn the_mode_stays_and_a_link_leads_to_the_file_that_is_replaced() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("key.json"), folder.path().join("link"));
        for mode in [0o600, 0o640, 0o400] {
            let _ = fs::remove_file(&path);
            write_key_file(&path, b"first").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let _ = symlink("key.json", &link);
            replace_key_file(&link, b"second").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
            assert_eq!(fs::read(&path).unwrap(), b"second");
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }
    }
}
