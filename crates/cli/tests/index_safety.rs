//! What the index of an encrypted folder never does: lose what it knew, follow links, or list what no key opens.

mod sealed_tree;

use sealed_tree::Place;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn damage_of_the_index_is_told_and_the_files_are_verified() {
    let place = Place::sealed();
    let root = place.at("sealed/.cipherloom/index/root");
    fs::write(&root, "text").unwrap();
    place
        .verify("")
        .expect(5)
        .says(&["index/root: no key opens the tree's index"])
        .says(&["verified 3 files"]);
    place.verify(" --quick").expect(5);
    place.run("list sealed --key key.json").expect(5);
    place.run("index sealed --key key.json --suffix .enc").expect(5).says(&["--replace"]);
    assert_eq!(fs::read(&root).unwrap(), b"text");
    place.run("index sealed --key key.json --suffix .enc --replace").expect(0).says(&["indexed 3 files"]);
    place.verify("").expect(0);
    fs::remove_dir_all(place.at("sealed/.cipherloom/index/parts")).unwrap();
    place.verify("").expect(5).says(&["a part is missing"]);
    fs::remove_dir_all(place.at("sealed/.cipherloom")).unwrap();
    place.verify("").expect(0);
    place.verify(" --quick").expect(2).says(&["the tree has no index"]);
}

#[test]
fn another_key_never_replaces_an_index() {
    let place = Place::sealed();
    place.run("keygen -o other.json").expect(0);
    let before = place.generation();
    place
        .run("index sealed --key other.json --suffix .enc")
        .expect(5)
        .says(&["no key opens the tree's index"]);
    let encrypt = "encrypt tree sealed --key other.json --index --if-exists skip --allow-mixed-keys";
    place.run(encrypt).expect(5).says(&["no key opens the tree's index"]);
    assert_eq!(place.generation(), before);
    assert_eq!(fs::read_dir(place.at("sealed/a")).unwrap().count(), 2);
}

/// The files and their key are worth more than their index.
#[test]
fn an_index_that_cannot_be_written_takes_no_key_back() {
    let place = Place::new();
    fs::create_dir_all(place.at("sealed/.cipherloom/index")).unwrap();
    fs::write(place.at("sealed/.cipherloom/index/parts"), "text").unwrap();
    let ended = place.run("encrypt tree sealed --new-key new.json --index").expect(3);
    let ended = ended.says(&["sealed/.cipherloom"]);
    ended.says(&["encrypted 3 files", "the index was not written", "1 FAILED"]);
    let again = place.run("encrypt tree sealed --key new.json --index --if-exists skip --json").expect(3);
    assert!(again.out.contains("\"index_not_written\":true"), "{}", again.out);
    let made = place.run("index sealed --key new.json").expect(3).says(&["the index was not written"]);
    assert!(!made.err.contains("it lists the files as they are"), "{}", made.err);
    place.run("decrypt sealed opened --key new.json").expect(0).says(&["decrypted 3 files"]);
    assert_eq!(fs::read(place.at("sealed/.cipherloom/index/parts")).unwrap(), b"text");
}

#[test]
fn files_that_were_there_are_opened_before_they_are_listed() {
    let place = Place::new();
    place.run("encrypt tree sealed --key key.json").expect(0);
    fs::write(place.at("sealed/a/one"), [40; 200]).unwrap();
    place.run("keygen -o other.json").expect(0);
    place.run("encrypt tree other --key other.json").expect(0);
    fs::copy(place.at("other/a/two"), place.at("sealed/a/two")).unwrap();
    let encrypt = "encrypt tree sealed --key key.json --index --if-exists skip --allow-mixed-keys";
    let ended = place.run(encrypt).expect(5).says(&["1 skipped"]);
    ended.says(&["sealed/a/one: no key opens"]).says(&["sealed/a/two: no key opens"]);
    let listed = place.run("list sealed --key key.json").expect(0).out;
    assert!(listed.contains("three") && !listed.contains("one") && !listed.contains("two"), "{listed}");

    // A file of the same key in another's place opens, but the index knows better.
    let place = Place::sealed();
    fs::copy(place.at("sealed/a/two.enc"), place.at("sealed/a/one.enc")).unwrap();
    let encrypt = "encrypt tree sealed --key key.json --index --if-exists skip --suffix .enc";
    place.run(encrypt).expect(5).says(&["sealed/a/one.enc: replaced"]);
    place.verify("").expect(5).says(&["sealed/a/one.enc: swapped"]);
}

#[test]
fn an_anchor_finds_a_rollback_of_everything() {
    let place = Place::new();
    let encrypt = "encrypt tree sealed --key key.json --index --if-exists overwrite --anchor anchor";
    place.run(encrypt).expect(0);
    copy(&place.at("sealed"), &place.at("old"));
    fs::write(place.at("tree/a/one"), "another text").unwrap();
    fs::write(place.at("tree/new"), "").unwrap();
    place.run(encrypt).expect(0);
    place.verify(" --anchor anchor").expect(0);
    let anchor = fs::read(place.at("anchor")).unwrap();
    fs::remove_dir_all(place.at("sealed")).unwrap();
    copy(&place.at("old"), &place.at("sealed"));
    place.verify("").expect(0);
    for more in ["", " --quick"] {
        place.verify(&format!("{more} --anchor anchor")).expect(5).says(&[
            "rolled back",
            "generation 1",
            "generation 2",
        ]);
    }
    place.run("list sealed --key key.json --anchor anchor").expect(5);
    // The index that was put back does not list `new`.
    for name in ["one", "new"] {
        let decrypt = format!("decrypt sealed out --key key.json --only {name} --anchor anchor");
        place.run(&decrypt).expect(5).says(&["rolled back"]);
    }
    let before = place.generation();
    place.run(encrypt).expect(5).says(&["rolled back"]);
    assert_eq!(place.generation(), before);
    fs::remove_dir_all(place.at("sealed/.cipherloom")).unwrap();
    for command in ["verify sealed", "verify sealed --quick", "list sealed", "decrypt sealed out --only one"]
    {
        let ended = place.run(&format!("{command} --key key.json --anchor anchor")).expect(5);
        ended.says(&["index was removed", "generation 2"]);
    }
    assert_eq!(fs::read(place.at("anchor")).unwrap(), anchor);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for item in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match item.file_type().unwrap().is_dir() {
            true => copy(&item.path(), &to.join(item.file_name())),
            false => _ = fs::copy(item.path(), to.join(item.file_name())).unwrap(),
        }
    }
}

#[test]
fn the_name_of_the_index_is_reserved_in_sources() {
    let place = Place::new();
    fs::create_dir(place.at("tree/.Cipherloom")).unwrap();
    fs::write(place.at("tree/.Cipherloom/x"), "").unwrap();
    for is_at_the_top in [true, false] {
        for more in ["", " --index"] {
            let ended = place.run(&format!("encrypt tree sealed --key key.json{more}")).expect(2);
            ended.says(&["the name .cipherloom is reserved"]).says(&["--exclude .cipherloom"]);
        }
        if is_at_the_top {
            fs::rename(place.at("tree/.Cipherloom"), place.at("tree/a/.cipherloom")).unwrap();
        }
    }
    place.run("encrypt tree sealed --key key.json --index --exclude .cipherloom").expect(0);
    place.verify("").expect(0).says(&["verified 3 files"]);
    // Nor is it given to what would be passed over then.
    fs::write(place.at("tree/.cipher"), "").unwrap();
    fs::write(place.at(".cipherloom"), "").unwrap();
    fs::create_dir(place.at("new")).unwrap();
    for arguments in [
        "tree/a/.cipherloom new/.cipherloom",
        "tree/three new/.cipherloom",
        "tree/three new/.cipherloom/",
        ".cipherloom new/",
        "tree/a/.cipherloom tree/a/one new",
        "tree new --exclude .cipherloom --suffix loom",
    ] {
        let ended = place.run(&format!("encrypt {arguments} --key key.json")).expect(2);
        ended.says(&["the name .cipherloom is reserved"]);
        assert!(!place.at("new/.cipherloom").exists(), "{arguments}");
    }
}

#[test]
fn an_indexed_tree_in_another_tree_is_one_of_its_folders() {
    let place = Place::new();
    place.run("encrypt tree backup/inner --key key.json --index").expect(0);
    place.run("encrypt tree backup/plain --key key.json").expect(0);
    let inner = |name: &str| place.at("backup/inner/.cipherloom/index").join(name);
    let before = fs::read(inner("root")).unwrap();
    place.run("verify backup --key key.json").expect(0).says(&["verified 6 files", "1 item of an index"]);
    place.run("decrypt backup out --key key.json").expect(0).says(&["decrypted 6 files"]);
    assert!(!place.at("out/inner/.cipherloom").exists());
    place.run("index backup --key key.json").expect(0).says(&["indexed 6 files"]);
    let verified = place.run("verify backup --key key.json --json").expect(0);
    assert!(verified.out.contains("\"index_passed_over\":1"), "{}", verified.out);
    let rekey = "rekey backup backup --key key.json --to key.json --if-exists overwrite";
    place.run(rekey).expect(2).says(&["there is an index", "not carry over"]);
    place.run("encrypt backup twice --key key.json").expect(2).says(&["is reserved"]);
    assert_eq!(fs::read(inner("root")).unwrap(), before);
    // A destination's files are sampled for another key, and an index is none of them.
    place.run("keygen -o other.json").expect(0);
    place.run("encrypt tree lone/inner --key other.json --index").expect(0);
    for name in ["a", "b", "three"] {
        let path = place.at("lone/inner").join(name);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    place.run("encrypt tree lone --key key.json").expect(0);
}

#[test]
fn an_index_is_made_of_a_tree_in_which_nothing_fails() {
    let place = Place::new();
    place.run("encrypt tree sealed --key key.json --suffix .enc").expect(0);
    fs::write(place.at("sealed/a/one.enc"), [40; 200]).unwrap();
    let made = place.run("index sealed --key key.json --suffix .enc").expect(5);
    made.says(&["sealed/.cipherloom: not written"]).says(&["--skip-unopened"]);
    assert!(!place.at("sealed/.cipherloom/index/root").exists());

    // The file is named, and it and others can be left out.
    fs::write(place.at("sealed/README"), "What this is.").unwrap();
    let made = place.run("index sealed --key key.json --suffix .enc --exclude README").expect(5);
    made.says(&["sealed/a/one.enc: no key opens"]);
    assert!(!place.at("sealed/.cipherloom/index/root").exists());
    let index = "index sealed --key key.json --suffix .enc --exclude README --exclude one.enc";
    place.run(index).expect(0).says(&["indexed 2 files", "lists 4 entries"]);
    place.verify(" --exclude README --exclude one.enc").expect(0);
    place.verify(" --quick --exclude one.enc").expect(6).says(&["sealed/README: extra"]);
    let index = "index sealed --key key.json --suffix .enc --replace --skip-unopened";
    let made = place.run(index).expect(5).says(&["indexed 2 files", "generation 2", "lists 4 entries"]);
    made.says(&["sealed/a/one.enc: no key opens"]).says(&["sealed/README: "]);

    let place = Place::sealed();
    let before = place.generation();
    place.run("keygen -o other.json").expect(0);
    for more in ["--suffix .enc", "--suffix .enc --replace"] {
        place.run(&format!("index sealed --key other.json {more}")).expect(5);
        assert_eq!(place.generation(), before);
        place.verify("").expect(0);
    }
    // A key that opens all files that are left: what only the other one opens stays.
    for name in ["a", "three.enc"] {
        fs::rename(place.at("sealed").join(name), place.at(name)).unwrap();
    }
    let index = place.at("sealed/.cipherloom/index");
    copy(&index, &place.at("kept"));
    place.run("encrypt tree/three sealed/five --key other.json --allow-mixed-keys").expect(0);
    place.run("index sealed --key other.json --replace").expect(0).says(&["generation 1"]);
    fs::remove_file(place.at("sealed/five")).unwrap();
    fs::copy(place.at("kept/root"), index.join("root")).unwrap();
    for name in ["a", "three.enc"] {
        fs::rename(place.at(name), place.at("sealed").join(name)).unwrap();
    }
    place.verify("").expect(0);
}

#[test]
fn an_index_whose_root_is_gone_is_damaged() {
    let place = Place::sealed();
    place.run("encrypt tree sealed --key key.json --index --suffix .enc --if-exists skip").expect(0);
    fs::remove_file(place.at("sealed/.cipherloom/index/root")).unwrap();
    for more in ["", " --quick"] {
        place.verify(more).expect(5).says(&["index/root", "its root is missing"]);
    }
    let encrypt = "encrypt tree sealed --key key.json --index --suffix .enc --if-exists skip";
    place.run(encrypt).expect(5).says(&["its root is missing"]);
    place.run("index sealed --key key.json --suffix .enc").expect(5).says(&["--replace"]);
    place.run("index sealed --key key.json --suffix .enc --replace").expect(0);
    place.verify("").expect(0);
}

/// Another process holds the lock: this one.
#[test]
#[cfg(target_os = "linux")]
fn a_second_run_over_a_tree_is_refused_before_it_writes_a_file() {
    let place = Place::sealed();
    let lock = fs::File::open(place.at("sealed/.cipherloom/index/lock")).unwrap();
    lock.lock_shared().unwrap();
    place.verify("").expect(0);
    fs::write(place.at("tree/new"), "").unwrap();
    let encrypt = "encrypt tree sealed --new-key new.json --index --suffix .enc --allow-mixed-keys";
    place.run(encrypt).expect(1).says(&["another process is using the tree's index"]);
    assert!(!place.at("sealed/new.enc").exists() && !place.at("new.json").exists());
    place.run("index sealed --key key.json").expect(1).says(&["another process"]);
    lock.unlock().unwrap();
    lock.lock().unwrap();
    place.verify(" --quick").expect(1).says(&["another process"]);
}

#[test]
#[cfg(unix)]
fn something_else_in_the_indexs_place_is_refused_by_name() {
    for (what, place_of) in [
        ("link", ".cipherloom"),
        ("fifo", ".cipherloom"),
        ("file", ".cipherloom"),
        ("link", ".cipherloom/index"),
    ] {
        let place = Place::new();
        place.run("encrypt tree sealed --key key.json").expect(0);
        fs::create_dir_all(place.at("outside/index")).unwrap();
        let path = place.at("sealed").join(place_of);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match what {
            "link" => std::os::unix::fs::symlink(place.at("outside"), &path).unwrap(),
            "fifo" => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
            _ => fs::write(&path, "").unwrap(),
        }
        for command in
            ["encrypt tree sealed --key key.json --index --if-exists skip", "index sealed --key key.json"]
        {
            let ended = place.run(command);
            assert_eq!(ended.code, Some(1), "{what}: {command}: {}", ended.err);
            ended.says(&["sealed/.cipherloom"]);
        }
        let verified = place.verify("").expect(3).says(&["verified 3 files", "1 FAILED"]);
        verified.says(&["sealed/.cipherloom/index/", "in place of the tree's index"]);
        place.run("decrypt sealed opened --key key.json").expect(0);
        assert_eq!(fs::read_dir(place.at("outside/index")).unwrap().count(), 0);
    }
}
