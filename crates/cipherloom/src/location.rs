//! What a user's SRC or DST means: standard input or output, a path, or an address in an object store; and, like `cp`, which
//! folder and name the outputs get.
//!
//! ```text
//! -                                    standard input or output
//! s3://bucket/prefix  gs://…  az://…   an address in a store; what follows the bucket is the key, nothing in it is escaped
//! file:///folder                       the path /folder
//! books   a:b   a b://c   s3+x://y     paths
//! ftp://host  s3:/bucket  file://a     errors: as paths they would be folders named `ftp:`, `s3:` and `file:`
//! ```
//!
//! A scheme is that of RFC 3986, section 3.1, with letters and digits only: names of folders that look like more are paths.

use crate::tree::Tree;
use crate::{Error, error::LocationFault, pipeline::Job};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf, is_separator};

/// A kind of object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Amazon S3 and what speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage.
    Azure,
}

impl Scheme {
    /// As addresses begin: `s3`, `gs`, `az`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scheme::S3 => "s3",
            Scheme::Gcs => "gs",
            Scheme::Azure => "az",
        }
    }

    fn parse(name: &str) -> Option<Scheme> {
        [Scheme::S3, Scheme::Gcs, Scheme::Azure].into_iter().find(|scheme| scheme.name() == name)
    }
}

/// An address in a store. Whether a store takes the key is for the store to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreAddress {
    /// Which store.
    pub scheme: Scheme,
    /// Bucket or container; not empty.
    pub bucket: String,
    /// What follows the bucket and its slash. Empty or ending in `/`, it names a prefix, never a single object.
    pub key: String,
}

impl StoreAddress {
    /// Whether it can only be a prefix: a whole bucket, or a key that ends in `/`.
    #[must_use]
    pub fn is_prefix(&self) -> bool {
        self.key.is_empty() || self.key.ends_with('/')
    }
}

/// A SRC or DST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// `-`: standard input as a source, standard output as a destination. Front ends without these take it as a path.
    StandardStream,
    /// A file or folder.
    Path(PathBuf),
    /// An object or a prefix.
    Store(StoreAddress),
}

impl Location {
    /// Parses what the user gave. Reads no file and asks no store.
    ///
    /// # Errors
    /// [`Error::Location`] for an address that makes no sense.
    pub fn parse(text: &Path) -> Result<Location, Error> {
        if text == Path::new("-") {
            return Ok(Location::StandardStream);
        }
        let Some((scheme, rest)) = text.to_str().and_then(|text| text.split_once(":/")) else {
            return Ok(Location::Path(text.to_owned()));
        };
        let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let store = Scheme::parse(scheme);
        let fault = match (rest.strip_prefix('/'), store) {
            _ if !is_scheme => return Ok(Location::Path(text.to_owned())),
            (Some(path), None) if scheme == "file" && path.starts_with('/') => {
                return Ok(Location::Path(path.into()));
            }
            (Some(_), None) if scheme == "file" => LocationFault::RelativeFileAddress,
            (Some(rest), Some(scheme)) => match parse_store_address(scheme, rest) {
                Ok(address) => return Ok(Location::Store(address)),
                Err(fault) => fault,
            },
            (None, None) if scheme == "file" => {
                LocationFault::MissingSlash { meant: format!("file:///{rest}") }
            }
            (None, Some(_)) => LocationFault::MissingSlash { meant: format!("{scheme}://{rest}") },
            (None, None) if !matches!(scheme, "http" | "https" | "ftp" | "sftp") => {
                return Ok(Location::Path(text.to_owned()));
            }
            (_, None) => LocationFault::UnknownScheme { scheme: scheme.to_owned() },
        };
        Err(Error::Location(fault).at(text))
    }

    /// Whether it is in a store.
    #[must_use]
    pub fn is_store(&self) -> bool {
        matches!(self, Location::Store(_))
    }

    /// The path, if it is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Location::Path(path) => Some(path),
            Location::StandardStream | Location::Store(_) => None,
        }
    }

    /// As the user can give it: a path, an address or `-`.
    #[must_use]
    pub fn to_path(&self) -> PathBuf {
        match self {
            Location::StandardStream => "-".into(),
            Location::Path(path) => path.clone(),
            Location::Store(StoreAddress { scheme, bucket, key }) => {
                format!("{}://{bucket}/{key}", scheme.name()).into()
            }
        }
    }
}

fn parse_store_address(scheme: Scheme, rest: &str) -> Result<StoreAddress, LocationFault> {
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return Err(LocationFault::NoBucket { scheme: scheme.name() });
    }
    if bucket.contains(['@', '?', '#', ':']) {
        return Err(LocationFault::BucketName);
    }
    let parts = key.strip_prefix('/').unwrap_or(key);
    let parts = parts.strip_suffix('/').unwrap_or(parts);
    if !parts.is_empty() && parts.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(LocationFault::KeyPart);
    }
    Ok(StoreAddress { scheme, bucket: bucket.to_owned(), key: key.to_owned() })
}

/// What a job reads, as far as it decides where outputs go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind<'n> {
    /// One file or object that the user named; its name, unless a selection leaves it out.
    Single(Option<&'n OsStr>),
    /// A folder or prefix: everything below it.
    Folder,
    /// Files and folders that the user named, side by side.
    Several,
    /// Standard input, which has no name.
    StandardInput,
}

impl<'n> From<&'n Tree> for SourceKind<'n> {
    fn from(tree: &'n Tree) -> SourceKind<'n> {
        if tree.is_single_file {
            SourceKind::Single(tree.entries.first().map(|entry| entry.name()))
        } else if tree.is_several {
            SourceKind::Several
        } else {
            SourceKind::Folder
        }
    }
}

/// Where the outputs go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPlace {
    /// The folder or prefix; standard output.
    pub folder: Location,
    /// The name of the only output, if the user decided it.
    pub name: Option<OsString>,
}

/// Where the outputs of `source` go. Like `cp`: a single file goes to the file (or object) that `destination` names, or into
/// the folder if one exists there or it ends in a separator; several sources need an existing folder.
///
/// `job` decides the outputs' names ([`Job::names_output`]) and whether paths are bound to them.
///
/// # Errors
/// [`Error::Location`] if the source cannot go there.
pub fn place_outputs(
    source: SourceKind<'_>,
    destination: &Location,
    job: &Job,
) -> Result<OutputPlace, Error> {
    let refused = |fault| Error::Location(fault).at(&destination.to_path());
    let (folder, name) = match (destination, source) {
        (Location::StandardStream, SourceKind::Folder | SourceKind::Several) => {
            return Err(Error::Location(LocationFault::NotSingle));
        }
        (Location::StandardStream, _) => (Location::StandardStream, None),
        (Location::Store(address), SourceKind::Single(_) | SourceKind::StandardInput) => {
            let (prefix, name) = match address.key.rsplit_once('/') {
                Some((prefix, name)) => (format!("{prefix}/"), name),
                None => (String::new(), address.key.as_str()),
            };
            let folder = Location::Store(StoreAddress { key: prefix, ..address.clone() });
            (folder, (!name.is_empty()).then(|| name.into()))
        }
        (Location::Store(_), _) => (destination.clone(), None),
        (Location::Path(path), _) => {
            let found = fs::metadata(path).ok();
            let is_folder = found.as_ref().is_some_and(fs::Metadata::is_dir);
            if found.is_some_and(|found| !found.is_dir() && !found.is_file()) {
                return Err(refused(LocationFault::SpecialFile));
            }
            match source {
                SourceKind::Several if !is_folder => return Err(refused(LocationFault::MissingFolder)),
                SourceKind::Single(_) | SourceKind::StandardInput
                    if !is_folder && !path.to_string_lossy().ends_with(is_separator) =>
                {
                    let (folder, name) = split(path).map_err(refused)?;
                    (Location::Path(folder.to_owned()), Some(name.to_owned()))
                }
                _ => (destination.clone(), None),
            }
        }
    };
    match (source, &name) {
        (SourceKind::StandardInput, None) if folder != Location::StandardStream => {
            return Err(refused(LocationFault::StreamWithoutName));
        }
        (SourceKind::Single(Some(own)), Some(given)) if job.bind_path => {
            // A path is bound as it is in the tree; under another name the file would never open again.
            let unnamed = Job { single_name: None, ..job.clone() };
            if unnamed.names_output(own).is_some_and(|expected| expected != *given) {
                return Err(refused(LocationFault::RenamesBoundPath));
            }
        }
        _ => {}
    }
    Ok(OutputPlace { folder, name })
}

/// The folder that holds `path`: `.` for a name alone.
#[must_use]
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The folder that holds `path`, as [`parent`] gives it, and the name in it.
///
/// # Errors
/// [`LocationFault::NoName`].
pub fn split(path: &Path) -> Result<(&Path, &OsStr), LocationFault> {
    Ok((parent(path), path.file_name().ok_or(LocationFault::NoName)?))
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
mod tests;
