//! `rekey` of an indexed folder: what is as the index lists it is re-keyed and listed again, and nothing else. A run that was
//! stopped or killed at any point goes on.

mod sealed_tree;

use sealed_tree::Place;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const IN_PLACE: &str = "rekey sealed sealed --key key.json --to new.json --if-exists overwrite";
const FILES: [&str; 3] = ["a/one.enc", "a/two.enc", "three.enc"];

fn sealed() -> Place {
    let place = Place::sealed();
    place.run("keygen -o new.json").expect(0);
    place
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match item.file_type().unwrap().is_dir() {
            true => copy(&item.path(), &to.join(item.file_name())),
            false => _ = fs::copy(item.path(), to.join(item.file_name())).unwrap(),
        }
    }
}

/// What `list` says of each file but its key.
fn listed(place: &Place, tree: &str, key: &str) -> Vec<String> {
    let listed = place.run(&format!("list {tree} --key {key} --json")).expect(0).out;
    let before_key = |line: &str| line.split(",\"key_id\"").next().unwrap().to_owned();
    listed.lines().filter(|line| line.contains("\"entry\"")).map(before_key).collect()
}

#[track_caller]
fn expect_rekeyed(place: &Place, tree: &str) {
    place.run(&format!("verify {tree} --key new.json")).expect(0).says(&["verified 3 files"]);
    place.run(&format!("verify {tree} --key new.json --quick")).expect(0);
    place.run(&format!("decrypt {tree} opened --key new.json --suffix .enc --if-exists overwrite")).expect(0);
    assert_eq!(fs::read(place.at("opened/a/one")).unwrap(), b"Call me");
    assert_eq!(fs::read(place.at("opened/a/two")).unwrap(), b"Ishmael");
}

#[test]
fn a_copy_under_the_new_key_has_an_index_too() {
    let place = sealed();
    let before = listed(&place, "sealed", "key.json");
    let rekey = "rekey sealed other --key key.json --to new.json";
    place.run(rekey).expect(0).says(&["re-keyed 3 files", "index generation 1", "lists 5 entries"]);
    assert_eq!(listed(&place, "other", "new.json"), before);
    expect_rekeyed(&place, "other");
    place.verify("").expect(0);
    // Outputs that are there are known to be what became of the listed files.
    fs::remove_dir_all(place.at("other/.cipherloom")).unwrap();
    place.run(&format!("{rekey} --if-exists skip")).expect(0).says(&["3 skipped"]);
    expect_rekeyed(&place, "other");
    fs::remove_dir_all(place.at("other/.cipherloom")).unwrap();
    fs::copy(place.at("other/a/one.enc"), place.at("other/a/two.enc")).unwrap();
    place
        .run(&format!("{rekey} --if-exists skip"))
        .expect(3)
        .says(&["other/a/two.enc: it exists, and nothing shows"]);
    assert_eq!(listed(&place, "other", "new.json").len(), before.len() - 1);
}

#[test]
fn a_tree_is_rekeyed_where_it_is() {
    let place = sealed();
    let before = listed(&place, "sealed", "key.json");
    place.run(&format!("{IN_PLACE} --anchor anchor")).expect(0).says(&["re-keyed 3 files", "generation 2"]);
    assert_eq!(listed(&place, "sealed", "new.json"), before);
    expect_rekeyed(&place, "sealed");
    place.run("verify sealed --key new.json --anchor anchor").expect(0);
    place.verify("").expect(5).says(&["no key opens the tree's index"]);
    place
        .run(IN_PLACE)
        .expect(0)
        .says(&["re-keyed 0 files", "3 skipped (they open with the new key, as the index lists them"]);
    expect_rekeyed(&place, "sealed");
    place.run("encrypt tree sealed --key new.json --index --suffix .enc --if-exists skip").expect(0);
}

#[test]
fn one_keyset_with_a_new_primary_key_is_enough() {
    let place = sealed();
    let key_ids = || {
        let listed = place.run("keys list key.json --json").expect(0).out;
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let keys = listed["keys"].as_array().unwrap().iter();
        keys.map(|key| key["id"].to_string()).collect::<Vec<_>>()
    };
    let old = key_ids();
    copy(&place.at("sealed"), &place.at("before"));
    place.run("keys add key.json --primary").expect(0);
    let rekey = "rekey sealed sealed --key key.json --to key.json --if-exists overwrite";
    place.run(rekey).expect(0).says(&["re-keyed 3 files"]);
    fs::rename(place.at("sealed"), place.at("after")).unwrap();
    // A killed run leaves some files under each key.
    let kill = || {
        let _ = fs::remove_dir_all(place.at("sealed"));
        copy(&place.at("before"), &place.at("sealed"));
        fs::copy(place.at("after/a/one.enc"), place.at("sealed/a/one.enc")).unwrap();
    };
    kill();
    place.run(rekey).expect(0).says(&["re-keyed 2 files", "1 skipped"]);
    // Another key has become the primary one meanwhile.
    kill();
    let older = key_ids();
    place.run("keys add key.json --primary").expect(0);
    place.run(rekey).expect(3).says(&["sealed/a/one.enc: an earlier run re-keyed it"]);
    place.verify("").expect(0).says(&["verified 3 files"]);
    place.run(rekey).expect(0).says(&["re-keyed 1 file", "2 skipped"]);
    assert!(old.len() == 1 && older.len() == 2, "{older:?}");
    for id in older {
        place.run(&format!("keys disable key.json {id}")).expect(0);
    }
    place.verify("").expect(0).says(&["verified 3 files"]);
}

#[test]
fn what_is_not_as_the_index_lists_it_is_told_and_not_taken_in() {
    for is_in_place in [true, false] {
        let place = sealed();
        copy(&place.at("sealed"), &place.at("backup"));
        fs::copy(place.at("sealed/a/two.enc"), place.at("sealed/a/one.enc")).unwrap();
        fs::copy(place.at("sealed/a/two.enc"), place.at("sealed/extra.enc")).unwrap();
        fs::remove_file(place.at("sealed/three.enc")).unwrap();
        let target = if is_in_place { "sealed" } else { "other" };
        let rekey = IN_PLACE.replacen("sealed sealed", &format!("sealed {target}"), 1);
        let ended = place.run(&rekey).expect(5).says(&["re-keyed 1 file"]);
        ended
            .says(&["sealed/a/one.enc: swapped", "a/two.enc"])
            .says(&["sealed/extra.enc: moved or copied"])
            .says(&["sealed/three.enc: missing"]);
        if is_in_place {
            assert_eq!(
                fs::read(place.at("sealed/a/one.enc")).unwrap(),
                fs::read(place.at("backup/a/two.enc")).unwrap(),
                "not touched"
            );
            assert_eq!(listed(&place, "sealed", "new.json").len(), 5, "listed as before");
            // With the right files back, the run goes on.
            for file in ["a/one.enc", "three.enc"] {
                fs::copy(place.at("backup").join(file), place.at("sealed").join(file)).unwrap();
            }
            fs::remove_file(place.at("sealed/extra.enc")).unwrap();
            place.run(IN_PLACE).expect(0).says(&["re-keyed 2 files", "1 skipped"]);
            expect_rekeyed(&place, "sealed");
        } else {
            assert!(!place.at("other/a/one.enc").exists() && !place.at("other/extra.enc").exists());
            assert_eq!(listed(&place, "other", "new.json").len(), 3);
            place.run("verify other --key new.json").expect(0);
        }
    }
}

#[test]
fn a_repeated_run_reports_what_is_missing_once_more() {
    let place = sealed();
    fs::remove_file(place.at("sealed/a/one.enc")).unwrap();
    for done in 0..2 {
        let ended = place.run(&format!("{IN_PLACE} --json")).expect(6);
        assert!(ended.out.contains("\"missing\":1"), "{}", ended.out);
        assert!(!ended.out.contains("index_not_written"), "{done} {}", ended.out);
    }
}

/// The index is as before, and each file as before or re-keyed: so a killed run leaves them, whenever that was.
#[test]
fn a_killed_run_goes_on_from_every_point() {
    // With the other template, headers and segments have other lengths too.
    for template in ["AES256_GCM_HKDF_1MB", "AES128_GCM_HKDF_4KB"] {
        let place = Place::new();
        fs::write(place.at("tree/three"), [7; 10_000]).unwrap();
        place.run("encrypt tree sealed --key key.json --index --suffix .enc").expect(0);
        place.run(&format!("keygen -o new.json --template {template}")).expect(0);
        copy(&place.at("sealed"), &place.at("before"));
        place.run(IN_PLACE).expect(0);
        fs::rename(place.at("sealed"), place.at("after")).unwrap();
        for done in 0..1 << FILES.len() {
            for are_parts_written in [false, true] {
                goes_on_after_a_kill(&place, done, are_parts_written);
            }
        }
    }
}

/// `done`: a bit for each file that has been re-keyed.
fn goes_on_after_a_kill(place: &Place, done: u32, are_parts_written: bool) {
    let _ = fs::remove_dir_all(place.at("sealed"));
    copy(&place.at("before"), &place.at("sealed"));
    let replace = |file: &Path| fs::copy(place.at("after").join(file), place.at("sealed").join(file));
    for (bit, file) in FILES.iter().enumerate() {
        if done & 1 << bit != 0 {
            replace(Path::new(file)).unwrap();
        }
    }
    if are_parts_written {
        for part in fs::read_dir(place.at("after/.cipherloom/index/parts")).unwrap() {
            let name = Path::new(".cipherloom/index/parts").join(part.unwrap().file_name());
            replace(&name).unwrap();
        }
        replace(Path::new(".cipherloom/index/root.previous")).unwrap();
    }
    let count = done.count_ones();
    let ended = place.run(IN_PLACE).expect(0).says(&["generation 2"]);
    assert!(count == 0 || ended.err.contains(&format!("{count} skipped")), "{}", ended.err);
    expect_rekeyed(place, "sealed");
}

#[test]
fn after_a_kill_a_file_is_not_taken_in_because_it_opens() {
    let place = sealed();
    copy(&place.at("sealed"), &place.at("before"));
    place.run(IN_PLACE).expect(0);
    fs::rename(place.at("sealed"), place.at("after")).unwrap();
    place.run("encrypt tree fresh --key new.json --suffix .enc").expect(0);
    // Re-keyed under the same key, from another file or another version of this one.
    place.run("encrypt tree second --key key.json --index --suffix .enc").expect(0);
    place.run(&IN_PLACE.replace("sealed", "second")).expect(0);
    let mut damaged = fs::read(place.at("after/a/one.enc")).unwrap();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    fs::write(place.at("damaged"), damaged).unwrap();
    for (other, words) in [
        ("after/a/two.enc", "sealed/a/one.enc: replaced"),
        ("fresh/a/one.enc", "sealed/a/one.enc: replaced"),
        ("second/a/one.enc", "sealed/a/one.enc: replaced"),
        ("damaged", "sealed/a/one.enc: "),
    ] {
        let _ = fs::remove_dir_all(place.at("sealed"));
        copy(&place.at("before"), &place.at("sealed"));
        fs::copy(place.at(other), place.at("sealed/a/one.enc")).unwrap();
        fs::copy(place.at("after/a/two.enc"), place.at("sealed/a/two.enc")).unwrap();
        place.run(IN_PLACE).expect(5).says(&[words]).says(&["re-keyed 1 file", "1 skipped"]);
        place.run("verify sealed --key new.json").expect(5).says(&["sealed/a/one.enc: "]);
        fs::copy(place.at("before/a/one.enc"), place.at("sealed/a/one.enc")).unwrap();
        place.run(IN_PLACE).expect(0).says(&["re-keyed 1 file", "2 skipped"]);
        expect_rekeyed(&place, "sealed");
    }
}

/// The signal comes when this number of files has been reported; what has ended by then is left to chance.
#[test]
fn a_run_that_is_killed_leaves_what_the_next_one_takes_up() {
    let place = Place::new();
    for file in 0..60 {
        fs::write(place.at("tree/b").join(file.to_string()), [b'x'; 3000]).unwrap();
    }
    place.run("encrypt tree sealed --key key.json --index --bind-path --suffix .enc").expect(0);
    let arguments =
        "rekey sealed sealed --key key.json --to new.json --if-exists overwrite --bind-path --suffix .enc";
    place.run("keygen -o new.json").expect(0);
    for lines in [1, 2, 5, 9, 14, 20] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cipherloom"));
        command.args(arguments.split(' ')).arg("--json").current_dir(place.at("."));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap()).lines().take(lines);
        assert!(printed.count() > 0);
        let _ = child.kill();
        child.wait().unwrap();
    }
    place.run(arguments).expect(0);
    place
        .run("verify sealed --key new.json --bind-path --suffix .enc")
        .expect(0)
        .says(&["verified 63 files"]);
}

#[test]
#[cfg(unix)]
fn folders_that_are_read_only_stay_so() {
    use std::os::unix::fs::PermissionsExt;
    let place = sealed();
    let set =
        |path: &str, mode| fs::set_permissions(place.at(path), fs::Permissions::from_mode(mode)).unwrap();
    for folder in ["sealed/a", "sealed/b", "sealed"] {
        set(folder, 0o555);
    }
    place.run(IN_PLACE).expect(0);
    expect_rekeyed(&place, "sealed");
    let mode = |path: &str| fs::metadata(place.at(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("sealed"), mode("sealed/a")), (0o555, 0o555));
    for folder in ["sealed", "sealed/a", "sealed/b"] {
        set(folder, 0o755);
    }
    let _ = fs::set_permissions(place.at("opened"), fs::Permissions::from_mode(0o755));
}

#[test]
fn an_anchor_refuses_a_tree_that_was_put_back() {
    for is_in_place in [true, false] {
        let place = sealed();
        copy(&place.at("sealed"), &place.at("old"));
        fs::write(place.at("tree/four"), "Some years ago").unwrap();
        let update = "encrypt tree sealed --key key.json --index --suffix .enc --if-exists skip";
        place.run(&format!("{update} --anchor anchor")).expect(0).says(&["generation 2"]);
        place.run("encrypt tree alien --key key.json --index --suffix .enc").expect(0);
        let rekey = |source: &str| {
            let target = if is_in_place { source } else { "other" };
            let rekey = IN_PLACE.replacen("sealed sealed", &format!("{source} {target}"), 1);
            place.run(&format!("{rekey} --anchor anchor"))
        };
        let before = fs::read(place.at("old/three.enc")).unwrap();
        rekey("old").expect(5).says(&["the tree was rolled back"]);
        fs::remove_dir_all(place.at("old/.cipherloom")).unwrap();
        rekey("old").expect(5).says(&["the tree's index was removed"]);
        rekey("alien").expect(5).says(&["another one than the anchor recorded"]);
        assert_eq!(fs::read(place.at("old/three.enc")).unwrap(), before);
        assert!(!place.at("other/three.enc").exists());
        rekey("sealed").expect(0).says(&["re-keyed 4 files"]);
    }
}

#[test]
fn what_cannot_be_carried_is_refused() {
    let place = sealed();
    copy(&place.at("sealed"), &place.at("inner"));
    fs::rename(place.at("inner"), place.at("sealed/b/inner")).unwrap();
    let before = place.generation();
    place.run(IN_PLACE).expect(2).says(&["there is an index, which this run would not carry over"]);
    fs::remove_dir_all(place.at("sealed/b/inner")).unwrap();
    fs::write(place.at("names"), "three.enc\n").unwrap();
    place.run(&format!("{IN_PLACE} --files-from names")).expect(2).says(&["compared with a whole folder"]);
    place
        .run("rekey sealed/a part --key key.json --to new.json --anchor anchor")
        .expect(2)
        .says(&["no index"]);
    assert_eq!(place.generation(), before);
    // An index that is left behind is no secret.
    copy(&place.at("sealed"), &place.at("left"));
    let left = IN_PLACE.replace("sealed", "left");
    place
        .run(&format!("{left} --exclude .*"))
        .expect(0)
        .says(&["left: it has an index, which will not list"]);
    let plain = "rekey plain plain --key key.json --to new.json --if-exists overwrite";
    place.run("encrypt tree plain --key key.json").expect(0);
    place.run(&format!("{plain} --anchor anchor")).expect(2).says(&["no index"]);
    assert!(!place.at("plain/.cipherloom").exists());
    // So does a run that was killed before it wrote its first index.
    fs::create_dir_all(place.at("plain/.cipherloom/index")).unwrap();
    place.run(plain).expect(2).says(&["plain/.cipherloom: the tree's index was begun and not written"]);
    place.run(&format!("{plain} --anchor anchor")).expect(2).says(&["no index"]);
    fs::remove_dir_all(place.at("plain/.cipherloom")).unwrap();
    place.run(plain).expect(0).says(&["re-keyed 3 files"]);
    // Only a part of the tree: the rest stays listed and under its key.
    place.run(&format!("{IN_PLACE} --include one.enc")).expect(0).says(&["re-keyed 1 file"]);
    place.run(IN_PLACE).expect(0).says(&["re-keyed 2 files", "1 skipped"]);
    expect_rekeyed(&place, "sealed");
}
