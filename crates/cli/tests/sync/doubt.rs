//! Where a source, an output or an index is not what it was, `sync` keeps files or encrypts them again.

use crate::sealed_tree::Place;
use crate::synchronized::Sync;
use crate::{long_ago, set_time};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

#[test]
fn another_source_by_mistake_removes_nothing() {
    let place = Place::new();
    place.sync("").expect(0);
    fs::create_dir_all(place.at("wrong/a")).unwrap();
    fs::write(place.at("wrong/stray"), "stray").unwrap();
    let wrong = |more: &str| place.run(&format!("sync wrong sealed --key key.json --suffix .enc{more}"));
    for more in [" --delete", " --delete --dry-run"] {
        let ended = wrong(more).expect(2).says(&["wrong: the source is empty, or another one"]);
        ended.says(&["run once without --delete"]);
    }
    place.verify(" --suffix .enc").expect(0).says(&["verified 3 files"]);
    // Who has replaced every file says so with a run that removes nothing.
    wrong("").expect(0).says(&["1 new", "gone from the source and kept"]);
    wrong(" --delete").expect(0).says(&["removed", "1 unchanged"]);
    place.run("sync tree sealed --key key.json --suffix .enc").expect(0);
    place.sync(" --delete").expect(0);
    place.is_sealed();
    // Every file was renamed: their outputs are not lost.
    for (from, to) in [("a/one", "a/1"), ("a/two", "b/2"), ("three", "3")] {
        fs::rename(place.at("tree").join(from), place.at("tree").join(to)).unwrap();
    }
    place.sync(" --delete").expect(0).says(&["3 renamed"]);
    place.is_sealed();
}

#[test]
fn what_became_a_link_or_socket_is_not_gone() {
    let place = Place::new();
    place.sync("").expect(0);
    fs::rename(place.at("tree/a"), place.at("elsewhere")).unwrap();
    symlink("../elsewhere", place.at("tree/a")).unwrap();
    fs::rename(place.at("tree/three"), place.at("3")).unwrap();
    fs::write(place.at("tree/other"), "other").unwrap();
    for number in 0..2 {
        match number {
            0 => symlink("../3", place.at("tree/three")).unwrap(),
            _ => drop(UnixListener::bind(place.at("tree/three")).unwrap()),
        }
        fs::write(place.at("tree/other"), vec![b'o'; number + 1]).unwrap();
        let ended = place.sync(" --delete").expect(0);
        assert!(!ended.err.contains("removed"), "{}", ended.err);
        for name in ["a/one.enc", "a/two.enc", "three.enc"] {
            assert!(place.at("sealed").join(name).exists(), "{name}");
        }
        place.verify(" --suffix .enc").expect(0).says(&["verified 4 files"]);
        fs::remove_file(place.at("tree/three")).unwrap();
    }
    // Where links are copied, one takes the place of the folder.
    place.sync(" --delete --links copy").expect(0).says(&["removed"]);
    assert!(place.at("sealed/a").is_symlink() && !place.at("sealed/three.enc").exists());
}

#[test]
fn what_no_enabled_key_opens_is_encrypted_again() {
    let place = Place::new();
    place.sync("").expect(0);
    let keys = place.run("keys list key.json").expect(0).out;
    let old = keys.split_whitespace().find(|word| word.parse::<u32>().is_ok()).unwrap().to_owned();
    place.run("keys add key.json --primary").expect(0);
    fs::write(place.at("tree/three"), "3").unwrap();
    place.sync("").expect(0).says(&["1 changed", "2 unchanged"]);
    place.run(&format!("keys disable key.json {old}")).expect(0);
    place.sync("").expect(0).says(&["2 restored", "1 unchanged"]);
    place.is_sealed();
}

#[test]
fn a_whole_second_does_not_tell_a_renamed_file_from_another() {
    let place = Place::new();
    set_time(&place.at("tree/three"), long_ago(1_000_000_000));
    place.sync("").expect(0);
    fs::rename(place.at("tree/three"), place.at("tree/four")).unwrap();
    place.sync(" --delete").expect(0).says(&["1 new", "1 removed", "2 unchanged"]);
    place.is_sealed();
}

#[test]
fn an_output_of_another_plaintext_is_encrypted_again() {
    let place = Place::new();
    place.sync("").expect(0);
    // With another suffix, the output's name is that of another file, which happens to have the same length and time.
    let time = fs::metadata(place.at("tree/a/two")).unwrap().modified().unwrap();
    fs::remove_file(place.at("tree/a/two")).unwrap();
    fs::write(place.at("tree/a/two.enc"), "ISHMAEL").unwrap();
    set_time(&place.at("tree/a/two.enc"), time);
    place.run("sync tree sealed --key key.json").expect(0).says(&["1 changed", "2 renamed"]);
    place.run("decrypt sealed/a/two.enc opened --key key.json").expect(0);
    assert_eq!(fs::read(place.at("opened")).unwrap(), b"ISHMAEL");
}

#[test]
fn permissions_that_an_output_did_not_get_are_preserved_later() {
    let place = Place::new();
    let set =
        |path: &str, mode| fs::set_permissions(place.at(path), fs::Permissions::from_mode(mode)).unwrap();
    let mode = |path: &str| fs::metadata(place.at(path)).unwrap().mode() & 0o777;
    set("tree/a/one", 0o666);
    set("tree/a", 0o777);
    place.sync("").expect(0);
    set("sealed/a/one.enc", 0o600);
    set("sealed/a", 0o700);
    place.sync("").expect(0).says(&["3 unchanged"]);
    place.sync(" --preserve modes").expect(0).says(&["1 with other permissions", "2 unchanged"]);
    assert_eq!((mode("sealed/a/one.enc"), mode("sealed/a")), (0o666, 0o777));
    place.sync(" --preserve modes").expect(0).says(&["3 unchanged", "generation 2"]);
    // In a folder that is read-only on both sides.
    set("tree/a/one", 0o640);
    set("tree/a", 0o555);
    set("sealed/a", 0o555);
    place.sync("").expect(0).says(&["1 with other permissions"]);
    assert_eq!(mode("sealed/a") & 0o200, 0);
    set("tree/a", 0o755);
    set("sealed/a", 0o755);
}

#[test]
fn where_something_fails_nothing_is_removed() {
    let place = Place::new();
    let sync = || place.run("sync tree sealed --key key.json --delete");
    sync().expect(0);
    // Renamed and written on: its new output fails, so the older one is the only one.
    fs::rename(place.at("tree/a/one"), place.at("tree/a/eins")).unwrap();
    fs::write(place.at("tree/a/eins"), "Call me Ishmael.").unwrap();
    fs::write(place.at("sealed/a/eins"), "foreign").unwrap();
    sync().expect(3).says(&["sealed/a/eins: not replaced"]).says(&["1 gone from the source and kept"]);
    assert!(place.at("sealed/a/one").exists());
    // Nor what is in the way of something new.
    fs::remove_dir_all(place.at("tree/a")).unwrap();
    fs::write(place.at("tree/a"), "a file now").unwrap();
    fs::write(place.at("tree/b/new"), "").unwrap();
    fs::write(place.at("sealed/b/new"), "foreign").unwrap();
    sync().expect(3).says(&["sealed/b/new: not replaced"]);
    assert!(place.at("sealed/a/one").exists() && place.at("sealed/a/two").exists());
    fs::remove_file(place.at("sealed/b/new")).unwrap();
    fs::remove_file(place.at("sealed/a/eins")).unwrap();
    sync().expect(0).says(&["2 new", "3 removed"]);
    place.verify("").expect(0);
}

#[test]
fn what_is_moved_out_of_the_way_is_renamed() {
    let place = Place::new();
    let sync = || place.run("sync tree sealed --key key.json --delete");
    sync().expect(0);
    let sealed = fs::metadata(place.at("sealed/a/two")).unwrap().ino();
    fs::rename(place.at("tree/a"), place.at("tree/a-2023")).unwrap();
    fs::write(place.at("tree/a"), "a file now").unwrap();
    sync().expect(0).says(&["1 new", "2 renamed", "1 removed"]);
    assert_eq!(fs::metadata(place.at("sealed/a-2023/two")).unwrap().ino(), sealed);
    sync().expect(0).says(&["4 unchanged"]);
    place.verify("").expect(0);
}

/// Some file systems keep that permission whatever they are told: each run would write a generation for nothing.
#[test]
fn a_folder_that_is_opened_up_is_closed_without_a_generation() {
    let place = Place::new();
    let set =
        |path: &str, mode| fs::set_permissions(place.at(path), fs::Permissions::from_mode(mode)).unwrap();
    let mode = || fs::metadata(place.at("sealed/a")).unwrap().mode() & 0o777;
    set("tree/a", 0o555);
    place.sync("").expect(0);
    assert_eq!(mode(), 0o555);
    set("sealed/a", 0o755);
    place.sync("").expect(0).says(&["3 unchanged", "generation 1"]);
    assert_eq!(mode(), 0o555);
    // With a generation that is written anyway.
    set("sealed/a", 0o755);
    fs::write(place.at("tree/four"), "4").unwrap();
    place.sync("").expect(0).says(&["1 new", "generation 2"]);
    assert_eq!(mode(), 0o555);
    set("tree/a", 0o755);
    set("sealed/a", 0o755);
}
