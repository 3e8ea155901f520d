//! `cipherloom sync`, as a user meets it.
#![cfg(unix)]

#[path = "sync/doubt.rs"]
mod doubt;
#[path = "sync/foreseen.rs"]
mod foreseen;
mod sealed_tree;
#[path = "sealed_tree/synchronized.rs"]
mod synchronized;

use sealed_tree::Place;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};
use synchronized::{Sync, contents};

fn set_time(path: &Path, time: SystemTime) {
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

fn long_ago(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn what_is_new_changed_renamed_and_gone() {
    let place = Place::new();
    place.sync("").expect(0).says(&["encrypted 3 files", "3 new", "generation 1", "lists 5"]);
    place.is_sealed();
    fs::write(place.at("tree/a/one"), "Call me Ishmael.").unwrap();
    fs::rename(place.at("tree/a/two"), place.at("tree/b/deux")).unwrap();
    fs::remove_file(place.at("tree/three")).unwrap();
    fs::write(place.at("tree/four"), "4").unwrap();
    let sealed = fs::metadata(place.at("sealed/a/two.enc")).unwrap().ino();
    let says = &["1 new", "1 changed", "1 renamed"][..];
    place.sync(" --dry-run").expect(0).says(says).says(&["nothing was written", "1 gone"]);
    assert!(place.at("sealed/a/two.enc").exists() && !place.at("sealed/four.enc").exists());
    place.sync("").expect(0).says(says).says(&["1 gone from the source and kept", "lists 6"]);
    assert_eq!(fs::metadata(place.at("sealed/b/deux.enc")).unwrap().ino(), sealed);
    place.verify("").expect(0);
    place.sync(" --delete").expect(0).says(&["encrypted 0 files", "1 removed", "3 unchanged", "lists 5"]);
    place.is_sealed();
}

#[test]
fn a_tree_that_encrypt_has_indexed_is_gone_on_with() {
    let place = Place::sealed();
    let before = place.generation();
    place.sync(" --delete").expect(0).says(&["encrypted 0 files", "3 unchanged", "generation 1"]);
    assert_eq!(place.generation(), before);
    place.run("index sealed --key key.json --suffix .enc --replace").expect(0);
    place.sync("").expect(0).says(&["encrypted 0 files"]);
    place.is_sealed();
}

#[test]
fn where_nothing_has_changed_nothing_is_written() {
    let place = Place::new();
    place.sync("").expect(0);
    let state = || {
        let mut state = BTreeMap::new();
        let mut folders = vec![place.at("sealed")];
        while let Some(folder) = folders.pop() {
            for item in fs::read_dir(&folder).unwrap().map(|item| item.unwrap().path()) {
                let found = fs::symlink_metadata(&item).unwrap();
                state.insert(
                    item.clone(),
                    (found.ino(), found.ctime(), found.ctime_nsec(), found.mtime_nsec()),
                );
                folders.extend(found.is_dir().then_some(item));
            }
            let found = fs::metadata(&folder).unwrap();
            state.insert(folder, (found.ino(), found.ctime(), found.ctime_nsec(), found.mtime_nsec()));
        }
        state
    };
    let before = state();
    place.sync(" --delete").expect(0).says(&["encrypted 0 files", "3 unchanged", "generation 1"]);
    place.sync(" --dry-run --checksum --delete").expect(0).says(&["3 changed"]);
    assert_eq!(state(), before);
    fs::write(place.at("tree/five"), "5").unwrap();
    place.sync(" --dry-run").expect(0).says(&["1 new"]);
    assert_eq!(state(), before);
    // Nor where there is no destination yet.
    place.run("sync tree elsewhere --key key.json --dry-run").expect(0).says(&["4 new"]);
    assert!(!place.at("elsewhere").exists());
    // An anchor alone is written.
    fs::remove_file(place.at("tree/five")).unwrap();
    set_time(&place.at("tree"), fs::metadata(place.at("sealed")).unwrap().modified().unwrap());
    place.sync(" --anchor anchor").expect(0).says(&["generation 1"]);
    assert!(place.at("anchor").exists());
    assert_eq!(state(), before);
}

#[test]
fn what_another_put_into_the_tree_is_named() {
    let place = Place::new();
    place.sync("").expect(0);
    let at = |name: &str| place.at("sealed").join(name);
    // A missing output, one of another length, and one that was swapped for another with another time.
    fs::remove_file(at("a/one.enc")).unwrap();
    fs::write(at("three.enc"), "short").unwrap();
    let says = place.sync(" -v").expect(0).says(&["2 restored", "1 unchanged"]);
    says.says(&["a/one", "(restored)"]).says(&["three", "(restored)"]);
    place.is_sealed();
    fs::copy(at("three.enc"), at("a/two.enc")).unwrap();
    place.sync("").expect(0).says(&["1 restored"]);
    place.is_sealed();
    // A foreign file in the way of a new one, then a folder, then a link.
    fs::write(place.at("tree/new"), "new").unwrap();
    fs::write(at("new.enc"), "plain and precious").unwrap();
    place.sync("").expect(3).says(&["sealed/new.enc: not replaced"]);
    assert_eq!(fs::read(at("new.enc")).unwrap(), b"plain and precious");
    fs::remove_file(at("new.enc")).unwrap();
    symlink("../key.json", at("new.enc")).unwrap();
    place.sync("").expect(3).says(&["sealed/new.enc: not replaced"]);
    fs::remove_file(at("new.enc")).unwrap();
    fs::create_dir(at("new.enc")).unwrap();
    place.sync("").expect(3).says(&["new"]);
    fs::remove_dir(at("new.enc")).unwrap();
    // What an interrupted run left is replaced: a key opens it.
    place.run("encrypt tree/three sealed/new.enc --key key.json").expect(0);
    place.sync("").expect(0).says(&["1 new"]);
    place.is_sealed();
    // Something else in the place of what is to be removed stays.
    fs::remove_file(place.at("tree/new")).unwrap();
    fs::write(at("new.enc"), "precious").unwrap();
    place.sync(" --delete").expect(5).says(&["sealed/new.enc: replaced"]);
    assert_eq!(fs::read(at("new.enc")).unwrap(), b"precious");
    fs::remove_file(at("new.enc")).unwrap();
    place.sync(" --delete").expect(0).says(&["1 removed"]);
    place.is_sealed();
    // What nobody lists is left alone, and keeps its folder.
    fs::write(at("b/extra"), "precious").unwrap();
    fs::remove_dir(place.at("tree/b")).unwrap();
    place.sync(" --delete").expect(3).says(&["sealed/b: cannot remove the folder"]);
    assert!(at("b/extra").exists());
}

#[test]
fn a_tree_that_was_put_back_or_has_another_index() {
    let place = Place::new();
    place.sync(" --anchor anchor").expect(0);
    let copy = |from: &str, to: &str| {
        let copied =
            std::process::Command::new("cp").args(["-a", from, to]).current_dir(place.at("")).status();
        assert!(copied.unwrap().success());
    };
    copy("sealed", "kept");
    fs::write(place.at("tree/a/one"), "other").unwrap();
    place.sync(" --anchor anchor").expect(0).says(&["generation 2"]);
    fs::remove_dir_all(place.at("sealed")).unwrap();
    copy("kept", "sealed");
    place.sync(" --anchor anchor").expect(5).says(&["rolled back"]);
    place.sync(" --anchor anchor --dry-run").expect(5).says(&["rolled back"]);
    fs::remove_dir_all(place.at("sealed/.cipherloom")).unwrap();
    place.sync(" --anchor anchor").expect(5).says(&["was removed"]);
    // Without an index, only what the key opens is replaced.
    fs::write(place.at("sealed/three.enc"), "precious").unwrap();
    place.sync("").expect(3).says(&["sealed/three.enc: not replaced"]).says(&["2 new"]);
    assert_eq!(fs::read(place.at("sealed/three.enc")).unwrap(), b"precious");
    // Parts of an index that are missing or of another generation.
    fs::remove_dir_all(place.at("sealed/.cipherloom/index/parts")).unwrap();
    place.sync("").expect(5).says(&["a part is missing"]);
    place.run("keygen -o other.json").expect(0);
    place
        .run("sync tree sealed --key other.json --suffix .enc --allow-mixed-keys")
        .expect(5)
        .says(&["no key opens"]);
}

#[test]
fn nothing_is_removed_by_mistake() {
    let place = Place::new();
    place.sync("").expect(0);
    // What a glob leaves out is not gone.
    place.sync(" --delete --exclude a --include one").expect(1).says(&["nothing"]);
    place.sync(" --delete --exclude a").expect(0).says(&["1 unchanged"]);
    place.sync(" --delete --include one").expect(0).says(&["1 unchanged"]);
    fs::remove_file(place.at("tree/a/two")).unwrap();
    place.sync(" --delete --exclude two").expect(0).says(&["2 unchanged"]);
    assert!(place.at("sealed/a/two.enc").exists());
    // An empty source may be an unmounted disk.
    fs::rename(place.at("tree"), place.at("kept")).unwrap();
    fs::create_dir(place.at("tree")).unwrap();
    for more in [" --delete", " --delete --allow-empty", " --delete --dry-run"] {
        place.sync(more).expect(2).says(&["the source is empty"]);
    }
    place.sync("").expect(1).says(&["nothing to be encrypted"]);
    place.verify("").expect(0).says(&["verified 3 files"]);
}

#[test]
fn content_is_compared_where_it_is_asked_for() {
    let place = Place::new();
    place.sync(" --checksum").expect(0).says(&["3 new"]);
    let path = place.at("tree/a/one");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "Call ME").unwrap();
    set_time(&path, time);
    place.sync("").expect(0).says(&["3 unchanged"]);
    place.sync(" --checksum").expect(0).says(&["1 changed", "2 unchanged"]);
    place.is_sealed();
    // A digest of an earlier run is kept, and a file without one is changed.
    fs::write(place.at("tree/four"), "4").unwrap();
    place.sync("").expect(0).says(&["1 new", "3 unchanged"]);
    place.sync(" --checksum").expect(0).says(&["1 changed", "3 unchanged"]);
    place.sync(" --checksum").expect(0).says(&["4 unchanged"]);
    place.is_sealed();
}

#[test]
fn names_that_were_swapped_and_hard_links_are_not_renames() {
    let place = Place::new();
    let at = |name: &str| place.at("tree").join(name);
    for (name, text) in [("x", "first"), ("y", "other"), ("z", "third")] {
        fs::write(at(name), text).unwrap();
        set_time(&at(name), long_ago(1_000_000_000));
    }
    place.sync("").expect(0);
    let swap = |one: &str, other: &str| {
        fs::rename(at(one), at("kept")).unwrap();
        fs::rename(at(other), at(one)).unwrap();
        fs::rename(at("kept"), at(other)).unwrap();
    };
    swap("x", "y");
    place.sync("").expect(0).says(&["2 changed", "4 unchanged"]);
    place.is_sealed();
    // A chain: the old name is another file's.
    fs::rename(at("z"), at("w")).unwrap();
    fs::rename(at("y"), at("z")).unwrap();
    fs::rename(at("x"), at("y")).unwrap();
    place.sync(" --delete").expect(0);
    place.is_sealed();
    fs::hard_link(at("w"), at("v")).unwrap();
    place.sync("").expect(0).says(&["1 new"]);
    fs::remove_file(at("w")).unwrap();
    place.sync(" --delete").expect(0).says(&["1 removed"]);
    place.is_sealed();
    // Paths that are bound cannot change.
    place.run("sync tree bound --key key.json --bind-path").expect(0);
    fs::rename(at("v"), at("u")).unwrap();
    place.run("sync tree bound --key key.json --bind-path --delete").expect(0).says(&["1 new", "1 removed"]);
    fs::rename(at("u"), at("t")).unwrap();
    place.run("sync tree bound --key key.json --delete").expect(0).says(&["1 new", "1 removed"]);
}

#[test]
fn a_rename_that_was_cut_short_is_accepted() {
    let place = Place::new();
    place.sync("").expect(0);
    for more in ["", " --delete"] {
        fs::rename(place.at("tree/a/two"), place.at("tree/b/two")).unwrap();
        fs::rename(place.at("sealed/a/two.enc"), place.at("sealed/b/two.enc")).unwrap();
        place.sync(more).expect(0).says(&["1 renamed", "encrypted 0 files"]);
        place.is_sealed();
        // Both names, as where a file system links and unlinks.
        fs::rename(place.at("tree/b/two"), place.at("tree/a/two")).unwrap();
        fs::copy(place.at("sealed/b/two.enc"), place.at("sealed/a/two.enc")).unwrap();
        place.sync(more).expect(0).says(&["1 renamed"]);
        place.is_sealed();
        // Another file under the new name.
        fs::rename(place.at("tree/a/two"), place.at("tree/b/two")).unwrap();
        fs::write(place.at("sealed/b/two.enc"), "precious").unwrap();
        place.sync(more).expect(3).says(&["sealed/b/two.enc: not replaced"]);
        fs::rename(place.at("tree/b/two"), place.at("tree/a/two")).unwrap();
        fs::remove_file(place.at("sealed/b/two.enc")).unwrap();
        place.sync(more).expect(0);
        place.is_sealed();
    }
}

#[test]
fn permissions_alone_are_no_reason_to_encrypt() {
    let place = Place::new();
    let set =
        |path: &str, mode| fs::set_permissions(place.at(path), fs::Permissions::from_mode(mode)).unwrap();
    let mode = |path: &str| fs::metadata(place.at(path)).unwrap().mode() & 0o777;
    set("tree/a/one", 0o600);
    place.sync(" --preserve modes").expect(0);
    let number = fs::metadata(place.at("sealed/a/one.enc")).unwrap().ino();
    set("tree/a/one", 0o666);
    set("tree/a", 0o750);
    place.sync("").expect(0).says(&["encrypted 0 files", "1 with other permissions"]);
    assert_eq!(mode("sealed/a/one.enc") & 0o600, 0o600);
    assert_eq!(fs::metadata(place.at("sealed/a/one.enc")).unwrap().ino(), number);
    set("tree/a/one", 0o640);
    place.sync(" --preserve modes").expect(0);
    assert_eq!((mode("sealed/a/one.enc"), mode("sealed/a")), (0o640, 0o750));
    place.sync(" --preserve modes").expect(0).says(&["3 unchanged"]);
    // Folders that are read-only on both sides.
    set("tree/a", 0o555);
    place.sync("").expect(0);
    fs::set_permissions(place.at("tree/a"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(place.at("tree/a/one")).unwrap();
    fs::rename(place.at("tree/a/two"), place.at("tree/a/deux")).unwrap();
    set("tree/a", 0o555);
    place.sync(" --delete").expect(0).says(&["1 renamed", "1 removed"]);
    place.verify("").expect(0);
    // Folders never gain permissions.
    assert_eq!(mode("sealed/a"), 0o550);
    set("tree/a", 0o755);
    set("sealed/a", 0o755);
}

#[test]
fn files_become_folders_and_links_and_others() {
    let place = Place::new();
    let sync = |more: &str| place.run(&format!("sync tree sealed --key key.json --links copy{more}"));
    symlink("a/one", place.at("tree/link")).unwrap();
    symlink("b", place.at("tree/kind")).unwrap();
    sync("").expect(0).says(&["5 new", "2 links copied"]);
    fs::remove_dir_all(place.at("tree/a")).unwrap();
    fs::write(place.at("tree/a"), "a file").unwrap();
    fs::remove_file(place.at("tree/three")).unwrap();
    fs::create_dir(place.at("tree/three")).unwrap();
    fs::write(place.at("tree/three/3"), "3").unwrap();
    fs::remove_file(place.at("tree/link")).unwrap();
    symlink("three", place.at("tree/link")).unwrap();
    fs::remove_file(place.at("tree/kind")).unwrap();
    fs::write(place.at("tree/kind"), "4").unwrap();
    // Without --delete these are in the way.
    sync("").expect(3).says(&["three"]);
    sync(" --delete").expect(0);
    assert_eq!(fs::read_link(place.at("sealed/link")).unwrap(), Path::new("three"));
    place.run("verify sealed --key key.json").expect(0);
    place.run("decrypt sealed opened --key key.json --links copy").expect(0);
    assert_eq!(contents(&place.at("opened")), contents(&place.at("tree")));
    sync(" --delete").expect(0).says(&["encrypted 0 files", "4 unchanged"]);
}

#[test]
fn names_of_all_kinds_and_times_before_now() {
    let place = Place::new();
    // Two forms of one letter, the longest name, and bytes that are no text.
    for name in ["e\u{301}", "\u{e9}", &"x".repeat(255), "\n", " "] {
        fs::write(place.at("tree").join(name), name).unwrap();
    }
    let sync = |more: &str| place.run(&format!("sync tree sealed --key key.json{more}"));
    sync("").expect(0).says(&["8 new"]);
    // The clock went backwards.
    fs::write(place.at("tree/three"), "3").unwrap();
    set_time(&place.at("tree/three"), SystemTime::UNIX_EPOCH - Duration::from_millis(1_500));
    sync("").expect(0).says(&["1 changed", "7 unchanged"]);
    sync(" --delete").expect(0).says(&["8 unchanged"]);
    place.run("verify sealed --key key.json").expect(0);
}

#[test]
fn two_at_once_and_what_cannot_be_synchronized() {
    let place = Place::new();
    place.sync("").expect(0);
    let lock = fs::File::open(place.at("sealed/.cipherloom/index/lock")).unwrap();
    lock.lock().unwrap();
    fs::write(place.at("tree/three"), "3").unwrap();
    for more in ["", " --dry-run"] {
        place
            .sync(more)
            .expect(1)
            .says(&["sealed/.cipherloom/index/lock: another process is using the tree's index"]);
    }
    lock.unlock().unwrap();
    place.run("sync s3://bucket/prefix sealed --key key.json").expect(2).says(&["sync needs a folder"]);
    place.run("sync tree/three sealed --key key.json").expect(2).says(&["needs a folder"]);
    place.run("sync tree tree/sealed --key key.json").expect(2).says(&["inside"]);
    fs::write(place.at("raw"), [7; 32]).unwrap();
    place.run("sync tree raws --format cobblestone --raw-key raw").expect(2).says(&["sealed with a keyset"]);
}

#[test]
fn items_are_printed_with_their_actions() {
    let place = Place::new();
    place.sync("").expect(0);
    fs::remove_file(place.at("tree/three")).unwrap();
    fs::write(place.at("tree/a/one"), "1").unwrap();
    let events = |more: &str| {
        let ended = place.sync(&format!(" --json --delete{more}")).expect(0);
        let lines = ended.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let mut lines: Vec<_> = lines.collect();
        let summary = lines.pop().unwrap();
        assert_eq!((&summary["sync"]["changed"], &summary["sync"]["removed"]), (&1.into(), &1.into()));
        let item = |line: serde_json::Value| {
            [&line["event"], &line["action"], &line["output"]].map(|value| value.as_str().unwrap().to_owned())
        };
        lines.into_iter().map(item).collect::<Vec<_>>()
    };
    let expected = |event: &str| {
        [[event, "changed", "sealed/a/one.enc"], [event, "removed", "sealed/three.enc"]]
            .map(|item| item.map(str::to_owned))
    };
    assert_eq!(events(" --dry-run"), expected("planned"));
    assert_eq!(events(""), expected("done"));
}
