//! Files for secrets: readable by their owner only, on stable storage before anything relies on them. A key file that is changed
//! is replaced by one rename, and the old one is kept under another name: whatever happens on the way, a whole key file has
//! the name.

use crate::Error;
use crate::files::{Existing, IfExists, Target, sync_parents};
use crate::key::{SECRET_LIMIT, read_secret};
use crate::location::split;
use crate::tree::temporary_name;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Writes a new file that only its owner may read (mode 0600), and forces it and its name to stable storage: what is
/// encrypted with a lost key is lost too. The file gets its name when it is complete. Never replaces anything; if it fails,
/// nothing is left of the file.
///
/// # Errors
/// [`Error::Io`]: "make the key file" (its source says [`std::io::ErrorKind::AlreadyExists`] where the name is taken), "write
/// the key file", or what [`sync_parents`] says.
pub fn write_key_file(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let (parent, name) = split(path)?;
    let folder = Target::root(parent).map_err(|error| in_words("make the key file", error))?;
    if folder.is_taken(name) {
        return Err(in_words("make the key file", Error::OutputExists));
    }
    let output =
        folder.output(owners_only().as_ref()).map_err(|error| in_words("make the key file", error))?;
    output
        .write(contents, 0)
        .and_then(|()| output.accept_writes())
        .and_then(|()| output.sync())
        .map_err(|error| in_words("write the key file", error))?;
    // Where a name can only be given by replacing, the look just now has to do: keys are needed there too.
    let existing = Existing { if_exists: IfExists::Fail, non_atomic: true };
    folder.name(output, name, existing, &|| Ok(())).map_err(|error| in_words("make the key file", error))?;
    sync_parents(path, parent).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// What is said of outputs, said of the key file.
fn in_words(action: &'static str, error: Error) -> Error {
    match error {
        Error::Io { source, .. } => Error::io(action, source),
        Error::OutputExists => Error::io(action, taken()),
        other => other,
    }
}

/// With the system's number where it has one: Python chooses the exception by it.
fn taken() -> io::Error {
    #[cfg(unix)]
    return rustix::io::Errno::EXIST.into();
    #[cfg(not(unix))]
    io::ErrorKind::AlreadyExists.into()
}

#[cfg(unix)]
fn owners_only() -> Option<Permissions> {
    Some(std::os::unix::fs::PermissionsExt::from_mode(0o600))
}

/// Whoever may read the folder may read its files there.
#[cfg(not(unix))]
fn owners_only() -> Option<Permissions> {
    None
}

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
    fn a_key_file_is_its_owners_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.json");
        write_key_file(&path, b"secret").unwrap();
        let again = write_key_file(&path, b"other");
        assert!(
            matches!(again, Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::AlreadyExists)
        );
        assert_eq!(fs::read(&path).unwrap(), b"secret");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

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
