//! The index of an encrypted folder, as a user meets it: what it finds.

mod sealed_tree;

use sealed_tree::Place;
use std::fs;
use std::process::Command;

#[test]
fn a_tree_and_its_index_agree() {
    let place = Place::sealed();
    for more in ["", " --quick", " --quick --threads 1"] {
        place.verify(more).expect(0).says(&["3 files", "index generation 1", "lists 5 entries"]);
    }
    place.run("decrypt sealed opened --key key.json --suffix .enc").expect(0).says(&["decrypted 3 files"]);
    let listed = place.run("list sealed --key key.json a/* three").expect(0);
    let names: Vec<&str> = listed.out.lines().filter_map(|line| line.split(' ').next_back()).collect();
    assert_eq!(names, ["three", "a/one", "a/two"]);
    assert!(!place.at("opened/.cipherloom").exists());
}

#[test]
fn what_is_missing_or_extra_is_named_and_no_damage() {
    for more in ["", " --quick"] {
        let place = Place::sealed();
        fs::remove_file(place.at("sealed/a/two.enc")).unwrap();
        place.verify(more).expect(6).says(&["sealed/a/two.enc: missing"]).says(&["1 FAILED"]);
        place.run("encrypt tree/three sealed/new.enc --key key.json").expect(0);
        place.verify(more).expect(6).says(&["sealed/new.enc: extra"]).says(&["2 FAILED"]);
        fs::remove_dir(place.at("sealed/b")).unwrap();
        place.verify(more).expect(6).says(&["sealed/b: missing"]);
        // Only what is looked for is missed.
        place.verify(&format!("{more} --include one.enc --exclude b")).expect(0);
    }
}

#[test]
fn what_was_swapped_moved_or_put_back_is_named_and_damage() {
    for more in ["", " --quick"] {
        let place = Place::sealed();
        let at = |name: &str| place.at("sealed").join(name);
        let old = fs::read(at("a/one.enc")).unwrap();
        fs::rename(at("a/one.enc"), at("kept")).unwrap();
        fs::rename(at("a/two.enc"), at("a/one.enc")).unwrap();
        fs::rename(at("kept"), at("a/two.enc")).unwrap();
        let ended = place.verify(more).expect(5);
        let ended = ended.says(&["sealed/a/one.enc: swapped: the index lists this file as a/two.enc"]);
        ended
            .says(&["sealed/a/two.enc: swapped: the index lists this file as a/one.enc"])
            .says(&["2 FAILED"]);

        let place = Place::sealed();
        let at = |name: &str| place.at("sealed").join(name);
        fs::rename(at("a/one.enc"), at("one.enc")).unwrap();
        let ended = place.verify(more).expect(5).says(&["sealed/a/one.enc: missing"]);
        ended.says(&["sealed/one.enc: moved or copied: the index lists this file as a/one.enc"]);

        // An earlier version of the same file.
        let place = Place::sealed();
        let at = |name: &str| place.at("sealed").join(name);
        let before = fs::read(at("a/one.enc")).unwrap();
        assert_ne!(before, old);
        fs::write(place.at("tree/a/one"), "call me").unwrap();
        place.run("encrypt tree sealed --key key.json --index --suffix .enc --if-exists overwrite").expect(0);
        place.verify(more).expect(0);
        fs::write(at("a/one.enc"), before).unwrap();
        place.verify(more).expect(5).says(&["sealed/a/one.enc: replaced"]);
    }
}

#[test]
fn later_runs_add_to_the_index() {
    let place = Place::sealed();
    fs::create_dir(place.at("more")).unwrap();
    fs::write(place.at("more/four"), "4").unwrap();
    place
        .run("encrypt more sealed --key key.json --index --suffix .enc")
        .expect(0)
        .says(&["generation 2", "lists 6"]);
    place.verify("").expect(0).says(&["verified 4 files"]);
    // A run that knows nothing of the index.
    place.run("encrypt more/four sealed/five.enc --key key.json").expect(0);
    place.verify("").expect(6).says(&["sealed/five.enc: extra"]);
    let before = place.generation();
    place.run("index sealed --key key.json --suffix .enc").expect(2).says(&["the tree has an index already"]);
    assert_eq!(place.generation(), before);
    let made = place.run("index sealed --key key.json --suffix .enc --replace").expect(0);
    made.says(&["generation 3", "lists 7"]);
    place.verify("").expect(0);
}

#[test]
fn parts_of_a_tree_are_decrypted_only_if_they_are_what_the_index_lists() {
    let place = Place::sealed();
    place.run("decrypt sealed opened --key key.json --only a/* --only nothing").expect(0);
    assert_eq!(fs::read(place.at("opened/a/two")).unwrap(), b"Ishmael");
    assert!(!place.at("opened/three").exists());
    let only = |out: &str| place.run(&format!("decrypt sealed {out} --key key.json --only one"));
    fs::copy(place.at("sealed/a/two.enc"), place.at("sealed/a/one.enc")).unwrap();
    only("out1").expect(5).says(&["sealed/a/one.enc: swapped"]);
    assert!(!place.at("out1/a/one").exists());
    fs::remove_file(place.at("sealed/a/one.enc")).unwrap();
    only("out2").expect(1).says(&["sealed/a/one.enc: cannot read the attributes"]);
    fs::create_dir(place.at("sealed/a/one.enc")).unwrap();
    only("out3").expect(1).says(&["sealed/a/one.enc: cannot read the file"]);
    fs::remove_dir(place.at("sealed/a/one.enc")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("two.enc", place.at("sealed/a/one.enc")).unwrap();
        only("out4").expect(5).says(&["sealed/a/one.enc: replaced"]);
        fs::remove_file(place.at("sealed/a/one.enc")).unwrap();
        assert!(Command::new("mkfifo").arg(place.at("sealed/a/one.enc")).status().unwrap().success());
        only("out5").expect(1).says(&["sealed/a/one.enc: neither a file nor a folder"]);
    }
}

#[test]
fn other_commands_leave_the_index_alone() {
    let place = Place::sealed();
    let before = place.generation();
    place.run("encrypt tree/three sealed/four.enc --key key.json").expect(0);
    place.run("rekey sealed resealed --key key.json --to key.json --exclude .cipherloom").expect(0);
    place.run("decrypt sealed opened --key key.json").expect(0).says(&["decrypted 4 files"]);
    assert!(!place.at("opened/.cipherloom").exists() && !place.at("resealed/.cipherloom").exists());
    place.run("encrypt tree sealed/deeper --key key.json").expect(0);
    assert_eq!(place.generation(), before);
}

#[test]
fn what_has_no_index_is_refused() {
    let place = Place::new();
    place.run("encrypt tree/three three.enc --key key.json --index").expect(2).says(&["an encrypted folder"]);
    place.run("encrypt - - --key key.json --index").expect(2).says(&["an encrypted folder"]);
    fs::write(place.at("raw"), [7; 32]).unwrap();
    let ended = place.run("encrypt tree sealed --format cobblestone --raw-key raw --index").expect(2);
    ended.says(&["sealed with a keyset"]);
    assert!(!place.at("sealed").exists());
}

#[test]
#[cfg(unix)]
fn folders_that_end_read_only_have_their_index() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let set =
        |path: &str, mode| fs::set_permissions(place.at(path), fs::Permissions::from_mode(mode)).unwrap();
    for folder in ["tree/a", "tree/b", "tree"] {
        set(folder, 0o555);
    }
    place.run("encrypt tree sealed --key key.json --index --suffix .enc").expect(0);
    let mode = |path: &str| fs::metadata(place.at(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("sealed"), mode("sealed/a")), (0o555, 0o555));
    place.verify("").expect(0);
    place.run("encrypt tree sealed --key key.json --index --suffix .enc --if-exists skip").expect(0);
    fs::remove_dir_all(place.at("sealed/.cipherloom/index/parts")).unwrap();
    place.run("index sealed --key key.json --suffix .enc --replace").expect(0);
    assert_eq!(mode("sealed"), 0o555);
    place.verify("").expect(0);
    for folder in ["tree", "tree/a", "tree/b", "sealed", "sealed/a", "sealed/b"] {
        set(folder, 0o755);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn names_are_listed_whole_and_shown_safely() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    for name in [&b"not \xff UTF-8"[..], b"two\nlines", b"\x1b[31mred", &[b'x'; 251]] {
        fs::write(place.at("tree").join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
    }
    place.run("encrypt tree sealed --key key.json --index --suffix .enc").expect(0);
    place.verify(" --quick").expect(0);
    let listed = place.run("list sealed --key key.json").expect(0).out;
    assert!(listed.contains("two\\nlines") && !listed.contains('\x1b'), "{listed}");
    let listed = place.run("list sealed --key key.json --json").expect(0).out;
    assert!(listed.contains("{\"bytes\":\"bm90IP8gVVRGLTg=\"}"), "{listed}");
    assert!(listed.lines().last().unwrap().contains("\"event\":\"summary\""), "{listed}");
}

#[test]
#[cfg(unix)]
fn links_are_compared_too() {
    let place = Place::new();
    std::os::unix::fs::symlink("a/one", place.at("tree/link")).unwrap();
    place.run("encrypt tree sealed --key key.json --index --links copy").expect(0).says(&["lists 6 entries"]);
    place.verify(" --quick").expect(0);
    fs::remove_file(place.at("sealed/link")).unwrap();
    place.verify(" --quick").expect(6).says(&["sealed/link: missing"]);
    std::os::unix::fs::symlink("a/two", place.at("sealed/link")).unwrap();
    place.verify(" --quick").expect(5).says(&["sealed/link: replaced"]);
}

#[test]
fn a_run_that_does_not_update_the_index_warns_and_is_found() {
    let place = Place::sealed();
    fs::write(place.at("tree/a/one"), "another text").unwrap();
    let encrypt = "encrypt tree sealed --key key.json --suffix .enc --if-exists overwrite";
    place.run(encrypt).expect(0).says(&["warning: sealed: it has an index", "--index updates it"]);
    let ended = place.verify("").expect(5).says(&["sealed/a/one.enc: replaced"]);
    ended.says(&["hint: ", "`cipherloom encrypt --index --if-exists overwrite`"]);
    let ended = place.run(&format!("{encrypt} --index --json")).expect(0);
    assert!(!ended.err.contains("warning") && !ended.out.contains("index_not_written"), "{}", ended.err);
    place.verify("").expect(0);
}

#[test]
fn files_of_several_suffixes_are_selected_by_one_of_them() {
    let place = Place::sealed();
    fs::create_dir(place.at("more")).unwrap();
    fs::write(place.at("more/four"), "4").unwrap();
    place.run("encrypt more sealed --key key.json --index --suffix .tink").expect(0);
    let only = |more: &str| place.run(&format!("decrypt sealed opened --key key.json --only *{more}"));
    only("").expect(2).says(&["an index needs the suffix of the files to select"]);
    only(" --suffix .none").expect(1).says(&["there is nothing to be decrypted"]);
    only(" --suffix .tink").expect(0).says(&["decrypted 1 file,"]);
    assert_eq!(fs::read(place.at("opened/four")).unwrap(), b"4");
    only(" --suffix .enc").expect(0).says(&["decrypted 3 files,"]);
    only(" --suffix .enc --if-exists skip").expect(0).says(&["3 skipped (the name exists; not checked)"]);
    // Links are not authenticated, and none is listed as a file.
    only(" --suffix .enc --links copy-all").expect(2).says(&["--only"]);
}

#[test]
fn what_has_no_list_is_refused_by_name() {
    let place = Place::sealed();
    let list = |tree: &str| place.run(&format!("list {tree} --key key.json"));
    list("nosuch").expect(1).says(&["nosuch: cannot read the source"]);
    list("sealed/three.enc").expect(2).says(&["sealed/three.enc: an index needs a folder"]);
    list("-").expect(2).says(&["an index is of an encrypted folder"]);
    list("tree").expect(2).says(&["tree: the tree has no index"]);
}

#[test]
#[cfg(unix)]
fn links_that_this_run_did_not_make_are_not_listed() {
    let link = |target: &str, path: std::path::PathBuf| std::os::unix::fs::symlink(target, path).unwrap();
    let place = Place::new();
    link("a/one", place.at("tree/link"));
    place.run("encrypt tree sealed --key key.json --index").expect(0).says(&["lists 5 entries"]);
    place.verify("").expect(0);
    // Another link is there, which stays.
    link("elsewhere", place.at("sealed/link"));
    place.run("encrypt tree sealed --key key.json --index --links copy --if-exists skip").expect(0);
    place.verify("").expect(6).says(&["sealed/link: extra"]);

    // A link with the name of an output.
    let place = Place::new();
    link("three", place.at("tree/three.enc"));
    place.run("encrypt tree sealed --key key.json --index --suffix .enc").expect(0);
    place.run("list sealed --key key.json").expect(0);
    place.verify("").expect(0);
    let again = "encrypt tree sealed --key key.json --index --suffix .enc --links copy --if-exists overwrite";
    place.run(again).expect(3).says(&["sealed/three.enc", "exists"]);
    place.verify("").expect(0);
}

#[test]
fn a_folder_that_could_not_be_made_is_not_listed() {
    let place = Place::new();
    place.run("encrypt tree sealed --key key.json --index").expect(0);
    fs::create_dir_all(place.at("other/three/deeper")).unwrap();
    fs::write(place.at("other/four"), "").unwrap();
    let ended = place.run("encrypt other sealed --key key.json --index");
    assert_ne!(ended.code, Some(0));
    ended.says(&["encrypted 1 file", "generation 2", "lists 6"]);
    place.verify("").expect(0).says(&["verified 4 files"]);
}
