//! Encrypted folders with hidden names that are brought up to date.

use crate::sealed_tree::Place;
use crate::{names, places};
use std::fs;

fn sync(place: &Place, more: &str) -> crate::sealed_tree::Ended {
    place.run(&format!("sync tree sealed --key key.json --hide-names{more}"))
}

fn is_sealed(place: &Place) {
    place.verify("").expect(0);
    let _ = fs::remove_dir_all(place.at("opened"));
    place.run("decrypt sealed opened --key key.json").expect(0);
    let all = names(&place.at("tree"));
    assert_eq!(names(&place.at("opened")), all);
    for name in all.iter().filter(|name| place.at("tree").join(name).is_file()) {
        let [source, opened] = ["tree", "opened"].map(|root| fs::read(place.at(root).join(name)).unwrap());
        assert_eq!(source, opened, "{name}");
        let [source, opened] =
            ["tree", "opened"].map(|root| fs::metadata(place.at(root).join(name)).unwrap());
        assert_eq!(source.modified().unwrap(), opened.modified().unwrap());
        assert_eq!(source.permissions(), opened.permissions());
    }
}

#[test]
fn what_is_new_changed_renamed_and_gone() {
    let place = Place::new();
    sync(&place, "").expect(0).says(&["3 new", "generation 2", "lists 5 entries"]);
    is_sealed(&place);
    let before = (place.generation(), places(&place), names(&place.at("sealed")));
    sync(&place, "").expect(0).says(&["encrypted 0 files", "3 unchanged", "generation 2"]);
    assert_eq!(place.generation(), before.0);

    // A new name is in the index alone.
    fs::rename(place.at("tree/a/two"), place.at("tree/b/deux")).unwrap();
    fs::create_dir(place.at("tree/c")).unwrap();
    sync(&place, " --dry-run").expect(0).says(&["1 renamed"]);
    sync(&place, "").expect(0).says(&["encrypted 0 files", "1 renamed", "2 unchanged"]);
    let after = places(&place);
    assert_eq!(after["b/deux"], before.1["a/two"]);
    is_sealed(&place);

    fs::write(place.at("tree/a/one"), "Call me Ishmael.").unwrap();
    fs::write(place.at("tree/a/two"), "another").unwrap();
    fs::remove_file(place.at("tree/three")).unwrap();
    sync(&place, "").expect(0).says(&[
        "1 new",
        "1 changed",
        "1 unchanged",
        "1 gone from the source and kept",
    ]);
    let after = places(&place);
    assert_eq!(after["a/one"], before.1["a/one"]);
    assert_ne!(after["a/two"], before.1["a/two"]);
    place.verify("").expect(0).says(&["4 files"]);
    sync(&place, " --delete").expect(0).says(&["1 removed"]);
    assert!(!after["three"].exists());
    is_sealed(&place);

    // A folder in the place of a file, and the other way round.
    fs::remove_file(place.at("tree/a/one")).unwrap();
    fs::create_dir(place.at("tree/a/one")).unwrap();
    fs::write(place.at("tree/a/one/deeper"), "").unwrap();
    fs::remove_dir_all(place.at("tree/b")).unwrap();
    fs::write(place.at("tree/b"), "a file now").unwrap();
    sync(&place, " --delete").expect(0);
    is_sealed(&place);
    sync(&place, " --delete").expect(0).says(&["encrypted 0 files"]);
}

#[test]
#[cfg(unix)]
fn modes_are_in_the_index_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    sync(&place, "").expect(0);
    let path = &places(&place)["a/one"];
    let before = fs::metadata(path).unwrap();
    fs::set_permissions(place.at("tree/a/one"), fs::Permissions::from_mode(0o400)).unwrap();
    sync(&place, "").expect(0).says(&["encrypted 0 files"]);
    let after = fs::metadata(path).unwrap();
    assert_eq!(after.permissions().mode() & 0o777, 0o600);
    assert_eq!(after.modified().unwrap(), before.modified().unwrap());
    is_sealed(&place);
}

#[test]
fn an_output_that_is_missing_or_another_one_is_made_again() {
    let place = Place::new();
    sync(&place, "").expect(0);
    let files = places(&place);
    fs::remove_file(&files["a/one"]).unwrap();
    fs::copy(&files["three"], &files["a/two"]).unwrap();
    sync(&place, "").expect(0).says(&["encrypted 2 files", "1 unchanged"]);
    is_sealed(&place);
    // What encrypt has made, sync goes on with.
    place.run("encrypt tree sealed --key key.json --index --hide-names --if-exists overwrite").expect(0);
    sync(&place, " --checksum").expect(0).says(&["encrypted 3 files"]);
    sync(&place, " --checksum").expect(0).says(&["encrypted 0 files"]);
    is_sealed(&place);
    // A run that was killed has left its outputs.
    fs::write(place.at("tree/four"), "4").unwrap();
    let roots =
        ["sealed/.cipherloom/index/root", "sealed/00/.cipherloom/copy/root"].map(|root| place.at(root));
    let before = roots.each_ref().map(|root| fs::read(root).unwrap());
    sync(&place, "").expect(0);
    let four = places(&place)["four"].clone();
    for (root, before) in roots.iter().zip(before) {
        fs::write(root, before).unwrap();
    }
    place.verify("").expect(6);
    sync(&place, "").expect(0).says(&["1 new"]);
    assert_eq!(places(&place)["four"], four, "it has the same name again");
    is_sealed(&place);
}

#[test]
fn a_damaged_output_is_no_other_key() {
    let place = Place::new();
    sync(&place, "").expect(0);
    let one = &places(&place)["a/one"];
    let damage = |place: &Place, cut: usize| {
        let mut content = fs::read(&places(place)["a/one"]).unwrap();
        content[30..].iter_mut().for_each(|byte| *byte ^= 1);
        content.truncate(content.len() - cut);
        fs::write(&places(place)["a/one"], content).unwrap();
    };
    damage(&place, 1);
    sync(&place, " --dry-run").expect(0).says(&["1 restored"]);
    sync(&place, "").expect(0).says(&["1 restored"]);
    is_sealed(&place);
    let run = "encrypt tree sealed --key key.json --index --hide-names --if-exists overwrite";
    for cut in [0, 1] {
        damage(&place, cut);
        place.run(run).expect(0);
        is_sealed(&place);
    }
    // One of another tree in its place.
    place.run("keygen -o other.json").expect(0);
    place.run("encrypt tree/three foreign --key other.json").expect(0);
    fs::copy(place.at("foreign"), one).unwrap();
    sync(&place, "").expect(0).says(&["1 restored"]);
    is_sealed(&place);
    // A key that opens nothing is another one still, and so is one of a file that stays.
    place.run(&run.replace("key.json", "other.json")).says(&["another key"]);
    let extra = one.with_file_name("0123456789abcdef0123456789abcd");
    fs::copy(place.at("foreign"), extra).unwrap();
    sync(&place, "").says(&["another key"]);
}

#[test]
fn a_run_with_nothing_to_do_renews_a_copy_of_the_index() {
    let place = Place::new();
    sync(&place, "").expect(0);
    let [index, copy] =
        ["sealed/.cipherloom/index/root", "sealed/00/.cipherloom/copy/root"].map(|root| place.at(root));
    let before = fs::read(&index).unwrap();
    for damaged in [&index, &copy] {
        fs::remove_file(damaged).unwrap();
        place.verify("").expect(5);
        sync(&place, "").expect(0).says(&["encrypted 0 files", "generation 2"]);
        assert_eq!((fs::read(&index).unwrap(), fs::read(&copy).unwrap()), (before.clone(), before.clone()));
        place.verify("").expect(0);
    }
}
