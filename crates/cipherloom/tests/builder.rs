//! The library as a user sees it: jobs by one call each.

use cipherloom::error::IndexFault;
use cipherloom::key::{Keyset, RawKey, Template};
use cipherloom::report::{Event, Observer, Outcome};
use cipherloom::{Error, Format, IfExists, Links, decrypt, encrypt, rekey, verify};
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;

fn keyset() -> Keyset {
    Keyset::generate(Template::Aes128GcmHkdf4Kb).unwrap()
}

/// A folder `books` with a.txt, b.epub and below/c.txt.
fn books() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir_all(scratch.path().join("books/below")).unwrap();
    for (name, text) in [("a.txt", "a"), ("b.epub", "bb"), ("below/c.txt", "ccc")] {
        fs::write(scratch.path().join("books").join(name), text).unwrap();
    }
    scratch
}

#[test]
fn a_folder_is_encrypted_verified_rekeyed_and_decrypted() {
    let scratch = books();
    let at = |name: &str| scratch.path().join(name);
    let (old, new) = (keyset(), keyset());
    let sealed = encrypt(at("books"), at("sealed")).key(&old).suffix(".enc").bind_path(true).durable(true);
    assert_eq!(sealed.run().unwrap().files, 3);
    assert_eq!(sealed.run().unwrap().failed, 3, "a job can be run again, and its outputs exist");
    assert_eq!(sealed.clone().if_exists(IfExists::Skip).run().unwrap().skipped, 3);
    let checked = verify(at("sealed")).key(&old).suffix(".enc").bind_path(true).run().unwrap();
    assert_eq!((checked.files, checked.bytes > 6, checked.output_bytes), (3, true, 6));
    assert_eq!(verify(at("sealed")).key(&new).run().unwrap().unauthentic, 3);
    let in_place = rekey(at("sealed"), at("sealed")).key(&old).new_key(&new).suffix(".enc").bind_path(true);
    assert_eq!(in_place.if_exists(IfExists::Overwrite).run().unwrap().files, 3);
    let opened = decrypt(at("sealed"), at("opened")).key(&new).suffix(".enc").bind_path(true);
    assert_eq!(opened.threads(NonZeroUsize::MIN).run().unwrap().files, 3);
    assert_eq!(fs::read(at("opened/below/c.txt")).unwrap(), b"ccc");
}

#[test]
fn globs_choose_files_and_a_plan_makes_none() {
    let scratch = books();
    let at = |name: &str| scratch.path().join(name);
    let job = encrypt(at("books"), at("sealed")).key(&keyset()).include("*.txt").exclude("below");
    assert_eq!(job.plan().unwrap().threads(), 1);
    assert!(!at("sealed").exists());
    assert_eq!(job.run().unwrap().files, 1);
    assert!(at("sealed/a.txt").exists());
    assert!(matches!(job.include("[").run(), Err(Error::Glob { .. })));
}

#[test]
fn a_single_file_goes_to_the_file_that_is_named_or_into_a_folder() {
    let scratch = books();
    let at = |name: &str| scratch.path().join(name);
    let format = Format::cobblestone(&RawKey::parse(&[7; 32]).unwrap(), b"").unwrap();
    let job = |destination: PathBuf| encrypt(at("books/a.txt"), destination).format(format.clone());
    assert_eq!(job(at("a.enc")).run().unwrap().files, 1);
    fs::create_dir(at("folder")).unwrap();
    assert_eq!(job(at("folder")).run().unwrap().files, 1);
    for sealed in ["a.enc", "folder/a.txt"] {
        assert_eq!(verify(at(sealed)).format(format.clone()).run().unwrap().files, 1, "{sealed}");
    }
}

#[test]
fn what_is_missing_is_said_and_what_fails_is_told() {
    let scratch = books();
    let at = |name: &str| scratch.path().join(name);
    assert!(matches!(encrypt(at("books"), at("sealed")).run(), Err(Error::NoKey)));
    assert!(matches!(rekey(at("books"), at("sealed")).key(&keyset()).run(), Err(Error::NoKey)));
    assert!(matches!(
        encrypt(at("books"), at("books/sealed")).key(&keyset()).run(),
        Err(Error::DestinationInsideSource)
    ));

    #[derive(Default)]
    struct Failures(Mutex<Vec<PathBuf>>);
    impl Observer for Failures {
        fn ended(&self, event: &Event<'_>) {
            assert!(matches!(event.outcome, Outcome::Failed(_)), "nothing else was asked for");
            self.0.lock().unwrap().push(event.source.to_owned());
        }
    }
    let key = keyset();
    encrypt(at("books"), at("sealed")).key(&key).run().unwrap();
    let mixed = encrypt(at("books"), at("sealed")).key(&keyset()).suffix(".new");
    let refused = mixed.run().unwrap_err();
    assert!(matches!(refused.without_path(), Error::OtherKey) && refused.path().is_some(), "{refused}");
    assert_eq!(mixed.allow_mixed_keys(true).run().unwrap().files, 3);
    fs::remove_dir_all(at("sealed")).unwrap();
    encrypt(at("books"), at("sealed")).key(&key).run().unwrap();
    fs::write(at("sealed/a.txt"), "damaged").unwrap();
    let failures = Failures::default();
    let report = decrypt(at("sealed"), at("opened")).key(&key).run_with(&failures).unwrap();
    assert_eq!((report.files, report.failed, report.unauthentic), (2, 1, 1));
    assert_eq!(*failures.0.lock().unwrap(), [at("sealed/a.txt")]);
    assert!(!at("opened/a.txt").exists());
}

#[test]
fn what_a_job_would_ignore_of_its_index_is_refused() {
    let scratch = books();
    let at = |name: &str| scratch.path().join(name);
    let key = keyset();
    encrypt(at("books"), at("sealed")).key(&key).index(true).run().unwrap();
    let raw = Format::cobblestone(&RawKey::parse(&[7; 32]).unwrap(), b"").unwrap();
    let encrypts = || encrypt(at("books"), at("out")).key(&key);
    let decrypts = || decrypt(at("sealed"), at("out")).key(&key);
    let verifies = || verify(at("sealed")).key(&key);
    let rekeys = || rekey(at("sealed"), at("out")).key(&key).new_key(&key);
    for (job, needed) in [
        (encrypts().quick(true), "a job that verifies"),
        (encrypts().rebuild_index(false), "a job that verifies"),
        (encrypts().only("*"), "a job that decrypts"),
        (encrypts().anchor(at("anchor")), "a job that writes or compares it"),
        (encrypts().index(true).format(raw.clone()), "a keyset"),
        (decrypts().index(true), "a job that encrypts"),
        (decrypts().quick(true), "a job that verifies"),
        (decrypts().rebuild_index(true), "a job that verifies"),
        (decrypts().anchor(at("anchor")), "a job that writes or compares it"),
        (decrypts().only("*").include("*"), "globs of one kind"),
        (decrypts().only("*").exclude("*"), "globs of one kind"),
        (decrypts().only("*").links(Links::Copy), "links to be skipped where it selects files"),
        (decrypts().only("*").format(raw.clone()), "a keyset"),
        (verifies().index(true), "a job that encrypts"),
        (verifies().only("*"), "a job that decrypts"),
        (verifies().rebuild_index(true).quick(true), "to be either rebuilt or compared"),
        (verifies().skip_unopened(true), "to be rebuilt where files may fail"),
        (verifies().quick(true).format(raw.clone()), "a keyset"),
        (verifies().anchor(at("anchor")).format(raw.clone()), "a keyset"),
        (rekeys().index(true), "a job that encrypts"),
        (rekeys().only("*"), "a job that decrypts"),
    ] {
        let error = job.run().unwrap_err();
        assert!(
            matches!(error.without_path(), Error::Index(IndexFault::Unsupported(found)) if *found == needed),
            "{job:?}: {error}"
        );
        assert!(!at("out").exists() && !at("anchor").exists());
    }
    let listed = verify(at("sealed")).format(raw).list_index();
    assert!(listed.is_err_and(|error| error.to_string().contains("an index needs a keyset")));
    assert_eq!(decrypts().only("a.*").anchor(at("anchor")).run().unwrap().files, 1);
    assert_eq!(verifies().anchor(at("anchor")).exclude("none").run().unwrap().files, 3);
}
