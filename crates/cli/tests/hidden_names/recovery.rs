//! What is left of an encrypted folder with hidden names when its index, or the copy of it, or both are damaged.

use crate::sealed_tree::Place;
use std::fs;
use std::path::{Path, PathBuf};

const ENCRYPT: &str = "encrypt tree sealed --key key.json --index --hide-names --if-exists overwrite";
const INDEX: &str = "sealed/.cipherloom/index";
const COPY: &str = "sealed/00/.cipherloom/copy";

fn hidden() -> Place {
    let place = Place::new();
    place.run(ENCRYPT).expect(0);
    place
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap().map(|item| item.unwrap().path()) {
        let copied = to.join(item.file_name().unwrap());
        if item.is_dir() {
            copy_folder(&item, &copied);
        } else {
            fs::copy(&item, &copied).unwrap();
        }
    }
}

/// Puts a folder back to what it was.
fn put_back(from: &Path, to: &Path) {
    fs::remove_dir_all(to).unwrap();
    copy_folder(from, to);
}

/// The lists of hidden names.
fn lists(place: &Place) -> Vec<PathBuf> {
    let all = (0..=255).map(|number| place.at(&format!("sealed/{number:02x}/names")));
    all.filter(|path| path.exists()).collect()
}

fn is_opened(place: &Place) {
    let _ = fs::remove_dir_all(place.at("opened"));
    place.run("decrypt sealed opened --key key.json");
    assert_eq!(fs::read(place.at("opened/a/one")).unwrap(), b"Call me");
    assert_eq!(fs::read(place.at("opened/a/two")).unwrap(), b"Ishmael");
    assert!(place.at("opened/three").exists() && place.at("opened/b").is_dir());
}

#[test]
fn either_copy_of_the_index_is_enough_and_the_other_is_named() {
    let parts = |place: &Place, copy: &str| -> Vec<PathBuf> {
        let parts = fs::read_dir(place.at(copy).join("parts")).unwrap();
        parts.map(|part| part.unwrap().path()).collect()
    };
    let place = hidden();
    for (copy, damages) in [(INDEX, [0, 3]), (COPY, [1, 4]), (INDEX, [2, 1])] {
        for damage in damages {
            match damage {
                0 => fs::remove_dir_all(place.at(copy)).unwrap(),
                1 => fs::remove_file(place.at(copy).join("root")).unwrap(),
                2 => fs::write(place.at(copy).join("root"), [24; 4176]).unwrap(),
                3 => parts(&place, copy).iter().for_each(|part| fs::remove_file(part).unwrap()),
                _ => parts(&place, copy).iter().for_each(|part| fs::write(part, "another").unwrap()),
            }
            let ended = place.verify("").expect(5).says(&[copy, "a copy of the tree's index is damaged"]);
            ended.says(&["1 FAILED"]).says(&["hint: the other copy is used"]);
            // The next generation is in both places.
            if damage % 2 == 1 {
                place.run(ENCRYPT).expect(0);
                place.verify(" --quick").expect(0);
                continue;
            }
            let listed = place.run("list sealed --key key.json").expect(0);
            assert_eq!(listed.out.lines().count(), 5);
            listed.says(&["warning: ", copy]);
            is_opened(&place);
            place.run(ENCRYPT).expect(0);
        }
    }
}

#[test]
fn a_copy_that_was_put_back_is_named() {
    for copy in [INDEX, COPY] {
        let place = hidden();
        copy_folder(&place.at(copy), &place.at("old"));
        fs::write(place.at("tree/four"), "4").unwrap();
        for _ in 0..2 {
            place.run(ENCRYPT).expect(0);
        }
        put_back(&place.at("old"), &place.at(copy));
        let ended = place.verify("").expect(5).says(&["1 FAILED"]);
        ended.says(&[copy, "it is not the newest generation"]).says(&["lists 6 entries"]);
        place.run(ENCRYPT).expect(0);
        place.verify("").expect(0);
        // That of another tree.
        let other = hidden();
        put_back(&other.at(copy), &place.at(copy));
        place.verify("").expect(5).says(&[copy]);
        is_opened(&place);
    }
}

#[test]
fn a_kill_between_both_copies_is_no_damage() {
    let place = hidden();
    copy_folder(&place.at(COPY), &place.at("old"));
    fs::write(place.at("tree/four"), "4").unwrap();
    place.run(ENCRYPT).expect(0);
    put_back(&place.at("old"), &place.at(COPY));
    place.verify("").expect(0).says(&["4 files"]);
    place.run(ENCRYPT).expect(0);
    place.verify("").expect(0);
}

#[test]
fn names_are_found_again_without_any_index() {
    let place = hidden();
    for copy in ["sealed/.cipherloom", "sealed/00/.cipherloom"] {
        fs::remove_dir_all(place.at(copy)).unwrap();
    }
    for run in ["verify sealed --key key.json", "decrypt sealed opened --key key.json"] {
        let ended = place.run(run).expect(5).says(&["sealed: the tree's names are hidden, and both copies"]);
        ended.says(&["hint: `cipherloom index` finds the names again"]);
    }
    // No run begins another tree there.
    let visible = "encrypt tree sealed --key key.json --index --if-exists skip";
    for run in [ENCRYPT, visible, "sync tree sealed --key key.json"] {
        place.run(run).expect(5).says(&["both copies of its index are lost"]);
    }
    let before: Vec<_> = lists(&place).iter().map(|list| fs::read(list).unwrap()).collect();
    assert!(!before.is_empty());
    place.run("index sealed --key key.json").expect(0).says(&["generation 1", "lists 4 entries"]);
    let after: Vec<_> = lists(&place).iter().map(|list| fs::read(list).unwrap()).collect();
    assert_eq!(before, after, "what is as it should be is not written again");
    place.verify("").expect(0).says(&["3 files"]);
    place.run("decrypt sealed opened --key key.json").expect(0);
    assert_eq!(fs::read(place.at("opened/a/two")).unwrap(), b"Ishmael");
    // And on from there.
    fs::write(place.at("tree/four"), "4").unwrap();
    place.run(ENCRYPT).expect(0);
    place.verify("").expect(0).says(&["4 files"]);
    is_opened(&place);
    place.run("index sealed --key key.json --replace").expect(0).says(&["lists 5 entries"]);
    place.verify("").expect(0);
}

#[test]
fn a_list_that_is_lost_costs_its_names_and_no_data() {
    let place = hidden();
    let lists = lists(&place);
    fs::remove_file(&lists[0]).unwrap();
    place.verify("").expect(5).says(&["/names: this list of hidden names is missing"]).says(&["1 FAILED"]);
    is_opened(&place);
    for copy in ["sealed/.cipherloom", "sealed/00/.cipherloom"] {
        fs::remove_dir_all(place.at(copy)).unwrap();
    }
    let ended = place.run("index sealed --key key.json");
    assert_ne!(ended.code, Some(0));
    ended.says(&["its name is lost: the index lists it as lost+found/"]).says(&["--skip-unopened"]);
    assert!(!place.at("sealed/.cipherloom/index/root").exists());
    let ended = place.run("index sealed --key key.json --skip-unopened");
    assert_ne!(ended.code, Some(0));
    place.verify("").expect(0).says(&["3 files"]);
    let listed = place.run("list sealed --key key.json").expect(0).out;
    let lost = listed.lines().filter(|line| line.starts_with('-') && line.contains("lost+found/"));
    assert_eq!(lost.count(), 1, "{listed}");
    place.run("decrypt sealed opened2 --key key.json").expect(0).says(&["3 files"]);
}

#[test]
fn lists_that_were_swapped_put_back_or_damaged_are_named() {
    let place = hidden();
    let all = lists(&place);
    let old: Vec<_> = all.iter().map(|list| fs::read(list).unwrap()).collect();
    // Swapped.
    fs::write(&all[0], &old[1]).unwrap();
    fs::write(&all[1], &old[0]).unwrap();
    place.verify("").expect(5).says(&["2 FAILED"]);
    // The next run writes them again.
    place.run(ENCRYPT).expect(0);
    place.verify("").expect(0);
    // Damaged.
    fs::write(&all[0], b"another").unwrap();
    place.verify("").expect(5).says(&["1 FAILED"]);
    place.run(ENCRYPT).expect(0);
    // Put back: enough files that one of the folders has another one.
    for number in 0..1000 {
        fs::write(place.at(&format!("tree/{number}")), "").unwrap();
    }
    place.run(ENCRYPT).expect(0);
    place.verify(" --quick").expect(0);
    let at = (0..old.len()).find(|at| fs::read(&all[*at]).unwrap() != old[*at]).unwrap();
    fs::write(&all[at], &old[at]).unwrap();
    place.verify(" --quick").expect(5).says(&["/names: this list of hidden names", "not the newest one"]);
    // Extra.
    place.run(ENCRYPT).expect(0);
    let extra = all[0].with_file_name("names2");
    fs::copy(&all[0], extra).unwrap();
    place.verify(" --quick").expect(6).says(&["/names2: extra"]);
}

#[test]
fn a_rollback_of_everything_shows_only_to_an_anchor() {
    let place = hidden();
    copy_folder(&place.at("sealed"), &place.at("old"));
    fs::write(place.at("tree/a/one"), "another text").unwrap();
    place.run(&format!("{ENCRYPT} --anchor anchor")).expect(0);
    put_back(&place.at("old"), &place.at("sealed"));
    place.verify("").expect(0);
    let rolled_back =
        "the tree was rolled back: its index is of generation 2, and the anchor knows generation 3";
    place.verify(" --anchor anchor").expect(5).says(&[rolled_back]);
    place.run(&format!("{ENCRYPT} --anchor anchor")).expect(5).says(&[rolled_back]);
}
