//! What tests of `cipherloom sync` do with a place.

use crate::sealed_tree::{Ended, Place};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub(crate) trait Sync {
    fn sync(&self, more: &str) -> Ended;
    fn is_sealed(&self);
}

impl Sync for Place {
    fn sync(&self, more: &str) -> Ended {
        self.run(&format!("sync tree sealed --key key.json --suffix .enc{more}"))
    }

    /// Fails unless `sealed` is the tree, and its index lists that.
    #[track_caller]
    fn is_sealed(&self) {
        self.verify(" --suffix .enc").expect(0);
        let _ = fs::remove_dir_all(self.at("opened"));
        self.run("decrypt sealed opened --key key.json --suffix .enc --links copy-all").expect(0);
        assert_eq!(contents(&self.at("opened")), contents(&self.at("tree")));
    }
}

/// The files below a folder, by path.
pub(crate) fn contents(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
            let name = item.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if item.is_symlink() {
                files.insert(name, fs::read_link(&item).unwrap().into_os_string().into_encoded_bytes());
            } else if item.is_dir() {
                files.insert(name + "/", Vec::new());
                folders.push(item);
            } else {
                files.insert(name, fs::read(&item).unwrap());
            }
        }
    }
    files
}
