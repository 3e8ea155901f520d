use crate::key::{Keyset, Template};
use crate::report::{Event, Observer, Report, Unobserved};
#[cfg(unix)]
use crate::tree::{EntryList, Selection, Tree};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(unix)]
use std::time::{Duration, UNIX_EPOCH};

/// Stops a run when this many files have ended.
struct StopAfter(u64, AtomicU64);

impl Observer for StopAfter {
    fn entry_ended(&self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
    fn ended(&self, event: &Event<'_>) {
        panic!("{event:?}");
    }
    fn is_stopped(&self) -> bool {
        self.1.load(Ordering::Relaxed) >= self.0
    }
}

fn sync(root: &Path, keyset: &Keyset, observer: &dyn Observer) -> Report {
    let job = crate::encrypt(root.join("source"), root.join("sealed")).key(keyset);
    job.sync(true).delete(true).run_with(observer).unwrap()
}

/// Ten files in two folders; a round of these tests has three.
fn trees() -> (tempfile::TempDir, Keyset) {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..10 {
        let below = folder.path().join(format!("source/{}", number % 2));
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join(number.to_string()), [number]).unwrap();
    }
    (folder, Keyset::generate(Template::Aes128GcmHkdf4Kb).unwrap())
}

#[test]
fn each_round_ends_with_a_generation() {
    let (folder, keyset) = trees();
    let report = sync(folder.path(), &keyset, &Unobserved);
    assert_eq!(report.index.map(|index| (index.generation, index.entries)), Some((4, 12)));
    assert_eq!((report.files, report.sync.unwrap().new), (10, 10));
    fs::remove_file(folder.path().join("source/0/2")).unwrap();
    for number in [0, 4, 6, 8] {
        fs::write(folder.path().join(format!("source/0/{number}")), "changed").unwrap();
    }
    let report = sync(folder.path(), &keyset, &Unobserved);
    assert_eq!(report.index.map(|index| (index.generation, index.entries)), Some((6, 11)));
    let counts = report.sync.unwrap();
    assert_eq!((counts.changed, counts.removed, counts.unchanged), (4, 1, 5));
    let verified = crate::verify(folder.path().join("sealed")).key(&keyset).run().unwrap();
    assert_eq!((verified.files, verified.failed), (9, 0));
    assert_eq!(sync(folder.path(), &keyset, &Unobserved).index.unwrap().generation, 6);
}

#[test]
fn a_stopped_run_lists_what_is_complete() {
    for stop in [1, 2, 4, 9] {
        let (folder, keyset) = trees();
        fs::create_dir(folder.path().join("sealed")).unwrap();
        let report = sync(folder.path(), &keyset, &StopAfter(stop, AtomicU64::default()));
        assert!(report.files >= stop && report.failed == 0, "{report:?}");
        let verified = crate::verify(folder.path().join("sealed")).key(&keyset).run().unwrap();
        assert_eq!((verified.files, verified.failed), (report.files, 0), "{stop}");
        let rest = sync(folder.path(), &keyset, &Unobserved);
        assert_eq!(rest.files, 10 - report.files, "{stop}");
    }
}

#[test]
fn a_file_that_changes_meanwhile_keeps_its_entry() {
    struct Change<'c>(&'c Path, AtomicU64);
    impl Observer for Change<'_> {
        fn advanced(&self, _bytes: u64) {
            // The first file was read: the other ones are listed as they were.
            if self.1.fetch_add(1, Ordering::Relaxed) == 0 {
                fs::write(self.0, "changed meanwhile").unwrap();
            }
        }
    }
    let (folder, keyset) = trees();
    sync(folder.path(), &keyset, &Unobserved);
    let (path, sealed) = (folder.path().join("source/1/9"), folder.path().join("sealed/1/9"));
    let before = fs::read(&sealed).unwrap();
    // The first round has three others.
    for number in [0, 2, 4] {
        fs::write(folder.path().join(format!("source/0/{number}")), "changed").unwrap();
    }
    fs::write(&path, "changed").unwrap();
    let report = sync(folder.path(), &keyset, &Change(&path, AtomicU64::default()));
    assert_eq!((report.files, report.failed), (3, 1), "{report:?}");
    assert_eq!(fs::read(&sealed).unwrap(), before);
    let verified = crate::verify(folder.path().join("sealed")).key(&keyset).run().unwrap();
    assert_eq!(verified.failed, 0);
    assert_eq!(sync(folder.path(), &keyset, &Unobserved).sync.unwrap().changed, 1);
}

/// It may take long, and nothing else has the content meanwhile.
#[test]
fn what_is_in_the_way_stays_while_content_is_compared() {
    struct CountChecks<'c>(&'c Path, AtomicU64);
    impl Observer for CountChecks<'_> {
        fn is_stopped(&self) -> bool {
            self.1.fetch_add(u64::from(self.0.is_file()), Ordering::Relaxed);
            false
        }
    }
    let (folder, keyset) = trees();
    sync(folder.path(), &keyset, &Unobserved);
    let path = folder.path().join("source/1/9");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    // Each piece that is read asks whether the run is stopped.
    fs::File::create(path.join("large")).unwrap().set_len(100 * (256 << 10)).unwrap();
    let sealed = folder.path().join("sealed/1/9");
    let checks = CountChecks(&sealed, AtomicU64::default());
    let job = crate::encrypt(folder.path().join("source"), folder.path().join("sealed")).key(&keyset);
    let report = job.sync(true).delete(true).checksum(true).run_with(&checks).unwrap();
    assert_eq!((report.failed, report.sync.unwrap().removed), (0, 1), "{report:?}");
    assert!(sealed.is_dir() && checks.1.into_inner() >= 100);
}

/// A file that is edited in the same second, to the same length, would have the same mark.
#[cfg(unix)]
#[test]
fn a_state_of_whole_seconds_has_no_mark() {
    let (folder, _) = trees();
    let mut tree = Tree::list(&folder.path().join("source"), &Selection::default()).unwrap();
    let mut attributes = tree.entries.get(0).attributes();
    for (modified, changed, has_mark) in [(0, 0, false), (1, 0, true), (0, 1, true)] {
        attributes.modified = Some(UNIX_EPOCH + Duration::new(1_795_000_000, modified));
        attributes.changed = Some((1_795_000_000, changed));
        tree.entries = EntryList::default();
        tree.entries.push(0, "name".as_ref(), 1, &attributes);
        assert_eq!(super::state_mark(&tree, 0).is_some(), has_mark, "{modified} {changed}");
    }
}
