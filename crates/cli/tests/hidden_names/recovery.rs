//! What is left of an encrypted folder with hidden names when its index, or the copy of it, or both are damaged.

use crate::sealed_tree::{Ended, Place};
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

fn is_opened(place: &Place) -> Ended {
    let _ = fs::remove_dir_all(place.at("opened"));
    let ended = place.run("decrypt sealed opened --key key.json").expect(0);
    assert_eq!(fs::read(place.at("opened/a/one")).unwrap(), b"Call me");
    assert_eq!(fs::read(place.at("opened/a/two")).unwrap(), b"Ishmael");
    assert!(place.at("opened/three").exists() && place.at("opened/b").is_dir());
    ended
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
            is_opened(&place).says(&["warning: ", copy]);
            let rekey = "rekey sealed resealed --key key.json --to key.json";
            place.run(rekey).expect(0).says(&["warning: ", copy]);
            fs::remove_dir_all(place.at("resealed")).unwrap();
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
        // That of another tree, under another key.
        let other = hidden();
        put_back(&other.at(copy), &place.at(copy));
        place.verify("").expect(5).says(&[copy]);
        is_opened(&place);
    }
}

#[test]
fn a_copy_of_another_tree_of_the_key_stops_every_run() {
    for (copy, kept) in [(INDEX, COPY), (COPY, INDEX)] {
        let place = hidden();
        place.run(&ENCRYPT.replace("sealed", "other")).expect(0);
        copy_folder(&place.at(copy), &place.at("own"));
        put_back(&place.at(&copy.replace("sealed", "other")), &place.at(copy));
        let before = fs::read(place.at(kept).join("root")).unwrap();
        let two_trees = "the two copies of the tree's index are of different trees";
        for run in [
            ENCRYPT,
            "sync tree sealed --key key.json --hide-names",
            "sync tree sealed --key key.json --hide-names --delete",
            "rekey sealed sealed --key key.json --to key.json --if-exists overwrite",
            "index sealed --key key.json --replace",
            "decrypt sealed opened --key key.json",
            "verify sealed --key key.json",
            "list sealed --key key.json",
        ] {
            let ended = place.run(run).expect(5).says(&["sealed: ", two_trees]);
            ended.says(&["hint: move `.cipherloom` or `00/.cipherloom` away"]);
            assert_eq!(fs::read(place.at(kept).join("root")).unwrap(), before, "{run}");
        }
        fs::remove_dir_all(place.at(copy)).unwrap();
        place.verify("").expect(5).says(&[copy]);
        place.run(ENCRYPT).expect(0);
        place.verify("").expect(0).says(&["3 files"]);
    }
}

#[test]
fn lists_are_sealed_again_with_a_new_primary_key() {
    let place = hidden();
    let key_ids = || {
        let listed = place.run("keys list key.json --json").expect(0).out;
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let keys = listed["keys"].as_array().unwrap().iter();
        keys.map(|key| key["id"].to_string()).collect::<Vec<_>>()
    };
    let old = key_ids().remove(0);
    place.run("keys add key.json --primary").expect(0);
    place.run("rekey sealed sealed --key key.json --to key.json --if-exists overwrite").expect(0);
    place.run(&format!("keys disable key.json {old}")).expect(0);
    place.verify("").expect(0).says(&["3 files"]);
    for copy in ["sealed/.cipherloom", "sealed/00/.cipherloom"] {
        fs::remove_dir_all(place.at(copy)).unwrap();
    }
    place.run("index sealed --key key.json").expect(0).says(&["lists 4 entries"]);
    place.verify("").expect(0).says(&["3 files"]);
}

#[test]
fn a_new_index_takes_over_what_the_one_before_knows() {
    let place = hidden();
    let list = || place.run("list sealed --key key.json").expect(0).out;
    let lines = |listed: String| listed.lines().take(5).map(str::to_owned).collect::<Vec<_>>();
    let before = lines(list());
    // Without a list, too.
    fs::write(&lists(&place)[0], "").unwrap();
    place.run("index sealed --key key.json --replace").expect(0).says(&["lists 5 entries"]);
    assert_eq!(lines(list()), before, "with modes, times and empty folders");
    place.verify("").expect(0);
    // What is another stream now has no time.
    place.run("encrypt tree/a/one one --key key.json").expect(0);
    fs::rename(place.at("one"), &crate::places(&place)["a/one"]).unwrap();
    place.verify("").expect(5).says(&["sealed/a/one: replaced"]);
    place.run("index sealed --key key.json --replace").expect(0).says(&["lists 5 entries"]);
    let after = lines(list());
    let others =
        |lines: &[String]| lines.iter().filter(|line| !line.ends_with("a/one")).cloned().collect::<Vec<_>>();
    assert_eq!(others(&after), others(&before));
    assert_ne!(after, before);
    place.run("sync tree sealed --key key.json --hide-names").expect(0).says(&["encrypted 1 file"]);
    place.verify("").expect(0);
    // Parts that are lost do not keep it from being made.
    for copy in [INDEX, COPY] {
        fs::remove_dir_all(place.at(copy).join("parts")).unwrap();
    }
    place.run("index sealed --key key.json --replace").expect(0).says(&["lists 4 entries"]);
    place.verify("").expect(0);
}

#[test]
fn a_copy_that_is_damaged_after_both_were_replaced_is_restored() {
    let place = hidden();
    let damage = |copy: &str| fs::write(place.at(copy).join("root"), "damaged").unwrap();
    [INDEX, COPY].into_iter().for_each(damage);
    place.run("index sealed --key key.json --replace").expect(0).says(&["lists 4 entries"]);
    damage(INDEX);
    place.run("sync tree sealed --key key.json --hide-names").expect(0);
    place.verify("").expect(0);
}

#[test]
fn a_new_index_does_not_report_what_is_left_out() {
    let place = hidden();
    fs::write(place.at("sealed/README"), "the owner's").unwrap();
    place.run("index sealed --key key.json --replace").expect(6).says(&["sealed/README: extra"]);
    place.run("index sealed --key key.json --replace --exclude README").expect(0);
    place.verify(" --exclude README").expect(0).says(&["3 files"]);
}

#[test]
fn a_list_that_cannot_be_written_keeps_no_index_from_being_written() {
    let place = hidden();
    let list = &lists(&place)[0];
    fs::remove_file(list).unwrap();
    fs::create_dir(list).unwrap();
    fs::write(place.at("tree/four"), "4").unwrap();
    let name = list.file_name().unwrap().to_str().unwrap();
    let ended = place.run(ENCRYPT).expect(3).says(&[name]);
    ended.says(&["encrypted 4 files", "lists 6 entries", "1 FAILED"]);
    place.verify("").expect(5).says(&["/names: this list of hidden names is missing"]).says(&["1 FAILED"]);
    is_opened(&place);
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
    for run in [
        "verify sealed --key key.json",
        "decrypt sealed opened --key key.json",
        "decrypt sealed opened --key key.json --only three",
        "list sealed --key key.json",
    ] {
        let ended = place.run(run).expect(5).says(&["sealed: the tree's names are hidden, and both copies"]);
        ended.says(&["hint: `cipherloom index` finds the names again"]);
    }
    // No run begins another tree there.
    let visible = "encrypt tree sealed --key key.json --index --if-exists skip";
    for run in [ENCRYPT, "sync tree sealed --key key.json --hide-names"] {
        place.run(run).expect(5).says(&["both copies of its index are lost"]);
        place.run(&format!("{run} --dry-run")).expect(5).says(&["both copies of its index are lost"]);
    }
    for run in [visible, "sync tree sealed --key key.json"] {
        place.run(run).expect(2).says(&["the tree's names are hidden"]);
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
    place.run("index sealed --key key.json --replace").expect(0).says(&["lists 6 entries"]);
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

#[test]
fn a_new_index_keeps_the_names_of_what_is_missing_or_cannot_be_opened() {
    let place = hidden();
    let files = crate::places(&place);
    let one = &files["a/one"];
    let aside = place.at("aside");
    fs::rename(one, &aside).unwrap();
    let ended = place.run("index sealed --key key.json --replace").expect(6);
    ended.says(&["sealed/a/one: missing"]).says(&["lists 5 entries"]);
    assert_eq!(crate::places(&place), files);
    fs::write(one, [7; 100]).unwrap();
    let ended = place.run("index sealed --key key.json --replace --skip-unopened");
    ended.says(&["sealed/a/one: this is not a tink stream"]).says(&["lists 5 entries"]);
    assert_eq!(crate::places(&place), files);
    fs::rename(&aside, one).unwrap();
    place.verify("").expect(0);
    is_opened(&place);
    // The lists know them, too.
    fs::rename(one, &aside).unwrap();
    for copy in [INDEX, COPY] {
        fs::remove_dir_all(place.at(copy)).unwrap();
    }
    place
        .run("index sealed --key key.json")
        .says(&["sealed/a/one: missing"])
        .says(&["the index was not written"]);
    fs::rename(&aside, one).unwrap();
    place.run("index sealed --key key.json").expect(0);
    assert_eq!(crate::places(&place), files);
}

#[test]
fn nobody_takes_a_tree_for_a_plain_one_that_has_lost_its_index() {
    let place = hidden();
    place.run("encrypt tree plain --key key.json --index").expect(0);
    copy_folder(&place.at(INDEX), &place.at("index"));
    put_back(&place.at("plain/.cipherloom/index"), &place.at(INDEX));
    let two = "the two copies of the tree's index are of different trees";
    for run in ["decrypt sealed opened", "verify sealed", "index sealed --replace"] {
        place.run(&format!("{run} --key key.json")).expect(5).says(&[two]);
    }
    assert!(!place.at("opened").exists());
    put_back(&place.at("index"), &place.at(INDEX));
    is_opened(&place);
    for below in ["sealed/1f/new", "sealed/more"] {
        place
            .run(&format!("encrypt tree {below} --key key.json"))
            .expect(2)
            .says(&["the tree's names are hidden"]);
        assert!(!place.at(below).exists());
    }
    for copy in [INDEX, COPY] {
        fs::remove_dir_all(place.at(copy).parent().unwrap()).unwrap();
    }
    // It leaves its lock there.
    place.run("encrypt tree sealed --key key.json --index --hide-names").expect(5);
    for run in ["encrypt tree sealed --key key.json", "encrypt tree sealed --key key.json --index"] {
        place.run(run).expect(2).says(&["the tree's names are hidden"]);
    }
    assert!(!place.at("sealed/three").exists());
}
