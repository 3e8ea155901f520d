//! Ranges of encrypted files against slices of their plaintext, at the edges of segments, and what is read of changed files.

mod support;

use cipherloom::key::Template;
use cipherloom::stream::Decryptor;
use cipherloom::{Error, Format};
use std::fs;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use support::formats::{
    associated_data, changed, edges, few_lengths, formats, is_large, lengths, tink, two_formats,
};
use support::{pattern, seal};

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

fn range(file: &mut Decryptor<fs::File>, range: &Range<u64>) -> io::Result<Vec<u8>> {
    let mut plaintext = Vec::new();
    file.seek(SeekFrom::Start(range.start))?;
    file.take(range.end - range.start).read_to_end(&mut plaintext)?;
    Ok(plaintext)
}

fn decryptor(path: &Path, format: &Format, associated_data: &[u8]) -> Result<Decryptor<fs::File>, Error> {
    Decryptor::with_format(fs::File::open(path).unwrap(), format, associated_data)
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
            let mut file = decryptor(&path, &format, associated_data(&format)).unwrap();
            assert_eq!(file.len().unwrap(), length as u64, "{format:?}");
            for wanted in ranges(&format, length as u64) {
                let (start, end) = (wanted.start.min(length as u64), wanted.end.min(length as u64));
                let expected = &plaintext[start as usize..end as usize];
                let found = range(&mut file, &wanted).unwrap();
                assert!(found == expected, "{format:?}, {length}, {wanted:?}");
                assert_eq!(file.stream_position().unwrap(), wanted.start + found.len() as u64);
            }
            // Read on from where a few bytes were read before anything was sought, and from the end.
            let mut file = decryptor(&path, &format, associated_data(&format)).unwrap();
            let mut front = vec![0; length.min(20)];
            file.read_exact(&mut front).unwrap();
            assert_eq!(
                file.seek(SeekFrom::Current(-(front.len() as i64) / 2)).unwrap(),
                (front.len() - front.len() / 2) as u64
            );
            let mut rest = Vec::new();
            file.read_to_end(&mut rest).unwrap();
            assert!(rest == plaintext[front.len() - front.len() / 2..], "{format:?}, {length}");
            file.seek(SeekFrom::End(-(length as i64).min(9))).unwrap();
            rest.clear();
            file.read_to_end(&mut rest).unwrap();
            assert!(rest == plaintext[length - length.min(9)..], "{format:?}, {length}");
            assert!(file.seek(SeekFrom::End(-1 - length as i64)).is_err(), "before the beginning");
        }
    }
}

#[test]
fn a_stream_that_begins_within_its_source_is_sought_there() {
    for format in two_formats() {
        let text = pattern(20_000);
        let mut source = io::Cursor::new([&[9; 100][..], &seal(&format, b"", &text).unwrap()].concat());
        source.set_position(100);
        let mut stream = Decryptor::with_format(source, &format, b"").unwrap();
        stream.seek(SeekFrom::Start(15_000)).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(rest == text[15_000..]);
        stream.rewind().unwrap();
        rest.clear();
        stream.read_to_end(&mut rest).unwrap();
        assert!(rest == text);
    }
}

#[test]
fn a_changed_file_has_no_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed");
    for format in two_formats() {
        let text = pattern(3 * format.layout().segment as usize);
        let sealed = seal(&format, b"bound", &text).unwrap();
        for stream in changed(&format, &sealed) {
            fs::write(&path, &stream).unwrap();
            let len = decryptor(&path, &format, b"bound").and_then(|mut file| {
                let len = file.len();
                assert!(len.is_ok() || file.read(&mut [0]).is_err(), "what has no length is not read");
                len
            });
            assert!(len.is_err_and(|error| error.is_authentication()), "{format:?}");
        }
        fs::write(&path, &sealed).unwrap();
        let other = decryptor(&path, &format, b"another").and_then(|mut file| file.len());
        assert!(other.is_err_and(|error| error.is_authentication()), "{format:?}");
    }
}

#[test]
fn a_damaged_segment_fails_only_the_ranges_that_touch_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed");
    for format in two_formats() {
        let layout = format.layout();
        let text = pattern(5 * layout.segment as usize);
        let mut sealed = seal(&format, b"", &text).unwrap();
        sealed[layout.ciphertext_offset(2) as usize + 5] ^= 1;
        fs::write(&path, &sealed).unwrap();
        let mut file = decryptor(&path, &format, b"").unwrap();
        let (start, end) = (layout.plaintext_offset(2), layout.plaintext_offset(3));
        for _ in 0..2 {
            assert!(range(&mut file, &(0..start)).unwrap() == text[..start as usize]);
            assert!(range(&mut file, &(end..u64::MAX)).unwrap() == text[end as usize..]);
            for wanted in [start..start + 1, end - 1..end + 1, 0..end] {
                let error = range(&mut file, &wanted).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{format:?}");
                let error: Error = error.downcast().unwrap();
                assert!(matches!(error, Error::DamagedSegment { index: 2, .. }), "{error:?}");
                // Who goes on reading does not come to what lies behind.
                assert_eq!(file.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::InvalidData);
            }
        }
    }
}

/// What a reader with one buffer does.
#[test]
fn a_segment_is_opened_once_and_read_from_anywhere() {
    let format = tink(Template::Aes128GcmHkdf4Kb);
    for length in [0, 1, 4056, 4057, 20_000] {
        let text = pattern(length);
        let sealed = seal(&format, b"", &text).unwrap();
        let mut stream = Decryptor::with_format(io::Cursor::new(&sealed), &format, b"").unwrap();
        assert_eq!(stream.len().unwrap(), length as u64);
        for position in (0..length).step_by(777) {
            stream.seek(SeekFrom::Start(position as u64)).unwrap();
            let rest = stream.fill_buf().unwrap();
            assert!(!rest.is_empty() && text[position..].starts_with(rest), "{length}, {position}");
        }
        for beyond in [length as u64, length as u64 + 1, u64::MAX] {
            assert_eq!(stream.seek(SeekFrom::Start(beyond)).unwrap(), beyond);
            assert!(stream.fill_buf().unwrap().is_empty(), "{length}, {beyond}");
        }
    }
}
