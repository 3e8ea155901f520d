//! Outputs that the destination's file system would take for one file: many do not tell `File` from `file`. The second of
//! two would replace the first, or be skipped as if it were there.
//!
//! The file system is asked once, by a file of its own. Only where it folds case, the run remembers its outputs' names.

use cipherloom::Error;
use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::fs::{File, remove_file};
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The names that this run's outputs have taken, by what they are without regard to case; `None` where case counts.
#[derive(Debug, Default)]
pub(crate) struct Names(Option<Mutex<HashMap<u64, u64>>>);

impl Names {
    /// For outputs below `root`, a folder that exists. One that takes no file says so of each output.
    ///
    /// # Errors
    /// [`Error::Random`]; [`Error::Io`] if the file that asks stays there.
    pub(crate) fn below(root: &Path) -> Result<Names, Error> {
        let name = format!(".cipherloom-{}-p", crate::run::random()?);
        let probe = root.join(&name);
        if File::create_new(&probe).is_err() {
            return Ok(Names::default());
        }
        let folds_case = root.join(name.to_uppercase()).symlink_metadata().is_ok();
        remove_file(&probe).map_err(|error| Error::io("remove a file from the destination", error))?;
        Ok(Names(folds_case.then(Mutex::default)))
    }

    /// Takes the name of an output at `relative`, which may be taken again for the same one.
    ///
    /// # Errors
    /// [`Error::Location`] if the file system does not tell it from the name of another output.
    pub(crate) fn take(&self, relative: &str) -> Result<(), Error> {
        let Some(taken) = &self.0 else { return Ok(()) };
        let name = hash(relative);
        match taken.lock().unwrap_or_else(PoisonError::into_inner).entry(hash(&relative.to_lowercase())) {
            Entry::Occupied(other) if *other.get() != name => Err(Error::Location {
                reason: "name collides with that of another object on the destination's file system; rename one of them"
                    .to_owned(),
            }),
            Entry::Occupied(_) => Ok(()),
            Entry::Vacant(free) => {
                free.insert(name);
                Ok(())
            }
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_by_case_are_one_where_case_does_not_count() {
        let folding = Names(Some(Mutex::default()));
        for name in ["a/File", "a/file.x", "b/File", "a/File"] {
            folding.take(name).unwrap();
        }
        for name in ["a/file", "A/File", "B/FILE"] {
            assert!(folding.take(name).unwrap_err().to_string().contains("collides with"), "{name}");
        }
    }

    #[test]
    fn the_file_system_is_asked_and_nothing_is_left_of_it() {
        let root = tempfile::tempdir().unwrap();
        let names = Names::below(root.path()).unwrap();
        std::fs::write(root.path().join("case"), b"").unwrap();
        let folds_case = root.path().join("CASE").exists();
        assert_eq!(names.take("a").and(names.take("A")).is_err(), folds_case);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
