//! Re-keying a tree in place: source and destination are the same folder (or file), and each file is replaced by one rename.
//!
//! At every moment each file opens with the old key or with the new one. Outputs are forced to stable storage before they
//! replace anything, because nothing else holds the content. A repeated run goes on where a stopped one ended: a file whose
//! first segment opens with the key that seals is skipped.

use super::job::{Job, Work};
use super::translation::Buffers;
use crate::Error;
use crate::files::{IfExists, Input};
use crate::format::Format;
use crate::tree::Tree;
use std::fs;

/// Whether this job re-keys each file of the tree where it is: source and destination are the same, and existing files may
/// be overwritten. A file that was named through a symbolic link is not replaced in place.
#[must_use]
pub fn is_in_place(tree: &Tree, job: &Job) -> bool {
    let (Work::Rekey { .. }, IfExists::Overwrite, Some(destination)) =
        (&job.work, job.if_exists, &job.destination)
    else {
        return false;
    };
    let same_folder = matches!(
        (fs::canonicalize(&tree.root), fs::canonicalize(destination)),
        (Ok(source), Ok(output)) if source == output
    );
    let keeps_name = |name: &std::ffi::OsStr| {
        job.names_output(name).as_deref() == Some(name)
            && fs::symlink_metadata(tree.root.join(name)).is_ok_and(|found| found.is_file())
    };
    same_folder && (!tree.is_single_file || tree.entries.iter().all(|entry| keeps_name(entry.name())))
}

/// Whether the key that seals in `format` opens the first segment of `input`, so that nothing is left to be done.
pub(super) fn is_done(format: &Format, input: &Input, buffers: &mut Buffers) -> Result<bool, Error> {
    if !format.is_authenticated() {
        return Ok(false);
    }
    let len = usize::try_from(format.begin_len().min(input.len())).expect("a buffer's length");
    input.read(buffers.main.first(len + 1)?, len, 0)?;
    let begin = &buffers.main.first(len + 1)?[..len];
    format.opens_with_primary(&buffers.associated_data, begin, len as u64 == input.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Keyset, RawKey, Template};
    use crate::machine::{Calibration, Machine};
    use crate::pipeline::run;
    use crate::report::{Event, Observer, Outcome, Report, Unobserved};
    use crate::tree::Selection;
    use cipherloom_kernels::Backend;
    use std::num::NonZeroUsize;
    use std::path::Path;
    use std::sync::Mutex;
    use std::time::{Duration, SystemTime};

    fn tink(template: Template) -> (Keyset, Format) {
        let keyset = Keyset::generate(template).unwrap();
        let format = Format::tink(&keyset, Backend::best()).unwrap();
        (keyset, format)
    }

    fn go(source: &Path, job: &Job, observer: &dyn Observer) -> Result<Report, Error> {
        let tree = Tree::list(source, &Selection::default())?;
        let threads = std::env::var("CIPHERLOOM_TEST_THREADS").ok().and_then(|text| text.parse().ok());
        let plan =
            job.plan(&tree, &Machine::detect(Calibration::default()), threads.or(NonZeroUsize::new(2)));
        run(&tree, &plan, job, observer)
    }

    fn rekey(from: &Format, to: &Format, place: &Path) -> Job {
        let job = Job::new(Work::Rekey { from: from.clone(), to: to.clone() }, Some(place.to_owned()));
        Job { if_exists: IfExists::Overwrite, ..job }
    }

    /// Sizes around segments' ends, and one that the plan cuts into parts.
    const SIZES: [usize; 7] = [0, 1, 100, 4056, 4096, 1 << 20, 40 << 20];

    fn sealed(format: &Format, bind_path: bool) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let (plain, tree) = (folder.path().join("plain"), folder.path().join("tree"));
        fs::create_dir_all(plain.join("below")).unwrap();
        for size in SIZES {
            fs::write(plain.join(format!("below/{size}")), vec![7; size]).unwrap();
        }
        let job =
            Job { bind_path, suffix: ".enc".into(), ..Job::new(Work::Encrypt(format.clone()), Some(tree)) };
        assert_eq!(go(&plain, &job, &Unobserved).unwrap().failed, 0);
        folder
    }

    /// Stops the run after this many entries.
    struct Stop(Mutex<usize>);

    impl Observer for Stop {
        fn advanced(&self, _bytes: u64) {}
        fn entry_ended(&self) {
            let mut left = self.0.lock().unwrap();
            *left = left.saturating_sub(1);
        }
        fn wants_every_event(&self) -> bool {
            false
        }
        fn ended(&self, event: &Event<'_>) {
            assert!(!matches!(event.outcome, Outcome::Failed(_)), "{event:?}");
        }
        fn is_stopped(&self) -> bool {
            *self.0.lock().unwrap() == 0
        }
    }

    #[test]
    fn a_stopped_run_goes_on_and_each_file_opens_with_one_of_both_keys_meanwhile() {
        for bind_path in [false, true] {
            let ((_, old), (_, new)) = (tink(Template::Aes256GcmHkdf1Mb), tink(Template::Aes128GcmHkdf4Kb));
            let folder = sealed(&old, bind_path);
            let tree = folder.path().join("tree");
            let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30);
            for path in [tree.join("below/1.enc"), tree.join("below"), tree.clone()] {
                fs::File::open(path).unwrap().set_modified(then).unwrap();
            }
            let job = Job { bind_path, suffix: ".enc".into(), ..rekey(&old, &new, &tree) };
            let opens = |format: &Format| {
                let verify = Job::new(Work::Verify(format.clone()), None);
                let verify = Job { bind_path, suffix: ".enc".into(), ..verify };
                go(&tree, &verify, &Unobserved).unwrap().files
            };
            let first = go(&tree, &job, &Stop(Mutex::new(3))).unwrap();
            assert!(first.files >= 3, "{first:?}");
            assert_eq!((opens(&new), opens(&old)), (first.files, SIZES.len() as u64 - first.files));
            let second = go(&tree, &job, &Unobserved).unwrap();
            assert_eq!(
                (second.files, second.skipped, second.failed),
                (opens(&new) - first.files, first.files, 0)
            );
            assert_eq!((opens(&new), opens(&old)), (SIZES.len() as u64, 0));
            for path in [tree.join("below/1.enc"), tree.join("below"), tree.clone()] {
                assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), then, "{path:?}");
            }
            assert_eq!(fs::read_dir(tree.join("below")).unwrap().count(), SIZES.len());
        }
    }

    #[test]
    fn one_keyset_is_enough_and_only_its_primary_key_counts_as_new() {
        let (mut keyset, old) = tink(Template::Aes256GcmHkdf4Kb);
        let folder = sealed(&old, false);
        let tree = folder.path().join("tree");
        let added = keyset.add(Template::Aes256GcmHkdf4Kb).unwrap();
        keyset.promote(added).unwrap();
        let both = |keyset: &Keyset| Format::tink(keyset, Backend::best()).unwrap();
        let (from, to) = (both(&keyset), both(&keyset));
        let ended = go(&tree, &rekey(&from, &to, &tree), &Unobserved).unwrap();
        assert_eq!((ended.files, ended.skipped, ended.failed), (SIZES.len() as u64, 0, 0));
        let again = go(&tree, &rekey(&from, &to, &tree), &Unobserved).unwrap();
        assert_eq!((again.files, again.skipped), (0, SIZES.len() as u64));
        let with_old = go(&tree, &Job::new(Work::Verify(old.clone()), None), &Unobserved).unwrap();
        assert_eq!(with_old.files, 0);
    }

    #[test]
    fn what_opens_with_neither_key_stays_and_a_single_file_is_replaced_too() {
        let cobblestone = |byte| Format::cobblestone(&RawKey::parse(&[byte; 64]).unwrap(), b"").unwrap();
        let (old, new) = (cobblestone(b'1'), cobblestone(b'2'));
        let folder = sealed(&old, false);
        let tree = folder.path().join("tree");
        fs::write(tree.join("foreign"), vec![24; 5000]).unwrap();
        let file = tree.join("below/100.enc");
        #[cfg(unix)]
        let is_given = std::os::unix::fs::chown(&file, Some(12345), None).is_ok();
        let mut job = rekey(&old, &new, &tree.join("below"));
        job.single_name = Some("100.enc".into());
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30);
        fs::File::open(tree.join("below")).unwrap().set_modified(then).unwrap();
        assert_eq!(go(&file, &job, &Unobserved).unwrap().files, 1);
        let modified = fs::metadata(tree.join("below")).unwrap().modified().unwrap();
        assert!(modified > then, "the folder around a single file is not set back");
        assert_eq!(go(&file, &job, &Unobserved).unwrap().skipped, 1);
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&fs::metadata(&file).unwrap()) == 12345, is_given);
        let ended = go(&tree, &rekey(&old, &new, &tree), &Unobserved).unwrap();
        assert_eq!((ended.files, ended.skipped, ended.failed), (SIZES.len() as u64 - 1, 1, 1));
        assert_eq!(fs::read(tree.join("foreign")).unwrap(), vec![24; 5000]);
        for if_exists in [IfExists::Fail, IfExists::Skip] {
            let job = Job { if_exists, ..rekey(&new, &old, &tree) };
            assert!(matches!(go(&tree, &job, &Unobserved), Err(Error::DestinationInsideSource)));
        }
        let copied = Job { work: Work::Copy, ..rekey(&new, &old, &tree) };
        assert!(matches!(go(&tree, &copied, &Unobserved), Err(Error::DestinationInsideSource)));
        #[cfg(unix)]
        {
            let link = tree.join("link");
            std::os::unix::fs::symlink("foreign", &link).unwrap();
            let mut job = rekey(&new, &old, &tree);
            job.single_name = Some("link".into());
            assert!(matches!(go(&link, &job, &Unobserved), Err(Error::SameFile)));
        }
    }
}
