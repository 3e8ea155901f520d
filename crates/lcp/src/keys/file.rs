//! The key file: one JSON record a line, readable by its owner only, appended to and never rewritten.
//!
//! An append that a crash cut short leaves a last line without its end. It belongs to a publication that never got its
//! name: reading ignores it, and the next append removes it. Only what begins like a record and ends before one could
//! is taken for such a line. A file that holds anything else is somebody's, named by mistake, and is never written to.
//! Appends hold a lock on the file, so that several runs may share one.
//!
//! ```text
//! {"id":"…","title":"…",…}⏎   a record
//! {"id":"…","title":"…",…}⏎
//! {"id":"…","ti                a torn append: no end of line, no end of the object
//! ```

use super::KeyRecord;
use crate::Error;
use cipherloom::key::read_secret;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// How every record begins.
const BEGIN: &[u8] = b"{\"id\":\"";

/// The most bytes of a key file that are read: the records of some millions of books.
const MOST_BYTES: usize = 2 << 30;

/// A key file that is appended to. It is made at the first append.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    file: Option<File>,
}

impl KeyFile {
    /// Opens the key file at `path`. If it is there, all of it is read: what is no key file is refused as it is; one
    /// that others may read or write gets mode 0600. If it is not there, the first append makes it, with that mode.
    ///
    /// # Errors
    /// [`Error::KeyFile`] if there is something else at `path`, [`Error::Io`] also if the folder it would be made in is
    /// not there.
    pub fn open(path: &Path) -> Result<KeyFile, Error> {
        KeyFile::open_with(path, |_| {})
    }

    /// As [`KeyFile::open`]; `each` gets the records that are there, in their order.
    ///
    /// ```
    /// use cipherloom_lcp::KeyFile;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("keys.json");
    /// # let key = "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=";
    /// # let file = |size| format!(r#"{{"name":"flatland.epub","size":{size}}}"#);
    /// # let begin = r#"{"id":"0d2f","title":"Flatland","media_type":"application/epub+zip""#;
    /// # let (source, protected) = (file(10), file(20));
    /// # let files = format!(r#""source":{source},"protected":{protected},"fingerprint":"ab""#);
    /// # std::fs::write(&path, format!("{begin},\"content_key\":\"{key}\",{files}}}\n"))?;
    /// let mut titles = Vec::new();
    /// let keys = KeyFile::open_with(&path, |record| titles.push(record.title))?;
    /// assert_eq!(titles, ["Flatland"]);
    /// # drop(keys);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`KeyFile::open`].
    pub fn open_with(path: &Path, each: impl FnMut(KeyRecord)) -> Result<KeyFile, Error> {
        let mut keys = KeyFile { path: path.to_owned(), file: None };
        match open_private(path, false) {
            Ok(file) => {
                keys.file = Some(checked(file, each)?);
                // Another run may just have made it: a name that exists may not be on stable storage yet.
                keys.sync_name()?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                std::fs::read_dir(folder.unwrap_or(Path::new(".")))
                    .map_err(refused("open the folder of the key file"))?;
            }
            Err(error) => return Err(refused("open the key file")(error)),
        }
        Ok(keys)
    }

    /// Appends records; when this returns they are on stable storage.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::KeyFile`] if what others wrote since is no record. The records may not be there then.
    pub fn append<'r>(&mut self, records: impl IntoIterator<Item = &'r KeyRecord>) -> Result<(), Error> {
        let mut lines = Zeroizing::new(Vec::new());
        for record in records {
            append_line(&mut lines, record).map_err(|error| refused("write the key file")(error.into()))?;
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => {
                // Another run may have made it in the meantime.
                let file = open_private(&self.path, true).map_err(refused("make the key file"))?;
                let file = checked(file, |_| {})?;
                self.sync_name()?;
                file
            }
        };
        file.lock().map_err(refused("lock the key file"))?;
        let written = write(&mut file, &lines);
        let unlocked = file.unlock().map_err(refused("unlock the key file"));
        self.file = Some(file);
        written.and(unlocked)
    }

    /// The records of the key file at `path`, in its order.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::KeyFile`] if a line is no record.
    pub fn read(path: &Path) -> Result<Vec<KeyRecord>, Error> {
        let file = read_secret(path, MOST_BYTES).map_err(refused("read the key file"))?;
        let mut records = Vec::new();
        for_each_record(&file.contents, |record| records.push(record))?;
        Ok(records)
    }

    fn sync_name(&self) -> Result<(), Error> {
        Ok(cipherloom::internal::sync_parents(&self.path, self.path.parent().unwrap_or(Path::new(".")))?)
    }
}

/// Appends a record's line. A vector that grows by itself would free content keys unwiped.
fn append_line(lines: &mut Zeroizing<Vec<u8>>, record: &KeyRecord) -> serde_json::Result<()> {
    let mut length = Length(0);
    serde_json::to_writer(&mut length, record)?;
    let needed = lines.len() + length.0 + 1;
    if needed > lines.capacity() {
        let mut larger = Zeroizing::new(Vec::with_capacity(needed.max(2 * lines.capacity())));
        larger.extend_from_slice(lines);
        *lines = larger;
    }
    serde_json::to_writer(&mut **lines, record)?;
    lines.push(b'\n');
    Ok(())
}

/// Counts what is written to it.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens a file that secrets are appended to. If `make` is set, one that is not there is made, for its owner only.
///
/// # Errors
/// Those of the operating system.
pub fn open_private(path: &Path, make: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(make);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Takes group's and others' permissions from an open file, before secrets are written to it. A pipe or a terminal keeps its
/// own.
///
/// # Errors
/// Those of the operating system.
#[cfg(unix)]
pub fn make_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Other systems have no such permissions.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn make_private(_file: &File) -> io::Result<()> {
    Ok(())
}

/// The file, if it is a key file; nobody but its owner may read it then.
fn checked(file: File, each: impl FnMut(KeyRecord)) -> Result<File, Error> {
    let metadata = file.metadata().map_err(refused("look at the key file"))?;
    if !metadata.is_file() {
        return Err(Error::KeyFile { line: 1, problem: "cannot be, as this is no regular file" });
    }
    file.lock_shared().map_err(refused("lock the key file"))?;
    let looked = contents(&file, metadata.len())
        .map_err(refused("read the key file"))
        .and_then(|contents| for_each_record(&contents, each));
    file.unlock().map_err(refused("unlock the key file"))?;
    looked?;
    make_private(&file).map_err(refused("keep others from reading the key file (mode 0600)"))?;
    Ok(file)
}

/// Appends whole lines behind the last whole record.
fn write(file: &mut File, lines: &[u8]) -> Result<(), Error> {
    let len = file.seek(SeekFrom::End(0)).map_err(refused("write the key file"))?;
    let end = end_of_last_line(file, len).map_err(refused("read the key file"))?;
    let mut tail = Zeroizing::new(vec![0; len.saturating_sub(end).min(MOST_BYTES as u64) as usize]);
    file.seek(SeekFrom::Start(end))
        .and_then(|_| file.read_exact(&mut tail))
        .map_err(refused("read the key file"))?;
    let write = |file: &mut File| -> io::Result<bool> {
        match Tail::of(&tail) {
            Some(Tail::Torn) => file.set_len(end)?,
            Some(Tail::Record(_)) => file.write_all(b"\n")?,
            Some(Tail::Nothing) => {}
            None => return Ok(false),
        }
        file.write_all(lines)?;
        file.sync_data()?;
        Ok(true)
    };
    match write(file).map_err(refused("write the key file"))? {
        true => Ok(()),
        false => Err(Error::KeyFile { line: 1, problem: "or a later one has no end and is none" }),
    }
}

/// Where the last line that has an end has it.
fn end_of_last_line(file: &mut File, len: u64) -> io::Result<u64> {
    let mut end = len;
    let mut piece = Zeroizing::new([0; 4096]);
    while end > 0 {
        let count = end.min(4096) as usize;
        file.seek(SeekFrom::Start(end - count as u64))?;
        file.read_exact(&mut piece[..count])?;
        if let Some(place) = piece[..count].iter().rposition(|&byte| byte == b'\n') {
            return Ok(end - count as u64 + place as u64 + 1);
        }
        end -= count as u64;
    }
    Ok(0)
}

/// What follows the last end of a line.
enum Tail {
    Nothing,
    /// A record that only lacks the end of its line.
    Record(Box<KeyRecord>),
    /// A record cut short.
    Torn,
}

impl Tail {
    /// `None`: nothing that an append of ours leaves.
    fn of(bytes: &[u8]) -> Option<Tail> {
        if bytes.is_empty() {
            return Some(Tail::Nothing);
        }
        let common = bytes.len().min(BEGIN.len());
        if bytes[..common] != BEGIN[..common] {
            return None;
        }
        match serde_json::from_slice(bytes) {
            Ok(record) => Some(Tail::Record(Box::new(record))),
            Err(error) if error.is_eof() || is_cut_in_character(bytes) => Some(Tail::Torn),
            Err(_) => None,
        }
    }
}

/// Whether the text ends within a character.
fn is_cut_in_character(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// An open file's contents, in a buffer of that size: a vector that grows would free content keys unwiped.
fn contents(mut file: &File, len: u64) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut contents = Zeroizing::new(vec![0; len.min(MOST_BYTES as u64) as usize]);
    file.read_exact(&mut contents)?;
    Ok(contents)
}

/// Looks at a key file record by record.
fn for_each_record(contents: &[u8], mut each: impl FnMut(KeyRecord)) -> Result<(), Error> {
    for (index, line) in contents.split_inclusive(|&byte| byte == b'\n').enumerate() {
        // What the parser would say could quote a key.
        let other = || Error::KeyFile { line: index + 1, problem: "is not such a record" };
        if line.trim_ascii().is_empty() {
            continue;
        }
        if line.ends_with(b"\n") {
            each(serde_json::from_slice(line).map_err(|_| other())?);
            continue;
        }
        match Tail::of(line).ok_or_else(other)? {
            Tail::Record(record) => each(*record),
            Tail::Nothing | Tail::Torn => {}
        }
    }
    Ok(())
}

fn refused(action: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::io(action, error)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
