//! Outputs that the destination's file system would take for one file: many do not distinguish `File` and `file`. The second of
//! two would replace the first, or be skipped as if it were there.
//!
//! The file system is asked once, by a file of its own. Only where it folds case, the run remembers its outputs' names.

use cipherloom::{Error, internal::engine::lock};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, remove_file};
use std::path::Path;
use std::sync::Mutex;

/// The paths that this run's outputs have taken, by what they are without regard to case; `None` where case counts.
#[derive(Debug, Default)]
pub(crate) struct Names(Option<Mutex<HashMap<String, String>>>);

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
    /// [`Error::NameCollision`] if it is the name of another output to the file system.
    pub(crate) fn take(&self, relative: &str) -> Result<(), Error> {
        let Some(taken) = &self.0 else { return Ok(()) };
        match lock(taken).entry(relative.to_lowercase()) {
            Entry::Occupied(other) if other.get() != relative => {
                Err(Error::NameCollision { other: other.get().clone() })
            }
            Entry::Occupied(_) => Ok(()),
            Entry::Vacant(free) => {
                free.insert(relative.to_owned());
                Ok(())
            }
        }
    }
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
            let refused = folding.take(name).unwrap_err();
            assert!(matches!(refused, Error::NameCollision { .. }), "{name}: {refused}");
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
