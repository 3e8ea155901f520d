use super::*;
use crate::index::{IndexFile, JournalWriter, Memory, Objects};
use crate::key::{Keyset, Template};
use crate::machine::Backend;

/// A tree that has an index, and its key.
struct Sealed {
    folder: tempfile::TempDir,
    bucket: Option<Objects>,
    format: Format,
}

impl Sealed {
    /// Lists the files at these paths.
    fn listing(files: &[(&str, u8)]) -> Sealed {
        Sealed::listing_in(None, files)
    }

    fn listing_in(bucket: Option<Objects>, files: &[(&str, u8)]) -> Sealed {
        let keyset = Keyset::generate(Template::Aes256GcmHkdf4Kb).unwrap();
        let format = Format::tink(keyset, Backend::best()).unwrap();
        let sealed = Sealed { folder: tempfile::tempdir().unwrap(), bucket, format };
        let gathering = sealed.begin();
        sealed.make(&gathering, files);
        assert_eq!(finish(gathering, &[]), [""; 0]);
        sealed
    }

    fn at<T>(&self, work: impl FnOnce(IndexPlace<'_>) -> T) -> T {
        match &self.bucket {
            Some(objects) => work(IndexPlace::Store(&Memory::of(objects))),
            None => work(self.folder.path().into()),
        }
    }

    fn begin(&self) -> Gathering {
        self.at(|place| Gathering::begin(place, &self.format, OsStr::new(""), None)).unwrap()
    }

    /// One task's journal: paths, and what the streams there are recognised by. A folder's path ends with `/`.
    fn make(&self, gathering: &Gathering, files: &[(&str, u8)]) {
        let root = gathering.found_root().unwrap();
        let mut journal = self.at(|place| JournalWriter::begin(place, &self.format, b"", root)).unwrap();
        for (path, identity) in files {
            if let Some(folder) = path.strip_suffix('/') {
                let kind = IndexKind::Folder { mode: 0o700, modified: None };
                journal.push(&IndexEntry { path: folder.as_bytes().to_vec(), kind }).unwrap();
                continue;
            }
            let file = IndexFile {
                plaintext: path.as_bytes().to_vec(),
                size: 5,
                ciphertext_len: 61,
                mode: 0o600,
                modified: Some((7, 8)),
                identity: [*identity; 16],
                key_id: 1,
                inode: None,
                digest: None,
                version: None,
                name: None,
            };
            let entry = IndexEntry { path: path.as_bytes().to_vec(), kind: IndexKind::File(file) };
            journal.push(&entry).unwrap();
        }
        journal.finish().unwrap();
    }

    /// What the index lists.
    fn listed(&self) -> Vec<(String, u8)> {
        let (_, files) = self.at(|place| list_recorded_files(place, &self.format, None)).unwrap().unwrap();
        names(files)
    }
}

fn names(files: impl Iterator<Item = Result<RecordedFile, Error>>) -> Vec<(String, u8)> {
    let name = |file: RecordedFile| (file.encrypted_path.to_str().unwrap().to_owned(), file.identity[0]);
    files.map(|file| name(file.unwrap())).collect()
}

fn expect(files: &[(&str, u8)]) -> Vec<(String, u8)> {
    files.iter().map(|(path, identity)| ((*path).to_owned(), *identity)).collect()
}

/// What the index does not list of what was made.
fn finish(gathering: Gathering, made: &[&str]) -> Vec<String> {
    let made: Vec<PathBuf> = made.iter().map(PathBuf::from).collect();
    let (_, unlisted) = gathering.finish(&made).unwrap();
    unlisted.iter().map(|path| path.to_str().unwrap().to_owned()).collect()
}

#[test]
fn what_was_made_takes_the_place_of_what_was_listed() {
    let sealed = Sealed::listing(&[("a", 1), ("b", 1), ("d", 1), ("c/e", 1)]);
    let run = sealed.begin();
    sealed.make(&run, &[("b", 2), ("c", 2), ("c/f", 2)]);
    let all = [("a", 1), ("b", 2), ("c", 2), ("d", 1), ("c/e", 1), ("c/f", 2)];
    assert_eq!(finish(run, &["b", "c", "c/f"]), [""; 0]);
    assert_eq!(sealed.listed(), expect(&all));
    let run = sealed.begin();
    assert_eq!(names(run.recorded()), expect(&all));
    // Nothing to add.
    let generation = |run: Gathering| run.finish(&[]).unwrap().0.unwrap().generation;
    assert_eq!(generation(run), 3);
}

/// The index says neither that they are as before nor that they are as a journal has it, and so the next run looks at them.
#[test]
fn what_no_journal_or_different_ones_list_is_not_listed() {
    let sealed = Sealed::listing(&[("a", 1), ("b", 1), ("c", 1)]);
    let run = sealed.begin();
    sealed.make(&run, &[("b", 2), ("d", 2)]);
    sealed.make(&run, &[("b", 3), ("d", 2)]);
    // The journals of two of them are gone.
    assert_eq!(finish(run, &["c", "b", "d", "e"]), ["b", "c", "e"]);
    assert_eq!(sealed.listed(), expect(&[("a", 1), ("d", 2)]));
    // All of them are.
    assert_eq!(finish(sealed.begin(), &["a"]), ["a"]);
    assert_eq!(sealed.listed(), expect(&[("d", 2)]));
    // Of a run that was killed.
    let run = sealed.begin();
    sealed.make(&run, &[("d", 3)]);
    sealed.make(&run, &[("b", 3), ("d", 4)]);
    drop(run);
    assert_eq!(names(sealed.begin().recorded()), expect(&[("b", 3)]));
}

/// A run that was killed after it has replaced the root leaves journals that nobody needs.
#[test]
fn journals_that_were_merged_are_passed_over_and_removed() {
    let sealed = Sealed::listing(&[("a", 1)]);
    let journals = sealed.folder.path().join(".cipherloom/index/journals");
    let count = || std::fs::read_dir(&journals).unwrap().count();
    let run = sealed.begin();
    sealed.make(&run, &[("a", 2), ("b", 2)]);
    let kept = tempfile::tempdir().unwrap();
    for journal in std::fs::read_dir(&journals).unwrap().map(Result::unwrap) {
        std::fs::copy(journal.path(), kept.path().join(journal.file_name())).unwrap();
    }
    assert_eq!(finish(run, &["a", "b"]), [""; 0]);
    assert_eq!(count(), 0);
    for journal in std::fs::read_dir(kept.path()).unwrap().map(Result::unwrap) {
        std::fs::copy(journal.path(), journals.join(journal.file_name())).unwrap();
    }
    let run = sealed.begin();
    assert_eq!(names(run.recorded()), expect(&[("a", 2), ("b", 2)]));
    sealed.make(&run, &[("a", 3)]);
    assert_eq!(finish(run, &["a"]), [""; 0]);
    assert_eq!((count(), sealed.listed()), (0, expect(&[("a", 3), ("b", 2)])));
}

/// Nothing forbids an object whose path is that of a folder for others.
#[test]
fn an_object_with_the_path_of_a_folder_stays_listed() {
    let sealed = Sealed::listing_in(Some(Objects::default()), &[("a", 1), ("a/b", 1)]);
    let run = sealed.begin();
    sealed.make(&run, &[("a/", 0), ("a/c", 1)]);
    assert_eq!(finish(run, &["a/c"]), [""; 0]);
    assert_eq!(sealed.listed(), expect(&[("a", 1), ("a/b", 1), ("a/c", 1)]));
    // Made by two tasks.
    let run = sealed.begin();
    sealed.make(&run, &[("a", 2), ("d/", 0), ("d/e", 2)]);
    sealed.make(&run, &[("a/", 0), ("d", 2), ("a/c", 2)]);
    assert_eq!(finish(run, &["a", "d", "a/c", "d/e"]), [""; 0]);
    assert_eq!(sealed.listed(), expect(&[("a", 2), ("d", 2), ("a/b", 1), ("a/c", 2), ("d/e", 2)]));
}

/// Somebody puts an output of an earlier run back, and the journal that lists it in the place of the one that lists the new output.
#[test]
fn a_journal_of_a_killed_run_lists_nothing_in_the_next_one() {
    let sealed = Sealed::listing(&[("a", 1)]);
    let killed = sealed.begin();
    sealed.make(&killed, &[("b", 1)]);
    drop(killed);
    let journals = sealed.folder.path().join(".cipherloom/index/journals");
    let journal = std::fs::read_dir(&journals).unwrap().next().unwrap().unwrap().path();
    let kept = std::fs::read(&journal).unwrap();
    let run = sealed.begin();
    assert_eq!(names(run.recorded()), expect(&[("a", 1), ("b", 1)]));
    std::fs::write(&journal, kept).unwrap();
    assert_eq!(finish(run, &["b"]), ["b"]);
    assert_eq!(sealed.listed(), expect(&[("a", 1)]));
}
