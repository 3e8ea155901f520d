//! Runs that end early, since going on makes no sense: a key that opens nothing, a destination that takes nothing.

use cipherloom::key::{Keyset, Template};
use cipherloom::machine::Calibration;
use cipherloom::{
    Error, Format, IfExists, Observer, Report,
    internal::{Job, Selection, Tree, Work},
    machine::{Backend, Machine},
    report::{Event, Outcome, Unobserved},
};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;

/// Keeps the errors that are told.
#[derive(Default)]
struct Listener {
    wants_all: bool,
    errors: Mutex<Vec<String>>,
    last_ends_run: Mutex<bool>,
}

impl Observer for Listener {
    fn advanced(&self, _bytes: u64) {}
    fn entry_ended(&self) {}
    fn wants_every_event(&self) -> bool {
        self.wants_all
    }
    fn ended(&self, event: &Event<'_>) {
        if let Outcome::Failed(error) = event.outcome {
            *self.last_ends_run.lock().unwrap() = error.ends_run();
            self.errors.lock().unwrap().push(error.to_string());
        }
    }
}

fn format() -> Format {
    Format::tink(Keyset::generate(Template::default()).unwrap(), Backend::best()).unwrap()
}

/// Runs the job, also where the destination holds files under another key: many of these tests mix them.
fn run(source: &Path, job: &Job, threads: usize, observer: &dyn Observer) -> Report {
    let job = &Job { allow_mixed_keys: true, ..job.clone() };
    let tree = Tree::list(source, &Selection::default()).unwrap();
    let machine = Machine::detect(Calibration::default());
    let plan = job.plan(&tree, &machine, NonZeroUsize::new(threads));
    cipherloom::internal::run(&tree, &plan, job, observer).unwrap()
}

fn sample(root: &Path, files: u64) {
    fs::create_dir(root).unwrap();
    for index in 0..files {
        fs::write(root.join(format!("{index:04}")), vec![index as u8; 2000]).unwrap();
    }
}

#[test]
fn a_key_that_opens_nothing_is_told_once() {
    let (mine, other) = (format(), format());
    for threads in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let (plain, sealed) = (folder.path().join("plain"), folder.path().join("sealed"));
        sample(&plain, 400);
        run(&plain, &Job::new(Work::Encrypt(mine.clone()), Some(sealed.clone())), threads, &Unobserved);
        let opened = folder.path().join("opened");
        for work in [Work::Decrypt(other.clone()), Work::Verify(other.clone())] {
            let listener = Listener::default();
            let job = Job::new(work.clone(), matches!(work, Work::Decrypt(_)).then(|| opened.clone()));
            let summary = run(&sealed, &job, threads, &listener);
            assert!(*listener.last_ends_run.lock().unwrap());
            assert_eq!(listener.errors.into_inner().unwrap().len(), 1);
            assert_eq!((summary.files, summary.failed, summary.unauthentic), (0, 20, 20));
            assert_eq!(summary.untried, 380);
        }
        assert_eq!(fs::read_dir(&opened).unwrap().count(), 0);
        let listener = Listener { wants_all: true, ..Listener::default() };
        let summary = run(&sealed, &Job::new(Work::Verify(other.clone()), None), threads, &listener);
        assert_eq!((summary.failed, summary.untried), (20, 380));
        assert_eq!(listener.errors.into_inner().unwrap().len(), 20, "whoever wants every event gets it");
    }
}

#[test]
fn files_that_do_not_open_are_told_each_where_others_do() {
    let (mine, other) = (format(), format());
    let folder = tempfile::tempdir().unwrap();
    let (plain, sealed) = (folder.path().join("plain"), folder.path().join("sealed"));
    sample(&plain, 60);
    run(&plain, &Job::new(Work::Encrypt(mine.clone()), Some(sealed.clone())), 1, &Unobserved);
    // The largest comes first, and opens.
    fs::write(plain.join("large"), vec![7; 1 << 20]).unwrap();
    let job =
        Job { if_exists: IfExists::Skip, ..Job::new(Work::Encrypt(other.clone()), Some(sealed.clone())) };
    run(&plain, &job, 1, &Unobserved);
    let listener = Listener::default();
    let summary = run(&sealed, &Job::new(Work::Verify(other.clone()), None), 1, &listener);
    assert_eq!((summary.files, summary.failed, summary.untried), (1, 60, 0));
    assert_eq!(listener.errors.into_inner().unwrap().len(), 60);
    // Fewer than it takes to give up: each is told when the run ends.
    let few = folder.path().join("few");
    fs::create_dir(&few).unwrap();
    for index in 0..5 {
        fs::copy(sealed.join(format!("{index:04}")), few.join(index.to_string())).unwrap();
    }
    let listener = Listener::default();
    let summary = run(&few, &Job::new(Work::Verify(other.clone()), None), 1, &listener);
    assert_eq!((summary.failed, summary.untried), (5, 0));
    assert_eq!(listener.errors.into_inner().unwrap().len(), 5);
}

#[test]
fn a_resumed_run_goes_on_past_files_of_another_key() {
    let (old, new, other) = (format(), format(), format());
    let folder = tempfile::tempdir().unwrap();
    let (sealed, opened) = (folder.path().join("sealed"), folder.path().join("opened"));
    // Larger ones come first: one that an earlier run has done, those of another key, and the rest.
    let mut files = Vec::new();
    for (name, format, size, count) in
        [("done", &new, 2 << 20, 1), ("stray", &other, 1 << 20, 25), ("rest", &old, 2000, 30)]
    {
        let plain = folder.path().join(name);
        fs::create_dir(&plain).unwrap();
        for index in 0..count {
            fs::write(plain.join(format!("{name}-{index}")), vec![7; size]).unwrap();
        }
        let job = Job::new(Work::Encrypt(format.clone()), Some(sealed.clone()));
        files.push(run(&plain, &job, 1, &Unobserved).files);
    }
    assert_eq!(files, [1, 25, 30]);
    fs::create_dir(&opened).unwrap();
    fs::write(opened.join("done-0"), b"by an earlier run").unwrap();
    let decrypt = Job { if_exists: IfExists::Skip, ..Job::new(Work::Decrypt(old.clone()), Some(opened)) };
    let work = Work::Rekey { from: old.clone(), to: new.clone() };
    let rekey = Job { if_exists: IfExists::Overwrite, ..Job::new(work, Some(sealed.clone())) };
    for job in [decrypt, rekey] {
        let listener = Listener::default();
        let summary = run(&sealed, &job, 1, &listener);
        assert_eq!((summary.files, summary.skipped, summary.failed, summary.untried), (30, 1, 25, 0));
        assert_eq!(listener.errors.into_inner().unwrap().len(), 25);
    }
}

#[test]
fn what_ends_a_run_says_so() {
    let fault = Error::KeyOpensNothing { tried: 20 };
    assert!(fault.ends_run() && fault.is_authentication());
    assert!(fault.to_string().contains("none of the first 20 files, so the run stopped"), "{fault}");
}
