//! A job: what to do with a tree and where its outputs go. Said once by the caller, read by every worker.

use super::hidden_names::HiddenNames;
use crate::Error;
use crate::error::IndexFault;
use crate::files::{Existing, IfExists, names_in_turns};
use crate::format::Format;
use crate::index::{FOLDER, IndexPlace, IndexStore, StreamIdentity, is_reserved};
use crate::machine::Machine;
use crate::plan::{CipherCost, Operation, Plan, Request};
use crate::tree::{PassedOver, Selection, Tree};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The formats between which a job translates.
#[derive(Debug, Clone)]
pub enum Work {
    /// Plaintext to this format.
    Encrypt(Format),
    /// This format to plaintext.
    Decrypt(Format),
    /// This format to nothing.
    Verify(Format),
    /// One format to another.
    Rekey {
        /// The format and keys of the source.
        from: Format,
        /// The format and keys of the output.
        to: Format,
    },
    /// The same way without a cipher.
    Copy,
}

impl Work {
    /// The operation, for the planner.
    #[must_use]
    pub fn operation(&self) -> Operation {
        match self {
            Work::Encrypt(_) => Operation::Encrypt,
            Work::Decrypt(_) => Operation::Decrypt,
            Work::Verify(_) => Operation::Verify,
            Work::Rekey { .. } => Operation::Rekey,
            Work::Copy => Operation::Copy,
        }
    }

    /// The format that the source is in, if it is encrypted.
    #[must_use]
    pub fn opening(&self) -> Option<&Format> {
        match self {
            Work::Decrypt(format) | Work::Verify(format) | Work::Rekey { from: format, .. } => Some(format),
            Work::Encrypt(_) | Work::Copy => None,
        }
    }

    /// The format that the output will be in, if it will be encrypted.
    #[must_use]
    pub fn sealing(&self) -> Option<&Format> {
        match self {
            Work::Encrypt(format) | Work::Rekey { to: format, .. } => Some(format),
            Work::Decrypt(_) | Work::Verify(_) | Work::Copy => None,
        }
    }

    /// Refuses to re-key from or to an unauthenticated format: a run that is repeated cannot tell which files it has done, and
    /// would decrypt their new ciphertext with the old key.
    ///
    /// # Errors
    /// [`Error::RekeyUnauthenticated`].
    pub fn check_rekey(&self) -> Result<(), Error> {
        match self {
            Work::Rekey { from, to } if !(from.is_authenticated() && to.is_authenticated()) => {
                Err(Error::RekeyUnauthenticated)
            }
            _ => Ok(()),
        }
    }

    /// Refuses a source with something under the name of an index, where that would end among outputs or get lost.
    ///
    /// # Errors
    /// [`IndexFault::Reserved`], [`IndexFault::NotCarried`].
    pub fn check_reserved(&self, passed_over: PassedOver) -> Result<(), Error> {
        match self {
            _ if passed_over.index == 0 => Ok(()),
            Work::Encrypt(_) | Work::Copy => Err(IndexFault::Reserved { name: FOLDER }.into()),
            Work::Rekey { .. } => Err(IndexFault::NotCarried.into()),
            _ => Ok(()),
        }
    }

    /// What it asks of a planner, whatever the machine.
    pub(super) fn request(&self) -> Request {
        let formats = || [self.opening(), self.sealing()].into_iter().flatten();
        Request {
            operation: self.operation(),
            threads: None,
            cipher: formats().next().map_or(CipherCost::None, CipherCost::of),
            key_iterations: formats().map(Format::key_iterations).sum(),
            largest_segment: formats().map(|format| format.largest_segment() as usize).max().unwrap_or(0),
            names_in_turns: false,
        }
    }
}

/// What to do with symbolic links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Links {
    /// Counted and passed over.
    #[default]
    Skip,
    /// Made again as links with the same target. When decrypting, those fail that could lead out of the output tree: links
    /// are not authenticated, so somebody else may have put them there.
    Copy,
    /// Made again as links with the same target, wherever that leads.
    CopyAll,
}

/// What a job does with the index of the encrypted tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexMode {
    /// Adds what the job encrypts to the destination's index, which is made if there is none.
    Update,
    /// Makes the source's index from its files, without reading more than their beginnings and ends.
    Rebuild {
        /// Whether an index that is there is replaced, even one that no key opens.
        replace: bool,
        /// Whether it is also written if something fails, without that.
        partial: bool,
    },
    /// Encrypts what the destination's index does not list as it is now in the source, and updates the index ([`super::sync`]).
    Sync(SyncOptions),
    /// Compares the source with its index. `quick`: only lengths, headers and ends are read.
    Check {
        /// Whether most of the content is left unread.
        quick: bool,
    },
    /// Compares the source with its index, and has the destination's index list what was re-keyed.
    Carry,
}

/// How an encrypted tree is brought up to date with its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncOptions {
    /// Whether what is gone from the source is removed.
    pub delete: bool,
    /// Whether the content of files is compared, by a keyed digest in the index.
    pub checksum: bool,
    /// Whether nothing is written, and only reported what would be done.
    pub dry_run: bool,
}

/// How a job uses an index.
#[derive(Debug, Clone)]
pub struct IndexUse {
    /// What is done with it.
    pub mode: IndexMode,
    /// The file that remembers the tree's newest generation.
    pub anchor: Option<PathBuf>,
    /// Which files of the index the source's listing was to find.
    pub selection: Selection,
    /// The object store that has the encrypted tree; `None`: it is in a folder.
    pub store: Option<Arc<dyn IndexStore>>,
    /// With [`IndexMode::Carry`]: the object store that has the source.
    pub source_store: Option<Arc<dyn IndexStore>>,
    /// Whether the files of the encrypted tree have names that only the index knows.
    pub hides_names: bool,
    /// Those of the source's files, if the source is such a tree ([`super::reveal`]).
    pub names: HiddenNames,
    /// Whether an authentic file that is not the listed one is decrypted before it is reported: nobody asked for an index.
    pub releases_replaced: bool,
    /// With [`IndexMode::Update`]: lists what the job encrypts in journals alone, behind the root of this SHA-256. Outputs have a mark.
    pub journal: Option<[u8; 32]>,
    /// With [`IndexMode::Check`]: what the index lists, by path, as somebody else has read it. No index is opened then.
    pub expected: Option<Arc<HashMap<PathBuf, StreamIdentity>>>,
}

impl IndexUse {
    /// A use without an anchor, over all files.
    #[must_use]
    pub fn new(mode: IndexMode) -> IndexUse {
        IndexUse {
            mode,
            anchor: None,
            selection: Selection::default(),
            store: None,
            source_store: None,
            hides_names: false,
            names: HiddenNames::default(),
            releases_replaced: false,
            journal: None,
            expected: None,
        }
    }

    /// Where the index of the tree at `root` is.
    pub(super) fn place<'p>(&'p self, root: &'p Path) -> IndexPlace<'p> {
        match &self.store {
            Some(store) => IndexPlace::Store(store),
            None => IndexPlace::Folder(root),
        }
    }
}

/// What to do with a tree, and where its outputs go.
#[derive(Debug, Clone)]
pub struct Job {
    /// The formats.
    pub work: Work,
    /// The folder that the outputs go to; `None` when verifying.
    pub destination: Option<PathBuf>,
    /// The output's name, if the tree is a single file and the user named the output.
    pub single_name: Option<OsString>,
    /// What to do where an output's name is taken.
    pub if_exists: IfExists,
    /// What to do with symbolic links.
    pub links: Links,
    /// Added to names when encrypting, removed when decrypting; empty for none.
    pub suffix: OsString,
    /// Whether each file's relative path (that of its plaintext, `/` between folders) is bound to its ciphertext.
    pub bind_path: bool,
    /// Whether each output is forced to stable storage before it gets its name.
    pub durable: bool,
    /// Whether outputs and folders get exactly their source's permissions. Else the process's umask takes its part, as
    /// from every new file: ciphertexts do not authenticate permissions.
    pub preserve_modes: bool,
    /// Whether an output may get its name in a way that could replace another one that appears in the same moment, where
    /// the file system has no other. Without this such a run fails at its start ([`crate::Error::NamesNotAtomic`]).
    pub non_atomic: bool,
    /// Whether outputs may join files under another key; else [`super::check`] refuses them ([`crate::Error::OtherKey`]).
    pub allow_mixed_keys: bool,
    /// What is done with the encrypted tree's index; `None`: it is left alone.
    pub index: Option<IndexUse>,
}

impl Job {
    /// A job with default settings.
    #[must_use]
    pub fn new(work: Work, destination: Option<PathBuf>) -> Job {
        Job {
            work,
            destination,
            single_name: None,
            if_exists: IfExists::default(),
            links: Links::default(),
            suffix: OsString::new(),
            bind_path: false,
            durable: false,
            preserve_modes: false,
            non_atomic: false,
            allow_mixed_keys: false,
            index: None,
        }
    }

    /// Whether only the beginnings and ends of files are read.
    #[must_use]
    pub fn reads_ends_only(&self) -> bool {
        let mode = self.index.as_ref().map(|index| index.mode);
        matches!(mode, Some(IndexMode::Rebuild { .. } | IndexMode::Check { quick: true }))
    }

    /// How an index is brought up to date with the source, if that is the job.
    #[must_use]
    pub fn sync_options(&self) -> Option<SyncOptions> {
        match self.index.as_ref()?.mode {
            IndexMode::Sync(options) => Some(options),
            _ => None,
        }
    }

    /// Whether folders that were there end as if they had been made by this run, as far as that widens no permission.
    pub(super) fn settles_folders(&self) -> bool {
        self.if_exists == IfExists::Skip || self.sync_options().is_some()
    }

    pub(super) fn existing(&self) -> Existing {
        Existing { if_exists: self.if_exists, non_atomic: self.non_atomic }
    }

    /// Plans this job for `tree` on `machine`; `threads` if somebody decided that already.
    #[must_use]
    pub fn plan(&self, tree: &Tree, machine: &Machine, threads: Option<NonZeroUsize>) -> Plan {
        // What is read at its ends only is one task, however large.
        let most = if self.reads_ends_only() { 4096 } else { u64::MAX };
        let sizes: Vec<u64> = tree.entries.iter().map(|entry| entry.size().min(most)).collect();
        let in_one_folder = self.destination.as_deref().filter(|_| tree.directories.len() <= 2);
        let names_in_turns = in_one_folder.is_some_and(names_in_turns);
        Plan::new(&sizes, machine, &Request { threads, names_in_turns, ..self.work.request() })
    }

    /// The output's name for a source called `name`; `None` if a suffix is missing.
    #[must_use]
    pub fn names_output(&self, name: &OsStr) -> Option<OsString> {
        let mut output = OsString::new();
        self.output_name(name, &mut output).then_some(output)
    }

    /// The plaintext's name of a source called `name`; `None` if a suffix should be removed and is not there.
    #[must_use]
    pub fn plaintext_name<'n>(&self, name: &'n OsStr) -> Option<&'n OsStr> {
        if self.work.opening().is_none() || self.suffix.is_empty() {
            return Some(name);
        }
        let (name, suffix) = (name.as_encoded_bytes(), self.suffix.as_encoded_bytes());
        let stem = name.strip_suffix(suffix).filter(|stem| !matches!(*stem, b"" | b"." | b".."))?;
        front_of_name(stem)
    }

    /// Whether the ciphertext at `path` is called as its plaintext with the suffix behind it.
    pub(super) fn has_plaintext_name(&self, path: &[u8]) -> bool {
        let stem = path.strip_suffix(self.suffix.as_encoded_bytes());
        let name = stem.and_then(|stem| stem.rsplit(|byte| *byte == b'/').next());
        name.is_some_and(|name| !matches!(name, b"" | b"." | b".."))
    }

    /// The plaintext's path of the ciphertext at `path`. A name that has nothing in front of the suffix is its own plaintext's.
    pub(super) fn plaintext_path<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        let stem = path.strip_suffix(self.suffix.as_encoded_bytes());
        stem.filter(|_| self.has_plaintext_name(path)).unwrap_or(path)
    }

    /// Refuses to give an encrypted file or folder the name of an index, under which it would be passed over.
    ///
    /// # Errors
    /// [`IndexFault::Reserved`].
    pub fn check_output_name(&self, name: &OsStr) -> Result<(), Error> {
        let is_refused = self.work.sealing().is_some() && is_reserved(name);
        if is_refused { Err(IndexFault::Reserved { name: FOLDER }.into()) } else { Ok(()) }
    }

    /// The error for a source whose name lacks the suffix.
    pub(super) fn suffix_missing(&self) -> Error {
        Error::SuffixMissing(self.suffix.to_string_lossy().into_owned())
    }

    /// Puts the output's name for a source called `name` into `output`; false if a suffix is missing.
    pub(super) fn output_name(&self, name: &OsStr, output: &mut OsString) -> bool {
        output.clear();
        if let Some(single) = &self.single_name {
            output.push(single);
            return true;
        }
        match self.work {
            Work::Encrypt(_) => {
                output.push(name);
                output.push(&self.suffix);
            }
            Work::Copy | Work::Rekey { .. } => output.push(name),
            Work::Decrypt(_) | Work::Verify(_) => match self.plaintext_name(name) {
                Some(stem) => output.push(stem),
                None => return false,
            },
        }
        true
    }
}

/// The front of a name, as a name again.
#[cfg(unix)]
fn front_of_name(stem: &[u8]) -> Option<&OsStr> {
    Some(std::os::unix::ffi::OsStrExt::from_bytes(stem))
}

/// Where names are not bytes, only those that are text can lose a suffix.
#[cfg(not(unix))]
fn front_of_name(stem: &[u8]) -> Option<&OsStr> {
    std::str::from_utf8(stem).ok().map(OsStr::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Keyset, Template};
    use cipherloom_kernels::Backend;

    #[test]
    fn a_suffix_never_eats_the_whole_name() {
        let format = Format::tink(Keyset::generate(Template::default()).unwrap(), Backend::best()).unwrap();
        let job = |work| Job { suffix: ".enc".into(), ..Job::new(work, None) };
        for opening in [Work::Decrypt(format.clone()), Work::Verify(format.clone())].map(job) {
            for name in [".enc", "..enc", "...enc", "a.txt"] {
                assert_eq!(opening.names_output(OsStr::new(name)), None, "{name}");
            }
            for (name, plaintext) in [("a.txt.enc", "a.txt"), (".enc.enc", ".enc"), ("....enc", "...")] {
                assert_eq!(opening.names_output(OsStr::new(name)), Some(plaintext.into()), "{name}");
            }
        }
        assert_eq!(
            job(Work::Encrypt(format.clone())).names_output(OsStr::new(".enc")),
            Some(".enc.enc".into())
        );
        assert_eq!(job(Work::Copy).names_output(OsStr::new(".enc")), Some(".enc".into()));
    }
}
