//! Encrypted folders whose names only the index knows, as a user meets them.

#[path = "hidden_names/copies.rs"]
mod copies;
#[path = "hidden_names/messages.rs"]
mod messages;
#[path = "hidden_names/obstacles.rs"]
mod obstacles;
#[path = "hidden_names/recovery.rs"]
mod recovery;
mod sealed_tree;
#[path = "hidden_names/synchronization.rs"]
mod synchronization;

use sealed_tree::Place;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

const ENCRYPT: &str = "encrypt tree sealed --key key.json --index --hide-names";

/// `sealed` is the tree with hidden names.
fn hidden() -> Place {
    let place = Place::new();
    place.run(ENCRYPT).expect(0).says(&["lists 5 entries"]);
    place
}

/// Where the ciphertexts are, by the paths of their plaintexts.
fn places(place: &Place) -> BTreeMap<String, PathBuf> {
    let listed = place.run("list sealed --key key.json --json").expect(0).out;
    let folders = || listed.lines().filter(|line| line.contains("\"kind\":\"folder\""));
    assert!(folders().all(|line| !line.contains("encrypted_path")), "{listed}");
    let field = |line: &str, name: &str| {
        let start = line.find(&format!("\"{name}\":\""))? + name.len() + 4;
        line[start..].split('"').next().map(str::to_owned)
    };
    let files = listed.lines().filter(|line| line.contains("\"kind\":\"file\""));
    let at = |line: &str| field(line, "encrypted_path").map(|path| place.at("sealed").join(path));
    files.map(|line| (field(line, "path").unwrap(), at(line).unwrap())).collect()
}

/// Everything below a folder but its index, by path.
fn names(root: &std::path::Path) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
            found.push(item.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            if item.is_dir() && item.file_name().unwrap() != ".cipherloom" {
                folders.push(item);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn nothing_shows_names_folders_modes_or_times() {
    let place = Place::new();
    fs::File::open(place.at("tree/a/one")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    place.run(ENCRYPT).expect(0);
    let files = places(&place);
    assert_eq!(files.keys().map(String::as_str).collect::<Vec<_>>(), ["a/one", "a/two", "three"]);
    for path in files.values() {
        let found = fs::metadata(path).unwrap();
        assert_ne!(found.modified().unwrap(), std::time::UNIX_EPOCH);
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o777, 0o600);
    }
    let all = names(&place.at("sealed"));
    for number in 0..=255 {
        assert!(all.contains(&format!("{number:02x}")), "all folders are there, whatever the tree has");
    }
    assert!(all.iter().all(|name| !["one", "two", "three"].iter().any(|word| name.contains(word))));

    place.run("decrypt sealed opened --key key.json").expect(0).says(&["decrypted 3 files"]);
    assert_eq!(fs::read(place.at("opened/a/two")).unwrap(), b"Ishmael");
    assert!(place.at("opened/b").is_dir());
    let opened = fs::metadata(place.at("opened/a/one")).unwrap();
    assert_eq!(opened.modified().unwrap(), std::time::UNIX_EPOCH);
    assert_eq!(opened.permissions(), fs::metadata(place.at("tree/a/one")).unwrap().permissions());
    assert_eq!(names(&place.at("opened")), names(&place.at("tree")));
}

#[test]
fn a_file_opens_by_itself_too() {
    let place = hidden();
    let path = places(&place)["a/two"].strip_prefix(place.at("")).unwrap().to_owned();
    place.run(&format!("decrypt {} two --key key.json", path.display())).expect(0);
    assert_eq!(fs::read(place.at("two")).unwrap(), b"Ishmael");
}

#[test]
fn a_part_is_decrypted_by_its_names() {
    let place = hidden();
    place.run("decrypt sealed opened --key key.json --only a/*").expect(0).says(&["decrypted 2 files"]);
    place.run("decrypt sealed opened2 --key key.json --include three").expect(0).says(&["decrypted 1 file"]);
    place.run("decrypt sealed opened3 --key key.json --exclude a").expect(0).says(&["decrypted 1 file"]);
    assert!(place.at("opened/a/one").exists() && !place.at("opened/three").exists());
    assert!(place.at("opened2/three").exists() && !place.at("opened2/a/one").exists());
    let made = |root: &str| names(&place.at(root)).len();
    assert_eq!(made("opened"), 3, "no folder but the one that is needed");
    let attributes = |root: &str| fs::metadata(place.at(root).join("a")).unwrap();
    let [source, opened] = ["tree", "opened"].map(attributes);
    assert_eq!(source.permissions(), opened.permissions());
    assert_eq!(source.modified().unwrap(), opened.modified().unwrap());
    let plain = Place::sealed();
    plain.run("decrypt sealed opened --key key.json --only three").expect(0);
    assert_eq!(names(&plain.at("opened")), ["three"]);
    place.run("decrypt sealed opened4 --key key.json --only nothing").expect(1);
    let ended = place.run("list sealed --key key.json a/* three").expect(0);
    assert_eq!(ended.out.lines().filter(|line| line.starts_with('-')).count(), 3);
}

#[test]
fn verification_names_plaintexts() {
    for more in ["", " --quick"] {
        let place = hidden();
        place.verify(more).expect(0).says(&["3 files", "lists 5 entries"]);
        let files = places(&place);

        // Swapped.
        fs::rename(&files["a/one"], place.at("kept")).unwrap();
        fs::rename(&files["a/two"], &files["a/one"]).unwrap();
        fs::rename(place.at("kept"), &files["a/two"]).unwrap();
        let ended = place.verify(more).expect(5).says(&["2 FAILED"]);
        ended
            .says(&["sealed/a/one: swapped: the index lists this file as a/two"])
            .says(&["sealed/a/two: swapped: the index lists this file as a/one"]);

        // It is decrypted all the same, as where names are not hidden, but that is reported.
        place.run("decrypt sealed opened --key key.json").expect(5).says(&["sealed/a/one: swapped"]);
        assert_eq!(fs::read(place.at("opened/a/one")).unwrap(), b"Ishmael");
        place.run("decrypt sealed opened2 --key key.json --only one").expect(5).says(&["a/one: swapped"]);
        assert!(!place.at("opened2/a/one").exists());

        // Moved.
        let place = hidden();
        let files = places(&place);
        let moved = "sealed/00/00000000000000000000000000000f";
        fs::rename(&files["a/one"], place.at(moved)).unwrap();
        let ended = place.verify(more).expect(5).says(&["sealed/a/one: missing: the index lists it"]);
        ended.says(&[&format!("{moved}: moved or copied: the index lists this file as a/one")]);
        place.run("decrypt sealed opened --key key.json").expect(6).says(&["sealed/a/one: missing"]);
        assert!(place.at("opened/three").exists() && !place.at("opened/00").exists());

        // Extra and missing.
        let place = hidden();
        let files = places(&place);
        fs::remove_file(&files["three"]).unwrap();
        place.run("encrypt tree/three README --key key.json").expect(0);
        fs::rename(place.at("README"), place.at("sealed/README")).unwrap();
        let ended = place.verify(more).expect(6).says(&["sealed/three: missing"]);
        ended.says(&["sealed/README: extra: the index does not list it"]);
        // Only what is looked for is missed.
        place.verify(&format!("{more} --include two")).expect(0).says(&[" 1 file"]);

        // An earlier version.
        let place = hidden();
        let path = &places(&place)["a/one"];
        let before = fs::read(path).unwrap();
        fs::write(place.at("tree/a/one"), "call me").unwrap();
        place.run(&format!("{ENCRYPT} --if-exists overwrite")).expect(0);
        assert_eq!(places(&place)["a/one"], *path, "a file keeps its name");
        place.verify(more).expect(0);
        fs::write(path, before).unwrap();
        place.verify(more).expect(5).says(&["sealed/a/one: replaced"]);
    }
}

#[test]
fn later_runs_add_to_the_tree() {
    let place = hidden();
    let before = places(&place);
    fs::write(place.at("tree/four"), "4").unwrap();
    let ended = place.run(&format!("{ENCRYPT} --if-exists skip")).expect(0);
    ended.says(&["encrypted 1 file", "3 skipped", "generation 3", "lists 6"]);
    place.verify("").expect(0);
    let after = places(&place);
    assert!(before.iter().all(|(path, place)| after[path] == *place));
    place.run("decrypt sealed opened --key key.json").expect(0);
    let modified = |path: &str| fs::metadata(place.at(path)).unwrap().modified().unwrap();
    assert_eq!(modified("opened/a/one"), modified("tree/a/one"), "the index keeps what it knows");
    // Nothing is replaced unasked.
    place.run(ENCRYPT).expect(1).says(&["exists"]);
    place.verify("").expect(0);
}

#[test]
fn a_run_that_was_killed_finds_what_it_wrote() {
    let place = hidden();
    // The first generation lists nothing: as if the run had been killed before its last step.
    for index in ["sealed/.cipherloom/index", "sealed/00/.cipherloom/copy"] {
        fs::rename(place.at(index).join("root.previous"), place.at(index).join("root")).unwrap();
    }
    place.verify("").expect(6).says(&["extra"]);
    let ended = place.run(&format!("{ENCRYPT} --if-exists skip")).expect(0);
    ended.says(&["encrypted 0 files", "3 skipped", "generation 2"]);
    place.verify("").expect(0).says(&["3 files"]);
    place.run("decrypt sealed opened --key key.json").expect(0).says(&["decrypted 3 files"]);
    for path in ["a/one", "three"] {
        let [source, opened] =
            ["tree", "opened"].map(|root| fs::metadata(place.at(root).join(path)).unwrap());
        assert_eq!(source.permissions(), opened.permissions(), "the source has its mode still");
    }
}

#[test]
#[cfg(unix)]
fn a_run_that_goes_on_or_re_keys_takes_no_permissions_away() {
    use std::os::unix::fs::PermissionsExt;
    let place = hidden();
    let file = places(&place)["a/one"].clone();
    let found = [place.at("sealed"), file.parent().unwrap().to_owned(), file];
    let set = |mode: u32| {
        found.iter().for_each(|path| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap());
    };
    let modes = || found.each_ref().map(|path| fs::metadata(path).unwrap().permissions().mode() & 0o777);
    // A program that makes backups may read them.
    set(0o755);
    place.run(&format!("{ENCRYPT} --if-exists skip")).expect(0);
    assert_eq!(modes(), [0o755; 3]);
    fs::write(place.at("tree/four"), "4").unwrap();
    place.run("sync tree sealed --key key.json --hide-names").expect(0);
    assert_eq!(modes(), [0o755; 3]);
    place.run("keys add key.json --primary").expect(0);
    place.run("rekey sealed sealed --key key.json --to key.json --if-exists overwrite").expect(0);
    assert_eq!(modes(), [0o755; 3]);
    place.verify("").expect(0);
}

#[test]
fn a_tree_hides_names_as_a_whole_or_not() {
    let place = hidden();
    let before = place.generation();
    let index = "encrypt tree sealed --key key.json --index --if-exists skip";
    let ended = place
        .run(index)
        .expect(2)
        .says(&["the tree's names are hidden, unlike those that this run would give"]);
    ended.says(&["hint: "]);
    place.run("encrypt tree visible --key key.json").expect(0);
    place.run("keygen -o other.json").expect(0);
    let all = names(&place.at("sealed"));
    for run in [
        "sync tree sealed --key key.json",
        "sync tree sealed --key key.json --dry-run",
        // Also without an index, by whatever key.
        "encrypt tree sealed --key key.json",
        "encrypt tree sealed --key key.json --dry-run",
        "encrypt tree sealed --key other.json --allow-mixed-keys",
        "encrypt tree/three sealed/README --key key.json",
        "encrypt - sealed/README --key key.json",
        "rekey visible sealed --key key.json --to key.json",
    ] {
        place.run(run).expect(2).says(&["the tree's names are hidden"]);
    }
    assert_eq!(names(&place.at("sealed")), all);
    assert_eq!(place.generation(), before);
    place.verify("").expect(0);
    let place = Place::sealed();
    let ended = place.run(&format!("{ENCRYPT} --if-exists skip")).expect(2);
    ended.says(&["the tree's names are not hidden, unlike those that this run would give"]);
    place.run(&format!("{ENCRYPT} --dry-run")).expect(2).says(&["the tree's names are not hidden"]);
    place.verify("").expect(0);
    assert!(!place.at("sealed/00").exists());
}

#[test]
fn what_hidden_names_exclude_is_refused() {
    let place = Place::new();
    for more in ["--suffix .enc", "--bind-path"] {
        place.run(&format!("{ENCRYPT} {more}")).expect(2);
    }
    place.run("encrypt tree sealed --key key.json --hide-names").expect(2);
    place
        .run(&format!("{ENCRYPT} --links copy"))
        .expect(2)
        .says(&["links to be skipped where names are hidden"]);
    for run in [ENCRYPT, "sync tree sealed --key key.json --hide-names"] {
        place
            .run(&run.replace("sealed", "s3://bucket/x"))
            .expect(2)
            .says(&["names are hidden in folders alone"]);
    }
    assert!(!place.at("sealed").exists());
    let place = hidden();
    fs::write(place.at("list"), "a/one").unwrap();
    place
        .run("decrypt sealed opened --key key.json --files-from list")
        .expect(2)
        .says(&["its names are hidden"]);
    for run in [
        "decrypt sealed s3://bucket/x --key key.json",
        "rekey sealed s3://bucket/x --key key.json --to key.json",
    ] {
        place
            .run(run)
            .expect(2)
            .says(&["its names are hidden, and outputs of such a tree go to folders alone"]);
    }
}

#[test]
fn a_dry_run_finds_outputs_by_the_index() {
    let place = Place::new();
    let dry_run = |more: &str| place.run(&format!("{ENCRYPT} --dry-run{more} --json"));
    let says =
        |ended: crate::sealed_tree::Ended, words: &str| assert!(ended.out.contains(words), "{}", ended.out);
    says(dry_run("").expect(0), "\"skipped\":0");
    place.run(ENCRYPT).expect(0);
    fs::write(place.at("tree/four"), "4").unwrap();
    says(dry_run(" --if-exists skip").expect(0), "\"skipped\":3");
    says(dry_run("").expect(3), "\"failed\":3");
    let rekey = "rekey sealed resealed --key key.json --to key.json --if-exists skip";
    says(place.run(&format!("{rekey} --dry-run --json")).expect(0), "\"skipped\":0");
    place.run(rekey).expect(0);
    says(place.run(&format!("{rekey} --dry-run --json")).expect(0), "\"skipped\":3");
}

/// The first generation lists nothing, and the lists of names are written last.
#[test]
#[cfg(unix)]
fn nobody_takes_a_tree_that_is_being_made_for_another_kind() {
    let place = hidden();
    for index in ["sealed/.cipherloom/index", "sealed/00/.cipherloom/copy"] {
        fs::rename(place.at(index).join("root.previous"), place.at(index).join("root")).unwrap();
    }
    for number in 0..=255 {
        let _ = fs::remove_file(place.at(&format!("sealed/{number:02x}/names")));
    }
    let lock = fs::File::options().write(true).open(place.at("sealed/.cipherloom/index/lock")).unwrap();
    lock.lock().unwrap();
    for run in [
        "decrypt sealed opened --key key.json",
        "verify sealed --key key.json",
        "index sealed --key key.json --replace",
    ] {
        place.run(run).expect(1).says(&["another process is using the tree's index"]);
    }
    assert!(!place.at("opened").exists());
}

#[test]
fn a_missing_file_is_missing_though_a_folder_of_names_is_called_like_it() {
    let place = Place::new();
    fs::write(place.at("tree/7f"), "a file").unwrap();
    place.run(ENCRYPT).expect(0);
    fs::remove_file(&places(&place)["7f"]).unwrap();
    place.verify("").expect(6).says(&["sealed/7f: missing: the index lists it"]);
}

#[test]
fn a_tree_is_re_keyed_with_its_names() {
    let place = hidden();
    place.run("keygen -o new.json").expect(0);
    let before = places(&place);
    let elsewhere = "rekey sealed resealed --key key.json --to new.json";
    place.run(elsewhere).expect(0).says(&["re-keyed 3 files"]);
    place.run("verify resealed --key new.json").expect(0).says(&["3 files", "lists 5 entries"]);
    place.run(&format!("{elsewhere} --if-exists skip")).expect(0).says(&["3 skipped"]);
    for path in before.values() {
        let relative = path.strip_prefix(place.at("sealed")).unwrap();
        assert!(place.at("resealed").join(relative).exists());
    }

    // In place, and killed before the index was written.
    let copies = ["sealed/.cipherloom/index", "sealed/00/.cipherloom/copy"].map(|copy| place.at(copy));
    let roots = copies.each_ref().map(|copy| fs::read(copy.join("root")).unwrap());
    let in_place = "rekey sealed sealed --key key.json --to new.json --if-exists overwrite";
    place.run(in_place).expect(0).says(&["re-keyed 3 files"]);
    let verify = "verify sealed --key new.json";
    place.run(verify).expect(0).says(&["3 files"]);
    for (copy, root) in copies.iter().zip(&roots) {
        fs::write(copy.join("root"), root).unwrap();
    }
    place.run(in_place).expect(0).says(&["3 skipped"]);
    place.run(verify).expect(0).says(&["3 files", "lists 5 entries"]);
    // Killed before the second copy was written.
    fs::write(copies[1].join("root"), &roots[1]).unwrap();
    place.run(in_place).expect(0).says(&["3 skipped"]);
    place.run(verify).expect(0);
    place.run("decrypt sealed opened --key new.json").expect(0).says(&["decrypted 3 files"]);
    assert_eq!(fs::read(place.at("opened/a/two")).unwrap(), b"Ishmael");
    // What was swapped is not re-keyed.
    fs::copy(&before["a/one"], &before["a/two"]).unwrap();
    let back = "rekey sealed sealed --key new.json --to key.json --if-exists overwrite";
    place.run(back).expect(5).says(&["sealed/a/two: swapped: the index lists this file as a/one"]);
}
