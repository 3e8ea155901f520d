//! The key file: one JSON record a line, readable by its owner only, appended to and never rewritten.
//!
//! An append that a crash cut short leaves a last line without its end. It belongs to a publication that never got its
//! name: reading ignores it, and the next append removes it. Appends hold a lock on the file, so that several runs may
//! share one.

use super::KeyRecord;
use crate::Error;
use cipherloom::key::read_secret;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use zeroize::Zeroizing;

/// The most bytes of a key file that are read: the records of some millions of books.
const MOST_BYTES: usize = 2 << 30;

/// A key file that is appended to.
#[derive(Debug)]
pub struct KeyFile {
    file: File,
}

impl KeyFile {
    /// Opens the key file at `path`, made with mode 0600 if it is not there; its name is then on stable storage.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<KeyFile, Error> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(refused("open the key file"))?;
        // Whoever made it may still be on the way to say so: a name that is there may not be on stable storage.
        cipherloom::sync_parents(path, path.parent().unwrap_or(Path::new(".")))?;
        Ok(KeyFile { file })
    }

    /// Appends records; when this returns they are on stable storage.
    ///
    /// # Errors
    /// [`Error::Io`]; the records may not be there then.
    pub fn append<'r>(&mut self, records: impl IntoIterator<Item = &'r KeyRecord>) -> Result<(), Error> {
        let mut lines = Zeroizing::new(Vec::new());
        for record in records {
            append_line(&mut lines, record).map_err(|error| refused("write the key file")(error.into()))?;
        }
        self.file.lock().map_err(refused("lock the key file"))?;
        let written = self.write(&lines);
        let unlocked = self.file.unlock();
        written.and(unlocked).map_err(refused("write the key file"))
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let len = self.file.seek(SeekFrom::End(0))?;
        let whole = self.end_of_last_line(len)?;
        if whole < len {
            self.file.set_len(whole)?;
        }
        self.file.write_all(lines)?;
        self.file.sync_data()
    }

    fn end_of_last_line(&mut self, len: u64) -> io::Result<u64> {
        let mut end = len;
        let mut piece = Zeroizing::new([0; 4096]);
        while end > 0 {
            let count = end.min(4096) as usize;
            self.file.seek(SeekFrom::Start(end - count as u64))?;
            self.file.read_exact(&mut piece[..count])?;
            if let Some(place) = piece[..count].iter().rposition(|&byte| byte == b'\n') {
                return Ok(end - count as u64 + place as u64 + 1);
            }
            end -= count as u64;
        }
        Ok(0)
    }

    /// The records of the key file at `path`, in its order.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::KeyFile`] if a line is no record.
    pub fn read(path: &Path) -> Result<Vec<KeyRecord>, Error> {
        let file = read_secret(path, MOST_BYTES).map_err(refused("read the key file"))?;
        parse(&file.contents)
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

/// The records in a key file's content.
fn parse(content: &[u8]) -> Result<Vec<KeyRecord>, Error> {
    let whole = content.iter().rposition(|&byte| byte == b'\n').map_or(0, |place| place + 1);
    let mut records = Vec::new();
    for (index, line) in content[..whole].split(|&byte| byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        // What the parser would say could quote a key.
        let record = serde_json::from_slice(line)
            .map_err(|_| Error::KeyFile { line: index + 1, problem: "is not such a record" })?;
        records.push(record);
    }
    if records.is_empty() && !content[whole..].trim_ascii().is_empty() {
        return Err(Error::KeyFile { line: 1, problem: "is not such a record" });
    }
    Ok(records)
}

fn refused(action: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::io(action, error)
}

#[cfg(test)]
mod tests {
    use super::super::{ContentKey, FileFacts};
    use super::*;

    fn record(id: &str) -> KeyRecord {
        let facts = FileFacts { name: "a.epub".into(), size: 7, sha256: None };
        KeyRecord {
            id: id.into(),
            title: "A".into(),
            media_type: "application/epub+zip".into(),
            content_key: ContentKey::generate().unwrap(),
            source: facts.clone(),
            protected: facts,
            fingerprint: "00".into(),
        }
    }

    #[test]
    fn records_come_back_and_a_torn_line_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let records = [record("1"), record("2"), record("3")];
        KeyFile::open(&path).unwrap().append(&records[..2]).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&b"{\"id\": \"torn".repeat(1000)).unwrap();
        assert_eq!(KeyFile::read(&path).unwrap(), records[..2]);
        KeyFile::open(&path).unwrap().append(&records[2..]).unwrap();
        assert_eq!(KeyFile::read(&path).unwrap(), records);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn lines_are_written_into_room_that_was_made_before() {
        let mut lines = Zeroizing::new(Vec::new());
        let mut expected = Vec::new();
        for index in 0..100 {
            let record = record(&"9".repeat(index));
            append_line(&mut lines, &record).unwrap();
            expected.extend(serde_json::to_vec(&record).unwrap());
            expected.push(b'\n');
            assert!(*lines == expected, "{index}");
        }
        let mut length = Length(0);
        serde_json::to_writer(&mut length, &record("1")).unwrap();
        let mut lines = Zeroizing::new(Vec::with_capacity(length.0 + 1));
        let place = lines.as_ptr();
        append_line(&mut lines, &record("1")).unwrap();
        assert_eq!(lines.as_ptr(), place, "what fits is not moved");
    }

    #[test]
    fn another_file_is_refused_without_being_quoted() {
        for bad in ["secret-key\n", "{\"content_key\": \"secret-key\"}\n", "[]", "{}\n"] {
            let message = parse(bad.as_bytes()).unwrap_err().to_string();
            assert!(message.contains("line 1") && !message.contains("secret"), "{bad}: {message}");
        }
        assert!(parse(b"").unwrap().is_empty());
    }
}
