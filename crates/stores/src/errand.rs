//! What to do with a listing and where the outputs go: as a job over folders, but shared by tasks that outlive a call.

use crate::inventory::Inventory;
use crate::listing::Object;
use crate::place::Place;
use cipherloom::{Error, Format, IfExists, Job};
use std::ffi::OsStr;
use std::sync::Arc;

/// The formats between which to translate; see [`cipherloom::Work`].
#[derive(Debug, Clone)]
pub enum Work {
    /// Plaintext to this format.
    Encrypt(Arc<Format>),
    /// This format to plaintext.
    Decrypt(Arc<Format>),
    /// This format to nothing.
    Verify(Arc<Format>),
    /// One format to another.
    Rekey {
        /// The format and keys of the source.
        from: Arc<Format>,
        /// The format and keys of the output.
        to: Arc<Format>,
    },
    /// The same way without a cipher.
    Copy,
}

impl Work {
    /// As the library has it.
    #[must_use]
    pub fn borrowed(&self) -> cipherloom::Work<'_> {
        match self {
            Work::Encrypt(format) => cipherloom::Work::Encrypt(format),
            Work::Decrypt(format) => cipherloom::Work::Decrypt(format),
            Work::Verify(format) => cipherloom::Work::Verify(format),
            Work::Rekey { from, to } => cipherloom::Work::Rekey { from, to },
            Work::Copy => cipherloom::Work::Copy,
        }
    }
}

/// How much is done at once.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Objects in flight.
    pub objects: usize,
    /// Threads that run ciphers.
    pub threads: usize,
    /// Bytes of sources and outputs in memory together. One part of an object goes on even if it is larger alone.
    pub memory: usize,
    /// Objects above this many bytes are read and written in parts of about so many; at least 5 MiB, as S3 asks.
    pub part: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Limits { objects: 64, threads, memory: 256 << 20, part: 8 << 20 }
    }
}

/// What to do, and where the outputs go.
#[derive(Debug, Clone)]
pub struct Errand {
    /// The formats.
    pub work: Work,
    /// Where the outputs go; `None` when verifying. The source's own place is allowed when re-keying in a bucket with
    /// [`IfExists::Overwrite`]: each object is replaced only if it is still the one that was read.
    pub destination: Option<Place>,
    /// The output's name, if the source is a single object and the user named the output ([`Place::for_single`]).
    pub single_name: Option<String>,
    /// What to do where an output is there. `Skip` goes on only past what was made from the same source under the same
    /// key; anything else there is a conflict, and fails.
    pub if_exists: IfExists,
    /// Added to names when encrypting, removed when decrypting; empty for none.
    pub suffix: String,
    /// Whether each object's relative path is bound to its ciphertext.
    pub bind_path: bool,
    /// Whether files are forced to stable storage before they get their names; stores answer when they have done so.
    pub durable: bool,
    /// How much at once.
    pub limits: Limits,
}

impl Errand {
    /// An errand with default settings.
    #[must_use]
    pub fn new(work: Work, destination: Option<Place>) -> Errand {
        Errand {
            work,
            destination,
            single_name: None,
            if_exists: IfExists::default(),
            suffix: String::new(),
            bind_path: false,
            durable: false,
            limits: Limits::default(),
        }
    }

    /// The output's path below the destination, for a source with this path.
    pub(crate) fn output_path(&self, relative: &str) -> Result<String, Error> {
        let (folder, name) = split(relative);
        let output = self.job().names_output(OsStr::new(name)).ok_or_else(|| self.suffix_missing())?;
        Ok(format!("{folder}{}", output.to_string_lossy()))
    }

    /// The path to bind: the plaintext's.
    pub(crate) fn bound_path(&self, relative: &str) -> Result<Vec<u8>, Error> {
        if !self.bind_path {
            return Ok(Vec::new());
        }
        let (folder, name) = split(relative);
        let job = self.job();
        let plain = job.plaintext_name(OsStr::new(name)).ok_or_else(|| self.suffix_missing())?;
        Ok([folder.as_bytes(), plain.as_encoded_bytes()].concat())
    }

    /// Whether the output of a single object gets a name that its own does not lead to: with a bound path it would never
    /// open again.
    #[must_use]
    pub fn renames(&self, inventory: &Inventory) -> bool {
        let unnamed = Errand { single_name: None, ..self.clone() };
        let keeps =
            |object: &Object| match (unnamed.output_path(&object.path), self.output_path(&object.path)) {
                (Ok(own), Ok(given)) => own == given,
                _ => true,
            };
        self.single_name.is_some() && !inventory.single().is_none_or(keeps)
    }

    /// The rules are those of jobs over folders.
    pub(crate) fn job(&self) -> Job<'_> {
        Job {
            single_name: self.single_name.as_ref().map(Into::into),
            if_exists: self.if_exists,
            suffix: self.suffix.clone().into(),
            bind_path: self.bind_path,
            ..Job::new(self.work.borrowed(), None)
        }
    }

    fn suffix_missing(&self) -> Error {
        Error::SuffixMissing { suffix: self.suffix.clone() }
    }
}

/// Folders with their `/`, and the name.
fn split(relative: &str) -> (&str, &str) {
    relative.split_at(relative.rfind('/').map_or(0, |slash| slash + 1))
}
