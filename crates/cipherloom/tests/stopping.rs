//! A run that is told to stop: what has ended by then stands complete, nothing else has a name, and a second run goes
//! on where the first stopped.

use cipherloom::format::{Cipher, IvPolicy};
use cipherloom::key::{Keyset, RawKey, Template};
use cipherloom::machine::Calibration;
use cipherloom::{
    Error, Format, IfExists, Observer, Report,
    internal::{Job, Selection, Tree, Work, translate_stream},
    machine::{Backend, Machine},
    report::{Event, Unobserved},
};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stops a run after so many source bytes.
struct Stopper {
    after: u64,
    seen: AtomicU64,
}

impl Stopper {
    fn after(bytes: u64) -> Stopper {
        Stopper { after: bytes, seen: AtomicU64::new(0) }
    }
}

impl Observer for Stopper {
    fn advanced(&self, bytes: u64) {
        self.seen.fetch_add(bytes, Ordering::Relaxed);
    }
    fn entry_ended(&self) {}
    fn wants_every_event(&self) -> bool {
        false
    }
    fn ended(&self, event: &Event<'_>) {
        panic!("nothing fails here, and what was stopped is not told: {event:?}");
    }
    fn is_stopped(&self) -> bool {
        self.seen.load(Ordering::Relaxed) >= self.after
    }
}

fn thread_counts() -> Vec<usize> {
    match std::env::var("CIPHERLOOM_TEST_THREADS") {
        Ok(threads) => vec![threads.parse().expect("CIPHERLOOM_TEST_THREADS is a number")],
        Err(_) => vec![1, 3],
    }
}

fn run(source: &Path, job: &Job, threads: usize, observer: &dyn Observer) -> Report {
    let tree = Tree::list(source, &Selection::default()).unwrap();
    let machine = Machine::detect(Calibration::default());
    let plan = job.plan(&tree, &machine, NonZeroUsize::new(threads));
    cipherloom::internal::run(&tree, &plan, job, observer).unwrap()
}

/// The number of regular files below `folder`, temporary ones included.
fn count(folder: &Path) -> u64 {
    Tree::list(folder, &Selection::default()).unwrap().entries.len() as u64
}

/// 60 small files and one that several workers share.
fn sample(root: &Path) -> u64 {
    for index in 0..60 {
        let folder = root.join(format!("folder-{}", index % 3));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(index.to_string()), vec![index as u8; 90_000]).unwrap();
    }
    fs::write(root.join("shared"), vec![7; 24 << 20]).unwrap();
    61
}

fn formats() -> [Format; 2] {
    let key = RawKey::from_bytes(&[5; 16]).unwrap();
    [
        Format::tink(Keyset::generate(Template::default()).unwrap(), Backend::best()).unwrap(),
        Format::raw(Cipher::Aes128Cbc, &key, IvPolicy::Prefixed, Backend::best()).unwrap(),
    ]
}

#[test]
fn a_stopped_run_leaves_complete_outputs_only_and_can_go_on() {
    for format in formats() {
        for threads in thread_counts() {
            for after in [0, 1, 3 << 20, 26 << 20] {
                let what = format!("{format:?}, {threads} threads, stopped after {after}");
                let folder = tempfile::tempdir().unwrap();
                let path = |name: &str| folder.path().join(name);
                let files = sample(&path("source"));
                let mut job = Job::new(Work::Encrypt(format.clone()), Some(path("sealed")));
                let summary = run(&path("source"), &job, threads, &Stopper::after(after));
                assert!(summary.files < files, "{what}: {summary:?}");
                assert_eq!((summary.failed, summary.skipped), (0, 0), "{what}");
                assert_eq!(count(&path("sealed")), summary.files, "{what}");

                job.if_exists = IfExists::Skip;
                let rest = run(&path("source"), &job, threads, &Unobserved);
                assert_eq!((rest.skipped, rest.files), (summary.files, files - summary.files), "{what}");
                let back = Job::new(Work::Decrypt(format.clone()), Some(path("back")));
                let opened = run(&path("sealed"), &back, threads, &Unobserved);
                assert_eq!((opened.files, opened.failed), (files, 0), "{what}");
                assert!(fs::read(path("back/shared")).unwrap() == vec![7; 24 << 20], "{what}");
            }
        }
    }
}

#[test]
fn verifying_stops_too() {
    let [format, _] = formats();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let files = sample(&path("source"));
    run(&path("source"), &Job::new(Work::Encrypt(format.clone()), Some(path("sealed"))), 1, &Unobserved);
    for threads in thread_counts() {
        let job = Job::new(Work::Verify(format.clone()), None);
        let summary = run(&path("sealed"), &job, threads, &Stopper::after(2 << 20));
        assert!(summary.files < files && summary.failed == 0, "{summary:?}");
    }
}

#[test]
fn a_stream_that_is_stopped_is_an_error() {
    let [format, _] = formats();
    let mut sink = Vec::new();
    let source = vec![1; 5 << 20];
    let stopped = translate_stream(
        &Work::Encrypt(format.clone()),
        b"",
        &mut &source[..],
        &mut sink,
        &Stopper::after(1 << 20),
    );
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    assert!(sink.len() < source.len());
}

/// Stops when it has been asked so often.
struct AfterQuestions(AtomicU64);

impl Observer for AfterQuestions {
    fn is_stopped(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn a_listing_can_be_given_up() {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..3000 {
        fs::write(folder.path().join(index.to_string()), b"").unwrap();
    }
    // Also while the folder is being read.
    for asked in 0..8 {
        let left = AtomicU64::new(asked);
        let listed = Tree::list_observed(folder.path(), &Selection::default(), &AfterQuestions(left));
        assert!(matches!(listed, Err(Error::Stopped)), "asked {asked} times");
    }
}

/// Where each file is replaced, what was done is listed under the new key, and everything else as before.
#[test]
fn a_stopped_rekeying_in_place_writes_the_index_of_what_is_done() {
    for threads in thread_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (source, sealed) = (folder.path().join("source"), folder.path().join("sealed"));
        let files = sample(&source);
        let keyset = || Keyset::generate(Template::Aes256GcmHkdf4Kb).unwrap();
        let (old, new) = (keyset(), keyset());
        cipherloom::encrypt(&source, &sealed).key(&old).index(true).run().unwrap();
        let rekey = |observer: &dyn Observer| {
            let rekey = cipherloom::rekey(&sealed, &sealed).key(&old).new_key(&new);
            let threads = NonZeroUsize::new(threads).unwrap();
            rekey.if_exists(IfExists::Overwrite).threads(threads).run_with(observer).unwrap()
        };
        let first = rekey(&Stopper::after(26 << 20));
        assert!(first.files > 0 && first.files < files, "{first:?}");
        let index = first.index.expect("it was written");
        assert_eq!((index.generation, index.entries), (2, files + 3));
        let (_, entries) = cipherloom::verify(&sealed).key(&new).list_index().unwrap();
        let is_rekeyed = |entry: &cipherloom::report::ListedEntry| entry.key_id == Some(new.primary_id());
        assert_eq!(entries.filter(|entry| is_rekeyed(entry.as_ref().unwrap())).count() as u64, first.files);
        let second = rekey(&Unobserved);
        assert_eq!((second.files, second.skipped, second.failed), (files - first.files, first.files, 0));
        let verified = cipherloom::verify(&sealed).key(&new).run().unwrap();
        assert_eq!((verified.files, verified.failed), (files, 0));
    }
}
