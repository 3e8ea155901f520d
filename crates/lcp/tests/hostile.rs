//! Bad publications: each fails alone with words of its own, and nothing stands under its name.

mod archives;
mod cases;
mod runs;

use archives::{archive, epub, noise};
use cases::{cases, changed, container, package};
use cipherloom::IfExists;
use runs::{Ended, protect, protect_with};

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
    assert_eq!((run.summary.done, run.summary.failed), (1, cases.len() as u64));
}

#[test]
fn what_is_named_many_times_is_read_once() {
    let roots = vec!["OPS/book.opf".to_owned(); 2000];
    let rootfiles = changed("META-INF/container.xml", |item| item.content = container(&roots));
    // Of each cover with each item compared this would take minutes.
    let covers: String =
        (0..60_000).map(|number| format!("<meta name=\"cover\" content=\"c{number}\"/>")).collect();
    let items: String = (0..60_000).map(|number| format!("<item id=\"i{number}\" href=\"a\"/>")).collect();
    let covers = changed("OPS/book.opf", |item| {
        item.content = package(&format!("{covers}{items}"));
        item.method = 0;
    });
    let run = protect(&[("rootfiles.epub", rootfiles), ("covers.epub", covers)]);
    assert_eq!(run.summary.done, 2, "{:?}", run.ended);
}

#[test]
fn headers_that_leave_the_lengths_to_what_follows_are_no_contradiction() {
    let mut items = epub();
    items.iter_mut().for_each(|item| item.flags = 1 << 3);
    let mut streamed = archive(&items);
    for start in 0..streamed.len() - 30 {
        if streamed[start..].starts_with(b"PK\x03\x04") {
            streamed[start + 14..start + 26].fill(0);
        }
    }
    let run = protect(&[("streamed.epub", streamed)]);
    assert_eq!(run.summary.done, 1, "{:?}", run.ended);
}

#[test]
#[cfg(unix)]
fn links_below_the_output_folder_lead_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    let out = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), out.path().join("shelf")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("b.epub"), out.path().join("b.epub")).unwrap();
    let good = archive(&epub());
    for (if_exists, b_is_made) in
        [(IfExists::Fail, false), (IfExists::Skip, false), (IfExists::Overwrite, true)]
    {
        let run =
            protect_with(&[("a.epub", good.clone()), ("b.epub", good.clone())], Some(out.path()), |job| {
                job.if_exists = if_exists;
                job.sources[0].folder = "shelf".into();
            });
        let Ended::Failed(message) = &run.ended["a.epub"] else { panic!("it followed the link") };
        assert!(message.contains("link"), "{message}");
        assert_eq!(
            matches!(run.ended["b.epub"], Ended::Done(_)),
            b_is_made,
            "{if_exists:?}: {:?}",
            run.ended
        );
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}

#[test]
#[cfg(unix)]
fn links_and_pipes_put_into_a_folder_after_it_was_searched_are_not_read() {
    let outside = tempfile::tempdir().unwrap();
    let other = outside.path().join("other.epub");
    std::fs::write(&other, archive(&epub())).unwrap();
    let good = archive(&epub());
    let run = protect_with(&[("link.epub", good.clone()), ("pipe.epub", good)], None, |job| {
        let root = job.sources[0].path.parent().unwrap().to_owned();
        for source in &mut job.sources {
            source.root = Some(root.clone());
            std::fs::remove_file(&source.path).unwrap();
        }
        std::os::unix::fs::symlink(&other, &job.sources[0].path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&job.sources[1].path).status().unwrap();
        assert!(made.success());
    });
    assert_eq!((run.summary.done, run.summary.failed), (0, 2), "{:?}", run.ended);
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
    assert_eq!(run.summary.done, 3);
    let run = protect_with(&[("a.epub", archive(&epub())), ("x/a.epub", archive(&epub()))], None, |_| {});
    assert_eq!((run.summary.done, run.summary.failed), (1, 1));
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
        let error = runs::try_protect(&book, keys, folder.path()).unwrap_err();
        assert_eq!(error.path(), Some(keys.as_path()));
        assert!(error.to_string().contains("one of the publications"), "{error}");
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
