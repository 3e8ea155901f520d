//! Reading a file that holds a secret, so that no copy of it stays behind: a vector that grows by itself frees what it
//! held unwiped, as `std::fs::read` does with a pipe (`--key <(pass …)`). And not without end: `--key /dev/zero`.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// The most bytes that a file of keys, identities or a passphrase may have; far more than any needs.
pub const SECRET_LIMIT: usize = 1 << 20;

/// Room for what comes from a pipe, at first.
const FIRST_ROOM: usize = 16 << 10;

/// What a secret file held.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(scratch.path()).unwrap();
/// use cipherloom::key::{Passphrase, RawKey, SECRET_LIMIT, SecretFile, read_secret};
/// use std::path::Path;
///
/// std::fs::write("passphrase", "correct horse battery staple\n").unwrap();
/// let SecretFile { contents, is_open_to_others } = read_secret(Path::new("passphrase"), SECRET_LIMIT).unwrap();
/// if is_open_to_others {
///     eprintln!("passphrase: others may read it");
/// }
/// assert_eq!(Passphrase::from_file(&contents)?.text()?, "correct horse battery staple");
/// assert!(RawKey::from_bytes(&contents).is_err(), "a key has 16, 24 or 32 bytes");
/// # Ok::<(), cipherloom::Error>(())
/// ```
pub struct SecretFile {
    /// Its bytes, wiped when dropped.
    pub contents: Zeroizing<Vec<u8>>,
    /// True if its permissions let others than its owner read or write it (Unix).
    pub is_open_to_others: bool,
}

/// Reads the file (or pipe) at `path`, of `limit` bytes at most. The contents are held once, and what was read on the way
/// there is wiped.
///
/// # Errors
/// The system's reason; [`ErrorKind::FileTooLarge`] with words of our own beyond the limit.
pub fn read_secret(path: &Path, limit: usize) -> io::Result<SecretFile> {
    let mut file = File::open(path)?;
    // Of the open file: another could have taken its name since.
    let metadata = file.metadata()?;
    let contents = read_to_end(&mut file, room(&metadata), limit)?;
    Ok(SecretFile { contents, is_open_to_others: is_open_to_others(&metadata) })
}

/// A file's length and the byte by which its end is seen; of a pipe nobody knows it.
fn room(metadata: &Metadata) -> usize {
    if metadata.is_file() { usize::try_from(metadata.len()).unwrap_or(usize::MAX) } else { FIRST_ROOM }
}

fn read_to_end(source: &mut dyn Read, room: usize, limit: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut contents = Zeroizing::new(vec![0; room.min(limit) + 1]);
    let mut filled = 0;
    loop {
        match source.read(&mut contents[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if filled > limit {
            let words = format!("it has more than {limit} bytes, which no such file needs");
            return Err(io::Error::new(ErrorKind::FileTooLarge, words));
        }
        if filled == contents.len() {
            // The old vector is wiped when the larger one takes its place.
            let mut larger = Zeroizing::new(vec![0; (2 * filled).min(limit) + 1]);
            larger[..filled].copy_from_slice(&contents);
            contents = larger;
        }
    }
    contents.truncate(filled);
    Ok(contents)
}

#[cfg(unix)]
fn is_open_to_others(metadata: &Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_metadata: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one to seven bytes at a time, as a pipe may.
    struct Trickle<'b>(&'b [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(buffer.len()).min(1 + self.0.len() % 7);
            let (now, later) = self.0.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    #[test]
    fn all_is_read_whatever_the_room_and_nothing_beyond_the_limit() {
        let secret: Vec<u8> = (0..5000).map(|index| (index % 251) as u8).collect();
        for room in [0, 1, 100, 4999, 5000, 5001, FIRST_ROOM, usize::MAX] {
            for limit in [5000, 5001, 1 << 20] {
                let read = read_to_end(&mut Trickle(&secret), room, limit).unwrap();
                assert_eq!(*read, secret, "{room} {limit}");
            }
            let refused = read_to_end(&mut Trickle(&secret), room, 4999).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
            let endless = read_to_end(&mut io::repeat(0), room, 1 << 16).unwrap_err();
            assert!(endless.to_string().contains("more than 65536 bytes"), "{endless}");
        }
        assert!(read_to_end(&mut io::empty(), 0, 0).unwrap().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn the_permissions_are_those_of_the_file_that_was_read() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"secret").unwrap();
        for (mode, is_open) in [(0o600, false), (0o640, true), (0o602, true)] {
            file.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
            let read = read_secret(file.path(), SECRET_LIMIT).unwrap();
            assert_eq!((&**read.contents, read.is_open_to_others), (&b"secret"[..], is_open), "{mode:o}");
        }
        assert_eq!(
            read_secret(file.path(), 5).err().map(|error| error.kind()),
            Some(ErrorKind::FileTooLarge)
        );
    }
}
