//! Names on stable storage. That a file's content is there helps nobody after a power cut if its name is not: a name is
//! part of its folder, whose name is part of the next one, up to the first folder that was there before.

use super::folders::{Ending, Target};
use crate::Error;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Makes the folder at `path` and those above it that are missing; returns the first, from `path` upwards, that was there
/// before.
///
/// # Errors
/// The system's refusal.
pub fn make_folders(path: &Path) -> io::Result<PathBuf> {
    let first_existing = first_existing(path);
    fs::create_dir_all(path)?;
    Ok(first_existing)
}

/// The first folder, from `path` upwards, that is there.
pub(crate) fn first_existing(path: &Path) -> PathBuf {
    path.ancestors().map(or_here).find(|folder| folder.is_dir()).unwrap_or(Path::new(".")).to_owned()
}

/// Forces to stable storage that what stands at `path` has its name: the folders above it, up to `first_existing`, which
/// was there before and is the last. Nothing to do if that is `path` itself.
///
/// # Errors
/// [`Error::Io`].
pub fn sync_parents(path: &Path, first_existing: &Path) -> Result<(), Error> {
    let last = or_here(first_existing);
    if path == last {
        return Ok(());
    }
    for folder in path.ancestors().skip(1).map(or_here) {
        sync_path(folder)?;
        if folder == last {
            break;
        }
    }
    Ok(())
}

/// Forces to stable storage the names in these folders below `root` (relative paths; no link is followed on the way), in
/// those between them and `root`, and in those above it up to `first_existing`.
///
/// # Errors
/// [`Error::Io`]; [`Error::LinkInDestination`].
pub fn sync_folders<'f>(
    root: &Path,
    folders: impl IntoIterator<Item = &'f Path>,
    first_existing: &Path,
) -> Result<(), Error> {
    let all: BTreeSet<&Path> = folders.into_iter().flat_map(Path::ancestors).collect();
    let target = Target::root(root)?;
    // Children before their parents, as everywhere.
    for folder in all.into_iter().rev() {
        target.finish(folder, Ending::AsItIs, true)?;
    }
    sync_parents(root, first_existing)
}

/// A relative path's beginning is the folder that the process is in.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

#[cfg(unix)]
fn sync_path(folder: &Path) -> Result<(), Error> {
    sync(&File::open(folder).map_err(refused)?)
}

/// Names are part of the file system's own journal there.
#[cfg(not(unix))]
fn sync_path(_folder: &Path) -> Result<(), Error> {
    Ok(())
}

/// Forces the names in an open folder to stable storage, where the file system knows such a request for folders.
#[cfg(unix)]
pub(super) fn sync(folder: &File) -> Result<(), Error> {
    #[cfg(test)]
    tests::note(folder);
    match folder.sync_all() {
        Err(error) if !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Err(refused(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(unix)]
fn refused(error: io::Error) -> Error {
    Error::io("force a folder to stable storage", error)
}

#[cfg(all(test, unix))]
pub(super) mod tests {
    use super::*;
    use crate::files::IfExists;
    use crate::format::Format;
    use crate::key::{Keyset, Template};
    use crate::machine::{Calibration, Machine};
    use crate::pipeline::{IndexMode, IndexUse, Job, Work, run, translate_to_file, write_key_file};
    use crate::report::Unobserved;
    use crate::tree::{Selection, Tree};
    use std::cell::RefCell;
    use std::num::NonZeroUsize;
    use std::os::unix::fs::MetadataExt;

    thread_local! {
        /// The folders that this thread has forced to stable storage, by inode.
        static SYNCED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn note(folder: &File) {
        SYNCED.with_borrow_mut(|synced| synced.push(folder.metadata().unwrap().ino()));
    }

    /// Fails unless `work` syncs exactly these folders, in any order and however often.
    fn assert_synced(what: &str, work: impl FnOnce(), folders: &[PathBuf]) {
        SYNCED.take();
        work();
        let synced: BTreeSet<u64> = SYNCED.take().into_iter().collect();
        let expected = folders.iter().map(|folder| fs::metadata(folder).unwrap().ino()).collect();
        assert_eq!(synced, expected, "{what}");
    }

    #[test]
    fn every_name_of_a_durable_run_is_on_stable_storage() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join("source/a/b")).unwrap();
        fs::write(top.join("source/a/b/file"), b"1").unwrap();
        let copy = |source: &str, destination: &str, durable, if_exists| {
            let job = Job { durable, if_exists, ..Job::new(Work::Copy, Some(top.join(destination))) };
            let tree = Tree::list(&top.join(source), &Selection::default()).unwrap();
            let plan = job.plan(&tree, &Machine::detect(Calibration::default()), NonZeroUsize::new(1));
            assert_eq!(run(&tree, &plan, &job, &Unobserved).unwrap().failed, 0);
        };
        let at = |paths: &[&str]| paths.iter().map(|path| top.join(path)).collect::<Vec<_>>();
        assert_synced("not durable", || copy("source", "plain", false, IfExists::Fail), &[]);
        let all = ["new/deep/out/a/b", "new/deep/out/a", "new/deep/out", "new/deep", "new", ""];
        assert_synced("all new", || copy("source", "new/deep/out", true, IfExists::Fail), &at(&all));
        for again in [IfExists::Skip, IfExists::Overwrite] {
            assert_synced("again", || copy("source", "new/deep/out", true, again), &at(&all[..3]));
        }
        assert_synced(
            "a single file",
            || copy("source/a/b/file", "one/by/itself", true, IfExists::Fail),
            &at(&["one/by/itself", "one/by", "one", ""]),
        );
    }

    /// The root that lists re-keyed files must not be there without them.
    #[test]
    fn names_of_rekeyed_files_are_on_stable_storage_before_the_index() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, sealed) = (folder.path().join("plain"), folder.path().join("sealed"));
        fs::create_dir_all(plain.join("below")).unwrap();
        fs::write(plain.join("below/file"), b"1").unwrap();
        let keyset = || Keyset::generate(Template::Aes256GcmHkdf4Kb).unwrap();
        let format = || Format::tink(keyset(), cipherloom_kernels::Backend::Soft).unwrap();
        let (from, to) = (format(), format());
        let go = |source: &Path, work: Work, mode| {
            let (index, if_exists) = (Some(IndexUse::new(mode)), IfExists::Overwrite);
            let job = Job { index, if_exists, ..Job::new(work, Some(sealed.clone())) };
            let tree = Tree::list(source, &Selection::default()).unwrap();
            let plan = job.plan(&tree, &Machine::detect(Calibration::default()), NonZeroUsize::new(1));
            assert_eq!(run(&tree, &plan, &job, &Unobserved).unwrap().failed, 0);
        };
        go(&plain, Work::Encrypt(from.clone()), IndexMode::Update);
        SYNCED.take();
        go(&sealed, Work::Rekey { from, to }, IndexMode::Carry);
        let synced = SYNCED.take();
        let first = |path: &str| {
            let inode = fs::metadata(sealed.join(path)).unwrap().ino();
            synced.iter().position(|synced| *synced == inode).unwrap()
        };
        assert!(first("below") < first(".cipherloom/index"), "{synced:?}");
    }

    #[test]
    fn what_stands_alone_has_its_folder_synced() {
        let folder = tempfile::tempdir().unwrap();
        let (path, job) = (folder.path().join("file"), Job::new(Work::Copy, None));
        let stream = |durable| {
            let job = Job { durable, if_exists: IfExists::Overwrite, ..job.clone() };
            translate_to_file(None, &job, &mut &b"stream"[..], &path, &Unobserved).unwrap();
        };
        assert_synced("a stream", || stream(false), &[]);
        assert_synced("a durable stream", || stream(true), &[folder.path().to_owned()]);
        let key = || write_key_file(&folder.path().join("key"), b"secret").unwrap();
        assert_synced("a key file", key, &[folder.path().to_owned()]);
    }

    #[test]
    fn folders_below_a_root_are_synced_up_to_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("made/root"), tempfile::tempdir().unwrap());
        assert_eq!(make_folders(&root).unwrap(), folder.path());
        assert_eq!(make_folders(&root).unwrap(), root);
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(root.join("c")).unwrap();
        let sync = |folders: &[&str]| sync_folders(&root, folders.iter().map(Path::new), folder.path());
        let expected = ["made/root/a/b", "made/root/a", "made/root", "made", ""];
        assert_synced(
            "one of two",
            || sync(&["a/b", ""]).unwrap(),
            &expected.map(|path| folder.path().join(path)),
        );
        std::os::unix::fs::symlink(outside.path(), root.join("link")).unwrap();
        assert!(matches!(sync(&["link"]), Err(Error::LinkInDestination)));
        assert!(matches!(sync(&["missing"]), Err(Error::Io { .. })));
        assert!(matches!(sync_parents(&root.join("missing/file"), folder.path()), Err(Error::Io { .. })));
    }
}
