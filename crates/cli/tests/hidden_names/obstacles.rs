//! What the index lists in the place of an output. No file system is in the way of a hidden name.

use crate::sealed_tree::Place;
use crate::{ENCRYPT, hidden, places};
use std::fs;

const IN_THE_WAY: &str = "not written: the index lists something else in its place";

/// A file that became a folder, folders that became files, and something new.
fn with_obstacles() -> Place {
    let place = hidden();
    fs::remove_file(place.at("tree/three")).unwrap();
    fs::create_dir(place.at("tree/three")).unwrap();
    fs::write(place.at("tree/three/deeper"), "3").unwrap();
    for folder in ["tree/a", "tree/b"] {
        fs::remove_dir_all(place.at(folder)).unwrap();
        fs::write(place.at(folder), "a file now").unwrap();
    }
    fs::write(place.at("tree/new"), "4").unwrap();
    place
}

/// Nothing that was listed is lost.
fn keeps_all(place: &Place, run: &str) {
    let before = places(place);
    let foreseen = place.run(&format!("{run} --dry-run")).says(&["sealed/a: ", IN_THE_WAY]);
    foreseen.says(&["sealed/three/deeper: ", IN_THE_WAY]).says(&["sealed/b: ", IN_THE_WAY]);
    let ended = place.run(run).expect(3).says(&["sealed/a: ", IN_THE_WAY]).says(&["sealed/b: ", IN_THE_WAY]);
    ended.says(&["sealed/three: ", IN_THE_WAY]).says(&["sealed/three/deeper: ", IN_THE_WAY]);
    let after = places(place);
    assert!(before.iter().all(|(path, at)| after.get(path) == Some(at)), "{after:?}");
    assert_eq!(after.len(), before.len() + 1);
    place.verify("").expect(0).says(&["4 files"]);
    let _ = fs::remove_dir_all(place.at("opened"));
    place.run("decrypt sealed opened --key key.json").expect(0);
    assert_eq!(fs::read(place.at("opened/a/two")).unwrap(), b"Ishmael");
    assert_eq!(fs::read(place.at("opened/new")).unwrap(), b"4");
    assert!(place.at("opened/three").is_file() && place.at("opened/b").is_dir());
}

#[test]
fn encryption_keeps_what_is_listed() {
    for if_exists in ["fail", "skip", "overwrite"] {
        keeps_all(&with_obstacles(), &format!("{ENCRYPT} --if-exists {if_exists}"));
    }
}

#[test]
fn synchronization_keeps_what_it_may_not_remove() {
    let sync = "sync tree sealed --key key.json --hide-names";
    let place = with_obstacles();
    keeps_all(&place, sync);
    place.run(&format!("{sync} --delete")).expect(0);
    place.verify("").expect(0).says(&["4 files"]);
    assert_eq!(places(&place).into_keys().collect::<Vec<_>>(), ["a", "b", "new", "three/deeper"]);
    // Nothing is removed if something fails.
    let place = with_obstacles();
    let before = places(&place);
    for number in 0..256 {
        let folder = place.at(&format!("sealed/{number:02x}"));
        if fs::remove_dir(&folder).is_ok() {
            fs::write(&folder, "in the way of a folder").unwrap();
        }
    }
    place.run(&format!("{sync} --delete")).says(&["sealed/three/deeper: ", IN_THE_WAY]);
    let after = places(&place);
    assert!(before.iter().all(|(path, at)| after.get(path) == Some(at)), "{after:?}");
}

#[test]
fn re_keying_into_a_tree_keeps_what_is_listed() {
    let place = Place::new();
    place.run(ENCRYPT).expect(0);
    place.run(&ENCRYPT.replace("sealed", "other")).expect(0);
    for if_exists in ["fail", "skip", "overwrite"] {
        // The same file has another name there.
        let rekey = format!("rekey sealed other --key key.json --to key.json --if-exists {if_exists}");
        place.run(&rekey).expect(1).says(&["other/three: ", IN_THE_WAY]);
        place.run("verify other --key key.json").expect(0).says(&["3 files"]);
    }
    fs::create_dir(place.at("part")).unwrap();
    fs::rename(place.at("tree/three"), place.at("part/three")).unwrap();
    fs::create_dir(place.at("tree/three")).unwrap();
    fs::write(place.at("tree/three/deeper"), "3").unwrap();
    place.run(&ENCRYPT.replace("tree sealed", "part third")).expect(0);
    place.run(&ENCRYPT.replace("sealed", "fourth")).expect(0);
    let ended = place.run("rekey fourth third --key key.json --to key.json").expect(3);
    ended
        .says(&["re-keyed 2 files"])
        .says(&["third/three/deeper: ", IN_THE_WAY])
        .says(&["third/three: ", IN_THE_WAY]);
    place.run("verify third --key key.json").expect(0).says(&["3 files"]);
}

#[test]
fn re_keying_replaces_no_file_that_is_listed_under_another_path() {
    let place = hidden();
    place.run("rekey sealed mirror --key key.json --to key.json").expect(0);
    fs::rename(place.at("tree/three"), place.at("tree/four")).unwrap();
    place.run("sync tree sealed --key key.json --hide-names --delete").expect(0).says(&["1 renamed"]);
    for if_exists in ["fail", "overwrite"] {
        let rekey = format!("rekey sealed mirror --key key.json --to key.json --if-exists {if_exists}");
        place.run(&rekey).says(&["mirror/four: ", IN_THE_WAY]);
        place.run("verify mirror --key key.json").expect(0).says(&["3 files"]);
        let listed = place.run("list mirror --key key.json").expect(0).out;
        assert!(listed.contains("three") && !listed.contains("four"), "{listed}");
    }
}

#[test]
fn several_sources_have_hidden_names_too() {
    let place = Place::new();
    fs::create_dir(place.at("sealed")).unwrap();
    fs::create_dir(place.at("more")).unwrap();
    fs::write(place.at("more/four"), "4").unwrap();
    let run = "encrypt tree more sealed --key key.json --index --hide-names";
    place.run(run).expect(0).says(&["encrypted 4 files"]);
    place.verify("").expect(0);
    let listed = places(&place).into_keys().collect::<Vec<_>>();
    assert_eq!(listed, ["more/four", "tree/a/one", "tree/a/two", "tree/three"]);
    // Below a folder that is called as one of hidden names.
    fs::create_dir_all(place.at("00/sealed")).unwrap();
    place.run(&run.replace("sealed", "00/sealed")).expect(0).says(&["encrypted 4 files"]);
    place.run("verify 00/sealed --key key.json").expect(0);
    place.run(&run.replace("sealed", "tree")).expect(2);
    place.run(&run.replace("sealed", "tree/a")).expect(2);
}

#[test]
fn a_file_that_has_the_name_of_a_folder_of_hidden_names_is_no_index() {
    let place = Place::new();
    fs::create_dir(place.at("plain")).unwrap();
    fs::write(place.at("plain/00"), "").unwrap();
    let ended = place.run("encrypt tree plain --key key.json").expect(0);
    assert!(!ended.err.contains("index"), "{}", ended.err);
}
