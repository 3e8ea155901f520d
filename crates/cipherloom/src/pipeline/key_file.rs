//! New files for secrets: readable by their owner only, on stable storage before anything relies on them.

use super::stable::sync_parents;
use crate::Error;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Writes a new file that only its owner may read (mode 0600), and forces it and its name to stable storage: what is
/// encrypted with a lost key is lost too. Never replaces anything; if it fails, nothing is left of the file.
///
/// # Errors
/// [`Error::Io`]: "make the key file" (its source says [`std::io::ErrorKind::AlreadyExists`] where the name is taken), "write
/// the key file", or what [`sync_parents`] says.
pub fn write_key_file(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|error| Error::io("make the key file", error))?;
    let written = file.write_all(contents).and_then(|()| file.sync_all());
    written
        .map_err(|error| Error::io("write the key file", error))
        .and_then(|()| sync_parents(path, path.parent().unwrap_or(Path::new("."))))
        .inspect_err(|_| {
            let _ = fs::remove_file(path);
        })
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
