//! Addresses of places in object stores: `s3://bucket/prefix`, `gs://`, `az://container/prefix`, and `file:///folder`.
//!
//! What follows the bucket is the key as the store has it: nothing in it is escaped, `%20` is three characters.

use cipherloom::{Error, address};
use object_store::path::Path as Key;
use std::path::{Path, PathBuf};

/// Which kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Gcs,
    Azure,
}

impl Scheme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scheme::S3 => "s3",
            Scheme::Gcs => "gs",
            Scheme::Azure => "az",
        }
    }
}

/// An address, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    Folder(PathBuf),
    Bucket {
        scheme: Scheme,
        bucket: String,
        key: Key,
        /// Whether it ends in `/`, and so names no single object.
        is_prefix: bool,
    },
}

impl Location {
    pub(crate) fn parse(path: &Path) -> Result<Location, Error> {
        let Some((scheme, rest)) = address::split(path) else { return Ok(Location::Folder(path.to_owned())) };
        let refuse = |reason: String| Err(Error::Location { reason });
        let scheme = match scheme {
            "file" if rest.starts_with('/') => return Ok(Location::Folder(rest.into())),
            "file" => return refuse(format!("file://{rest}: give the whole path, as in file:///folder")),
            "s3" => Scheme::S3,
            "gs" => Scheme::Gcs,
            "az" => Scheme::Azure,
            other => {
                return refuse(format!(
                    "the scheme {other}:// is not known; known are s3://bucket/prefix, gs://bucket/prefix, \
                     az://container/prefix and file:///folder"
                ));
            }
        };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let name = scheme.name();
        if bucket.is_empty() {
            return refuse(format!("{name}://{rest} names no bucket; write {name}://BUCKET/PREFIX"));
        }
        if bucket.contains(['@', '?', '#', ':']) {
            return refuse(format!(
                "{bucket:?} is no bucket's name; the account, endpoint and credentials come from the environment"
            ));
        }
        let Ok(parsed) = Key::parse(key) else {
            return refuse(format!(
                "{name}://{rest}: a prefix has no empty part, `.` or `..` between its slashes"
            ));
        };
        Ok(Location::Bucket {
            scheme,
            bucket: bucket.to_owned(),
            key: parsed,
            is_prefix: key.is_empty() || key.ends_with('/'),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Location, Error> {
        Location::parse(Path::new(text))
    }

    #[test]
    fn addresses_and_paths() {
        assert_eq!(parse("books/in").unwrap(), Location::Folder("books/in".into()));
        assert_eq!(parse("file:///a b").unwrap(), Location::Folder("/a b".into()));
        assert_eq!(parse("a:b").unwrap(), Location::Folder("a:b".into()));
        let Location::Bucket { scheme, bucket, key, is_prefix } = parse("az://box/a b/%20/").unwrap() else {
            panic!("a bucket")
        };
        assert_eq!(
            (scheme, bucket.as_str(), key.as_ref(), is_prefix),
            (Scheme::Azure, "box", "a b/%20", true)
        );
    }

    #[test]
    fn bad_addresses_say_what_to_write() {
        for (text, words) in [
            ("ftp://host/x", "ftp:// is not known"),
            ("s3://", "names no bucket"),
            ("s3:///key", "names no bucket"),
            ("file://host/x", "file:///folder"),
            ("s3://key:secret@bucket/x", "come from the environment"),
            ("s3://bucket/a/../b", "`..`"),
            ("s3://bucket/a//b", "no empty part"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains(words) && error.is_usage(), "{text}: {error}");
        }
    }
}
