//! Streams through pipes against files through the pipeline: two ways to the same bytes, at the edges of segments, with readers
//! that give little at a time. What changed streams come to is shown in full by the tests of `segments`, and here for each way
//! once.

mod support;

use cipherloom::key::Template;
use cipherloom::machine::Calibration;
use cipherloom::stream::Encryptor;
use cipherloom::{
    Error, Format, Report,
    internal::{Job, Selection, Tree, Work, translate_stream},
    machine::Machine,
    report::Unobserved,
};
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use support::formats::{
    associated_data, changed, cobblestone, few_lengths, formats, lengths, tink, two_formats,
};
use support::{open, pattern, seal};

/// A pipe that gives its bytes in pieces of changing size, now and then interrupted.
struct Dribble<'b> {
    rest: &'b [u8],
    turn: usize,
    /// Pieces are at most so long.
    most: usize,
}

impl<'b> Dribble<'b> {
    fn new(bytes: &'b [u8]) -> Dribble<'b> {
        // Whatever the length, a few thousand reads.
        Dribble { rest: bytes, turn: 0, most: (bytes.len() / 500).max(7) }
    }
}

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.turn += 1;
        if self.turn.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let piece = 1 + (self.turn * 7919) % self.most;
        let count = piece.min(buffer.len()).min(self.rest.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest = &self.rest[count..];
        Ok(count)
    }
}

/// Through a pipe, with associated data wherever the format can bind it.
fn translate(work: &Work, source: &[u8]) -> Result<(Vec<u8>, Report), Error> {
    let associated_data = work.sealing().or(work.opening()).map_or(&b""[..], associated_data);
    let mut sink = Vec::new();
    let summary = translate_stream(work, associated_data, &mut Dribble::new(source), &mut sink, &Unobserved)?;
    Ok((sink, summary))
}

/// Through a pipe, without associated data, as files go by default.
fn stream(work: &Work, source: &[u8]) -> Vec<u8> {
    let mut sink = Vec::new();
    translate_stream(work, b"", &mut Dribble::new(source), &mut sink, &Unobserved).unwrap();
    sink
}

/// A tree of files through the pipeline.
fn run(work: &Work, source: &Path, destination: &Path) {
    let tree = Tree::list(source, &Selection::default()).unwrap();
    let job = Job::new(work.clone(), Some(destination.to_owned()));
    let plan = job.plan(&tree, &Machine::detect(Calibration::default()), None);
    assert_eq!(cipherloom::internal::run(&tree, &plan, &job, &Unobserved).unwrap().failed, 0);
}

#[test]
fn a_stream_opens_as_a_file_would_and_the_other_way_round() {
    let text = pattern((2 << 20) + 99);
    for format in formats() {
        for length in lengths(&format) {
            let (plaintext, what) = (&text[..length], format!("{format:?}, {length} bytes"));
            let (streamed, summary) = translate(&Work::Encrypt(format.clone()), plaintext).unwrap();
            assert_eq!(streamed.len() as u64, format.layout().ciphertext_len(length as u64), "{what}");
            let counted = (summary.files, summary.bytes, summary.output_bytes);
            assert_eq!(counted, (1, length as u64, streamed.len() as u64), "{what}");
            assert!(open(&format, associated_data(&format), &streamed).unwrap() == plaintext, "{what}");

            let sealed = seal(&format, associated_data(&format), plaintext).unwrap();
            if format.layout().header == 0 {
                assert!(sealed == streamed, "with a fixed IV both ways give the same bytes: {what}");
            }
            let (opened, summary) = translate(&Work::Decrypt(format.clone()), &sealed).unwrap();
            assert!(opened == plaintext, "{what}");
            let counted = (summary.files, summary.bytes, summary.output_bytes);
            assert_eq!(counted, (1, sealed.len() as u64, length as u64), "{what}");
            let (nothing, summary) = translate(&Work::Verify(format.clone()), &sealed).unwrap();
            assert_eq!((nothing.len(), summary.output_bytes), (0, length as u64), "{what}");
        }
    }
    assert!(translate(&Work::Copy, &text).unwrap().0 == text);
}

#[test]
fn files_of_the_pipeline_open_as_streams_and_streams_as_files() {
    let folder = tempfile::tempdir().unwrap();
    let text = pattern((2 << 20) + 99);
    let path = |name: &str| folder.path().join(name);
    for format in formats() {
        for name in ["plain", "streamed"] {
            fs::create_dir(path(name)).unwrap();
        }
        for length in lengths(&format) {
            fs::write(path("plain").join(length.to_string()), &text[..length]).unwrap();
            fs::write(
                path("streamed").join(length.to_string()),
                stream(&Work::Encrypt(format.clone()), &text[..length]),
            )
            .unwrap();
        }
        run(&Work::Encrypt(format.clone()), &path("plain"), &path("sealed"));
        run(&Work::Decrypt(format.clone()), &path("streamed"), &path("opened"));
        for length in lengths(&format) {
            let read = |folder: &str| fs::read(path(folder).join(length.to_string())).unwrap();
            assert!(
                stream(&Work::Decrypt(format.clone()), &read("sealed")) == text[..length],
                "{format:?}, {length}"
            );
            assert!(read("opened") == text[..length], "{format:?}, {length}");
        }
        for name in ["plain", "streamed", "sealed", "opened"] {
            fs::remove_dir_all(path(name)).unwrap();
        }
    }
}

#[test]
fn a_changed_stream_fails_and_gives_only_true_plaintext() {
    for format in two_formats() {
        let text = pattern(3 * format.layout().segment as usize);
        let sealed = seal(&format, b"bound", &text).unwrap();
        for stream in changed(&format, &sealed) {
            let mut sink = Vec::new();
            let source = &mut Dribble::new(&stream);
            let opened =
                translate_stream(&Work::Decrypt(format.clone()), b"bound", source, &mut sink, &Unobserved);
            let error = opened.unwrap_err();
            assert!(error.is_authentication(), "{format:?}: {error}");
            assert!(text.starts_with(&sink), "{format:?}: plaintext that was never written");
        }
    }
}

#[test]
fn streams_are_re_keyed_between_all_segment_sizes() {
    let text = pattern((2 << 20) + 99);
    let formats: Vec<Format> =
        [Template::Aes256GcmHkdf1Mb, Template::Aes128GcmHkdf4Kb, Template::Aes256CtrHmacSha256Of1Mb]
            .into_iter()
            .map(tink)
            .chain([cobblestone()])
            .collect();
    for from in &formats {
        for to in &formats {
            for length in few_lengths(from).into_iter().chain(few_lengths(to)) {
                let sealed = seal(from, b"bound", &text[..length]).unwrap();
                let (moved, summary) =
                    translate(&Work::Rekey { from: from.clone(), to: to.clone() }, &sealed).unwrap();
                let what = format!("{} to {}, {length} bytes", from.name(), to.name());
                let counted = (summary.bytes, summary.output_bytes);
                assert_eq!(counted, (sealed.len() as u64, moved.len() as u64), "{what}");
                assert!(open(to, b"bound", &moved).unwrap() == text[..length], "{what}");
                let cut = sealed.len() - 1;
                assert!(
                    translate(&Work::Rekey { from: from.clone(), to: to.clone() }, &sealed[..cut]).is_err(),
                    "{what}"
                );
            }
        }
    }
}

/// A writer that takes a little at a time, and at some point nothing more.
struct Narrow {
    taken: Vec<u8>,
    most: usize,
}

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.taken.len() >= self.most {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let count = bytes.len().min(1000);
        self.taken.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn writes_of_any_size_make_one_stream() {
    let text = pattern((2 << 20) + 99);
    for format in formats() {
        for (length, step) in [
            (0, 1),
            (1, 1),
            (10_000, 7),
            (2 << 20, 65_536),
            (text.len(), 1_500_000),
            (text.len(), text.len()),
        ] {
            let sink = Narrow { taken: Vec::new(), most: usize::MAX };
            let mut encryptor = Encryptor::with_format(sink, &format, associated_data(&format)).unwrap();
            for piece in text[..length].chunks(step) {
                encryptor.write_all(piece).unwrap();
                encryptor.flush().unwrap();
            }
            let sealed = encryptor.finish().unwrap().taken;
            let opened = open(&format, associated_data(&format), &sealed).unwrap();
            assert!(opened == text[..length], "{format:?}, {length}, {step}");
        }
    }
}

#[test]
fn an_encryptor_that_is_dropped_or_cannot_write_leaves_no_whole_stream() {
    let text = pattern(3 << 20);
    for format in two_formats() {
        let mut sealed = Vec::new();
        let mut encryptor = Encryptor::with_format(&mut sealed, &format, b"").unwrap();
        encryptor.write_all(&text).unwrap();
        drop(encryptor);
        assert!(sealed.len() > 1 << 20, "some of it is written");
        assert!(open(&format, b"", &sealed).unwrap_err().is_authentication());

        let sink = Narrow { taken: Vec::new(), most: 100_000 };
        let mut encryptor = Encryptor::with_format(sink, &format, b"").unwrap();
        assert_eq!(encryptor.write_all(&text).unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(encryptor.finish().is_err(), "what is missing is not passed over");
    }
}
