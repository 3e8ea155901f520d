//! Finds outputs that the destination's file system takes for one file: many file systems do not tell `File` from `file`, or
//! the two ways to write `é` in Unicode. The second of two such outputs would silently replace the first, or be skipped as if
//! it were there.
//!
//! Only the file system knows its rules, so it is asked: two names collide if both lead to one file that has one name. Some
//! file systems in user space number their files by name, so where a name is found in another case than it is listed in, names
//! that differ by case collide too. All this happens when a name is found taken; a run into an empty destination pays one bit
//! per entry and nothing else.

use super::job::Job;
use crate::Error;
use crate::files::{Identity, Target};
use crate::tree::{ByFolder, Tree};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

/// The tree's entries as far as their outputs' names are in use.
pub(super) struct Collisions {
    /// One bit per entry: this run has given its output a name, is about to, or has found it there.
    used: Bits,
    /// One bit per entry: of those, it has the name or has found it there. The others may yet fail.
    settled: Bits,
    /// Looked at when a name is taken.
    by_folder: OnceLock<ByFolder>,
    /// What was learnt about folders in which a name was taken.
    folders: Mutex<HashMap<u32, Known>>,
    /// How many entries wait for another one to be settled, and what wakes them.
    waiting: AtomicUsize,
    settlement: Condvar,
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
        Collisions {
            used: Bits::new(entries),
            settled: Bits::new(entries),
            by_folder: OnceLock::new(),
            folders: Mutex::default(),
            waiting: AtomicUsize::new(0),
            settlement: Condvar::new(),
        }
    }

    /// The entry's output is about to get its name, until [`BeingNamed::settle`] says whether it has.
    pub(super) fn use_name(&self, index: u32) -> BeingNamed<'_> {
        self.used.set(index);
        BeingNamed { collisions: self, index, is_named: false }
    }

    /// Whether the entry's output has got the name that was about to be used.
    fn settle(&self, index: u32, is_named: bool) {
        if is_named {
            self.settled.set(index);
        } else if !self.settled.has(index) {
            self.used.unset(index);
        }
        // Whoever begins to wait looks once more after it has counted itself.
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::Relaxed) > 0 {
            let _folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            self.settlement.notify_all();
        }
    }

    /// Fails if the output of this entry, whose name is taken in `folder`, is that of another entry too, and that one came
    /// first. Of two that come at once, the first in the tree is first. Else the name counts as used by this entry.
    pub(super) fn check(&self, tree: &Tree, job: &Job, index: u32, folder: &Target) -> Result<(), Error> {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if self.check_now(&mut folders, tree, job, index, folder)? {
            return Ok(());
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let checked = loop {
            match self.check_now(&mut folders, tree, job, index, folder) {
                Ok(false) => {
                    folders = self.settlement.wait(folders).unwrap_or_else(PoisonError::into_inner);
                }
                Ok(true) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        checked
    }

    /// False if a later entry is just being named, which fails if it finds the name taken as well.
    fn check_now(
        &self,
        folders: &mut HashMap<u32, Known>,
        tree: &Tree,
        job: &Job,
        index: u32,
        folder: &Target,
    ) -> Result<bool, Error> {
        let directory = tree.entries.get(index).directory();
        let siblings = self.by_folder.get_or_init(|| tree.entries.by_folder()).of(directory);
        let known =
            folders.entry(directory).or_insert_with(|| Known::of(tree, job, index, folder, siblings.clone()));
        if !known.is_exact {
            if !known.first.contains_key(&index) {
                known.look(tree, job, siblings, folder);
            }
            let group = known.first.get(&index).and_then(|first| known.groups.get(first));
            let others = || group.into_iter().flatten().filter(|other| **other != index);
            let is_first =
                |other: &&u32| self.used.has(**other) && (**other < index || self.settled.has(**other));
            if let Some(other) = others().find(is_first) {
                let other = tree.entries.get(*other).name().to_string_lossy().into_owned();
                return Err(Error::NameCollision { other });
            }
            if others().any(|other| self.used.has(*other)) {
                return Ok(false);
            }
        }
        self.settled.set(index);
        self.used.set(index);
        Ok(true)
    }
}

/// An output that is just being named. Dropped before it is settled (a panic), it counts as not named.
pub(super) struct BeingNamed<'c> {
    collisions: &'c Collisions,
    index: u32,
    is_named: bool,
}

impl BeingNamed<'_> {
    /// Whether the output has got its name.
    pub(super) fn settle(mut self, is_named: bool) {
        self.is_named = is_named;
    }
}

impl Drop for BeingNamed<'_> {
    fn drop(&mut self) {
        self.collisions.settle(self.index, self.is_named);
    }
}

/// One bit per entry. Entries that follow each other are in one word, and words that follow each other far apart: threads that end
/// batches of entries at the same time do not write to the same cache line.
struct Bits(Vec<AtomicU64>);

impl Bits {
    /// How many words follow each other before one is beside the first.
    const APART: usize = 64;

    fn new(entries: usize) -> Bits {
        let words = entries.div_ceil(64).next_multiple_of(Bits::APART);
        Bits((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    fn word(&self, index: u32) -> &AtomicU64 {
        let number = index as usize / 64;
        let together = self.0.len() / Bits::APART;
        &self.0[number % Bits::APART * together + number / Bits::APART]
    }

    fn set(&self, index: u32) {
        self.word(index).fetch_or(1 << (index % 64), Ordering::AcqRel);
    }

    fn unset(&self, index: u32) {
        self.word(index).fetch_and(!(1 << (index % 64)), Ordering::AcqRel);
    }

    fn has(&self, index: u32) -> bool {
        self.word(index).load(Ordering::Acquire) & (1 << (index % 64)) != 0
    }
}

impl Known {
    /// One look tells most folders: names of ASCII only differ by case at most, and this one in another case is not there.
    fn of(
        tree: &Tree,
        job: &Job,
        index: u32,
        folder: &Target,
        mut siblings: impl Iterator<Item = u32>,
    ) -> Known {
        let Some(name) = job.names_output(tree.entries.get(index).name()) else {
            return Known::default();
        };
        let Some(other_case) = other_case(&name) else { return Known::default() };
        let found = folder.identity(&other_case);
        // Two files, if both are listed.
        let folds_case = found.is_some()
            && (found == folder.identity(&name) || !(folder.lists(&other_case) && folder.lists(&name)));
        let is_ascii = |index| tree.entries.get(index).name().is_ascii();
        let is_exact = !folds_case && siblings.all(is_ascii);
        Known { is_exact, folds_case, ..Known::default() }
    }

    /// Looks at all outputs in the folder that have not been seen.
    fn look(&mut self, tree: &Tree, job: &Job, siblings: impl Iterator<Item = u32>, folder: &Target) {
        let mut seen: HashMap<Identity, u32> = HashMap::new();
        let mut name = OsString::new();
        for index in siblings {
            let entry = tree.entries.get(index);
            if self.first.contains_key(&index) || !job.output_name(entry.name(), &mut name) {
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

/// The name in lower case, or in upper case if it is in lower; `None` if it has no letters that differ.
fn other_case(name: &OsStr) -> Option<OsString> {
    let name = name.to_str()?;
    let mut cases = [name.to_lowercase(), name.to_uppercase()].into_iter();
    cases.find(|other| other != name).map(OsString::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_a_bit_of_its_own() {
        const ENTRIES: u32 = 3 * 64 * 64 + 5;
        let bits = Bits::new(ENTRIES as usize);
        for index in 0..ENTRIES {
            assert!(!bits.has(index), "{index}");
            bits.set(index);
        }
        bits.unset(64);
        assert!((0..ENTRIES).all(|index| bits.has(index) == (index != 64)));
        let place = |index| std::ptr::from_ref(bits.word(index)).addr();
        assert!(place(0).abs_diff(place(64)) >= 3 * 8);
    }
    use crate::pipeline::job::Work;
    use crate::tree::Selection;

    /// As on a file system that takes both names for that of one old file.
    #[test]
    fn of_two_that_find_an_old_file_at_once_the_later_one_fails() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["one", "two"] {
            std::fs::write(folder.path().join(name), b"").unwrap();
        }
        let tree = Tree::list(folder.path(), &Selection::default()).unwrap();
        let job = Job::new(Work::Copy, None);
        let target = || Target::root(folder.path()).unwrap();
        let one_file = || {
            let collisions = Collisions::new(2);
            let known = Known {
                first: HashMap::from([(0, 0), (1, 0)]),
                groups: HashMap::from([(0, vec![0, 1])]),
                ..Known::default()
            };
            collisions.folders.lock().unwrap().insert(0, known);
            collisions
        };
        let collisions = one_file();
        let [first, later] = [0, 1].map(|index| collisions.use_name(index));
        let checked = |index, naming: BeingNamed<'_>| {
            let checked = collisions.check(&tree, &job, index, &target());
            naming.settle(checked.is_ok());
            checked
        };
        std::thread::scope(|scope| {
            let first = scope.spawn(|| checked(0, first));
            let later = checked(1, later);
            assert!(matches!(later, Err(Error::NameCollision { .. })), "{later:?}");
            assert!(first.join().unwrap().is_ok());
        });
        // One that has the name keeps it, whichever it is.
        let collisions = one_file();
        let [_first, later] = [0, 1].map(|index| collisions.use_name(index));
        later.settle(true);
        assert!(collisions.check(&tree, &job, 0, &target()).is_err());
    }
}
