//! Two resumed runs at once into one destination: what the other one has done meanwhile is skipped.

use cipherloom::key::{Keyset, Template};
use cipherloom::machine::Calibration;
use cipherloom::{
    Format, IfExists, Observer, Report,
    internal::{Job, Selection, Tree, Work},
    machine::{Backend, Machine},
    report::Event,
};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Barrier;

/// Nothing may fail.
struct Strict;

impl Observer for Strict {
    fn advanced(&self, _bytes: u64) {}
    fn entry_ended(&self) {}
    fn wants_every_event(&self) -> bool {
        false
    }
    fn ended(&self, event: &Event<'_>) {
        panic!("{event:?}");
    }
}

#[test]
fn two_resumed_runs_share_the_work() {
    let format = Format::tink(Keyset::generate(Template::default()).unwrap(), Backend::best()).unwrap();
    let machine = Machine::detect(Calibration::default());
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    for index in 0..60 {
        let below = plain.join(format!("{}/{}", index % 3, index % 10));
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join(index.to_string()), vec![index as u8; 40_000]).unwrap();
    }
    let tree = Tree::list(&plain, &Selection::default()).unwrap();
    let encrypt = |sealed: &Path, start: &Barrier| -> Report {
        let job = Job {
            if_exists: IfExists::Skip,
            ..Job::new(Work::Encrypt(format.clone()), Some(sealed.to_owned()))
        };
        let plan = job.plan(&tree, &machine, NonZeroUsize::new(2));
        start.wait();
        cipherloom::internal::run(&tree, &plan, &job, &Strict).unwrap()
    };
    for round in 0..25 {
        let sealed = folder.path().join(format!("sealed-{round}"));
        let start = Barrier::new(2);
        let (one, two) = std::thread::scope(|scope| {
            let other = scope.spawn(|| encrypt(&sealed, &start));
            (encrypt(&sealed, &start), other.join().unwrap())
        });
        assert_eq!((one.files + two.files, one.skipped + two.skipped), (60, 60), "round {round}");
        assert_eq!((one.failed, two.failed), (0, 0));
        let job = Job::new(Work::Verify(format.clone()), None);
        let sealed = Tree::list(&sealed, &Selection::default()).unwrap();
        let plan = job.plan(&sealed, &machine, NonZeroUsize::new(1));
        assert_eq!(cipherloom::internal::run(&sealed, &plan, &job, &Strict).unwrap().files, 60);
    }
}
