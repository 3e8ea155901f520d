use super::*;
use crate::format::Format;
use crate::key::{Keyset, Template};
use crate::{machine::Backend, pipeline::Work};
use std::path::MAIN_SEPARATOR;

fn parse(text: &str) -> Result<Location, Error> {
    Location::parse(Path::new(text))
}

/// The only fault of an error that tells its path.
fn fault<T: std::fmt::Debug>(result: Result<T, Error>) -> LocationFault {
    match result.unwrap_err() {
        Error::At { source, .. } => fault::<T>(Err(*source)),
        Error::Location(fault) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn addresses_paths_and_standard_streams() {
    for path in
        ["books", "./-", "a:b", "a:/b", "a b://c", "://", "/s3:/x", "./s3:/x", "s3:x", "é3://x", "s3+x://y"]
    {
        assert_eq!(parse(path).unwrap(), Location::Path(path.into()));
    }
    assert_eq!(parse("-").unwrap(), Location::StandardStream);
    assert_eq!(parse("file:///a b").unwrap(), Location::Path("/a b".into()));
    for (text, scheme, bucket, key, is_prefix) in [
        ("s3://bucket", Scheme::S3, "bucket", "", true),
        ("gs://bucket/", Scheme::Gcs, "bucket", "", true),
        ("az://box/a b/%20/", Scheme::Azure, "box", "a b/%20/", true),
        ("s3://bucket/a/b..", Scheme::S3, "bucket", "a/b..", false),
    ] {
        let Location::Store(address) = parse(text).unwrap() else { panic!("{text}") };
        assert_eq!(address, StoreAddress { scheme, bucket: bucket.into(), key: key.into() });
        assert_eq!(address.is_prefix(), is_prefix, "{text}");
        assert_eq!(
            parse(Location::Store(address.clone()).to_path().to_str().unwrap()).unwrap(),
            Location::Store(address)
        );
    }
}

#[test]
fn what_looks_like_an_address_and_is_none_is_no_path_either() {
    let missing = |meant: &str| LocationFault::MissingSlash { meant: meant.into() };
    let unknown = |scheme: &str| LocationFault::UnknownScheme { scheme: scheme.into() };
    for (text, expected) in [
        ("file://sealed", LocationFault::RelativeFileAddress),
        ("file:/sealed", missing("file:///sealed")),
        ("s3:/bucket/x", missing("s3://bucket/x")),
        ("gs:/bucket", missing("gs://bucket")),
        ("az:/", missing("az://")),
        ("http://host/x", unknown("http")),
        ("https:/host/x", unknown("https")),
        ("ftp://host/x", unknown("ftp")),
        ("c://d", unknown("c")),
        ("s3://", LocationFault::NoBucket { scheme: "s3" }),
        ("s3:///key", LocationFault::NoBucket { scheme: "s3" }),
        ("s3://key:secret@bucket/x", LocationFault::BucketName),
        ("s3://bucket/a/../b", LocationFault::KeyPart),
        ("s3://bucket/a//b", LocationFault::KeyPart),
        ("s3://bucket/a/.", LocationFault::KeyPart),
    ] {
        let error = parse(text).unwrap_err();
        assert!(
            error.kind() == crate::ErrorKind::Usage && error.to_string().starts_with(&format!("{text}: ")),
            "{error}"
        );
        assert_eq!(fault(parse(text)), expected, "{text}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_text_is_a_path() {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(OsStr::from_bytes(b"s3://\xff"));
    assert_eq!(Location::parse(path).unwrap(), Location::Path(path.to_owned()));
}

fn place(source: SourceKind<'_>, destination: &str) -> Result<(PathBuf, Option<String>), Error> {
    place_for(&Job::new(Work::Copy, None), source, destination)
}

fn place_for(
    job: &Job,
    source: SourceKind<'_>,
    destination: &str,
) -> Result<(PathBuf, Option<String>), Error> {
    let placed = place_outputs(source, &parse(destination)?, job)?;
    Ok((placed.folder.to_path(), placed.name.map(|name| name.into_string().unwrap())))
}

#[test]
fn outputs_go_where_cp_would_put_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
    let (there, new, file) = (at("there"), at("new"), at("file"));
    let new_folder = format!("{new}{MAIN_SEPARATOR}");
    fs::create_dir(&there).unwrap();
    fs::write(&file, b"").unwrap();
    let single = SourceKind::Single(Some(OsStr::new("a")));
    let named = |folder: &str, name: &str| (folder.into(), Some(name.to_owned()));
    let inside = |folder: &str| (PathBuf::from(folder), None);
    for source in [single, SourceKind::Single(None)] {
        assert_eq!(place(source, &new).unwrap(), named(&at(""), "new"));
        assert_eq!(place(source, &file).unwrap(), named(&at(""), "file"));
        assert_eq!(place(source, "name").unwrap(), named(".", "name"));
        assert_eq!(place(source, &there).unwrap(), inside(&there));
        assert_eq!(place(source, &new_folder).unwrap(), inside(&new_folder));
        assert_eq!(place(source, "-").unwrap(), inside("-"));
        assert_eq!(place(source, "s3://b/k").unwrap(), named("s3://b/", "k"));
        assert_eq!(place(source, "s3://b/p/k").unwrap(), named("s3://b/p/", "k"));
        assert_eq!(place(source, "s3://b/p/").unwrap(), inside("s3://b/p/"));
        assert_eq!(place(source, "s3://b").unwrap(), inside("s3://b/"));
        assert_eq!(fault(place(source, &at("new/.."))), LocationFault::NoName);
    }
    for destination in [&new, &there, &new_folder] {
        assert_eq!(place(SourceKind::Folder, destination).unwrap(), inside(destination));
    }
    assert_eq!(place(SourceKind::Folder, "s3://b/p").unwrap(), inside("s3://b/p"));
    assert_eq!(place(SourceKind::Several, &there).unwrap(), inside(&there));
    assert_eq!(place(SourceKind::Several, "s3://b/p").unwrap(), inside("s3://b/p"));
    for missing in [&new, &new_folder, &file] {
        assert_eq!(fault(place(SourceKind::Several, missing)), LocationFault::MissingFolder);
    }
    for source in [SourceKind::Folder, SourceKind::Several] {
        assert_eq!(fault(place(source, "-")), LocationFault::NotSingle);
    }
}

#[test]
fn standard_input_needs_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let (there, new) = (folder.path().to_str().unwrap(), folder.path().join("new"));
    let input = SourceKind::StandardInput;
    assert_eq!(place(input, new.to_str().unwrap()).unwrap(), (there.into(), Some("new".into())));
    assert_eq!(place(input, "s3://b/p/k").unwrap(), ("s3://b/p/".into(), Some("k".into())));
    assert_eq!(place(input, "-").unwrap(), ("-".into(), None));
    for folder in [there, "new/", "s3://b", "s3://b/p/"] {
        assert_eq!(fault(place(input, folder)), LocationFault::StreamWithoutName, "{folder}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_replaced() {
    for source in
        [SourceKind::Single(None), SourceKind::Folder, SourceKind::Several, SourceKind::StandardInput]
    {
        assert_eq!(fault(place(source, "/dev/null")), LocationFault::SpecialFile);
    }
}

#[test]
fn a_bound_path_keeps_its_name() {
    let format = Format::tink(Keyset::generate(Template::default()).unwrap(), Backend::best()).unwrap();
    let encrypt =
        Job { suffix: ".enc".into(), bind_path: true, ..Job::new(Work::Encrypt(format.clone()), None) };
    let decrypt = Job { work: Work::Decrypt(format), ..encrypt.clone() };
    for (job, name, kept) in [(&encrypt, "a", "a.enc"), (&decrypt, "a.enc", "a")] {
        let single = SourceKind::Single(Some(OsStr::new(name)));
        for folder in ["new/", "s3://b/new/"] {
            assert!(place_for(job, single, &format!("{folder}{kept}")).is_ok());
            assert!(place_for(job, single, folder).is_ok());
            let renamed = place_for(job, single, &format!("{folder}other"));
            assert_eq!(fault(renamed), LocationFault::RenamesBoundPath);
            let unbound = Job { bind_path: false, ..job.clone() };
            assert!(place_for(&unbound, single, &format!("{folder}other")).is_ok());
        }
    }
    // What lacks the suffix fails by itself.
    assert!(place_for(&decrypt, SourceKind::Single(Some(OsStr::new("plain"))), "new").is_ok());
}
