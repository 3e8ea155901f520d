//! What holds whichever way folders are opened: by handle, by handle on a file system that knows no unnamed files, by
//! path.

use super::{Ending, MadeFolder, Opened};
use crate::Error;
use crate::files::existing::{Existing, IfExists};
use crate::tree::Attributes;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};
use tempfile::{TempDir, tempdir};

/// The same tests over one way's `Source` and `Target`; `$prepare` takes a root before it is used.
macro_rules! hold_for {
    ($test:ident, $way:ident, $prepare:expr) => {
        mod $test {
            use super::super::$way::{Source, Target};
            use super::*;

            fn target(path: &Path) -> Target {
                ($prepare)(Target::root(path).unwrap())
            }

            fn write(target: &Target, name: &str, content: &[u8], if_exists: IfExists) -> Result<(), Error> {
                let output = target.output(Some(&Permissions::from_mode(0o640)))?;
                output.file().write_all(content).unwrap();
                let mode = output.file().metadata().unwrap().mode() & 0o777;
                assert_eq!(mode & !0o640, 0, "not even for a moment more open");
                assert_eq!(mode & 0o600, 0o600, "nor less than asked for, under a usual umask");
                target.name(output, OsStr::new(name), Existing { if_exists, non_atomic: true }, &|| Ok(()))
            }

            #[test]
            fn what_cannot_be_looked_at_is_not_missing() {
                let folder = tempdir().unwrap();
                let target = target(folder.path());
                assert!(target.look(OsStr::new("missing")).unwrap().is_none());
                assert!(target.look(OsStr::new(&"x".repeat(300))).is_err());
                symlink("missing", folder.path().join("link")).unwrap();
                assert!(target.look(OsStr::new("link")).unwrap().unwrap().is_link);
            }

            #[test]
            fn outputs_appear_whole_or_not_at_all() {
                let folder = tempdir().unwrap();
                let (target, path) = (target(folder.path()), folder.path().join("final"));
                target.check_naming(Existing { if_exists: IfExists::Fail, non_atomic: true }).unwrap();
                target.may_name(IfExists::Overwrite.into()).unwrap();
                fs::write(folder.path().join("final"), b"").unwrap();
                target.remove_leftovers(Path::new(""));
                fs::remove_file(&path).unwrap();
                write(&target, "final", b"first", IfExists::Fail).unwrap();
                for if_exists in [IfExists::Fail, IfExists::Skip] {
                    assert!(matches!(
                        write(&target, "final", b"second", if_exists),
                        Err(Error::OutputExists)
                    ));
                }
                assert_eq!(fs::read(&path).unwrap(), b"first");
                write(&target, "final", b"third", IfExists::Overwrite).unwrap();
                assert_eq!(fs::read(&path).unwrap(), b"third");
                write(&target, "other", b"", IfExists::Overwrite).unwrap();
                drop(target.output(Some(&Permissions::from_mode(0o400))).unwrap());
                assert_eq!(names(&folder), ["final", "other"]);
            }

            #[test]
            fn only_a_file_is_an_output_of_an_earlier_run() {
                let folder = tempdir().unwrap();
                let target = target(folder.path());
                fs::create_dir(folder.path().join("folder")).unwrap();
                symlink("nowhere", folder.path().join("link")).unwrap();
                fs::write(folder.path().join("file"), b"").unwrap();
                let seen = |name| (target.is_taken(OsStr::new(name)), target.has_output(OsStr::new(name)));
                assert_eq!(["folder", "link"].map(seen), [(true, false); 2]);
                assert_eq!(["file", "missing"].map(seen), [(true, true), (false, false)]);
                for name in ["folder", "link"] {
                    assert!(matches!(write(&target, name, b"", IfExists::Skip), Err(Error::OutputExists)));
                }
            }

            #[test]
            fn links_are_made_kept_or_replaced_and_nothing_else_is() {
                let folder = tempdir().unwrap();
                let (source, target) = (Source::root(folder.path()).unwrap(), target(folder.path()));
                fs::write(folder.path().join("file"), b"mine").unwrap();
                let make = |name: &str, goal: &str, if_exists| {
                    target.make_link(Path::new(goal), OsStr::new(name), if_exists)
                };
                assert!(make("link", "one", IfExists::Fail).unwrap());
                assert!(matches!(make("link", "two", IfExists::Fail), Err(Error::OutputExists)));
                assert!(!make("link", "two", IfExists::Skip).unwrap());
                assert_eq!(source.read_link(OsStr::new("link")).unwrap(), Path::new("one"));
                assert!(make("link", "two", IfExists::Overwrite).unwrap());
                assert_eq!(source.read_link(OsStr::new("link")).unwrap(), Path::new("two"));
                assert!(matches!(make("file", "two", IfExists::Overwrite), Err(Error::OutputExists)));
                assert!(source.read_link(OsStr::new("file")).is_err());
                assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"mine");
                assert_eq!(names(&folder), ["file", "link"]);
            }

            #[test]
            fn a_link_in_place_of_a_file_is_refused_unless_it_was_named() {
                let folder = tempdir().unwrap();
                fs::write(folder.path().join("file"), b"content").unwrap();
                symlink("file", folder.path().join("link")).unwrap();
                let source = Source::root(folder.path()).unwrap();
                assert!(matches!(source.input(OsStr::new("link"), false), Err(Error::SourceChanged)));
                assert_eq!(source.input(OsStr::new("link"), true).unwrap().metadata().unwrap().len(), 7);
            }

            #[test]
            fn a_linked_folder_leads_nowhere() {
                let (folder, outside) = (tempdir().unwrap(), tempdir().unwrap());
                fs::create_dir(outside.path().join("part")).unwrap();
                symlink(outside.path(), folder.path().join("book")).unwrap();
                fs::write(folder.path().join("file"), b"").unwrap();
                let (source, target) = (Source::root(folder.path()).unwrap(), target(folder.path()));
                for below in ["book", "book/part"] {
                    let below = Path::new(below);
                    assert!(matches!(source.below(below), Err(Error::SourceChanged)));
                    assert!(matches!(target.below(below), Err(Error::LinkInDestination)));
                    let ended = target.finish(below, Ending::AsItIs, true);
                    assert!(matches!(ended, Err(Error::LinkInDestination)));
                }
                let made = target.make_folder(OsStr::new("book"), None);
                assert!(matches!(made, Err(Error::LinkInDestination)));
                assert!(matches!(target.make_folder(OsStr::new("file"), None), Err(Error::Io { .. })));
                assert!(matches!(target.below(Path::new("file")), Err(Error::Io { .. })));
                assert!(matches!(Target::root(&folder.path().join("file")), Err(Error::Io { .. })));
                assert!(matches!(Source::root(&folder.path().join("file")), Err(Error::Io { .. })));
            }

            #[test]
            fn nothing_is_replaced_without_asking() {
                let folder = tempdir().unwrap();
                let target = target(folder.path());
                let name = OsStr::new("output");
                let overwrite = |answer: &dyn Fn() -> Result<(), Error>| {
                    let output = target.output(None).unwrap();
                    target.name(output, name, IfExists::Overwrite.into(), answer)
                };
                overwrite(&|| panic!("the name is free")).unwrap();
                let first = target.identity(name).unwrap();
                assert!(overwrite(&|| Err(Error::SameFile)).is_err());
                assert_eq!(target.identity(name), Some(first), "it is still the same file");
                overwrite(&|| Ok(())).unwrap();
                assert_ne!(target.identity(name), Some(first));
                assert!(target.lists(name) && !target.lists(OsStr::new("OUTPUT")));
                assert_eq!(target.identity(OsStr::new("OUTPUT")), None);
                assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            }

            #[test]
            fn folders_are_made_and_end_as_their_twins() {
                let folder = tempdir().unwrap();
                let target = target(folder.path());
                let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
                let twin = |mode| Attributes::new(Permissions::from_mode(mode), Some(modified));
                let mode = |name| fs::metadata(folder.path().join(name)).unwrap().mode() & 0o7777;
                let (made, path) = (OsStr::new("made"), Path::new("made"));
                let make = |mode| target.make_folder(made, Some(&Permissions::from_mode(mode))).unwrap();
                assert_eq!(make(0o500), MadeFolder::New);
                assert_eq!(mode("made"), 0o700, "writable until the end, and no more open than that");
                assert_eq!(make(0o777), MadeFolder::Found);
                for (ending, expected) in [
                    (Ending::Preserved(&twin(0o1511)), 0o1511),
                    (Ending::Made(&twin(0o755)), 0o1511),
                    // As on a file system that gave it more than was asked for.
                    (Ending::Made(&twin(0o700)), 0o1500),
                    (Ending::Preserved(&twin(0o511)), 0o511),
                    (Ending::AsItIs, 0o511),
                    (Ending::Resumed(&twin(0o755), None), 0o511),
                    (Ending::Made(&twin(0o510)), 0o510),
                    (Ending::Resumed(&twin(0o501), None), 0o500),
                ] {
                    assert!(target.finish(path, ending, true).unwrap());
                    assert_eq!(mode("made"), expected, "{ending:?}");
                }
                assert_eq!(fs::metadata(folder.path().join("made")).unwrap().modified().unwrap(), modified);
                fs::create_dir(folder.path().join("shared")).unwrap();
                fs::set_permissions(folder.path().join("shared"), Permissions::from_mode(0o3770)).unwrap();
                target.finish(Path::new("shared"), Ending::Resumed(&twin(0o755), None), false).unwrap();
                assert_eq!(mode("shared"), 0o3750, "the folder's own bits stay");
                target.finish(Path::new(""), Ending::Preserved(&twin(0o700)), true).unwrap();
                assert_eq!(fs::metadata(folder.path()).unwrap().modified().unwrap(), modified);
            }

            #[test]
            fn a_closed_folder_is_opened_for_a_run_and_closed_again() {
                let folder = tempdir().unwrap();
                let target = target(folder.path());
                let twin = |mode| Attributes::new(Permissions::from_mode(mode), None);
                let (path, closed) = (Path::new("closed"), folder.path().join("closed"));
                let mode = || fs::metadata(&closed).unwrap().mode() & 0o7777;
                fs::create_dir(&closed).unwrap();
                assert_eq!(target.open_up(path).unwrap(), None, "it is open");
                for (before, twin_mode, resumed) in
                    [(0, 0o755, 0o700), (0o555, 0o555, 0o555), (0o1055, 0o750, 0o1750)]
                {
                    fs::set_permissions(&closed, Permissions::from_mode(before)).unwrap();
                    let opened = target.open_up(path).unwrap().unwrap();
                    assert_eq!((opened, mode()), (Opened { mode: before }, before | 0o700));
                    target.finish(path, Ending::Closed(opened), false).unwrap();
                    assert_eq!(mode(), before);
                    let opened = target.open_up(path).unwrap();
                    target.finish(path, Ending::Resumed(&twin(twin_mode), opened), false).unwrap();
                    assert_eq!(mode(), resumed, "of {before:o} and {twin_mode:o}: only the owner gains");
                }
                symlink("closed", folder.path().join("link")).unwrap();
                assert!(matches!(target.open_up(Path::new("link")), Err(Error::LinkInDestination)));
            }
        }
    };
}

#[cfg(target_os = "linux")]
hold_for!(by_handle, linux, |root| root);
#[cfg(target_os = "linux")]
hold_for!(by_renaming, linux, |root: Target| root.with_naming(super::super::linux::TestedNaming::Rename));
#[cfg(target_os = "linux")]
hold_for!(by_linking, linux, |root: Target| root.with_naming(super::super::linux::TestedNaming::Link));
#[cfg(target_os = "linux")]
hold_for!(by_replacing, linux, |root: Target| root.with_naming(super::super::linux::TestedNaming::Replace));
hold_for!(by_path, portable, |root| root);

/// The names in a folder, sorted.
fn names(folder: &TempDir) -> Vec<String> {
    let name = |item: std::io::Result<fs::DirEntry>| item.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(name).collect();
    names.sort();
    names
}

/// A folder is moved away and a link put in its place while an output is on its way: it ends where it began.
#[cfg(target_os = "linux")]
#[test]
fn an_output_under_a_temporary_name_follows_its_folder() {
    use super::linux::{Target, TestedNaming};
    let (folder, outside) = (tempdir().unwrap(), tempdir().unwrap());
    let (book, moved) = (folder.path().join("book"), folder.path().join("moved"));
    fs::create_dir(&book).unwrap();
    let target = Target::root(folder.path()).unwrap().below(Path::new("book")).unwrap();
    let target = target.with_naming(TestedNaming::Rename);
    let (output, given_up) = (target.output(None).unwrap(), target.output(None).unwrap());
    fs::rename(&book, &moved).unwrap();
    symlink(outside.path(), &book).unwrap();
    target.name(output, OsStr::new("final"), IfExists::Fail.into(), &|| Ok(())).unwrap();
    drop(given_up);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(fs::read_dir(&moved).unwrap().count(), 1);
    assert!(moved.join("final").is_file());
}

/// What a killed run leaves is gone when the next one looks; what a run has open stays, and so does whatever else bears such
/// a name.
#[cfg(target_os = "linux")]
#[test]
fn leftovers_of_killed_runs_are_removed() {
    use super::linux::{Target, TestedNaming};
    let folder = tempdir().unwrap();
    let target = Target::root(folder.path()).unwrap().with_naming(TestedNaming::Rename);
    let under_way = target.output(None).unwrap();
    let theirs =
        [".cipherloom-0123456789abcde", ".cipherloom-notes", ".cipherloom-0123456789abcdef.txt", "file"];
    for name in theirs.iter().chain(&[".cipherloom-0123456789abcdef"]) {
        fs::write(folder.path().join(name), b"plaintext").unwrap();
    }
    fs::create_dir(folder.path().join(".cipherloom-fedcba9876543210")).unwrap();
    target.remove_leftovers(Path::new(""));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), theirs.len() + 2);
    assert!(!folder.path().join(".cipherloom-0123456789abcdef").exists());
    target.name(under_way, OsStr::new("final"), IfExists::Fail.into(), &|| Ok(())).unwrap();
    assert!(folder.path().join("final").exists());
}

/// One run's sweep never takes a file that another run has just created and not locked yet.
#[cfg(target_os = "linux")]
#[test]
fn a_new_output_is_no_leftover() {
    use super::linux::{Target, TestedNaming};
    use std::sync::atomic::{AtomicBool, Ordering};
    let folder = tempdir().unwrap();
    let target = || Target::root(folder.path()).unwrap().with_naming(TestedNaming::Rename);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let target = target();
            while !is_done.load(Ordering::Relaxed) {
                target.remove_leftovers(Path::new(""));
            }
        });
        let target = target();
        let name_one = |_| {
            let output = target.output(None)?;
            target.name(output, OsStr::new("final"), IfExists::Overwrite.into(), &|| Ok(()))
        };
        let named: Result<Vec<()>, Error> = (0..3000).map(name_one).collect();
        is_done.store(true, Ordering::Relaxed);
        named.unwrap();
    });
    assert_eq!(names(&folder), ["final"]);
}

/// Where only replacing is known, nothing gets a name unless the user accepts that, or wants to replace.
#[cfg(target_os = "linux")]
#[test]
fn replacing_is_agreed_to_beforehand() {
    use super::linux::{Target, TestedNaming};
    let folder = tempdir().unwrap();
    let target = Target::root(folder.path()).unwrap().with_naming(TestedNaming::Replace);
    for if_exists in [IfExists::Fail, IfExists::Skip] {
        assert!(matches!(target.check_naming(if_exists.into()), Err(Error::NamesNotAtomic)));
        assert!(target.may_name(if_exists.into()).is_err());
        target.check_naming(Existing { if_exists, non_atomic: true }).unwrap();
        let output = target.output(None).unwrap();
        let named = target.name(output, OsStr::new("final"), if_exists.into(), &|| Ok(()));
        assert!(matches!(named, Err(Error::NamesNotAtomic)));
    }
    target.check_naming(IfExists::Overwrite.into()).unwrap();
    assert_eq!(names(&folder), [""; 0]);
}
