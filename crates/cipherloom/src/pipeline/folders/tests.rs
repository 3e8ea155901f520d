//! What holds whichever way folders are opened: by handle, by handle on a file system that knows no unnamed files, by
//! path.

use super::Ending;
use crate::Error;
use crate::pipeline::job::IfExists;
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
                assert!(!output.has_permissions_asked_for() || mode & 0o600 == 0o600);
                target.name(output, OsStr::new(name), if_exists)
            }

            #[test]
            fn outputs_appear_whole_or_not_at_all() {
                let folder = tempdir().unwrap();
                let (target, path) = (target(folder.path()), folder.path().join("final"));
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
                    target.name_checked(output, name, IfExists::Overwrite, answer)
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
                let made = OsStr::new("made");
                assert!(target.make_folder(made, Some(&Permissions::from_mode(0o500))).unwrap());
                assert_eq!(mode("made"), 0o700, "writable until the end, and no more open than that");
                assert!(!target.make_folder(made, Some(&Permissions::from_mode(0o777))).unwrap());
                for (ending, expected) in [
                    (Ending::Made(&twin(0o511)), 0o511),
                    (Ending::AsItIs, 0o511),
                    (Ending::Resumed(&twin(0o755)), 0o511),
                    (Ending::Resumed(&twin(0o701)), 0o501),
                ] {
                    target.finish(Path::new("made"), ending, true).unwrap();
                    assert_eq!(mode("made"), expected, "{ending:?}");
                }
                assert_eq!(fs::metadata(folder.path().join("made")).unwrap().modified().unwrap(), modified);
                fs::create_dir(folder.path().join("shared")).unwrap();
                fs::set_permissions(folder.path().join("shared"), Permissions::from_mode(0o3770)).unwrap();
                target.finish(Path::new("shared"), Ending::Resumed(&twin(0o755)), false).unwrap();
                assert_eq!(mode("shared"), 0o3750, "the folder's own bits stay");
                target.finish(Path::new(""), Ending::Made(&twin(0o700)), true).unwrap();
                assert_eq!(fs::metadata(folder.path()).unwrap().modified().unwrap(), modified);
            }
        }
    };
}

#[cfg(target_os = "linux")]
hold_for!(by_handle, linux, |root| root);
#[cfg(target_os = "linux")]
hold_for!(by_handle_with_names, linux, |root: Target| root.with_names());
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
    use super::linux::Target;
    let (folder, outside) = (tempdir().unwrap(), tempdir().unwrap());
    let (book, moved) = (folder.path().join("book"), folder.path().join("moved"));
    fs::create_dir(&book).unwrap();
    let target = Target::root(folder.path()).unwrap().with_names().below(Path::new("book")).unwrap();
    let (output, given_up) = (target.output(None).unwrap(), target.output(None).unwrap());
    fs::rename(&book, &moved).unwrap();
    symlink(outside.path(), &book).unwrap();
    target.name(output, OsStr::new("final"), IfExists::Fail).unwrap();
    drop(given_up);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(fs::read_dir(&moved).unwrap().count(), 1);
    assert!(moved.join("final").is_file());
}
