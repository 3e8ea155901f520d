//! A source file: read by position, from many threads, and noticed when it changes.

use crate::Error;
use cipherloom::internal::{open_file, open_file_below, read_up_to};
use rawzip::ReaderAt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// A file that is read.
#[derive(Debug)]
pub struct Source {
    file: File,
    /// Bytes that are read; the file may have more.
    len: u64,
    file_len: u64,
    modified: Option<SystemTime>,
}

impl Source {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be opened, [`Error::NotAPublication`] if it is none (a folder, a device).
    pub fn open(path: &Path) -> Result<Source, Error> {
        match open_file(path) {
            Err(cipherloom::Error::Location(cipherloom::error::LocationFault::NoName)) => {
                Err(Error::NotAPublication { problem: "this is not a file" })
            }
            opened => Source::of(opened.map_err(refused)?),
        }
    }

    /// Opens the file at `relative` below the folder `root`, no link followed below it.
    ///
    /// # Errors
    /// As [`Source::open`]; [`cipherloom::Error::SourceChanged`] for a link.
    pub(crate) fn open_below(root: &Path, relative: &Path) -> Result<Source, Error> {
        Source::of(open_file_below(root, relative).map_err(refused)?)
    }

    /// A file that is open already.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn of(file: File) -> Result<Source, Error> {
        let metadata = file.metadata().map_err(|error| Error::io("read the attributes", error))?;
        if !metadata.is_file() {
            return Err(Error::NotAPublication { problem: "this is not a file" });
        }
        let len = metadata.len();
        Ok(Source { file, len, file_len: len, modified: metadata.modified().ok() })
    }

    /// The same file as if it ended after `len` bytes.
    pub(crate) fn cut_to(self, len: u64) -> Source {
        Source { len: len.min(self.file_len), ..self }
    }

    /// The length in bytes when it was opened.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// [`Error::ZipDamaged`] if the file ends before, [`Error::SourceChanged`] if it did not when it was opened,
    /// [`Error::Io`] if it cannot be read.
    pub(crate) fn read_exact(&self, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
        let count = read_up_to(&self.file, buffer, offset);
        let is_whole = count.map_err(|error| Error::io("read the publication", error))? == buffer.len();
        match offset + buffer.len() as u64 <= self.len {
            _ if is_whole => Ok(()),
            true => Err(Error::SourceChanged),
            false => Err(Error::damaged("it ends before what its directory promises")),
        }
    }

    /// Fails if the file was written to since it was opened.
    ///
    /// # Errors
    /// [`Error::SourceChanged`]; [`Error::Io`] if its attributes cannot be read.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        let metadata = self.file.metadata().map_err(|error| Error::io("read the attributes", error))?;
        let is_same = metadata.len() == self.file_len && metadata.modified().ok() == self.modified;
        if is_same { Ok(()) } else { Err(Error::SourceChanged) }
    }

    pub(super) fn begins_like_a_zip(&self) -> bool {
        let mut first = [0; 4];
        self.read_exact(&mut first, 0).is_ok() && first == *b"PK\x03\x04"
    }
}

fn refused(error: cipherloom::Error) -> Error {
    match error {
        cipherloom::Error::Io { source, .. } => Error::io("open the publication", source),
        other => other.into(),
    }
}

impl ReaderAt for &Source {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        read_up_to(&self.file, buffer, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_shrinks_has_changed_and_one_that_promises_more_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("book.pdf");
        std::fs::write(&path, [7; 100]).unwrap();
        let source = Source::open(&path).unwrap();
        let read = |offset| source.read_exact(&mut [0; 60], offset);
        read(40).unwrap();
        assert!(matches!(read(41), Err(Error::ZipDamaged { .. })));
        File::options().write(true).open(&path).unwrap().set_len(50).unwrap();
        assert!(matches!(read(40), Err(Error::SourceChanged)));
    }
}
