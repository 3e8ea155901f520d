//! Finds files in the destination that were encrypted with another key, so that one tree does not end up under two.
//!
//! A stream does not say which key made it. So the first segment of a few files is opened with the keys of the job. That
//! bounds the cost for a large destination, and a tree under one key is told from another's by any of its files.

use super::indexing::written_names;
use super::job::{Job, Work};
use crate::files::IfExists;
use crate::format::{RECOGNISE_LEN, Recognised, recognise};
use crate::index::{HiddenName, is_name_list, is_reserved};
use crate::tree::{Tree, is_temporary};
use std::cell::OnceCell;
use std::collections::{HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How many files are opened, and how many of one folder.
const FILES: usize = 16;
const FILES_OF_A_FOLDER: usize = 4;

/// How many names are looked at to find these.
const NAMES: usize = 10_000;

/// As [`find_other_key_by`], for a job over `tree`.
pub(super) fn find_other_key(tree: &Tree, job: &Job) -> Option<PathBuf> {
    // Names are hidden: the index is read only if some file does not open.
    let hidden: OnceCell<HashSet<HiddenName>> = OnceCell::new();
    find_other_key_by(job, &|relative| match job.work {
        Work::Encrypt(_) if job.hides_names() => HiddenName::of_path(relative)
            .is_some_and(|name| hidden.get_or_init(|| written_names(tree, job)).contains(&name)),
        _ => is_output(tree, job, relative),
    })
}

/// Looks for a file in the job's destination that is encrypted, will stay there, and does not open with the keys that
/// this job encrypts with. A sample of the files is opened, 16 at most. `is_output` says whether the job has an output of
/// this name.
///
/// `None` also where nothing can be told: the job does not encrypt, its format is not authenticated, or the destination
/// does not exist or cannot be read.
#[must_use]
pub fn find_other_key_by(job: &Job, is_output: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let begin_len = job.other_key_begin_len()?;
    let root = job.destination.as_deref()?;
    let files = match &job.single_name {
        Some(name) => vec![PathBuf::from(name)],
        None => sample(root),
    };
    let is_foreign = |relative: &PathBuf| {
        let path = root.join(relative);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        is_file
            && begin(&path, begin_len)
                .is_ok_and(|(begin, length)| job.is_under_other_key(relative, &begin, length))
            && job.keeps_other_key(is_output(relative))
    };
    files.iter().find(|relative| is_foreign(relative)).map(|relative| root.join(relative))
}

/// Some files below `root`, by their relative paths, from as many folders as there are.
fn sample(root: &Path) -> Vec<PathBuf> {
    let (mut files, mut names) = (Vec::new(), 0);
    let mut folders = VecDeque::from([PathBuf::new()]);
    while let Some(folder) = folders.pop_front() {
        let Ok(listing) = fs::read_dir(root.join(&folder)) else { continue };
        let mut of_this = 0;
        for item in listing.flatten() {
            names += 1;
            if files.len() == FILES || names > NAMES {
                return files;
            }
            let Ok(kind) = item.file_type() else { continue };
            if is_reserved(&item.file_name()) {
                continue;
            }
            if kind.is_dir() {
                folders.push_back(folder.join(item.file_name()));
            } else if kind.is_file()
                && !is_temporary(&item.file_name())
                && !is_name_list(&folder.join(item.file_name()))
                && of_this < FILES_OF_A_FOLDER
            {
                files.push(folder.join(item.file_name()));
                of_this += 1;
            }
        }
    }
    files
}

/// The file's first bytes, and its length.
fn begin(path: &Path, len: u64) -> io::Result<(Vec<u8>, u64)> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut begin = Vec::new();
    file.take(len).read_to_end(&mut begin)?;
    Ok((begin, length))
}

/// The rule, for folders and stores alike.
impl Job {
    /// How many bytes from the start of an output [`Job::is_under_other_key`] wants to see; `None` if this job makes none
    /// of which the key could be told.
    #[must_use]
    pub fn other_key_begin_len(&self) -> Option<u64> {
        let format = self.work.sealing().filter(|format| format.is_authenticated())?;
        Some(u64::from(format.largest_segment()).max(RECOGNISE_LEN as u64))
    }

    /// Whether the file at `relative` below the destination, which begins so and is of this length, is a stream of the
    /// format that this job encrypts to, and opens with none of its keys.
    #[must_use]
    pub fn is_under_other_key(&self, relative: &Path, begin: &[u8], length: u64) -> bool {
        let Some(format) = self.work.sealing() else { return false };
        let is_stream = recognise(begin, length).iter().any(|finding| match finding.what {
            Recognised::Tink { .. } => format.key_id().is_some(),
            Recognised::Cobblestone { .. } => format.key_id().is_none(),
            _ => false,
        });
        let is_whole = begin.len() as u64 == length;
        // A file that has other troubles than its key is let be.
        let opens = |bound: &[u8]| format.opens(bound, begin, is_whole).unwrap_or(true);
        // Somebody may have bound the path before and not now: that is no other key.
        is_stream && !opens(b"") && !opens(&bound_path(relative, self))
    }

    /// Whether a file that is under another key would stay so, beside what this job makes. `is_output`: the job has an
    /// output of its name.
    #[must_use]
    pub fn keeps_other_key(&self, is_output: bool) -> bool {
        match is_output {
            // It will be replaced.
            true => self.if_exists != IfExists::Overwrite,
            // Only a Tink stream is known without its key; a folder may hold other files that look random.
            false => {
                self.single_name.is_none()
                    && self.work.sealing().is_some_and(|format| format.key_id().is_some())
            }
        }
    }
}

/// What an output at this path binds, if it binds its path: the plaintext's path, `/` between folders.
fn bound_path(relative: &Path, job: &Job) -> Vec<u8> {
    let parts: Vec<&[u8]> = relative.iter().map(|part| part.as_encoded_bytes()).collect();
    let path = parts.join(&b'/');
    path.strip_suffix(job.suffix.as_encoded_bytes()).unwrap_or(&path).to_vec()
}

/// Whether the job has an output of this name.
fn is_output(tree: &Tree, job: &Job, relative: &Path) -> bool {
    if job.single_name.is_some() {
        return true;
    }
    let folder = relative.parent().unwrap_or(Path::new(""));
    let folder = tree.directories.iter().zip(0..).find(|(directory, _)| directory.path == folder);
    folder.is_some_and(|(_, folder)| {
        let those = tree.entries.runs().filter(|(_, of)| *of == folder);
        those.flat_map(|(entries, _)| entries).any(|entry| {
            let name = job.names_output(tree.entries.get(entry).name());
            name.is_some_and(|name| Some(name.as_os_str()) == relative.file_name())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::key::{Keyset, RawKey, Template};
    use crate::{machine::Machine, report::Unobserved, tree::Selection};

    fn tink() -> Format {
        Format::tink(Keyset::generate(Template::Aes256GcmHkdf4Kb).unwrap(), crate::machine::Backend::best())
            .unwrap()
    }

    struct Trees {
        folder: tempfile::TempDir,
    }

    impl Trees {
        /// `source` holds a/one and two; `sealed` is it under `format`.
        fn sealed(format: &Format, bind_path: bool) -> Trees {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir_all(folder.path().join("source/a")).unwrap();
            fs::write(folder.path().join("source/a/one"), vec![1; 9000]).unwrap();
            fs::write(folder.path().join("source/two"), b"").unwrap();
            let trees = Trees { folder };
            let (tree, mut job) = trees.job(format, IfExists::Fail);
            job.bind_path = bind_path;
            let plan = job.plan(&tree, &Machine::detect(crate::machine::Calibration::default()), None);
            let summary = crate::pipeline::run(&tree, &plan, &job, &Unobserved).unwrap();
            assert_eq!(summary.files, 2);
            trees
        }

        fn job(&self, format: &Format, if_exists: IfExists) -> (Tree, Job) {
            let tree = Tree::list(&self.folder.path().join("source"), &Selection::default()).unwrap();
            let destination = Some(self.folder.path().join("sealed"));
            let job = Job {
                if_exists,
                suffix: ".enc".into(),
                ..Job::new(Work::Encrypt(format.clone()), destination)
            };
            (tree, job)
        }

        fn finds(&self, format: &Format, if_exists: IfExists) -> bool {
            let (tree, job) = self.job(format, if_exists);
            find_other_key(&tree, &job).is_some()
        }
    }

    #[test]
    fn another_key_is_found_and_the_own_is_not() {
        let (ours, other) = (tink(), tink());
        for bind_path in [false, true] {
            let trees = Trees::sealed(&ours, bind_path);
            for if_exists in [IfExists::Fail, IfExists::Skip] {
                assert!(!trees.finds(&ours, if_exists), "{bind_path}");
                assert!(trees.finds(&other, if_exists), "{bind_path}");
            }
            assert!(!trees.finds(&other, IfExists::Overwrite), "both are replaced");
            fs::rename(trees.folder.path().join("source/two"), trees.folder.path().join("source/three"))
                .unwrap();
            assert!(trees.finds(&other, IfExists::Overwrite), "two.enc stays");
            assert!(!trees.finds(&ours, IfExists::Overwrite));
        }
    }

    #[test]
    fn cobblestone_streams_are_known_by_their_names_alone() {
        let key = |byte| Format::cobblestone(&RawKey::parse(&[byte; 32]).unwrap(), b"").unwrap();
        let trees = Trees::sealed(&key(1), false);
        assert!(!trees.finds(&key(1), IfExists::Skip));
        assert!(trees.finds(&key(2), IfExists::Skip));
        for (from, to) in [("source/two", "source/three"), ("source/a/one", "source/a/four")] {
            fs::rename(trees.folder.path().join(from), trees.folder.path().join(to)).unwrap();
        }
        assert!(!trees.finds(&key(2), IfExists::Skip), "these may be any random files");
    }

    #[test]
    fn files_that_are_not_encrypted_do_not_matter() {
        let trees = Trees::sealed(&tink(), false);
        let sealed = trees.folder.path().join("sealed");
        fs::remove_dir_all(&sealed).unwrap();
        assert!(!trees.finds(&tink(), IfExists::Fail), "there is no destination");
        fs::create_dir(&sealed).unwrap();
        fs::write(sealed.join("two.enc"), b"(a remark in brackets)".repeat(9)).unwrap();
        fs::write(sealed.join("empty"), b"").unwrap();
        fs::write(sealed.join(".cipherloom-0123456789abcdef"), [40; 100]).unwrap();
        assert!(!trees.finds(&tink(), IfExists::Skip));
    }
}
