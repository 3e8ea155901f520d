//! What commands say of a folder with hidden names.

use crate::hidden;
use std::fs;

#[test]
fn messages_say_what_was_done_and_can_be_done() {
    let place = hidden();
    let ended = place.run("encrypt tree sealed --key key.json").expect(2);
    assert!(!ended.err.contains("warning: "), "{}", ended.err);
    let ended = place.run("index sealed --key key.json --replace --verbose").expect(0);
    assert!(!ended.err.contains("authentic"), "{}", ended.err);
    ended.says(&["sealed/a/one: indexed"]);
    place.verify(" --quick --verbose").expect(0).says(&["sealed/a/one: compared"]);
    place.verify(" --verbose").expect(0).says(&["sealed/a/one: authentic"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("three", place.at("tree/link")).unwrap();
        let ended = place.run("sync tree sealed --key key.json --hide-names").expect(0);
        assert!(!ended.err.contains("--links"), "{}", ended.err);
        ended.says(&["1 link passed over"]);
    }
}

/// Nobody reads a line for each of thousands of files.
#[test]
fn a_key_that_opens_nothing_is_one_failure() {
    let place = hidden();
    place.run("keygen -o other.json").expect(0);
    let generation = place.generation();
    let ended = place.run("index sealed --key other.json --replace --skip-unopened").expect(5);
    assert_eq!(ended.err.lines().filter(|line| !line.starts_with("hint: ")).count(), 1, "{}", ended.err);
    assert_eq!(place.generation(), generation);
}

#[test]
fn a_new_index_names_files_that_are_no_part_of_the_tree() {
    let place = hidden();
    for folder in ["sealed", "sealed/1f", "sealed/more"] {
        fs::create_dir_all(place.at(folder)).unwrap();
        fs::write(place.at(folder).join("README"), "no part of it").unwrap();
    }
    for lost in [false, true] {
        for copy in ["sealed/.cipherloom/index", "sealed/00/.cipherloom/copy"].into_iter().filter(|_| lost) {
            fs::remove_dir_all(place.at(copy)).unwrap();
        }
        let more = if lost { "" } else { " --replace" };
        let ended = place.run(&format!("index sealed --key key.json{more}")).expect(6);
        let ended = ended.says(&["sealed/README: extra"]).says(&["sealed/1f/README: extra"]);
        ended.says(&["sealed/more/README: extra"]).says(&["3 FAILED"]);
        let listed = if lost { "4 entries" } else { "5 entries" };
        place.verify("").expect(5).says(&["lists", listed]);
        let _ = fs::remove_dir_all(place.at("opened"));
        place.run("decrypt sealed opened --key key.json").expect(6);
        assert_eq!(fs::read(place.at("opened/a/two")).unwrap(), b"Ishmael");
    }
}
