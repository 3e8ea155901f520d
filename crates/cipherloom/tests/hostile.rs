//! Trees, names and requests that would lead a run astray: out of its destination, into its source, or nowhere.

use base64::prelude::{BASE64_STANDARD, Engine};
use cipherloom::format::{Cipher, IvPolicy};
use cipherloom::key::{Keyset, RawKey, Template};
use cipherloom::machine::Calibration;
use cipherloom::{
    Error, Format, IfExists, Links, Observer, Report,
    internal::{Job, Selection, Tree, Work},
    machine::{Backend, Machine},
    report::{Event, Outcome, Unobserved},
};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

fn run(source: &Path, job: &Job) -> Result<Report, Error> {
    run_observed(source, job, &Unobserved)
}

fn run_observed(source: &Path, job: &Job, observer: &dyn Observer) -> Result<Report, Error> {
    let tree = Tree::list(source, &Selection::default()).unwrap();
    let machine = Machine::detect(Calibration::default());
    cipherloom::internal::run(&tree, &job.plan(&tree, &machine, NonZeroUsize::new(2)), job, observer)
}

fn tink() -> Format {
    Format::tink(Keyset::generate(Template::default()).unwrap(), Backend::best()).unwrap()
}

/// `source/book/part/page` and `source/page`.
fn sample(folder: &Path) -> PathBuf {
    let source = folder.join("source");
    fs::create_dir_all(source.join("book/part")).unwrap();
    fs::write(source.join("book/part/page"), b"inner").unwrap();
    fs::write(source.join("page"), b"outer").unwrap();
    source
}

/// Everything below a folder, itself included: path, kind, mode, time, and a file's content or a link's goal.
#[cfg(unix)]
fn everything(root: &Path) -> Vec<(PathBuf, u32, std::time::SystemTime, Vec<u8>)> {
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::MetadataExt;
    let mut found = Vec::new();
    let mut paths = vec![root.to_owned()];
    while let Some(path) = paths.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_dir() {
            paths.extend(fs::read_dir(&path).unwrap().map(|item| item.unwrap().path()));
            Vec::new()
        } else if metadata.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_vec()
        } else {
            fs::read(&path).unwrap()
        };
        found.push((path, metadata.mode(), metadata.modified().unwrap(), content));
    }
    found.sort();
    found
}

/// Which sources failed, below the root, and why.
#[derive(Default)]
struct Failures(Mutex<Vec<(PathBuf, String)>>);

impl Observer for Failures {
    fn advanced(&self, _bytes: u64) {}
    fn entry_ended(&self) {}
    fn wants_every_event(&self) -> bool {
        false
    }
    fn ended(&self, event: &Event<'_>) {
        if let Outcome::Failed(error) = &event.outcome {
            self.0.lock().unwrap().push((event.source.to_owned(), error.to_string()));
        }
    }
}

/// `target/book` leads outside, where folders, files and links of the tree's own names lie in wait to be changed.
#[cfg(unix)]
#[test]
fn a_linked_output_folder_leads_to_nothing_outside() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for if_exists in [IfExists::Fail, IfExists::Skip, IfExists::Overwrite] {
        for links in [Links::Skip, Links::Copy] {
            for has_twins in [false, true] {
                for durable in [false, true] {
                    let what =
                        format!("{if_exists:?}, {links:?}, twins outside: {has_twins}, durable: {durable}");
                    let folder = tempfile::tempdir().unwrap();
                    let source = sample(folder.path());
                    fs::create_dir(source.join("book/part/deep")).unwrap();
                    symlink("goal", source.join("book/link")).unwrap();
                    symlink("goal", source.join("book/part/link")).unwrap();
                    let (target, outside) = (folder.path().join("target"), folder.path().join("outside"));
                    fs::create_dir(&target).unwrap();
                    fs::create_dir(&outside).unwrap();
                    symlink(&outside, target.join("book")).unwrap();
                    if has_twins {
                        fs::create_dir_all(outside.join("part/deep")).unwrap();
                        fs::write(outside.join("part/page"), b"theirs").unwrap();
                        symlink("elsewhere", outside.join("link")).unwrap();
                        symlink("elsewhere", outside.join("part/link")).unwrap();
                    }
                    for path in ["part/deep", "part", ""].map(|path| outside.join(path)) {
                        if path.is_dir() {
                            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
                            fs::File::open(&path).unwrap().set_modified(old).unwrap();
                        }
                    }
                    let before = everything(&outside);
                    let job = Job { if_exists, links, durable, ..Job::new(Work::Copy, Some(target.clone())) };
                    let failures = Failures::default();
                    let summary = run_observed(&source, &job, &failures).unwrap();
                    assert_eq!(everything(&outside), before, "{what}");
                    assert_eq!(
                        (summary.files, summary.skipped),
                        (1, 0),
                        "{what}: only what lies beside is done"
                    );
                    assert_eq!(fs::read(target.join("page")).unwrap(), b"outer");
                    assert!(target.join("book").is_symlink(), "{what}");
                    let mut failed = failures.0.into_inner().unwrap();
                    failed.sort();
                    assert_eq!(summary.failed, failed.len() as u64);
                    for (path, error) in &failed {
                        assert!(error.contains("is a symbolic link"), "{what}: {}: {error}", path.display());
                    }
                    let mut expected = vec!["book", "book/part/page"];
                    if links == Links::Copy {
                        expected.extend(["book/link", "book/part/link"]);
                    }
                    expected.sort_unstable();
                    let failed: Vec<_> =
                        failed.iter().map(|(path, _)| path.strip_prefix(&source).unwrap()).collect();
                    assert_eq!(failed, expected.iter().map(Path::new).collect::<Vec<_>>(), "{what}");
                }
            }
        }
    }
}

/// The folder is told once, each file below it too, and nothing else suffers.
#[test]
fn a_file_in_place_of_an_output_folder_fails_what_lies_below() {
    let folder = tempfile::tempdir().unwrap();
    let source = sample(folder.path());
    let target = folder.path().join("target");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("book"), b"mine").unwrap();
    let failures = Failures::default();
    let job = Job { if_exists: IfExists::Overwrite, ..Job::new(Work::Copy, Some(target.clone())) };
    let summary = run_observed(&source, &job, &failures).unwrap();
    let mut failed: Vec<_> = failures.0.into_inner().unwrap().into_iter().map(|(path, _)| path).collect();
    failed.sort();
    assert_eq!(failed, ["book", "book/part/page"].map(|path| source.join(path)));
    assert_eq!((summary.files, summary.failed), (1, 2));
    assert_eq!(fs::read(target.join("book")).unwrap(), b"mine");
}

#[test]
fn dots_behind_a_folder_to_be_made_do_not_lead_back_into_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let source = sample(folder.path());
    for destination in ["new/../source", "newer/../source/out"] {
        let job = Job {
            if_exists: IfExists::Overwrite,
            ..Job::new(Work::Copy, Some(folder.path().join(destination)))
        };
        let refused = run(&source, &job);
        assert!(matches!(refused, Err(Error::DestinationInsideSource)), "{destination}: {refused:?}");
        assert_eq!(fs::read(source.join("page")).unwrap(), b"outer");
    }
}

#[cfg(unix)]
#[test]
fn output_folders_are_never_more_open_than_their_twins_even_when_resumed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let source = sample(folder.path());
    let target = folder.path().join("target");
    fs::set_permissions(source.join("book"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::set_permissions(source.join("book/part"), fs::Permissions::from_mode(0o500)).unwrap();
    // What a killed run leaves: folders that it made and had no time to finish.
    fs::create_dir_all(target.join("book/part")).unwrap();
    let job = Job { if_exists: IfExists::Skip, ..Job::new(Work::Copy, Some(target.clone())) };
    assert_eq!(run(&source, &job).unwrap().failed, 0);
    let attributes = |path: &Path| {
        let metadata = fs::metadata(path).unwrap();
        (metadata.permissions().mode() & 0o777, metadata.modified().unwrap())
    };
    for path in ["book", "book/part"] {
        assert_eq!(attributes(&source.join(path)), attributes(&target.join(path)), "{path}");
    }
    fs::set_permissions(source.join("book/part"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(target.join("book/part"), fs::Permissions::from_mode(0o700)).unwrap();
}

/// Whoever can write to ciphertexts can put links beside them.
#[cfg(unix)]
#[test]
fn planted_links_lead_out_of_no_decrypted_tree() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let (sealed, opened) = (folder.path().join("sealed"), folder.path().join("opened"));
    fs::create_dir_all(sealed.join("book")).unwrap();
    let within = [("book/up", "../book"), ("near", "book/page"), ("book/self", ".")];
    let away = [("absolute", "/etc"), ("book/out", "../../outside"), ("book/bent", "near/../../..")];
    for (link, goal) in within.into_iter().chain(away) {
        symlink(goal, sealed.join(link)).unwrap();
    }
    let format = tink();
    let links = |path: &Path, goals: &[(&str, &str)]| {
        goals
            .iter()
            .filter(|(link, goal)| fs::read_link(path.join(link)).is_ok_and(|found| found == Path::new(goal)))
            .count()
    };
    let job = |work, links| Job { links, ..Job::new(work, Some(opened.clone())) };
    let failures = Failures::default();
    let summary = run_observed(&sealed, &job(Work::Decrypt(format.clone()), Links::Copy), &failures).unwrap();
    assert_eq!((summary.links, summary.failed), (3, 3));
    assert_eq!((links(&opened, &within), links(&opened, &away)), (3, 0));
    assert!(
        failures
            .0
            .into_inner()
            .unwrap()
            .iter()
            .all(|(_, error)| error.contains("which may be outside the output tree"))
    );
    for (work, mode) in
        [(Work::Decrypt(format.clone()), Links::CopyAll), (Work::Encrypt(format.clone()), Links::Copy)]
    {
        fs::remove_dir_all(&opened).unwrap();
        let summary = run(&sealed, &job(work, mode)).unwrap();
        assert_eq!((summary.links, links(&opened, &away)), (6, 3), "insisted on, or the user's own");
    }
}

/// Whoever made a folder before the run decides how open it may be.
#[cfg(unix)]
#[test]
fn a_resumed_run_opens_up_no_folder_that_was_there() {
    use std::os::unix::fs::PermissionsExt;
    for durable in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let source = sample(folder.path());
        let target = folder.path().join("target");
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let mode = |path: &str| fs::metadata(target.join(path)).unwrap().permissions().mode() & 0o777;
        set(&source.join("book"), 0o755);
        set(&source.join("book/part"), 0o750);
        fs::create_dir_all(target.join("book")).unwrap();
        set(&target, 0o700);
        set(&target.join("book"), 0o700);
        let job = Job { if_exists: IfExists::Skip, durable, ..Job::new(Work::Copy, Some(target.clone())) };
        let summary = run(&source, &job).unwrap();
        assert_eq!((summary.files, summary.failed), (2, 0));
        assert_eq!((mode(""), mode("book")), (0o700, 0o700), "theirs");
        assert_eq!(mode("book/part"), 0o750, "ours");
        // Without a resumed run nothing is done to them.
        set(&target.join("book"), 0o777);
        let job = Job { if_exists: IfExists::Overwrite, ..job };
        assert_eq!(run(&source, &job).unwrap().failed, 0);
        assert_eq!((mode("book"), mode("book/part")), (0o777, 0o750));
    }
}

#[test]
fn a_suffix_that_would_leave_dots_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    let format = tink();
    for name in ["...enc", "..enc", ".enc", "good.enc"] {
        fs::write(source.join(name), b"").unwrap();
    }
    let job = |work, destination| Job {
        suffix: ".enc".into(),
        if_exists: IfExists::Skip,
        ..Job::new(work, Some(folder.path().join(destination)))
    };
    let summary = run(&source, &job(Work::Decrypt(format.clone()), "opened")).unwrap();
    assert_eq!((summary.files, summary.skipped, summary.failed), (0, 0, 4), "none is taken for done");
}

#[test]
fn several_keys_with_tiny_segments_are_tried_without_a_fuss() {
    // Two AES128_GCM_HKDF keys with segments of 100 bytes, as another implementation may write them.
    let key = |id: u32, secret: u8| {
        let mut value = vec![0x12, 6, 0x08, 100, 0x10, 16, 0x18, 3, 0x1a, 16];
        value.extend([secret; 16]);
        let value = BASE64_STANDARD.encode(&value);
        format!(
            r#"{{"keyData":{{"typeUrl":"type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey","value":"{value}","keyMaterialType":"SYMMETRIC"}},"status":"ENABLED","keyId":{id},"outputPrefixType":"RAW"}}"#
        )
    };
    let keyset = |primary: u32| {
        let json = format!(r#"{{"primaryKeyId":{primary},"key":[{},{}]}}"#, key(1, 7), key(2, 9));
        Format::tink(Keyset::parse(json.as_bytes()).unwrap(), Backend::best()).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let source = sample(folder.path());
    fs::write(source.join("long"), vec![3; 5000]).unwrap();
    let (sealed, opened) = (folder.path().join("sealed"), folder.path().join("opened"));
    assert_eq!(run(&source, &Job::new(Work::Encrypt(keyset(2)), Some(sealed.clone()))).unwrap().failed, 0);
    let other_primary = keyset(1);
    assert_eq!(
        run(&sealed, &Job::new(Work::Decrypt(other_primary.clone()), Some(opened.clone()))).unwrap().failed,
        0
    );
    assert_eq!(fs::read(opened.join("long")).unwrap(), [3; 5000]);
}

#[test]
fn an_unauthenticated_format_is_not_re_keyed() {
    let folder = tempfile::tempdir().unwrap();
    let source = sample(folder.path());
    let key = RawKey::from_bytes(&[1; 16]).unwrap();
    let format = tink();
    for cipher in [Cipher::Aes128Cbc, Cipher::Aes128Ctr] {
        let raw = Format::raw(cipher, &key, IvPolicy::Prefixed, Backend::best()).unwrap();
        let sealed = folder.path().join(format!("{cipher:?}"));
        assert_eq!(
            run(&source, &Job::new(Work::Encrypt(raw.clone()), Some(sealed.clone()))).unwrap().failed,
            0
        );
        for (from, to) in [(&raw, &format), (&format, &raw), (&raw, &raw)] {
            let work = Work::Rekey { from: from.clone(), to: to.clone() };
            let target = folder.path().join("target");
            let refused = run(&sealed, &Job::new(work.clone(), Some(target.clone())));
            assert!(matches!(refused, Err(Error::RekeyUnauthenticated)));
            // In place a second run would take the new ciphertext for the old.
            let in_place = Job { if_exists: IfExists::Overwrite, ..Job::new(work, Some(sealed.clone())) };
            assert!(matches!(run(&sealed, &in_place), Err(Error::RekeyUnauthenticated)));
            assert!(!target.exists());
        }
    }
}

#[test]
fn more_threads_than_files_can_be_opened_for_are_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    for index in 0..200 {
        fs::write(source.join(index.to_string()), vec![0; 70_000]).unwrap();
    }
    let key = RawKey::from_bytes(&[1; 16]).unwrap();
    let format = Format::raw(Cipher::Aes128Cbc, &key, IvPolicy::Prefixed, Backend::best()).unwrap();
    let tree = Tree::list(&source, &Selection::default()).unwrap();
    let mut machine = Machine::detect(Calibration::default());
    for open_files in [0, 100, 256, 1024] {
        machine.open_files = open_files;
        let job = Job::new(Work::Encrypt(format.clone()), None);
        let plan = job.plan(&tree, &machine, NonZeroUsize::new(1 << 62));
        let (threads, slots) = (plan.threads(), plan.slots());
        let held = threads * (16 + 2 + 3 * slots);
        assert!(held <= open_files.max(64), "{open_files}: {threads} threads, {slots} slots");
    }
}

/// Moves a folder away and puts others in its place, when the first entry has ended.
struct Exchange(PathBuf, PathBuf, PathBuf);

impl Observer for Exchange {
    fn entry_ended(&self) {
        fs::rename(&self.0, &self.1).unwrap();
        fs::create_dir_all(&self.2).unwrap();
    }
}

#[test]
fn a_deep_folder_that_was_moved_away_gets_no_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let (source, out) = (folder.path().join("source"), folder.path().join("out"));
    let (half, deep) = (["d"; 10].join("/"), ["d"; 20].join("/"));
    fs::create_dir_all(source.join(&deep)).unwrap();
    fs::write(source.join("page"), b"outer").unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::open(source.join(&deep)).unwrap().set_modified(long_ago).unwrap();
    let moved = folder.path().join("moved");
    let exchange = Exchange(out.join(&half), moved.clone(), out.join(&deep));
    run_observed(&source, &Job::new(Work::Encrypt(tink()), Some(out.clone())), &exchange).unwrap();
    let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    assert_eq!(time(&out.join(&deep)), long_ago);
    assert_ne!(time(&moved.join(&half)), long_ago);
}
