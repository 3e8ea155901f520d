//! What a dry run says, and what becomes of what it said.

use crate::sealed_tree::{Ended, Place};
use std::fs;

const IN_THE_WAY: &str = "not written: the index lists something else in its place";

/// The failures that a run reports, and its counts.
fn told(ended: &Ended) -> (Vec<String>, Vec<(String, u64)>) {
    let lines = ended.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let lines: Vec<_> = lines.collect();
    let failed = lines.iter().filter(|line| line["outcome"] == "failed" || line["event"] == "failed");
    let mut failed: Vec<String> =
        failed.map(|line| format!("{} {}", line["output"], line["error"])).collect();
    failed.sort();
    let summary = lines.last().unwrap()["sync"].as_object().unwrap();
    let counts = summary.iter().filter_map(|(name, count)| Some((name.clone(), count.as_u64()?)));
    (failed, counts.collect())
}

/// A file of the source becomes a folder, and a folder a file.
fn exchange_kinds(place: &Place) {
    fs::remove_file(place.at("tree/three")).unwrap();
    fs::create_dir(place.at("tree/three")).unwrap();
    fs::write(place.at("tree/three/deeper"), "3").unwrap();
    fs::remove_dir_all(place.at("tree/a")).unwrap();
    fs::write(place.at("tree/a"), "a file now").unwrap();
}

#[test]
fn what_is_in_the_way_is_foreseen() {
    for hide in ["", " --hide-names"] {
        let place = Place::new();
        let sync = |more: &str| place.run(&format!("sync tree sealed --key key.json{hide}{more}"));
        sync("").expect(0);
        exchange_kinds(&place);
        fs::write(place.at("tree/four"), "4").unwrap();
        let foreseen = sync(" --dry-run --json").expect(3);
        for name in ["a", "three", "three/deeper"] {
            let word = format!("sealed/{name}: ");
            sync(" --dry-run").says(&[&word, IN_THE_WAY]);
        }
        let done = sync(" --json").expect(3);
        let ((failed, counts), (foreseen, foreseen_counts)) = (told(&done), told(&foreseen));
        assert_eq!((&failed, &counts), (&foreseen, &foreseen_counts));
        assert_eq!(failed.len(), 3, "{failed:?}");
        assert!(failed.iter().all(|line| line.contains(IN_THE_WAY)), "{failed:?}");
        place.verify("").expect(0);
        let foreseen = sync(" --delete --dry-run --json").expect(0);
        let done = sync(" --delete --json").expect(0);
        assert_eq!(told(&done), told(&foreseen));
        place.verify("").expect(0);
    }
}

#[test]
fn what_stays_in_the_way_of_one_keeps_no_other_from_being_written() {
    for hide in ["", " --hide-names"] {
        let place = Place::new();
        let sync = |more: &str| place.run(&format!("sync tree sealed --key key.json{hide}{more}"));
        sync("").expect(0);
        exchange_kinds(&place);
        let ended = sync(" --delete --exclude two").expect(3).says(&["sealed/a: ", IN_THE_WAY]);
        let ended = ended.says(&["encrypted 1 file", "1 FAILED"]);
        assert!(!ended.err.contains("sealed/three"), "{}", ended.err);
        place.verify("").expect(0).says(&["2 files"]);
        sync(" --delete").expect(0).says(&["encrypted 1 file"]);
        place.verify("").expect(0).says(&["2 files"]);
    }
}

/// A file system keeps nothing from being made there.
#[test]
fn what_somebody_has_removed_is_not_in_the_way() {
    let place = Place::new();
    let sync = |more: &str| place.run(&format!("sync tree sealed --key key.json{more}"));
    sync("").expect(0);
    for root in ["tree", "sealed"] {
        fs::remove_file(place.at(root).join("three")).unwrap();
    }
    fs::create_dir(place.at("tree/three")).unwrap();
    fs::write(place.at("tree/three/deeper"), "3").unwrap();
    sync(" --dry-run").expect(0);
    sync("").expect(0).says(&["1 new"]);
    place.verify("").expect(0);
}

#[test]
fn what_is_renamed_is_not_in_the_way() {
    for hide in ["", " --hide-names"] {
        let place = Place::new();
        let sync = |more: &str| place.run(&format!("sync tree sealed --key key.json{hide}{more}"));
        sync("").expect(0);
        fs::rename(place.at("tree/a/two"), place.at("tree/b/two")).unwrap();
        fs::create_dir(place.at("tree/a/two")).unwrap();
        fs::write(place.at("tree/a/two/deeper"), "3").unwrap();
        sync(" --dry-run").expect(0).says(&["1 renamed"]);
        sync("").expect(0).says(&["1 new", "1 renamed"]);
        place.verify("").expect(0).says(&["4 files"]);
    }
}

#[test]
fn folders_that_hold_what_stays_are_not_foreseen_as_removed() {
    let place = Place::new();
    place.run("sync tree sealed --key key.json").expect(0);
    fs::remove_dir_all(place.at("tree/a")).unwrap();
    let sync = "sync tree sealed --key key.json --delete --exclude two --json";
    let foreseen = place.run(&format!("{sync} --dry-run")).expect(0);
    let done = place.run(sync).expect(0);
    assert_eq!(told(&done), told(&foreseen));
    assert!(place.at("sealed/a/two").exists());
}

/// On a disk where outputs have temporary names.
#[test]
fn what_a_killed_run_left_keeps_no_folder() {
    let place = Place::new();
    place.run("sync tree sealed --key key.json").expect(0);
    fs::write(place.at("sealed/a/.cipherloom-0123456789abcdef"), "a part").unwrap();
    fs::remove_dir_all(place.at("tree/a")).unwrap();
    place.run("sync tree sealed --key key.json --delete").expect(0).says(&["3 removed"]);
    assert!(!place.at("sealed/a").exists());
}

#[test]
fn a_generation_that_is_written_anyway_lists_new_inodes() {
    let place = Place::new();
    let sync = || place.run("sync tree sealed --key key.json").expect(0);
    sync();
    // As on a new disk.
    let one = place.at("tree/a/one");
    let modified = fs::metadata(&one).unwrap().modified().unwrap();
    fs::copy(&one, place.at("kept")).unwrap();
    fs::File::options().write(true).open(place.at("kept")).unwrap().set_modified(modified).unwrap();
    let folder = fs::metadata(place.at("tree/a")).unwrap().modified().unwrap();
    fs::rename(place.at("kept"), &one).unwrap();
    fs::File::open(place.at("tree/a")).unwrap().set_modified(folder).unwrap();
    let before = place.generation();
    sync().says(&["3 unchanged"]);
    assert_eq!(place.generation(), before, "that alone is no reason");
    fs::write(place.at("tree/four"), "4").unwrap();
    sync().says(&["1 new", "3 unchanged"]);
    fs::rename(&one, place.at("tree/a/uno")).unwrap();
    sync().says(&["encrypted 0 files", "1 renamed"]);
    place.verify("").expect(0);
}
