//! Finds outputs that the destination's file system takes for one file: many file systems do not tell `File` from `file`, or
//! the two ways to write `é` in Unicode. The second of two such outputs would silently replace the first, or be skipped as if
//! it were there.
//!
//! Only the file system knows its rules, so it is asked: two names collide if both lead to one file that has one name. Some
//! file systems in user space number their files by name, so where a name is found in another case than it is listed in, names
//! that differ by case collide too. All this happens when a name is found taken; a run into an empty destination pays one bit
//! per entry and nothing else.

use super::folders::{Identity, Target};
use super::job::Job;
use crate::Error;
use crate::error::RunFault;
use crate::tree::Tree;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The tree's entries as far as their outputs' names are in use.
pub(super) struct Collisions {
    /// One bit per entry: this run has given its output a name, is about to, or has found it there.
    used: Vec<AtomicU64>,
    /// What was learnt about folders in which a name was taken.
    folders: Mutex<HashMap<u32, Known>>,
}

/// What is known about the names in one folder.
#[derive(Default)]
struct Known {
    /// Whether the folder tells all of the tree's names apart.
    is_exact: bool,
    /// Whether it certainly does not tell upper case from lower.
    folds_case: bool,
    /// By name in lower case, where case is folded: the first entry.
    lower: HashMap<String, u32>,
    /// For each entry whose output was there: the first entry that has the same output.
    first: HashMap<u32, u32>,
    /// All entries that have the same output as the first, if there are any others.
    groups: HashMap<u32, Vec<u32>>,
}

impl Collisions {
    pub(super) fn new(entries: usize) -> Collisions {
        let used = (0..entries.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Collisions { used, folders: Mutex::default() }
    }

    /// The entry's output is about to get its name.
    pub(super) fn use_name(&self, index: u32) {
        self.used[index as usize / 64].fetch_or(1 << (index % 64), Ordering::AcqRel);
    }

    fn is_used(&self, index: u32) -> bool {
        self.used[index as usize / 64].load(Ordering::Acquire) & (1 << (index % 64)) != 0
    }

    /// Fails if the output of this entry, whose name is taken in `folder`, is that of another entry too, and that one came
    /// first. Else the name counts as used by this entry.
    pub(super) fn check(&self, tree: &Tree, job: &Job<'_>, index: u32, folder: &Target) -> Result<(), Error> {
        let directory = tree.entries[index as usize].directory;
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let known = folders.entry(directory).or_insert_with(|| Known::of(tree, job, index, folder));
        if !known.is_exact {
            if !known.first.contains_key(&index) {
                known.look(tree, job, directory, folder);
            }
            let group = known.first.get(&index).and_then(|first| known.groups.get(first));
            let is_first = |other: &&u32| **other != index && self.is_used(**other);
            if let Some(other) = group.and_then(|group| group.iter().find(is_first)) {
                let other = tree.entries[*other as usize].name.to_string_lossy().into_owned();
                return Err(Error::Run(RunFault::NameCollision { other }));
            }
        }
        self.use_name(index);
        Ok(())
    }
}

impl Known {
    /// One look tells most folders: names of ASCII only differ by case at most, and this one in another case is not there.
    fn of(tree: &Tree, job: &Job<'_>, index: u32, folder: &Target) -> Known {
        let Some(name) = job.names_output(&tree.entries[index as usize].name) else {
            return Known::default();
        };
        let Some(other_case) = other_case(&name) else { return Known::default() };
        let found = folder.identity(&other_case);
        // Two files, if both are listed.
        let folds_case = found.is_some()
            && (found == folder.identity(&name) || !(folder.lists(&other_case) && folder.lists(&name)));
        let range = siblings(tree, tree.entries[index as usize].directory);
        let is_exact = !folds_case && tree.entries[range].iter().all(|entry| entry.name.is_ascii());
        Known { is_exact, folds_case, ..Known::default() }
    }

    /// Looks at all outputs in the folder that have not been seen.
    fn look(&mut self, tree: &Tree, job: &Job<'_>, directory: u32, folder: &Target) {
        let mut seen: HashMap<Identity, u32> = HashMap::new();
        let mut name = OsString::new();
        for index in siblings(tree, directory) {
            let entry = &tree.entries[index];
            let index = index as u32;
            if self.first.contains_key(&index) || !job.output_name(&entry.name, &mut name) {
                continue;
            }
            let Some(identity) = folder.identity(&name) else { continue };
            let by_case = self.folds_case.then(|| name.to_string_lossy().to_lowercase());
            let by_case = by_case.map(|lower| *self.lower.entry(lower).or_insert(index));
            // A file with several names is found under each of them: these are no collision.
            let by_identity = identity.is_only_name.then(|| *seen.entry(identity).or_insert(index));
            if let Some(first) = by_case.filter(|first| *first != index).or(by_identity).or(by_case) {
                self.first.insert(index, first);
                if first != index {
                    self.groups.entry(first).or_insert_with(|| vec![first]).push(index);
                }
            }
        }
    }
}

/// The entries of a folder, which stand together in a listing.
fn siblings(tree: &Tree, directory: u32) -> Range<usize> {
    let start = tree.entries.partition_point(|entry| entry.directory < directory);
    let len = tree.entries[start..].iter().take_while(|entry| entry.directory == directory).count();
    start..start + len
}

/// The name in lower case, or in upper case if it is in lower; `None` if it has no letters that differ.
fn other_case(name: &OsStr) -> Option<OsString> {
    let name = name.to_str()?;
    let mut cases = [name.to_lowercase(), name.to_uppercase()].into_iter();
    cases.find(|other| other != name).map(OsString::from)
}
