//! A worker in its steady state allocates nothing on the heap for an entry: its buffers, folders and names are made
//! once and used for all. Shown by running the same plan over N and over 2N small files with one thread, and comparing
//! how often `cipherloom::internal::run` asked Rust's global allocator for memory.
//!
//! One exception: the keys of an AES-CTR-HMAC stream are large, and lie in a box.
//!
//! What this does not see: memory that C code takes with its own `malloc`. AWS-LC does that for each AEAD context,
//! hence for each stream of an authenticated format.

use allocation_counter::{AllocationInfo, measure};
use cipherloom::format::{Cipher, IvPolicy};
use cipherloom::key::{Keyset, RawKey, Template};
use cipherloom::machine::Calibration;
use cipherloom::{
    Format, IfExists,
    internal::{Job, Selection, Tree, Work},
    machine::{Backend, Machine},
    report::Unobserved,
};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Enough for several batches, and for each of CBC's 16 lanes to be refilled a few times.
const FILES: usize = 120;

/// Two folders, the second with twice the files of the first; both of one folder level, with sizes that repeat.
struct Samples {
    _folder: tempfile::TempDir,
    few: PathBuf,
    many: PathBuf,
}

impl Samples {
    fn new() -> Samples {
        let folder = tempfile::tempdir().unwrap();
        let (few, many) = (folder.path().join("few"), folder.path().join("many"));
        for (root, files) in [(&few, FILES), (&many, 2 * FILES)] {
            fs::create_dir(root).unwrap();
            for index in 0..files {
                let size = [0, 1, 16, 100, 4096, 5000][index % 6];
                fs::write(root.join(format!("chapter-{index:05}")), vec![index as u8; size]).unwrap();
            }
        }
        // How outputs get their names on this file system is found out once.
        count(&few, &Job::new(Work::Copy, Some(folder.path().join("first"))));
        Samples { _folder: folder, few, many }
    }

    /// The same samples in `format`, in folders called `name` beside them.
    fn sealed(&self, name: &str, format: &Format) -> [PathBuf; 2] {
        [&self.few, &self.many].map(|source| {
            let sealed = source.with_extension(name);
            count(source, &Job::new(Work::Encrypt(format.clone()), Some(sealed.clone())));
            sealed
        })
    }

    /// Fails if a run of `work` over twice the files allocates more often than over the files once.
    fn assert_none_per_file(&self, what: &str, work: &Work, [few, many]: [&Path; 2]) {
        self.assert_per_file(0, what, work, [few, many], |_| ());
    }

    /// The same, for a run that allocates this often for each file.
    fn assert_per_file(
        &self,
        expected: u64,
        what: &str,
        work: &Work,
        sources: [&Path; 2],
        settle: impl Fn(&mut Job),
    ) {
        let [few, many] = sources.map(|source| {
            let destination = match work {
                Work::Verify(_) => None,
                _ => Some(source.with_extension(what.replace(' ', "-"))),
            };
            let mut job = Job::new(work.clone(), destination);
            // Else the names in the destination are listed once, before the run.
            job.allow_mixed_keys = true;
            settle(&mut job);
            count(source, &job)
        });
        assert!(few.count_total > 0, "{what}: the counter counts nothing");
        assert_eq!(
            few.count_total + expected * FILES as u64,
            many.count_total,
            "{what}: allocations of a run over {FILES} files and over {}",
            2 * FILES
        );
        assert_eq!(few.count_current, 0, "{what}: everything is given back");
        assert_eq!(many.count_current, 0, "{what}: everything is given back");
    }
}

/// The allocations inside `cipherloom::internal::run`; listing and planning happen before.
fn count(source: &Path, job: &Job) -> AllocationInfo {
    let tree = Tree::list(source, &Selection::default()).unwrap();
    let mut machine = Machine::detect(Calibration::default());
    // As many slots for chained entries in both runs, whatever the limit of open files allows.
    machine.open_files = 88;
    let plan = job.plan(&tree, &machine, NonZeroUsize::new(1));
    assert!(plan.slots() <= 16);
    let mut failed = 0;
    let counted =
        measure(|| failed = cipherloom::internal::run(&tree, &plan, job, &Unobserved).unwrap().failed);
    assert_eq!(failed, 0);
    counted
}

fn raw(cipher: Cipher) -> Format {
    let key = RawKey::from_bytes(&vec![7; cipher.key_len()]).unwrap();
    Format::raw(cipher, &key, IvPolicy::Prefixed, Backend::best()).unwrap()
}

fn tink(template: Template) -> Format {
    Format::tink(Keyset::generate(template).unwrap(), Backend::best()).unwrap()
}

/// With how often each stream allocates.
fn formats() -> Vec<(&'static str, u64, Format)> {
    vec![
        ("tink", 0, tink(Template::default())),
        ("tink ctr hmac", 1, tink(Template::Aes256CtrHmacSha256Of4Kb)),
        ("cobblestone", 0, Format::cobblestone(&RawKey::from_bytes(&[3; 32]).unwrap(), b"context").unwrap()),
        ("raw cbc", 0, raw(Cipher::Aes128Cbc)),
        ("raw ctr", 0, raw(Cipher::Aes256Ctr)),
    ]
}

#[test]
fn encryption_allocates_nothing_per_file() {
    let samples = Samples::new();
    for (name, keys, format) in formats() {
        let sources = [samples.few.as_path(), samples.many.as_path()];
        samples.assert_per_file(keys, name, &Work::Encrypt(format.clone()), sources, |_| ());
    }
}

#[test]
fn decryption_and_verification_allocate_nothing_per_file() {
    let samples = Samples::new();
    for (name, keys, format) in formats() {
        let sealed = samples.sealed(name, &format);
        let sealed = [sealed[0].as_path(), sealed[1].as_path()];
        let assert = |what: &str, work| samples.assert_per_file(keys, what, &work, sealed, |_| ());
        assert(&format!("{name} opened"), Work::Decrypt(format.clone()));
        if format.is_authenticated() {
            assert(&format!("{name} verified"), Work::Verify(format.clone()));
        }
    }
}

#[test]
fn rekeying_and_copying_allocate_nothing_per_file() {
    let samples = Samples::new();
    let (from, to) = (tink(Template::default()), tink(Template::Aes128GcmHkdf4Kb));
    let [few, many] = samples.sealed("old", &from);
    samples.assert_none_per_file(
        "re-keyed",
        &Work::Rekey { from: from.clone(), to: to.clone() },
        [&few, &many],
    );
    samples.assert_none_per_file("copied", &Work::Copy, [&samples.few, &samples.many]);
}

#[test]
fn suffixes_bound_paths_and_skipped_files_allocate_nothing_per_file() {
    let samples = Samples::new();
    let format = tink(Template::default());
    let sources = [samples.few.as_path(), samples.many.as_path()];
    let settle = |job: &mut Job| {
        job.suffix = ".enc".into();
        job.bind_path = true;
        job.if_exists = IfExists::Skip;
    };
    for _ in ["encrypted", "skipped"] {
        samples.assert_per_file(0, "bound", &Work::Encrypt(format.clone()), sources, settle);
    }
}
