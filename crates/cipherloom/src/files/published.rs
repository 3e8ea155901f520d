//! The outputs of one run that gives names itself ([`Draft`]), so that none of them takes another's place where the file
//! system does not tell `Book` from `book`. How that is found out: see `collisions.rs`.

use super::draft::{Draft, divide};
use super::folders::{Identity, Target};
use crate::Error;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The outputs that a run has published, or has found there and counts as its own.
#[derive(Debug, Default)]
pub struct Published(Mutex<Outputs>);

#[derive(Debug, Default)]
struct Outputs {
    by_identity: HashMap<Identity, PathBuf>,
    /// By path in lower case: some file systems number files by name.
    by_case: HashMap<String, PathBuf>,
}

impl Published {
    /// Gives a complete draft its name, as [`Draft::publish`] does, but never that of another output of this run.
    ///
    /// # Errors
    /// [`Error::NameCollision`]; as [`Draft::publish`].
    pub fn publish(&self, draft: Draft) -> Result<(), Error> {
        draft.output.accept_writes()?;
        let Draft { output, root, below, name, if_exists } = draft;
        let folder = Target::root(&root)?.below(&below)?;
        let relative = below.join(&name);
        // One at a time: no two see the same name free.
        let mut outputs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outputs.check(&folder, &root, &relative, &name)?;
        folder.name(output, &name, if_exists.into(), &|| Ok(()))?;
        outputs.note(&folder, &root, &relative, &name);
        Ok(())
    }

    /// Fails if `relative` below `root` names an output of this run that bears another name.
    ///
    /// # Errors
    /// [`Error::NameCollision`].
    pub fn check(&self, root: &Path, relative: &Path) -> Result<(), Error> {
        let Some((folder, name)) = open(root, relative) else { return Ok(()) };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).check(&folder, root, relative, name)
    }

    /// Whether an output of an earlier run stands there ([`Draft::is_there`]). It counts as this run's from now on.
    ///
    /// # Errors
    /// As [`Published::check`].
    pub fn finds(&self, root: &Path, relative: &Path) -> Result<bool, Error> {
        let Some((folder, name)) = open(root, relative) else { return Ok(false) };
        let mut outputs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outputs.check(&folder, root, relative, name)?;
        let is_there = folder.has_output(name);
        if is_there {
            outputs.note(&folder, root, relative, name);
        }
        Ok(is_there)
    }
}

impl Outputs {
    fn check(&self, folder: &Target, root: &Path, relative: &Path, name: &OsStr) -> Result<(), Error> {
        let Some(identity) = folder.identity(name) else { return Ok(()) };
        let path = root.join(relative);
        let is_other = |other: &&PathBuf| **other != path;
        let by_identity = self.by_identity.get(&identity).filter(is_other);
        let by_case = || {
            let other = self.by_case.get(&lower_case(&path)).filter(is_other);
            // Two files, if both are listed.
            other.filter(|other| {
                let is_listed = |other| is_spelled_so(root, other);
                !is_listed(relative) || other.strip_prefix(root).is_ok_and(|other| !is_listed(other))
            })
        };
        match by_identity.or_else(by_case) {
            Some(other) => {
                let other = other.strip_prefix(root).unwrap_or(other).to_string_lossy().into_owned();
                Err(Error::NameCollision { other })
            }
            None => Ok(()),
        }
    }

    fn note(&mut self, folder: &Target, root: &Path, relative: &Path, name: &OsStr) {
        let path = root.join(relative);
        // A file with several names is found under each of them: these are no collision.
        if let Some(identity) = folder.identity(name).filter(|identity| identity.is_only_name) {
            self.by_identity.insert(identity, path.clone());
        }
        self.by_case.entry(lower_case(&path)).or_insert(path);
    }
}

fn open<'r>(root: &Path, relative: &'r Path) -> Option<(Target, &'r OsStr)> {
    let (below, name) = divide(relative).ok()?;
    Some((Target::root(root).ok()?.below(below).ok()?, name))
}

fn lower_case(path: &Path) -> String {
    path.to_string_lossy().to_lowercase()
}

/// Whether every part of the path is listed with this very name.
fn is_spelled_so(root: &Path, relative: &Path) -> bool {
    let Ok(root) = Target::root(root) else { return false };
    relative.ancestors().filter(|part| !part.as_os_str().is_empty()).all(|part| {
        divide(part).is_ok_and(|(below, name)| root.below(below).is_ok_and(|folder| folder.lists(name)))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::IfExists;
    use std::fs;

    /// A renamed output stands for what a file system that folds case shows under a second name.
    #[test]
    fn an_output_never_takes_the_place_of_another_of_the_same_run() {
        let folder = tempfile::tempdir().unwrap();
        let (root, published) = (folder.path(), Published::default());
        let publish = |name: &str, if_exists| {
            let draft = Draft::begin_below(root, Path::new(name), if_exists).unwrap();
            draft.write_at(name.as_bytes(), 0).unwrap();
            published.publish(draft)
        };
        let is_collision = |result| matches!(result, Err(Error::NameCollision { other }) if other == "Book");
        fs::write(root.join("old"), b"").unwrap();
        assert!(published.finds(root, Path::new("old")).unwrap());
        assert!(!published.finds(root, Path::new("new")).unwrap());
        published.check(root, Path::new("away/new")).unwrap();
        publish("Book", IfExists::Overwrite).unwrap();
        publish("book", IfExists::Overwrite).unwrap();
        assert_eq!(fs::read(root.join("book")).unwrap(), b"book", "names that are told apart");
        // By identity: another name of the file itself.
        fs::rename(root.join("Book"), root.join("BOOK")).unwrap();
        for if_exists in [IfExists::Overwrite, IfExists::Skip, IfExists::Fail] {
            assert!(is_collision(publish("BOOK", if_exists)), "{if_exists:?}");
        }
        assert!(is_collision(published.check(root, Path::new("BOOK"))));
        assert!(is_collision(published.finds(root, Path::new("BOOK")).map(drop)));
        assert_eq!(fs::read(root.join("BOOK")).unwrap(), b"Book");
        // By case: another file, as file systems that number files by name tell it.
        publish("Case", IfExists::Fail).unwrap();
        fs::copy(root.join("Case"), root.join("case")).unwrap();
        published.check(root, Path::new("case")).unwrap();
        fs::remove_file(root.join("Case")).unwrap();
        assert!(published.check(root, Path::new("case")).is_err());
    }
}
