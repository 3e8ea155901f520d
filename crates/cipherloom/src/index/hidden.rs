//! Hidden names: where the files of a tree are whose names only its index knows.
//!
//! ```text
//! DST/ab/cdef…   a file: 2 and 30 hexadecimal digits of its name, which has 128 bits
//! ```
//!
//! A name is the HMAC of the tree's identifier, the generation that first lists the file, and the plaintext's path. Nobody without
//! the key can tell it from a random one. A run that is repeated after a kill comes to the same generation, and so to the same
//! names: it finds the files that were written before.

use super::reader::Index;
use crate::Error;
use crate::format::{Format, KeyedHasher};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The name of an encrypted file that says nothing about its plaintext.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HiddenName(pub(super) [u8; 16]);

/// The names that files get in one generation.
pub(crate) struct NewNames(KeyedHasher);

impl NewNames {
    /// Those of the generation behind this one.
    ///
    /// # Errors
    /// [`Error::NoKey`] for a format without a keyset.
    pub(crate) fn behind(before: &Index, format: &Format) -> Result<NewNames, Error> {
        let mut hasher = format.name_hasher()?;
        hasher.update(&before.root().tree);
        hasher.update(&(before.root().generation + 1).to_be_bytes());
        Ok(NewNames(hasher))
    }

    /// That of a plaintext's path.
    pub(crate) fn draw(&self, path: &[u8]) -> HiddenName {
        let mut hasher = self.0.clone();
        hasher.update(path);
        HiddenName(hasher.finish())
    }
}

impl HiddenName {
    /// The number of the folder that it is in, which is also the folder's name: two hexadecimal digits.
    pub(crate) fn folder(self) -> u8 {
        self.0[0]
    }

    /// The file's name in that folder.
    pub(crate) fn file_name(self) -> OsString {
        super::sealed::hex(&self.0[1..]).into()
    }

    /// The file's path in the encrypted tree.
    pub(crate) fn path(self) -> PathBuf {
        folder_path(self.folder()).join(self.file_name())
    }

    /// The name that a path in an encrypted tree is made of, if it is.
    pub(crate) fn of_path(path: &Path) -> Option<HiddenName> {
        let (folder, name) = (path.parent()?.to_str()?, path.file_name()?.to_str()?);
        let digits = [folder, name].concat();
        let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if folder.len() != 2 || digits.len() != 32 || !digits.bytes().all(is_digit) {
            return None;
        }
        u128::from_str_radix(&digits, 16).ok().map(|number| HiddenName(number.to_be_bytes()))
    }
}

/// Whether a path in an encrypted tree is that of a folder with hidden names.
pub(crate) fn is_hidden_folder(path: &[u8]) -> bool {
    path.len() == 2 && path.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// Where files are whose names begin with this byte.
pub(crate) fn folder_path(folder: u8) -> PathBuf {
    format!("{folder:02x}").into()
}
