//! Synchronization against a model: whatever is edited, the encrypted tree verifies and decrypts to the source.
#![cfg(unix)]

use cipherloom::key::{Keyset, Template};
use cipherloom::report::{ListedEntry, ListedKind};
use cipherloom::{Links, Report};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Names of which some are folders in others.
const NAMES: [&str; 8] = ["a", "b", "c", "c/x", "d/a", "d/b", "d/e/a", "f/g/h"];

#[derive(Debug, Clone)]
enum Edit {
    Write(usize, usize),
    Remove(usize),
    Rename(usize, usize),
    Swap(usize, usize),
    Link(usize, usize),
    Mode(usize, u32),
    /// Removes an output.
    Lose(usize),
    /// Puts an output in the place of another.
    Copy(usize, usize),
}

#[derive(Debug, Clone)]
struct Step {
    edits: Vec<Edit>,
    delete: bool,
    checksum: bool,
}

fn any_step() -> impl Strategy<Value = Step> {
    let name = || 0..NAMES.len();
    let edit = prop_oneof![
        6 => (name(), 0..4_usize).prop_map(|(name, len)| Edit::Write(name, len)),
        2 => name().prop_map(Edit::Remove),
        3 => (name(), name()).prop_map(|(from, to)| Edit::Rename(from, to)),
        2 => (name(), name()).prop_map(|(one, other)| Edit::Swap(one, other)),
        1 => (name(), name()).prop_map(|(from, to)| Edit::Link(from, to)),
        1 => (name(), 0o600..0o700_u32).prop_map(|(name, mode)| Edit::Mode(name, mode)),
        1 => name().prop_map(Edit::Lose),
        1 => (name(), name()).prop_map(|(from, to)| Edit::Copy(from, to)),
    ];
    (proptest::collection::vec(edit, 0..6), any::<bool>(), proptest::bool::weighted(0.1))
        .prop_map(|(edits, delete, checksum)| Step { edits, delete, checksum })
}

struct Trees {
    folder: tempfile::TempDir,
    keyset: Keyset,
    hides_names: bool,
    /// All that was encrypted under a path so far.
    versions: BTreeMap<String, Vec<Vec<u8>>>,
    written: u64,
}

impl Trees {
    fn new(hides_names: bool) -> Trees {
        let folder = tempfile::tempdir().unwrap();
        for name in ["source", "sealed"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("source/stays"), "stays").unwrap();
        let keyset = Keyset::generate(Template::Aes128GcmHkdf4Kb).unwrap();
        Trees { folder, keyset, hides_names, versions: BTreeMap::new(), written: 0 }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn source(&self, name: usize) -> PathBuf {
        self.at("source").join(NAMES[name])
    }

    /// Where the outputs are, by the names of their sources.
    fn outputs(&self) -> BTreeMap<String, PathBuf> {
        let listed = cipherloom::verify(self.at("sealed")).key(&self.keyset).list_index();
        let entries = listed.into_iter().flat_map(|(_, entries)| entries.map(Result::unwrap));
        let files = entries.filter(|entry| entry.kind == ListedKind::File);
        let at = |entry: ListedEntry| {
            (entry.path.to_str().unwrap().to_owned(), self.at("sealed").join(entry.encrypted_path))
        };
        files.map(at).collect()
    }

    /// Makes room for a file. True if a file became a folder, or the other way round.
    fn clear(&self, path: &Path) -> bool {
        let mut is_other = false;
        let root = self.at("source");
        for above in path.ancestors().skip(1).take_while(|above| **above != root) {
            if above.is_file() {
                fs::remove_file(above).unwrap();
                is_other = true;
            }
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
            is_other = true;
        }
        is_other
    }

    /// True if something is in the way of an output.
    fn edit(&mut self, edit: &Edit, step: u64) -> bool {
        match *edit {
            Edit::Write(name, len) => {
                let path = self.source(name);
                let is_other = self.clear(&path);
                self.written += 1;
                let mut content = self.written.to_le_bytes().to_vec();
                content.resize(len * 3000 + 8, name as u8);
                fs::write(&path, content).unwrap();
                // Files of one step have one time; never two versions of a file.
                let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000 + step, 7);
                File::open(path).unwrap().set_modified(time).unwrap();
                is_other
            }
            Edit::Remove(name) => {
                let _ = fs::remove_file(self.source(name));
                false
            }
            Edit::Rename(from, to) | Edit::Link(from, to) if from != to && self.source(from).is_file() => {
                let (from, to) = (self.source(from), self.source(to));
                if from.starts_with(&to) || to.starts_with(&from) {
                    return false;
                }
                let is_other = self.clear(&to);
                if matches!(edit, Edit::Rename(..)) {
                    fs::rename(from, to).unwrap();
                } else {
                    let _ = fs::remove_file(&to);
                    fs::hard_link(from, to).unwrap();
                }
                is_other
            }
            Edit::Swap(one, other) => {
                let (one, other, kept) = (self.source(one), self.source(other), self.at("kept"));
                if one != other && one.is_file() && other.is_file() {
                    fs::rename(&one, &kept).unwrap();
                    fs::rename(&other, &one).unwrap();
                    fs::rename(&kept, &other).unwrap();
                }
                false
            }
            Edit::Mode(name, mode) => {
                let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
                let _ =
                    self.source(name).is_file().then(|| fs::set_permissions(self.source(name), permissions));
                false
            }
            Edit::Lose(name) => {
                let _ = self.outputs().get(NAMES[name]).map(fs::remove_file);
                false
            }
            Edit::Copy(from, to) => {
                let outputs = self.outputs();
                // With a hidden name, one of the same length is not noticed.
                if let (Some(from), Some(to)) = (outputs.get(NAMES[from]), outputs.get(NAMES[to]))
                    && (from != to && from.is_file() && to.is_file() && !self.hides_names)
                {
                    fs::copy(from, to).unwrap();
                }
                false
            }
            Edit::Rename(..) | Edit::Link(..) => false,
        }
    }

    fn sync(&self, step: &Step, delete: bool) -> Report {
        let job =
            cipherloom::encrypt(self.at("source"), self.at("sealed")).key(&self.keyset).links(Links::Skip);
        let job = job.hide_names(self.hides_names);
        job.sync(true).delete(delete).checksum(step.checksum).run().unwrap()
    }

    fn decrypted(&self) -> BTreeMap<String, Vec<u8>> {
        let opened = self.at("opened");
        let _ = fs::remove_dir_all(&opened);
        let report = cipherloom::decrypt(self.at("sealed"), &opened).key(&self.keyset).run().unwrap();
        assert_eq!(report.failed, 0);
        contents(&opened)
    }
}

fn contents(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

fn check(steps: &[Step], hides_names: bool) {
    let mut trees = Trees::new(hides_names);
    for (number, step) in (1..).zip(steps) {
        // An output that was tampered with can be put right only while its source is there.
        let is_tampered = step.edits.iter().any(|edit| matches!(edit, Edit::Lose(_) | Edit::Copy(..)));
        let (tampering, edits): (Vec<&Edit>, Vec<&Edit>) =
            step.edits.iter().partition(|edit| matches!(edit, Edit::Lose(_) | Edit::Copy(..)));
        let mut is_in_the_way = false;
        if is_tampered && trees.outputs().keys().all(|name| trees.at("source").join(name).is_file()) {
            for edit in tampering {
                trees.edit(edit, number);
            }
            let report = trees.sync(step, false);
            assert_eq!(report.failed, 0, "{report:?}");
        }
        for edit in edits {
            is_in_the_way |= trees.edit(edit, number);
        }
        // A file may have been removed before its name became that of a folder.
        is_in_the_way |= trees.outputs().keys().any(|name| trees.at("source").join(name).is_dir());
        let delete = step.delete || is_in_the_way;
        if hides_names && is_in_the_way && !step.delete {
            // What is listed stays, and what is in the source fails.
            let before = trees.outputs();
            trees.sync(step, false);
            let after = trees.outputs();
            assert!(
                before.values().all(|output| after.values().any(|kept| kept == output)),
                "{number} {before:?} {after:?}"
            );
            let verified = cipherloom::verify(trees.at("sealed")).key(&trees.keyset).run().unwrap();
            assert_eq!(verified.failed, 0, "{number}");
            trees.decrypted();
        }
        let report = trees.sync(step, delete);
        assert_eq!(report.failed, 0, "{number} {report:?}");
        let (source, opened) = (contents(&trees.at("source")), trees.decrypted());
        for (name, content) in &source {
            assert!(opened.get(name) == Some(content), "{number} {name} {report:?}");
            trees.versions.entry(name.clone()).or_default().push(content.clone());
        }
        for (name, content) in &opened {
            let is_earlier = !delete && trees.versions.get(name).is_some_and(|known| known.contains(content));
            assert!(source.contains_key(name) || is_earlier, "{number} {name} {report:?}");
        }
        let verified = cipherloom::verify(trees.at("sealed")).key(&trees.keyset).run().unwrap();
        assert_eq!((verified.failed, verified.files), (0, opened.len() as u64), "{number}");
        let (generation, again) = (report.index.unwrap().generation, trees.sync(step, delete));
        if !step.checksum {
            assert_eq!(again.index.unwrap().generation, generation, "{number} {again:?}");
        }
        assert_eq!((again.files, again.failed), (0, 0), "{number} {again:?}");
    }
}

#[test]
fn any_edits_are_carried_over() {
    let is_long = std::env::var_os("CIPHERLOOM_TEST_LONG").is_some();
    let config = ProptestConfig::default();
    let is_asked = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if is_asked {
        config.cases
    } else if is_long {
        500
    } else {
        20
    };
    let config = ProptestConfig { cases, failure_persistence: None, ..config };
    let mut runner = TestRunner::new(config);
    runner
        .run(&(proptest::collection::vec(any_step(), 1..8), any::<bool>()), |(steps, hides_names)| {
            check(&steps, hides_names);
            Ok(())
        })
        .unwrap();
}
