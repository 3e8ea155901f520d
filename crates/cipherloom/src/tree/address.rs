//! What is the address of a place in an object store, and what a path: one rule for all who take either, with stores or
//! without.
//!
//! ```text
//! s3://bucket/prefix                  address: scheme `s3`, rest `bucket/prefix`
//! ftp://host                          address, of no store that is known
//! file:///folder                      the path /folder
//! books   a:b   a b://c   s3+x://y    paths
//! ```
//!
//! A scheme is that of RFC 3986, section 3.1, with letters and digits alone: names of folders that look like more are paths.

use std::fs;
use std::path::{Path, PathBuf};

/// The scheme and what follows `://`; `None` for a path.
#[must_use]
pub fn split(place: &Path) -> Option<(&str, &str)> {
    let (scheme, rest) = place.to_str()?.split_once("://")?;
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_scheme.then_some((scheme, rest))
}

/// Whether this is the address of a place in a store, known or not. `file://…` is none.
#[must_use]
pub fn is_address(place: &Path) -> bool {
    split(place).is_some_and(|(scheme, _)| scheme != "file")
}

/// `file:///folder` as `/folder`; all else as it is.
#[must_use]
pub fn without_scheme(place: &Path) -> &Path {
    match split(place) {
        Some(("file", folder)) if folder.starts_with('/') => Path::new(folder),
        _ => place,
    }
}

/// The absolute path without links, of a path whose last parts may not exist yet.
#[must_use]
pub fn resolve(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(ancestor), absolute.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    absolute
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        for address in ["s3://bucket/a", "gs://bucket", "ftp://host"] {
            assert!(is_address(Path::new(address)), "{address}");
            assert_eq!(without_scheme(Path::new(address)), Path::new(address));
        }
        for path in ["books", "file:///books", "a:b", "a b://c", "://", "/s3:/x", "é3://x", "s3+x://y"] {
            assert!(!is_address(Path::new(path)), "{path}");
        }
        assert_eq!(split(Path::new("az://box/a b/")), Some(("az", "box/a b/")));
    }

    #[test]
    fn folders_lose_their_scheme() {
        assert_eq!(without_scheme(Path::new("file:///a b")), Path::new("/a b"));
        for path in ["file://host/a", "file:/a", "a/file:///b"] {
            assert_eq!(without_scheme(Path::new(path)), Path::new(path));
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_text_is_a_path() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(OsStr::from_bytes(b"s3://\xff"));
        assert!(!is_address(path) && without_scheme(path) == path);
    }
}
