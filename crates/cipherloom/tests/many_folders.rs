//! A tree of enough folders for several threads, some of them 20 deep: all are made and end as their twins, and what is in the way
//! of one stops nothing beside it.

#![cfg(unix)]

use cipherloom::internal::{Job, Selection, Tree, Work, run};
use cipherloom::machine::{Calibration, Machine};
use cipherloom::report::{Event, Unobserved};
use cipherloom::{Error, IfExists, Observer};
use std::fs::{self, File, Permissions};
use std::num::NonZeroUsize;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const CHAINS: u32 = 80;

fn depth_of(chain: u32) -> u32 {
    if chain.is_multiple_of(8) { 20 } else { 3 }
}

fn path_of(chain: u32, depth: u32) -> PathBuf {
    let below = (1..depth).map(|level| format!("level-{level}"));
    std::iter::once(format!("chain-{chain}")).chain(below).collect()
}

/// Chain and depth of each folder, parents before their children.
fn all() -> impl DoubleEndedIterator<Item = (u32, u32)> {
    let chains: Vec<_> =
        (0..CHAINS).flat_map(|chain| (1..=depth_of(chain)).map(move |depth| (chain, depth))).collect();
    chains.into_iter()
}

/// Permissions and time of a folder.
fn attributes(chain: u32, depth: u32) -> (u32, i64) {
    let mode = [0o755, 0o500, 0o750, 0o555][(chain + depth) as usize % 4];
    (mode, 1_000_000_000 + i64::from(100 * chain + depth))
}

fn plant(root: &Path) {
    for chain in 0..CHAINS {
        let last = root.join(path_of(chain, depth_of(chain)));
        fs::create_dir_all(&last).unwrap();
        fs::write(last.join("file"), b"").unwrap();
    }
    for (chain, depth) in all().rev() {
        let (mode, modified) = attributes(chain, depth);
        let folder = File::open(root.join(path_of(chain, depth))).unwrap();
        let modified = Duration::from_secs(modified.unsigned_abs());
        folder.set_modified(SystemTime::UNIX_EPOCH + modified).unwrap();
        folder.set_permissions(Permissions::from_mode(mode)).unwrap();
    }
}

/// So that whoever is not root can remove it.
fn open_up(root: &Path) {
    for (chain, depth) in all() {
        let path = root.join(path_of(chain, depth));
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
        }
    }
}

#[test]
fn all_folders_are_made_and_end_as_their_twins() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    plant(&source);
    for threads in [1, 3] {
        fs::create_dir_all(copy.join(path_of(8, 17))).unwrap();
        fs::write(copy.join(path_of(8, 18)), b"in the way").unwrap();
        fs::write(copy.join(path_of(3, 1)), b"in the way").unwrap();
        symlink(outside.path(), copy.join(path_of(5, 1))).unwrap();
        let job = Job { preserve_modes: true, ..Job::new(Work::Copy, Some(copy.clone())) };
        let tree = Tree::list(&source, &Selection::default()).unwrap();
        let plan = job.plan(&tree, &Machine::detect(Calibration::default()), NonZeroUsize::new(threads));
        let report = run(&tree, &plan, &job, &Unobserved).unwrap();
        // Each of the three that something is in the way of, and the file below it.
        assert_eq!((report.files, report.failed), (77, 6), "{threads} threads");
        for (chain, depth) in all() {
            let found = fs::symlink_metadata(copy.join(path_of(chain, depth)));
            let blocked_at = [(3, 1), (5, 1), (8, 18)].into_iter().find(|blocked| blocked.0 == chain);
            match blocked_at {
                Some((_, blocked)) if depth == blocked => assert!(!found.unwrap().is_dir()),
                Some((_, blocked)) if depth > blocked => assert!(found.is_err()),
                // These were there before.
                Some(_) => assert!(found.unwrap().is_dir()),
                None => {
                    let found = found.unwrap();
                    let ended = (found.mode() & 0o777, found.mtime());
                    assert_eq!(ended, attributes(chain, depth), "{chain}, {depth}; {threads} threads");
                }
            }
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        open_up(&copy);
        fs::remove_dir_all(&copy).unwrap();
    }
    open_up(&source);
}

/// Panics when something fails.
struct Panicking;

impl Observer for Panicking {
    fn advanced(&self, _bytes: u64) {}
    fn entry_ended(&self) {}
    fn wants_every_event(&self) -> bool {
        false
    }
    fn ended(&self, _event: &Event<'_>) {
        panic!("on purpose");
    }
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Whether it panics in one of the folders that are made first, or on one of several threads.
#[test]
fn after_a_panic_folders_that_were_opened_are_closed_again() {
    let folder = tempfile::tempdir().unwrap();
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    plant(&source);
    let closed = || (0..CHAINS).flat_map(|chain| [2, 1].map(|depth| copy.join(path_of(chain, depth))));
    for (blocked, threads) in [(1, 1), (1, 3), (3, 1), (3, 3)] {
        for chain in 0..CHAINS {
            let is_blocked = (chain, blocked) == (40, 1);
            fs::create_dir_all(copy.join(if is_blocked { PathBuf::new() } else { path_of(chain, 2) }))
                .unwrap();
        }
        fs::write(copy.join(path_of(40, blocked)), b"in the way").unwrap();
        let close = |path| fs::set_permissions(path, Permissions::from_mode(0o500));
        closed().filter(|path| path.is_dir()).for_each(|path| close(path).unwrap());
        let job = Job { if_exists: IfExists::Skip, ..Job::new(Work::Copy, Some(copy.clone())) };
        let tree = Tree::list(&source, &Selection::default()).unwrap();
        let plan = job.plan(&tree, &Machine::detect(Calibration::default()), NonZeroUsize::new(threads));
        let error = run(&tree, &plan, &job, &Panicking).unwrap_err();
        assert!(matches!(error, Error::Internal { .. }), "{error}");
        for path in closed().filter(|path| path.is_dir()) {
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o500, "{path:?}, {threads} threads");
        }
        open_up(&copy);
        fs::remove_dir_all(&copy).unwrap();
    }
    open_up(&source);
}
