//! Which of the two copies of an index is used, and what makes both whole again.

use crate::sealed_tree::Place;
use crate::{ENCRYPT, hidden};
use std::fs;
use std::path::{Path, PathBuf};

const COPIES: [&str; 2] = ["sealed/.cipherloom/index", "sealed/00/.cipherloom/copy"];
const SYNC: &str = "sync tree sealed --key key.json --hide-names";

/// The files of a copy, and their content.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let in_folder = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).filter(|path| path.is_file()).collect()
    };
    let all = [in_folder(folder), in_folder(&folder.join("parts"))].concat();
    all.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn part(place: &Place, copy: &str) -> PathBuf {
    let mut parts = fs::read_dir(place.at(copy).join("parts")).unwrap();
    parts.next().unwrap().unwrap().path()
}

fn list(place: &Place) -> PathBuf {
    let all = (0..=255).map(|number| place.at(&format!("sealed/{number:02x}/names")));
    all.into_iter().find(|path| path.exists()).unwrap()
}

#[test]
fn a_synchronization_with_nothing_to_do_renews_what_it_need_not_read() {
    let place = hidden();
    place.run(SYNC).expect(0);
    let generation = place.generation();
    for copy in COPIES {
        let part = part(&place, copy);
        let content = fs::read(&part).unwrap();
        for damage in 0..3 {
            match damage {
                0 => fs::remove_file(&part).unwrap(),
                1 => fs::write(&part, &content[1..]).unwrap(),
                _ => fs::remove_dir_all(part.parent().unwrap()).unwrap(),
            }
            place.verify("").expect(5).says(&[copy, "a part is missing"]);
            place.run(SYNC).expect(0).says(&["encrypted 0 files"]);
            assert_eq!(fs::read(&part).unwrap(), content);
            place.verify("").expect(0);
        }
    }
    let list = list(&place);
    fs::remove_file(&list).unwrap();
    place.verify("").expect(5).says(&["/names: this list of hidden names is missing"]);
    place.run(SYNC).expect(0).says(&["encrypted 0 files"]);
    place.verify("").expect(0);
    assert_eq!(place.generation(), generation);
}

#[test]
fn the_command_of_the_hint_renews_both_copies_and_the_lists() {
    let place = hidden();
    let renews = || {
        place.run("index sealed --key key.json --replace").expect(0);
        place.verify("").expect(0).says(&["3 files"]);
    };
    for copy in COPIES {
        for path in [part(&place, copy), place.at(copy).join("root")] {
            let mut content = fs::read(&path).unwrap();
            *content.last_mut().unwrap() ^= 1;
            fs::write(&path, content).unwrap();
            let damage = if path.ends_with("root") { "its root is damaged" } else { "a part" };
            let ended = place.verify("").expect(5).says(&[copy, damage]);
            ended.says(&["hint: the other copy is used; `cipherloom index --replace` renews both"]);
            renews();
        }
    }
    let list = list(&place);
    let mut content = fs::read(&list).unwrap();
    *content.last_mut().unwrap() ^= 1;
    fs::write(&list, content).unwrap();
    place.verify("").expect(5).says(&["hint: `cipherloom index --replace` makes it again"]);
    renews();
}

/// A run with the keys of before would put the older copy over the newer one.
#[test]
fn no_run_goes_on_from_the_second_copy_while_other_keys_have_sealed_the_first() {
    let place = hidden();
    place.run("keygen -o new.json").expect(0);
    let before = files(&place.at(COPIES[1]));
    let rekey = "rekey sealed sealed --key key.json --to new.json --if-exists overwrite";
    place.run(rekey).expect(0);
    let rekeyed = place.generation();
    let put_back = || {
        fs::remove_dir_all(place.at(COPIES[1])).unwrap();
        fs::create_dir_all(place.at(COPIES[1]).join("parts")).unwrap();
        before.iter().for_each(|(path, content)| fs::write(path, content).unwrap());
    };
    let newest = files(&place.at(COPIES[1]));
    let are_refused = || {
        for run in [
            &format!("{ENCRYPT} --if-exists overwrite --allow-mixed-keys"),
            &format!("{ENCRYPT} --if-exists overwrite --allow-mixed-keys --dry-run"),
            &format!("{SYNC} --allow-mixed-keys"),
            &format!("{SYNC} --allow-mixed-keys --dry-run"),
            "index sealed --key key.json --replace --skip-unopened",
        ] {
            let ended = place.run(run).expect(5).says(&["this copy of the tree's index cannot be opened"]);
            ended.says(&["hint: ", "repeat the re-keying"]);
        }
    };
    // Killed before the second copy was written.
    put_back();
    are_refused();
    assert_eq!(place.generation(), rekeyed);
    // Its root was lost since.
    let root = place.at(COPIES[0]).join("root");
    let kept = fs::read(&root).unwrap();
    fs::remove_file(&root).unwrap();
    are_refused();
    fs::write(&root, kept).unwrap();
    place.run(rekey).expect(0);
    place.run("verify sealed --key new.json").expect(0).says(&["3 files"]);
    // The next run was killed there, too.
    place.run(&SYNC.replace("key.json", "new.json")).expect(0);
    fs::write(place.at("tree/four"), "4").unwrap();
    place.run(&SYNC.replace("key.json", "new.json")).expect(0);
    put_back();
    are_refused();
    place.run("decrypt sealed opened --key new.json").expect(0).says(&["4 files"]);
    assert_ne!(files(&place.at(COPIES[1])), newest);
}
