//! What a run is given can disagree: a plan with the tree or the job, a file with what was listed. Then it fails, and says so.

use cipherloom::format::{Cipher, IvPolicy};
use cipherloom::key::{Keyset, RawKey, Template};
use cipherloom::machine::Calibration;
use cipherloom::{
    Error, Format, Observer,
    internal::{Job, Selection, Tree, Work},
    machine::{Backend, Machine},
    report::{Event, Outcome, Unobserved},
};
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

fn tink(template: Template) -> Format {
    Format::tink(Keyset::generate(template).unwrap(), Backend::best()).unwrap()
}

fn raw(cipher: Cipher) -> Format {
    Format::raw(cipher, &RawKey::from_bytes(&[1; 16]).unwrap(), IvPolicy::Prefixed, Backend::best()).unwrap()
}

#[test]
fn a_plan_of_another_tree_or_job_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (source, outer, target) = (path("source"), path("outer"), path("target"));
    for (root, name) in [(&source, "one"), (&source, "two"), (&outer, "alone")] {
        fs::create_dir_all(root).unwrap();
        fs::write(root.join(name), name).unwrap();
    }
    let tree = Tree::list(&source, &Selection::default()).unwrap();
    let other_tree = Tree::list(&outer, &Selection::default()).unwrap();
    let machine = Machine::detect(Calibration::default());
    let chained = raw(Cipher::Aes128Cbc);
    let (small, large) = (tink(Template::Aes256GcmHkdf4Kb), tink(Template::Aes256GcmHkdf1Mb));
    let job = |work| Job::new(work, Some(target.clone()));
    let planned = |tree: &Tree, work| job(work).plan(tree, &machine, NonZeroUsize::new(2));
    for (plan, work, says) in [
        (
            planned(&other_tree, Work::Encrypt(small.clone())),
            Work::Encrypt(small.clone()),
            "1 entries, and the tree 2",
        ),
        (
            planned(&tree, Work::Encrypt(chained.clone())),
            Work::Decrypt(chained.clone()),
            "the job is to decrypt",
        ),
        (planned(&tree, Work::Encrypt(chained.clone())), Work::Encrypt(small.clone()), "CBC"),
        (planned(&tree, Work::Encrypt(small.clone())), Work::Encrypt(chained.clone()), "CBC"),
        (
            planned(&tree, Work::Decrypt(small.clone())),
            Work::Decrypt(large.clone()),
            "segments of 4096 bytes",
        ),
    ] {
        let refused = cipherloom::internal::run(&tree, &plan, &job(work), &Unobserved).unwrap_err();
        assert!(
            matches!(refused, Error::PlanMismatch(_)) && refused.kind() == cipherloom::ErrorKind::Usage,
            "{refused}"
        );
        assert!(refused.to_string().contains(says), "{refused}");
    }
    assert!(!target.exists());
    // What only another estimate was made for is this job's plan all the same.
    let plan = planned(&tree, Work::Encrypt(large.clone()));
    assert_eq!(
        cipherloom::internal::run(&tree, &plan, &job(Work::Encrypt(small.clone())), &Unobserved)
            .unwrap()
            .files,
        2
    );
}

/// Writes other bytes over a file as soon as something was read, and notes what became of it.
struct Rewriter {
    path: PathBuf,
    changed: AtomicU64,
}

impl Observer for Rewriter {
    fn advanced(&self, _bytes: u64) {
        let mut bytes = fs::read(&self.path).unwrap();
        bytes[0] ^= 1;
        fs::write(&self.path, bytes).unwrap();
        // File systems count time in steps that a quick run fits into.
        let file = fs::File::options().write(true).open(&self.path).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }

    fn entry_ended(&self) {}

    fn wants_every_event(&self) -> bool {
        false
    }

    fn ended(&self, event: &Event<'_>) {
        let is_changed = matches!(event.outcome, Outcome::Failed(Error::SourceChanged));
        self.changed.fetch_add(u64::from(is_changed), Ordering::Relaxed);
    }
}

#[test]
fn a_small_file_that_is_written_to_while_it_is_read_fails() {
    let (tink, chained, counter) =
        (tink(Template::default()), raw(Cipher::Aes128Cbc), raw(Cipher::Aes128Ctr));
    for len in [1, 8192, 60_000] {
        for work in [
            Work::Encrypt(tink.clone()),
            Work::Encrypt(chained.clone()),
            Work::Encrypt(counter.clone()),
            Work::Decrypt(counter.clone()),
            Work::Copy,
        ] {
            let folder = tempfile::tempdir().unwrap();
            let source = folder.path().join("source");
            fs::create_dir(&source).unwrap();
            let path = source.join("page");
            fs::write(&path, vec![7; len + 16]).unwrap();
            let tree = Tree::list(&source, &Selection::default()).unwrap();
            let job = Job::new(work.clone(), Some(folder.path().join("target")));
            let plan = job.plan(&tree, &Machine::detect(Calibration::default()), None);
            let rewriter = Rewriter { path, changed: 0.into() };
            let summary = cipherloom::internal::run(&tree, &plan, &job, &rewriter).unwrap();
            assert_eq!((summary.files, summary.failed), (0, 1), "{work:?} of {len} bytes");
            assert_eq!(rewriter.changed.into_inner(), 1, "{work:?} of {len} bytes");
            assert!(!folder.path().join("target/page").exists());
        }
    }
}
