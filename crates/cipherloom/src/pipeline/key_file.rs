//! New files for secrets: readable by their owner only, on stable storage before anything relies on them.

use super::folders::Target;
use super::job::{Existing, IfExists};
use super::stable::sync_parents;
use crate::Error;
use std::fs::{self, Permissions};
use std::io;
use std::path::Path;

/// Writes a new file that only its owner may read (mode 0600), and forces it and its name to stable storage: what is
/// encrypted with a lost key is lost too. The file gets its name when it is complete. Never replaces anything; if it fails,
/// nothing is left of the file.
///
/// # Errors
/// [`Error::Io`]: "make the key file" (its source says [`std::io::ErrorKind::AlreadyExists`] where the name is taken), "write
/// the key file", or what [`sync_parents`] says.
pub fn write_key_file(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let name = path.file_name().ok_or(Error::NeitherFileNorFolder)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
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
    folder.name(output, name, existing).map_err(|error| in_words("make the key file", error))?;
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
}
