//! Trees, names and requests that would lead a run astray: out of its destination, into its source, or nowhere.

use base64::prelude::{BASE64_STANDARD, Engine};
use cipherloom::format::{Cipher, IvPolicy};
use cipherloom::key::{Keyset, RawKey, Template};
use cipherloom::machine::Calibration;
use cipherloom::{
    Backend, Error, Format, IfExists, Job, Machine, Selection, Summary, Tree, Unobserved, Work,
};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

fn run(source: &Path, job: &Job<'_>) -> Result<Summary, Error> {
    let tree = Tree::list(source, &Selection::default()).unwrap();
    let machine = Machine::detect(Calibration::default());
    cipherloom::run(&tree, &job.plan(&tree, &machine, NonZeroUsize::new(2)), job, &Unobserved)
}

fn tink() -> Format {
    Format::tink(Keyset::generate(Template::default()).unwrap(), Backend::best()).unwrap()
}

/// `source/book/part/page` and `source/page`.
fn sample(folder: &Path) -> std::path::PathBuf {
    let source = folder.join("source");
    fs::create_dir_all(source.join("book/part")).unwrap();
    fs::write(source.join("book/part/page"), b"inner").unwrap();
    fs::write(source.join("page"), b"outer").unwrap();
    source
}

#[cfg(unix)]
#[test]
fn a_linked_output_folder_cannot_turn_the_source_into_ciphertext() {
    let folder = tempfile::tempdir().unwrap();
    let source = sample(folder.path());
    let target = folder.path().join("target");
    fs::create_dir(&target).unwrap();
    std::os::unix::fs::symlink(source.join("book"), target.join("book")).unwrap();
    let format = tink();
    let job =
        Job { if_exists: IfExists::Overwrite, ..Job::new(Work::Encrypt(&format), Some(target.clone())) };
    let summary = run(&source, &job).unwrap();
    assert_eq!(fs::read(source.join("book/part/page")).unwrap(), b"inner");
    assert_eq!(summary.files, 1, "the file outside of the linked folder is done");
    assert!(summary.failed >= 1);
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
    let summary = run(&source, &job(Work::Decrypt(&format), "opened")).unwrap();
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
    assert_eq!(run(&source, &Job::new(Work::Encrypt(&keyset(2)), Some(sealed.clone()))).unwrap().failed, 0);
    let other_primary = keyset(1);
    assert_eq!(
        run(&sealed, &Job::new(Work::Decrypt(&other_primary), Some(opened.clone()))).unwrap().failed,
        0
    );
    assert_eq!(fs::read(opened.join("long")).unwrap(), [3; 5000]);
}

#[test]
fn a_chain_is_not_re_keyed() {
    let folder = tempfile::tempdir().unwrap();
    let source = sample(folder.path());
    let key = RawKey::from_bytes(&[1; 16]).unwrap();
    let chain = Format::raw(Cipher::Aes128Cbc, &key, IvPolicy::Prefixed, Backend::best()).unwrap();
    let format = tink();
    for (from, to) in [(&chain, &format), (&format, &chain)] {
        let job = Job::new(Work::Rekey { from, to }, Some(folder.path().join("target")));
        assert!(matches!(run(&source, &job), Err(Error::Chained)));
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
        let job = Job::new(Work::Encrypt(&format), None);
        let plan = job.plan(&tree, &machine, NonZeroUsize::new(1 << 62));
        let (threads, slots) = (plan.threads(), plan.slots());
        let held = threads * (16 + 2 + 2 * slots);
        assert!(held <= open_files.max(64), "{open_files}: {threads} threads, {slots} slots");
    }
}
