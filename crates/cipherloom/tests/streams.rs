//! Streams through pipes against files through the pipeline, and ranges of encrypted files against slices of their
//! plaintext: three ways to the same bytes, at the edges of segments, with readers that give little at a time.

mod support;

use cipherloom::format::{Cipher, IvPolicy, LastSegment};
use cipherloom::key::{Keyset, Passphrase, RawKey, Template};
use cipherloom::machine::Calibration;
use cipherloom::{
    Backend, Error, Format, Job, Machine, SealedFile, Selection, Summary, Tree, Unobserved, Work, open_range,
    translate_stream,
};
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use support::{open, pattern, seal};

fn tink(template: Template) -> Format {
    Format::tink(Keyset::generate(template).unwrap(), Backend::best()).unwrap()
}

fn raw(cipher: Cipher, iv: IvPolicy) -> Format {
    let key = RawKey::from_bytes(&pattern(cipher.key_len())).unwrap();
    Format::raw(cipher, &key, iv, Backend::best()).unwrap()
}

fn openssl(cipher: Cipher) -> Format {
    Format::openssl(cipher, Passphrase::new(b"secret").unwrap(), 3, Backend::best()).unwrap()
}

fn cobblestone() -> Format {
    Format::cobblestone(&RawKey::from_bytes(&pattern(32)).unwrap(), b"context").unwrap()
}

/// Every kind of stream: both segment sizes, both protections, each bare mode with and without a header.
fn formats() -> Vec<Format> {
    let templates = [
        Template::Aes256GcmHkdf1Mb,
        Template::Aes128GcmHkdf4Kb,
        Template::Aes128CtrHmacSha256Of1Mb,
        Template::Aes256CtrHmacSha256Of4Kb,
    ];
    let mut formats: Vec<Format> = templates.into_iter().map(tink).collect();
    formats.push(cobblestone());
    for cipher in [Cipher::Aes128Cbc, Cipher::Aes256Ctr] {
        formats.push(raw(cipher, IvPolicy::Prefixed));
        formats.push(raw(cipher, IvPolicy::Fixed([5; 16])));
        formats.push(openssl(cipher));
    }
    formats
}

/// Whether segments are so large that every case more is felt.
fn is_large(format: &Format) -> bool {
    format.layout().segment > 1 << 16
}

/// The plaintext lengths that fill one, two and three segments.
fn edges(format: &Format) -> [usize; 3] {
    let layout = format.layout();
    let full = (layout.segment - layout.overhead) as usize;
    let first = full - layout.first_deficit as usize;
    [first, first + full, first + 2 * full]
}

/// Plaintext lengths around the edges of a format's segments.
fn lengths(format: &Format) -> Vec<usize> {
    let [one, two, three] = edges(format);
    if is_large(format) {
        return vec![0, 17, one - 1, one, one + 1, two + 1];
    }
    let around = [one, two, three].into_iter().flat_map(|edge| [edge - 1, edge, edge + 1]);
    [0, 1, 15, 16, 17].into_iter().chain(around).collect()
}

/// Fewer of them, still with one, two and three segments, the last of them full or nearly empty.
fn few_lengths(format: &Format) -> Vec<usize> {
    let [one, two, _] = edges(format);
    if is_large(format) { vec![17, one + 1] } else { vec![0, 17, one, one + 1, two, two + 1] }
}

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
fn translate(work: Work<'_>, source: &[u8]) -> Result<(Vec<u8>, Summary), Error> {
    let associated_data = work.sealing().or(work.opening()).map_or(&b""[..], associated_data);
    let mut sink = Vec::new();
    let summary = translate_stream(work, associated_data, &mut Dribble::new(source), &mut sink, &Unobserved)?;
    Ok((sink, summary))
}

/// Through a pipe, without associated data, as files go by default.
fn stream(work: Work<'_>, source: &[u8]) -> Vec<u8> {
    let mut sink = Vec::new();
    translate_stream(work, b"", &mut Dribble::new(source), &mut sink, &Unobserved).unwrap();
    sink
}

fn associated_data(format: &Format) -> &'static [u8] {
    if format.binds_associated_data() { b"bound" } else { b"" }
}

/// A tree of files through the pipeline.
fn run(work: Work<'_>, source: &Path, destination: &Path) {
    let tree = Tree::list(source, &Selection::default()).unwrap();
    let job = Job::new(work, Some(destination.to_owned()));
    let plan = job.plan(&tree, &Machine::detect(Calibration::default()), None);
    assert_eq!(cipherloom::run(&tree, &plan, &job, &Unobserved).unwrap().failed, 0);
}

#[test]
fn a_stream_opens_as_a_file_would_and_the_other_way_round() {
    let text = pattern((2 << 20) + 99);
    for format in formats() {
        for length in lengths(&format) {
            let (plaintext, what) = (&text[..length], format!("{format:?}, {length} bytes"));
            let (streamed, summary) = translate(Work::Encrypt(&format), plaintext).unwrap();
            assert_eq!(streamed.len() as u64, format.layout().ciphertext_len(length as u64), "{what}");
            let counted = (summary.files, summary.bytes, summary.output_bytes);
            assert_eq!(counted, (1, length as u64, streamed.len() as u64), "{what}");
            assert!(open(&format, associated_data(&format), &streamed).unwrap() == plaintext, "{what}");

            let sealed = seal(&format, associated_data(&format), plaintext).unwrap();
            if format.layout().header == 0 {
                assert!(sealed == streamed, "with a fixed IV both ways give the same bytes: {what}");
            }
            let (opened, summary) = translate(Work::Decrypt(&format), &sealed).unwrap();
            assert!(opened == plaintext, "{what}");
            let counted = (summary.files, summary.bytes, summary.output_bytes);
            assert_eq!(counted, (1, sealed.len() as u64, length as u64), "{what}");
            let (nothing, summary) = translate(Work::Verify(&format), &sealed).unwrap();
            assert_eq!((nothing.len(), summary.output_bytes), (0, length as u64), "{what}");
        }
    }
    assert!(translate(Work::Copy, &text).unwrap().0 == text);
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
                stream(Work::Encrypt(&format), &text[..length]),
            )
            .unwrap();
        }
        run(Work::Encrypt(&format), &path("plain"), &path("sealed"));
        run(Work::Decrypt(&format), &path("streamed"), &path("opened"));
        for length in lengths(&format) {
            let read = |folder: &str| fs::read(path(folder).join(length.to_string())).unwrap();
            assert!(
                stream(Work::Decrypt(&format), &read("sealed")) == text[..length],
                "{format:?}, {length}"
            );
            assert!(read("opened") == text[..length], "{format:?}, {length}");
        }
        for name in ["plain", "streamed", "sealed", "opened"] {
            fs::remove_dir_all(path(name)).unwrap();
        }
    }
}

/// Where a stream of this length may be cut so that it looks most alike: every segment's border and the bytes beside
/// it, the header, and places that nobody chose.
fn cuts(format: &Format, length: u64) -> Vec<usize> {
    let layout = format.layout();
    let borders = (0..layout.segments_of_ciphertext(length).unwrap())
        .map(|index| layout.ciphertext_segment(index, length).unwrap().ciphertext_offset as usize);
    let header = layout.header as usize;
    let arbitrary = (1..if is_large(format) { 4 } else { 60 }).map(|turn| turn * 7_654_321 % length as usize);
    borders
        .flat_map(|border| [border.saturating_sub(1), border, border + 1])
        .chain([0, 1, header, length as usize - 1, length as usize - 16])
        .chain(arbitrary)
        .filter(|&cut| cut < length as usize)
        .collect()
}

fn authenticated() -> impl Iterator<Item = Format> {
    formats().into_iter().filter(Format::is_authenticated)
}

#[test]
fn a_truncated_stream_is_never_taken_for_a_whole_one() {
    let text = pattern((2 << 20) + 99);
    for format in authenticated() {
        for length in few_lengths(&format) {
            let sealed = seal(&format, b"bound", &text[..length]).unwrap();
            for cut in cuts(&format, sealed.len() as u64) {
                let error = translate(Work::Decrypt(&format), &sealed[..cut]).unwrap_err();
                assert!(error.is_authentication(), "{format:?}, {length}, cut at {cut}: {error}");
            }
        }
    }
}

#[test]
fn a_damaged_or_longer_stream_fails_and_gives_only_true_plaintext() {
    let text = pattern((2 << 20) + 99);
    for format in authenticated() {
        for length in few_lengths(&format) {
            let sealed = seal(&format, b"bound", &text[..length]).unwrap();
            let mut changed: Vec<Vec<u8>> = vec![
                [&sealed[..], b"\0"].concat(),
                [&sealed[..], &[0; 16]].concat(),
                [&sealed[..], &sealed[..]].concat(),
                [&sealed[..], &vec![0; format.layout().segment as usize]].concat(),
            ];
            for position in [0, sealed.len() / 2, sealed.len() - 1] {
                changed.push(sealed.clone());
                changed.last_mut().unwrap()[position] ^= 4;
            }
            for stream in changed {
                let mut sink = Vec::new();
                let opened = translate_stream(
                    Work::Decrypt(&format),
                    b"bound",
                    &mut Dribble::new(&stream),
                    &mut sink,
                    &Unobserved,
                );
                let error = opened.unwrap_err();
                assert!(error.is_authentication(), "{format:?}, {length}: {error}");
                assert!(text.starts_with(&sink), "{format:?}, {length}: plaintext that was never written");
            }
        }
    }
}

#[test]
fn a_truncated_cbc_stream_fails_unless_its_padding_happens_to_fit() {
    // No authentication here: only lengths that no CBC stream has must fail.
    let text = pattern(2 << 20);
    for format in [raw(Cipher::Aes128Cbc, IvPolicy::Prefixed), openssl(Cipher::Aes256Cbc)] {
        assert_eq!(format.layout().last, LastSegment::Padded);
        let sealed = seal(&format, b"", &text[..(1 << 20) + 100]).unwrap();
        let header = format.layout().header as usize;
        for cut in
            [0, 1, header - 1, header, header + 1, header + 15, header + (1 << 20) + 1, sealed.len() - 1]
        {
            assert!(translate(Work::Decrypt(&format), &sealed[..cut]).is_err(), "{format:?}, cut at {cut}");
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
                let (moved, summary) = translate(Work::Rekey { from, to }, &sealed).unwrap();
                let what = format!("{} to {}, {length} bytes", from.name(), to.name());
                let counted = (summary.bytes, summary.output_bytes);
                assert_eq!(counted, (sealed.len() as u64, moved.len() as u64), "{what}");
                assert!(open(to, b"bound", &moved).unwrap() == text[..length], "{what}");
                let cut = sealed.len() - 1;
                assert!(translate(Work::Rekey { from, to }, &sealed[..cut]).is_err(), "{what}");
            }
        }
    }
}

/// Ranges at the edges of segments and of the plaintext, and others; some beyond the end, some empty.
fn ranges(format: &Format, length: u64) -> Vec<Range<u64>> {
    let mut ranges = vec![0..0, length..length, length..length + 5, 0..length + 9, length + 3..length + 9];
    ranges.push(0..u64::MAX);
    for edge in edges(format).map(|edge| edge as u64).into_iter().filter(|&edge| edge <= length) {
        ranges.extend([edge - 1..edge, edge..edge + 1, edge - 9..edge + 9, 0..edge, edge..length]);
    }
    // A linear congruential generator; only has to look arbitrary.
    let mut state = length + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for _ in 0..if is_large(format) { 2 } else { 20 } {
        let start = next() % (length + 1);
        ranges.push(start..start + next() % 20_000);
    }
    ranges
}

#[test]
fn a_range_of_an_encrypted_file_is_that_slice_of_its_plaintext() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed");
    let text = pattern((2 << 20) + 99);
    for format in formats() {
        for length in if is_large(&format) { few_lengths(&format) } else { lengths(&format) } {
            let plaintext = &text[..length];
            fs::write(&path, seal(&format, associated_data(&format), plaintext).unwrap()).unwrap();
            let file = SealedFile::open(&path, &format, associated_data(&format)).unwrap();
            assert_eq!((file.len(), file.is_empty()), (length as u64, length == 0), "{format:?}");
            for range in ranges(&format, length as u64) {
                let (start, end) = (range.start.min(length as u64), range.end.min(length as u64));
                let expected = &plaintext[start as usize..end as usize];
                assert!(*file.read(range.clone()).unwrap() == expected, "{format:?}, {length}, {range:?}");
            }
            let part = open_range(&path, &format, associated_data(&format), 3..9).unwrap();
            assert!(*part == plaintext[length.min(3)..length.min(9)]);
        }
    }
}

#[test]
fn a_truncated_or_longer_file_does_not_open_for_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed");
    let text = pattern((2 << 20) + 99);
    for format in authenticated() {
        for length in few_lengths(&format) {
            let sealed = seal(&format, b"bound", &text[..length]).unwrap();
            for cut in cuts(&format, sealed.len() as u64) {
                fs::write(&path, &sealed[..cut]).unwrap();
                let opened = SealedFile::open(&path, &format, b"bound");
                assert!(
                    opened.is_err_and(|error| error.is_authentication()),
                    "{format:?}, {length}, cut at {cut}"
                );
            }
            fs::write(&path, [&sealed[..], b"\0"].concat()).unwrap();
            assert!(SealedFile::open(&path, &format, b"bound").is_err(), "{format:?}, {length}");
            fs::write(&path, &sealed).unwrap();
            assert!(SealedFile::open(&path, &format, b"another").is_err(), "{format:?}, {length}");
        }
    }
}

#[test]
fn a_damaged_segment_fails_only_the_ranges_that_touch_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed");
    for format in [tink(Template::Aes128GcmHkdf4Kb), cobblestone()] {
        let layout = format.layout();
        let text = pattern(5 * layout.segment as usize);
        let mut sealed = seal(&format, b"", &text).unwrap();
        let damaged = layout.segment(2, text.len() as u64);
        sealed[damaged.ciphertext_offset as usize + 5] ^= 1;
        fs::write(&path, &sealed).unwrap();
        let file = SealedFile::open(&path, &format, b"").unwrap();
        let (start, end) =
            (damaged.plaintext_offset, damaged.plaintext_offset + u64::from(damaged.plaintext_len));
        assert!(*file.read(0..start).unwrap() == text[..start as usize]);
        assert!(*file.read(end..u64::MAX).unwrap() == text[end as usize..]);
        for range in [start..start + 1, end - 1..end + 1, 0..end] {
            assert!(file.read(range).unwrap_err().is_authentication(), "{format:?}");
        }
    }
}
