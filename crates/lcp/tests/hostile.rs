//! Bad publications: each fails alone with words of its own, and nothing stands under its name.

mod archives;
mod runs;

use archives::{Item, archive, epub, noise};
use cipherloom::IfExists;
use runs::{Ended, protect, protect_with};

/// An EPUB with one entry changed, or added.
fn changed(name: &str, change: impl Fn(&mut Item)) -> Vec<u8> {
    let mut items = epub();
    change(items.iter_mut().find(|item| item.name == name.as_bytes()).unwrap());
    archive(&items)
}

fn with(item: Item) -> Vec<u8> {
    let mut items = epub();
    items.push(item);
    archive(&items)
}

fn named(name: &[u8]) -> Vec<u8> {
    with(Item { name: name.into(), ..Item::stored("x", b"x") })
}

fn cases() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let good = archive(&epub());
    let mut no_end = good.clone();
    no_end.truncate(good.len() - 400);
    let mut bad_directory = good.clone();
    let end = bad_directory.len() - 22;
    let record = (0..end).rfind(|&at| bad_directory[at..].starts_with(b"PK\x01\x02")).unwrap();
    bad_directory[record + 2] = 9;
    let mut more_entries = good.clone();
    more_entries[end + 8] += 1;
    more_entries[end + 10] += 1;
    vec![
        ("empty.epub", Vec::new(), "not a zip archive"),
        ("text.epub", b"It was a dark and stormy night.".repeat(100), "not a zip archive"),
        ("truncated.epub", no_end, "its directory (at its end) is missing"),
        ("start-only.epub", good[..200].to_vec(), "its directory (at its end) is missing"),
        ("directory.epub", bad_directory, "its directory"),
        ("count.epub", more_entries, "its directory"),
        ("dots.epub", named(b"../../etc/passwd"), "leads out of its folder"),
        ("inner-dots.epub", named(b"OPS/../../x"), "leads out of its folder"),
        ("absolute.epub", named(b"/etc/passwd"), "is absolute"),
        ("drive.epub", named(b"C:/x"), "is absolute"),
        ("backslash.epub", named(b"OPS\\..\\x"), "backslash"),
        ("control.epub", named(b"a\0b"), "control character"),
        ("encoding.epub", named(b"caf\xe9"), "not UTF-8"),
        ("twice.epub", with(Item::stored("OPS/one.xhtml", b"other")), "two entries named \"OPS/one.xhtml\""),
        (
            "declared-bomb.epub",
            changed("OPS/one.xhtml", |item| item.len = Some(u32::MAX - 1)),
            "declares a length that its stored bytes cannot reach",
        ),
        (
            "real-bomb.epub",
            changed("OPS/one.xhtml", |item| item.len = Some(1000)),
            "inflates to more than its directory says",
        ),
        (
            "grown-bomb.epub",
            changed("OPS/one.xhtml", |item| {
                item.content = noise(400_000);
                item.len = Some(300 << 20);
            }),
            "declares to grow more than a hundredfold",
        ),
        (
            "overlap.epub",
            changed("OPS/two.xhtml", |item| item.offset = Some(0)),
            "local header bears another name",
        ),
        (
            "masked.epub",
            changed("OPS/two.xhtml", |item| item.local_name = Some(b"OPS/abc.xhtml".to_vec())),
            "local header bears another name",
        ),
        ("password.epub", changed("OPS/one.xhtml", |item| item.flags = 1), "zip password"),
        ("method.epub", changed("OPS/two.xhtml", |item| item.method = 12), "method 12"),
        ("checksum.epub", changed("OPS/two.xhtml", |item| item.crc32 = Some(7)), "CRC-32"),
        ("clear-checksum.epub", changed("OPS/nav.xhtml", |item| item.crc32 = Some(7)), "CRC-32"),
        ("image-checksum.epub", changed("OPS/img/picture.png", |item| item.crc32 = Some(7)), "CRC-32"),
        (
            "short.epub",
            changed("OPS/one.xhtml", |item| item.len = Some(item.content.len() as u32 + 1)),
            "shorter than its directory says",
        ),
        (
            "image-short.epub",
            changed("OPS/img/picture.png", |item| item.len = Some(item.content.len() as u32 + 1)),
            "shorter than its directory says",
        ),
        ("nothing.epub", archive(&[Item::stored("a", b"a")]), "holds no publication"),
        ("no-package.epub", archive(&epub()[..3]), "\"OPS/book.opf\" is missing"),
        (
            "container.epub",
            changed("META-INF/container.xml", |item| item.content = b"<container>".to_vec()),
            "\"META-INF/container.xml\" is malformed: it ends inside an element",
        ),
        (
            "rootless.epub",
            changed("META-INF/container.xml", |item| item.content = b"<container/>".to_vec()),
            "it names no rootfile",
        ),
        (
            "package.epub",
            changed("OPS/book.opf", |item| item.content = b"<package><a></package>".to_vec()),
            "\"OPS/book.opf\" is malformed",
        ),
        (
            "encryption.epub",
            changed("META-INF/encryption.xml", |item| item.content = b"<encryption".to_vec()),
            "\"META-INF/encryption.xml\" is malformed",
        ),
        ("lcp.epub", with(Item::stored("META-INF/license.lcpl", b"{}")), "protected with LCP already"),
        (
            "foreign.epub",
            changed("META-INF/encryption.xml", |item| {
                let text = String::from_utf8(item.content.clone()).unwrap();
                item.content = text
                    .replace("http://www.idpf.org/2008/embedding", "http://www.w3.org/2001/04/xmlenc#aes128-cbc")
                    .into_bytes();
            }),
            "another system's protection",
        ),
        ("manifest.webpub", archive(&[Item::stored("manifest.json", b"{\"a\":")]), "it ends too early"),
        ("order.webpub", archive(&[Item::stored("manifest.json", b"{}")]), "it has no readingOrder"),
        (
            "links.webpub",
            archive(&[Item::stored("manifest.json", b"{\"readingOrder\": [7]}")]),
            "something that is not a link",
        ),
        (
            "nothing.webpub",
            archive(&[Item::stored("manifest.json", b"{\"readingOrder\": [{\"href\": \"gone\"}]}")]),
            "no resource that may be encrypted",
        ),
        (
            "lcp.webpub",
            archive(&[
                Item::stored(
                    "manifest.json",
                    br#"{"readingOrder": [{"href": "a", "properties": {"encrypted": {"scheme": "http://readium.org/2014/01/lcp"}}}]}"#,
                ),
                Item::stored("a", b"a"),
            ]),
            "protected with LCP already",
        ),
    ]
}

#[test]
fn each_bad_publication_fails_alone_in_its_own_words() {
    let cases = cases();
    let mut books: Vec<(&str, Vec<u8>)> =
        cases.iter().map(|(name, bytes, _)| (*name, bytes.clone())).collect();
    books.push(("good.epub", archive(&epub())));
    let run = protect(&books);
    for (name, _, why) in &cases {
        let Ended::Failed(message) = &run.ended[*name] else { panic!("{name} was protected") };
        assert!(message.contains(why), "{name}: {message}");
        assert!(!run.out.path().join(name).exists(), "{name}");
    }
    assert!(matches!(run.ended["good.epub"], Ended::Done(_)));
    let left: Vec<_> =
        std::fs::read_dir(run.out.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["good.epub"], "nothing else was left behind");
    assert_eq!(run.keys().len(), 1);
    assert_eq!((run.summary.books, run.summary.failed), (1, cases.len() as u64));
}

#[test]
fn a_deflate_stream_that_is_none_is_damage() {
    let mut items = epub();
    let one = items.iter().position(|item| item.name == b"OPS/one.xhtml").unwrap();
    items[one].method = 0;
    items[one].content = noise(1000);
    let mut bytes = archive(&items);
    // Stored noise, said to be deflated.
    for at in 0..bytes.len() - 46 {
        let is_its_header = |signature: &[u8], name_at: usize| {
            bytes[at..].starts_with(signature) && bytes[at + name_at..].starts_with(b"OPS/one.xhtml")
        };
        if is_its_header(b"PK\x03\x04", 30) {
            bytes[at + 8] = 8;
        } else if is_its_header(b"PK\x01\x02", 46) {
            bytes[at + 10] = 8;
        }
    }
    let run = protect(&[("a.epub", bytes)]);
    let Ended::Failed(message) = &run.ended["a.epub"] else { panic!("it was protected") };
    assert!(message.contains("deflate stream"), "{message}");
}

#[test]
fn outputs_that_exist_are_kept_skipped_or_replaced() {
    let good = archive(&epub());
    let first = protect(&[("a.epub", good.clone())]);
    let path = first.out.path().join("a.epub");
    let before = std::fs::read(&path).unwrap();
    for (if_exists, expected) in
        [(IfExists::Fail, "failed"), (IfExists::Skip, "skipped"), (IfExists::Overwrite, "done")]
    {
        let run = protect_with(&[("a.epub", good.clone())], Some(first.out.path()), |job| {
            job.if_exists = if_exists
        });
        let ended = match &run.ended["a.epub"] {
            Ended::Failed(message) if message.contains("exists already") => "failed",
            Ended::Failed(message) => panic!("{message}"),
            Ended::Skipped => "skipped",
            Ended::Done(_) => "done",
        };
        assert_eq!(ended, expected);
        assert_eq!(std::fs::read(&path).unwrap() == before, expected != "done");
    }
}

#[test]
fn two_books_never_share_an_output() {
    let pdf = [b"%PDF-1.4\n".as_slice(), &noise(100)].concat();
    let run = protect(&[("a.epub", archive(&epub())), ("a.pdf", pdf.clone()), ("b.pdf", pdf)]);
    assert_eq!(run.summary.books, 3);
    let run = protect_with(&[("a.epub", archive(&epub())), ("x/a.epub", archive(&epub()))], None, |_| {});
    assert_eq!((run.summary.books, run.summary.failed), (1, 1));
    assert!(
        run.ended.values().any(|ended| matches!(ended, Ended::Failed(why) if why.contains("same output")))
    );
}

#[test]
fn the_key_file_is_neither_a_book_nor_in_the_way_of_one() {
    let good = archive(&epub());
    // The book itself, by two names.
    let folder = tempfile::tempdir().unwrap();
    let (book, link) = (folder.path().join("book.epub"), folder.path().join("link"));
    std::fs::write(&book, &good).unwrap();
    std::os::unix::fs::symlink(&book, &link).unwrap();
    for keys in [&book, &link] {
        let (path, error) = runs::try_protect(&book, keys, folder.path()).unwrap_err();
        assert_eq!(&path, keys);
        assert!(error.to_string().contains("choose another --key-file"), "{error}");
        assert_eq!(std::fs::read(&book).unwrap(), good, "the book stays as it is");
    }
    // Where the output goes, whether or not something is there.
    let out = folder.path().join("out");
    for if_exists in [IfExists::Fail, IfExists::Overwrite] {
        let run = runs::protect_with(&[("a.epub", good.clone())], Some(&out), |job| {
            std::fs::create_dir_all(&job.out).unwrap();
            job.if_exists = if_exists;
            job.key_file = job.out.join("../out/a.epub");
        });
        let Ended::Failed(message) = &run.ended["a.epub"] else { panic!("it was protected") };
        assert!(message.contains("key file"), "{message}");
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0, "nothing was made");
    }
}
