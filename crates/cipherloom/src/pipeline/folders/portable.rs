//! Folders by path, with the standard library and `tempfile` only: outputs are written under a temporary name in
//! their final folder and renamed.

use super::TEMPORARY_PREFIX;
use crate::Error;
use crate::pipeline::job::IfExists;
use crate::pipeline::output::Output;
use std::path::Path;
use tempfile::NamedTempFile;

/// A folder of the source and its twin of the output.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(in crate::pipeline) struct Folder {
    source: std::path::PathBuf,
    target: Option<std::path::PathBuf>,
}

#[cfg(not(target_os = "linux"))]
impl Folder {
    pub(super) fn open(
        source: std::path::PathBuf,
        target: Option<std::path::PathBuf>,
    ) -> Result<Folder, Error> {
        Ok(Folder { source, target })
    }

    pub(in crate::pipeline) fn input(
        &self,
        name: &std::ffi::OsStr,
        follow: bool,
    ) -> Result<std::fs::File, Error> {
        let path = self.source.join(name);
        let refused = |error| Error::io("open the file", error);
        if !follow && std::fs::symlink_metadata(&path).map_err(refused)?.is_symlink() {
            return Err(Error::SourceChanged);
        }
        std::fs::File::open(path).map_err(refused)
    }

    pub(in crate::pipeline) fn has_output(&self, name: &std::ffi::OsStr) -> bool {
        self.target().join(name).symlink_metadata().is_ok_and(|found| found.is_file())
    }

    pub(in crate::pipeline) fn output(
        &self,
        _permissions: Option<&std::fs::Permissions>,
    ) -> Result<Output, Error> {
        temporary(self.target())
    }

    pub(in crate::pipeline) fn name(
        &self,
        output: Output,
        name: &std::ffi::OsStr,
        if_exists: IfExists,
    ) -> Result<(), Error> {
        let Output::Named(file) = output else { unreachable!("only Linux makes unnamed files") };
        rename(file, &self.target().join(name), if_exists)
    }

    fn target(&self) -> &Path {
        self.target.as_deref().expect("a job that writes has a destination")
    }
}

/// A file under a temporary name in `folder`.
pub(super) fn temporary(folder: &Path) -> Result<Output, Error> {
    let file = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(folder);
    file.map(Output::Named).map_err(|error| Error::io("create the output", error))
}

/// Gives a temporary file its final path.
pub(super) fn rename(file: NamedTempFile, path: &Path, if_exists: IfExists) -> Result<(), Error> {
    let renamed = match if_exists {
        IfExists::Overwrite => file.persist(path),
        IfExists::Fail | IfExists::Skip => file.persist_noclobber(path),
    };
    match renamed {
        Ok(_) => Ok(()),
        Err(refused) if refused.error.kind() == std::io::ErrorKind::AlreadyExists => Err(Error::OutputExists),
        Err(refused) => Err(Error::io("give the output its name", refused.error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once_and_a_dropped_file_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("final");
        for (if_exists, content, refused) in [
            (IfExists::Fail, "first", false),
            (IfExists::Fail, "second", true),
            (IfExists::Overwrite, "third", false),
        ] {
            let Output::Named(file) = temporary(folder.path()).unwrap() else { panic!("named") };
            std::fs::write(file.path(), content).unwrap();
            assert_eq!(rename(file, &path, if_exists).is_err(), refused, "{content}");
        }
        drop(temporary(folder.path()).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "third");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }
}
