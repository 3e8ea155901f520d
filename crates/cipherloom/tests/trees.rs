//! Whole runs over real folders: every format there and back, with one thread and with several, and what happens to
//! the others when one entry is in trouble.

use cipherloom::age::Identity;
use cipherloom::format::{Cipher, IvPolicy};
use cipherloom::key::{Keyset, Passphrase, RawKey, Template};
use cipherloom::machine::Calibration;
use cipherloom::{
    Error, Format, IfExists, Observer, Report,
    internal::{Job, Selection, Tree, Work},
    machine::{Backend, Machine},
    report::{Event, Outcome, Unobserved},
};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A folder with files around every edge that formats and plan have, and one that several workers share.
fn sample(root: &Path) {
    let sizes = [0, 1, 15, 16, 17, 4095, 4096, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 300_000];
    for (index, size) in sizes.into_iter().enumerate() {
        let folder = root.join(["", "a", "a/b", "c"][index % 4]);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("file-{size}")), content(index as u64, size)).unwrap();
    }
    for size in [(1 << 20) - 56, (1 << 20) - 16, 1 << 20, (1 << 20) + 1, (3 << 20) + 77] {
        fs::write(root.join(format!("c/large-{size}")), content(size as u64, size)).unwrap();
    }
    fs::write(root.join("shared"), content(7, (9 << 20) + 12_345)).unwrap();
    fs::create_dir(root.join("empty folder")).unwrap();
}

/// Bytes that no two files share (xorshift; only has to look arbitrary).
fn content(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..size)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

fn run(source: &Path, job: &Job, threads: usize) -> Report {
    run_observed(source, job, threads, &Unobserved).unwrap()
}

fn run_observed(source: &Path, job: &Job, threads: usize, observer: &dyn Observer) -> Result<Report, Error> {
    let tree = Tree::list(source, &Selection::default()).unwrap();
    let machine = Machine::detect(Calibration::default());
    let plan = job.plan(&tree, &machine, NonZeroUsize::new(threads));
    cipherloom::internal::run(&tree, &plan, job, observer)
}

fn job(work: Work, destination: &Path) -> Job {
    Job::new(work, Some(destination.to_owned()))
}

/// Every file below `root` with its content, sorted.
fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let tree = Tree::list(root, &Selection::default()).unwrap();
    let mut files: Vec<_> = tree
        .entries
        .iter()
        .map(|entry| tree.relative_path(entry))
        .map(|path| (path.clone(), fs::read(root.join(path)).unwrap()))
        .collect();
    files.sort();
    files
}

fn assert_same(left: &Path, right: &Path, what: &str) {
    let (left, right) = (files(left), files(right));
    let names = |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(names(&left), names(&right), "{what}");
    for ((path, left), (_, right)) in left.iter().zip(&right) {
        assert!(left == right, "{what}: {} differs", path.display());
    }
}

fn tink(template: Template) -> Format {
    Format::tink(Keyset::generate(template).unwrap(), Backend::best()).unwrap()
}

fn formats() -> Vec<(String, Format)> {
    let backend = Backend::best();
    let key = |len: usize| RawKey::from_bytes(&content(3, len)).unwrap();
    let mut formats: Vec<(String, Format)> =
        Template::ALL.iter().map(|&template| (template.to_string(), tink(template))).collect();
    for len in [16, 32] {
        formats.push((format!("cobblestone {len}"), Format::cobblestone(&key(len), b"test").unwrap()));
    }
    let identities = [Identity::generate().unwrap(), Identity::generate_post_quantum().unwrap()];
    for identity in identities {
        formats.push((format!("age {identity:?}"), Format::age_from([identity]).unwrap()));
    }
    for cipher in [Cipher::Aes128Cbc, Cipher::Aes192Ctr, Cipher::Aes256Cbc] {
        let passphrase = Passphrase::new(b"correct horse").unwrap();
        formats
            .push((format!("openssl {cipher:?}"), Format::openssl(cipher, passphrase, 3, backend).unwrap()));
        for iv in [IvPolicy::Prefixed, IvPolicy::Fixed([9; 16])] {
            let format = Format::raw(cipher, &key(cipher.key_len()), iv, backend).unwrap();
            formats.push((format!("raw {cipher:?} {iv:?}"), format));
        }
    }
    formats
}

fn thread_counts() -> Vec<usize> {
    match std::env::var("CIPHERLOOM_TEST_THREADS") {
        Ok(threads) => vec![threads.parse().expect("CIPHERLOOM_TEST_THREADS is a number")],
        Err(_) => vec![1, 3],
    }
}

#[test]
fn every_format_gives_the_tree_back() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    sample(&source);
    let total = files(&source).len() as u64;
    for (name, format) in formats() {
        for threads in thread_counts() {
            let what = format!("{name}, {threads} threads");
            let (sealed, opened) = (folder.path().join("sealed"), folder.path().join("opened"));
            let summary = run(&source, &job(Work::Encrypt(format.clone()), &sealed), threads);
            assert_eq!((summary.files, summary.failed), (total, 0), "{what}");
            if format.is_authenticated() {
                let verified = run(&sealed, &Job::new(Work::Verify(format.clone()), None), threads);
                assert_eq!((verified.files, verified.failed), (total, 0), "{what}");
                assert_eq!(
                    verified.output_bytes, summary.bytes,
                    "verifying sees every plaintext byte: {what}"
                );
            }
            let summary = run(&sealed, &job(Work::Decrypt(format.clone()), &opened), threads);
            assert_eq!((summary.files, summary.failed), (total, 0), "{what}");
            assert_same(&source, &opened, &what);
            assert!(opened.join("empty folder").is_dir());
            fs::remove_dir_all(&sealed).unwrap();
            fs::remove_dir_all(&opened).unwrap();
        }
    }
}

#[test]
fn a_fixed_iv_gives_the_same_bytes_however_many_threads_and_whichever_backend() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    sample(&source);
    for cipher in [Cipher::Aes128Cbc, Cipher::Aes256Ctr] {
        let key = RawKey::from_bytes(&content(5, cipher.key_len())).unwrap();
        let sealed = |backend: Backend, threads: usize| {
            let format = Format::raw(cipher, &key, IvPolicy::Fixed([1; 16]), backend).unwrap();
            let destination = folder.path().join(format!("{cipher:?}-{}-{threads}", backend.name()));
            assert_eq!(run(&source, &job(Work::Encrypt(format.clone()), &destination), threads).failed, 0);
            destination
        };
        let reference = sealed(Backend::Soft, 1);
        for backend in Backend::ALL.into_iter().filter(|backend| backend.is_available()) {
            assert_same(&reference, &sealed(backend, 4), backend.name());
        }
    }
}

#[test]
fn rekeying_between_segment_sizes_gives_the_same_plaintext() {
    let folder = tempfile::tempdir().unwrap();
    let (source, sealed) = (folder.path().join("source"), folder.path().join("sealed"));
    sample(&source);
    let old = tink(Template::Aes256GcmHkdf1Mb);
    run(&source, &job(Work::Encrypt(old.clone()), &sealed), 2);
    let cobblestone = Format::cobblestone(&RawKey::from_bytes(&[8; 32]).unwrap(), b"").unwrap();
    let age = Format::age_from([Identity::generate().unwrap()]).unwrap();
    for (index, new) in
        [tink(Template::Aes128GcmHkdf4Kb), tink(Template::Aes256CtrHmacSha256Of1Mb), cobblestone, age]
            .into_iter()
            .enumerate()
    {
        let (resealed, opened) =
            (folder.path().join(format!("new{index}")), folder.path().join(format!("opened{index}")));
        let there = run(&sealed, &job(Work::Rekey { from: old.clone(), to: new.clone() }, &resealed), 3);
        assert_eq!(there.failed, 0);
        assert_eq!(run(&resealed, &job(Work::Decrypt(new.clone()), &opened), 3).failed, 0);
        assert_same(&source, &opened, new.name());
        let back = folder.path().join(format!("back{index}"));
        assert_eq!(
            run(&resealed, &job(Work::Rekey { from: new.clone(), to: old.clone() }, &back), 1).failed,
            0
        );
        assert_eq!(run(&back, &Job::new(Work::Verify(old.clone()), None), 2).failed, 0);
    }
}

/// Collects the paths that failed.
#[derive(Default)]
struct Failures(Mutex<Vec<String>>);

impl Observer for Failures {
    fn advanced(&self, _bytes: u64) {}
    fn entry_ended(&self) {}
    fn wants_every_event(&self) -> bool {
        false
    }
    fn ended(&self, event: &Event<'_>) {
        if let Outcome::Failed(error) = &event.outcome {
            let name = event.source.file_name().unwrap().to_string_lossy().into_owned();
            assert!(error.is_authentication(), "{name}: {error}");
            self.0.lock().unwrap().push(name);
        }
    }
}

#[test]
fn damaged_entries_fail_alone_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (source, sealed) = (folder.path().join("source"), folder.path().join("sealed"));
    sample(&source);
    for (name, format) in [
        ("gcm", tink(Template::Aes128GcmHkdf4Kb)),
        ("hmac", tink(Template::Aes256CtrHmacSha256Of1Mb)),
        ("cobblestone", Format::cobblestone(&RawKey::from_bytes(&[8; 16]).unwrap(), b"").unwrap()),
        ("age", Format::age_from([Identity::generate().unwrap()]).unwrap()),
    ] {
        let sealed = sealed.join(name);
        run(&source, &job(Work::Encrypt(format.clone()), &sealed), 2);
        let flip = |path: &str, at: usize| {
            let mut bytes = fs::read(sealed.join(path)).unwrap();
            bytes[at] ^= 1;
            fs::write(sealed.join(path), bytes).unwrap();
        };
        let cut = |path: &str, by: u64| {
            let file = fs::OpenOptions::new().write(true).open(sealed.join(path)).unwrap();
            file.set_len(file.metadata().unwrap().len() - by).unwrap();
        };
        let extend = |path: &str| {
            let mut bytes = fs::read(sealed.join(path)).unwrap();
            bytes.push(0);
            fs::write(sealed.join(path), bytes).unwrap();
        };
        flip("shared", 8 << 20);
        flip("c/large-1048577", 1 << 20);
        cut("c/file-16383", 1);
        cut("c/large-3145805", 2 << 20);
        extend("a/file-1");
        flip("a/b/file-4096", 30);
        for threads in thread_counts() {
            let opened = folder.path().join(format!("opened-{name}-{threads}"));
            let failures = Failures::default();
            let summary =
                run_observed(&sealed, &job(Work::Decrypt(format.clone()), &opened), threads, &failures)
                    .unwrap();
            let mut failed = failures.0.into_inner().unwrap();
            failed.sort();
            let expected = ["file-1", "file-16383", "file-4096", "large-1048577", "large-3145805", "shared"]
                .map(str::to_owned);
            assert_eq!(failed, expected, "{name}");
            assert_eq!((summary.failed, summary.unauthentic), (6, 6));
            let left = files(&opened);
            assert_eq!(
                left.len() as u64,
                summary.files,
                "nothing of the damaged ones is left, not even a stray name"
            );
            for (path, bytes) in left {
                assert!(bytes == fs::read(source.join(&path)).unwrap(), "{}", path.display());
            }
        }
    }
}

#[test]
fn what_exists_is_kept_skipped_or_replaced_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    sample(&source);
    fs::create_dir_all(target.join("a")).unwrap();
    fs::write(target.join("shared"), b"mine").unwrap();
    fs::write(target.join("a/file-1"), b"mine too").unwrap();
    let total = files(&source).len() as u64;
    let with = |if_exists| {
        let summary = run(&source, &Job { if_exists, ..job(Work::Copy, &target) }, 2);
        (summary.files, summary.skipped, summary.failed)
    };
    assert_eq!(with(IfExists::Fail), (total - 2, 0, 2));
    assert_eq!(fs::read(target.join("shared")).unwrap(), b"mine");
    assert_eq!(with(IfExists::Skip), (0, total, 0));
    assert_eq!(fs::read(target.join("a/file-1")).unwrap(), b"mine too");
    assert_eq!(with(IfExists::Overwrite), (total, 0, 0));
    assert_same(&source, &target, "overwritten");
}

#[test]
fn bound_paths_notice_a_move() {
    let folder = tempfile::tempdir().unwrap();
    let (source, sealed) = (folder.path().join("source"), folder.path().join("sealed"));
    sample(&source);
    let format = tink(Template::default());
    let bound = |work, destination: Option<PathBuf>| Job {
        bind_path: true,
        suffix: ".enc".into(),
        ..Job::new(work, destination)
    };
    assert_eq!(run(&source, &bound(Work::Encrypt(format.clone()), Some(sealed.clone())), 2).failed, 0);
    assert_eq!(run(&sealed, &bound(Work::Verify(format.clone()), None), 2).failed, 0);
    fs::rename(sealed.join("a/file-1.enc"), sealed.join("a/file-one.enc")).unwrap();
    let moved = run(&sealed, &bound(Work::Verify(format.clone()), None), 2);
    assert_eq!((moved.failed, moved.unauthentic), (1, 1));
    let opened = folder.path().join("opened");
    let summary = run(&sealed, &bound(Work::Decrypt(format.clone()), Some(opened.clone())), 2);
    assert_eq!((summary.failed, summary.unauthentic), (1, 1));
    let mut expected = files(&source);
    expected.retain(|(path, _)| path != Path::new("a/file-1"));
    assert!(files(&opened) == expected, "all but the moved one, under their names without the suffix");
}

#[test]
fn neither_tree_may_lie_in_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    sample(&source);
    let refused = |destination: &Path| run_observed(&source, &job(Work::Copy, destination), 1, &Unobserved);
    assert!(matches!(refused(&source.join("a/new")), Err(Error::DestinationInsideSource)));
    assert!(matches!(refused(&source), Err(Error::DestinationInsideSource)));
    assert!(matches!(refused(folder.path()), Err(Error::SourceInsideDestination)));
    assert!(!source.join("a/new").exists());
}

#[cfg(unix)]
#[test]
fn permissions_and_times_are_carried_over() {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    sample(&source);
    let old = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    let modes = [("shared", 0o600), ("a/file-1", 0o444), ("c/large-1048576", 0o666), ("a", 0o555)];
    for (path, mode) in modes {
        let path = source.join(path);
        fs::File::open(&path).unwrap().set_modified(old).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let format = tink(Template::default());
    let mode_of = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::write(folder.path().join("new"), b"").unwrap();
    let umask = 0o666 & !mode_of(&folder.path().join("new"));
    for preserve_modes in [false, true] {
        let job = Job { preserve_modes, ..job(Work::Encrypt(format.clone()), &target) };
        assert_eq!(run(&source, &job, 2).failed, 0);
        for (path, mode) in modes {
            let expected = if preserve_modes { mode } else { mode & !umask };
            assert_eq!(mode_of(&target.join(path)), expected, "{path}, preserved: {preserve_modes}");
            assert_eq!(fs::metadata(target.join(path)).unwrap().modified().unwrap(), old, "{path}");
        }
        // A run that goes on with a stopped one, whose folders have not got their permissions.
        for stopped in [0o700, 0o777] {
            fs::set_permissions(target.join("a"), fs::Permissions::from_mode(stopped)).unwrap();
            assert_eq!(run(&source, &Job { if_exists: IfExists::Skip, ..job.clone() }, 2).failed, 0);
            let expected = if preserve_modes { 0o555 } else { stopped & 0o555 };
            assert_eq!(mode_of(&target.join("a")), expected, "{stopped:o}, preserved: {preserve_modes}");
        }
        fs::set_permissions(target.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_dir_all(&target).unwrap();
    }
    fs::set_permissions(source.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
}
