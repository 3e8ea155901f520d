//! The walker over every format: what is sealed opens, in runs of any length, whether the end is known from a length or found by
//! reading.

mod damage;

use super::*;
use crate::age::Identity;
use crate::engine::{CbcPiece, encrypt_pieces};
use crate::format::{Cipher, IvPolicy};
use crate::key::{Keyset, Passphrase, RawKey, Template};
use cipherloom_kernels::Backend;

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|position| (position % 251) as u8 ^ (position / 251) as u8).collect()
}

fn tink(template: Template) -> Format {
    Format::tink(Keyset::generate(template).unwrap(), Backend::best()).unwrap()
}

fn cobblestone(key: &[u8]) -> Format {
    Format::cobblestone(&RawKey::from_bytes(key).unwrap(), b"context").unwrap()
}

fn age() -> Format {
    Format::age_from([Identity::generate().unwrap()]).unwrap()
}

fn raw(cipher: Cipher, iv: IvPolicy) -> Format {
    Format::raw(cipher, &RawKey::from_bytes(&pattern(cipher.key_len())).unwrap(), iv, Backend::best())
        .unwrap()
}

fn openssl(cipher: Cipher) -> Format {
    Format::openssl(cipher, Passphrase::new(b"secret").unwrap(), 3, Backend::best()).unwrap()
}

/// Every kind of stream: both segment sizes, both protections, each bare mode with and without a header.
fn formats() -> Vec<Format> {
    let mut formats: Vec<Format> = Template::ALL.into_iter().map(tink).collect();
    formats.extend([cobblestone(&[1; 16]), cobblestone(&[1; 32]), age()]);
    for cipher in [Cipher::Aes128Cbc, Cipher::Aes256Ctr] {
        formats.push(raw(cipher, IvPolicy::Prefixed));
        formats.push(raw(cipher, IvPolicy::Fixed([5; 16])));
        formats.push(openssl(cipher));
    }
    formats
}

fn authenticated() -> impl Iterator<Item = Format> {
    formats().into_iter().filter(Format::is_authenticated)
}

/// Whether segments are so large that every case more is felt.
fn is_large(format: &Format) -> bool {
    format.layout().segment > 1 << 17
}

/// Plaintext lengths around the edges of one, two and three segments.
fn lengths(format: &Format) -> Vec<usize> {
    let edges = [1, 2, 3].map(|segments| format.layout().plaintext_offset(segments) as usize);
    if is_large(format) {
        return vec![0, 17, edges[0] - 1, edges[0], edges[0] + 1, edges[1] + 1];
    }
    let around = edges.into_iter().flat_map(|edge| [edge - 1, edge, edge + 1]);
    [0, 1, 15, 16, 17].into_iter().chain(around).collect()
}

/// Fewer of them, still with one, two and three segments, the last of them full or nearly empty.
fn few_lengths(format: &Format) -> Vec<usize> {
    let [one, two] = [1, 2].map(|segments| format.layout().plaintext_offset(segments) as usize);
    if is_large(format) { vec![17, one + 1] } else { vec![0, 17, one, one + 1, two, two + 1] }
}

fn associated_data(format: &Format) -> &'static [u8] {
    if format.binds_associated_data() { b"bound" } else { b"" }
}

/// Seals a whole stream, `at_once` segments at a time.
fn seal_all(format: &Format, associated_data: &[u8], plaintext: &[u8], at_once: u64) -> Vec<u8> {
    let sealing = Sealing::begin(format, associated_data).unwrap();
    let layout = sealing.stream.layout();
    let all = layout.segments(plaintext.len() as u64);
    let mut sealed = sealing.lead(0).to_vec();
    for start in (0..all).step_by(at_once as usize) {
        let run = Run::of(start..all.min(start + at_once), all);
        let range = layout.plaintext_range(&run.segments, plaintext.len() as u64);
        let text = &plaintext[range.start as usize..range.end as usize];
        let mut buffer = text.to_vec();
        buffer.resize(run.sealed_len(layout, text.len()), 0xee);
        let before = sealed.last_chunk().copied();
        let len = seal(&sealing.stream, &run, before.as_ref(), &mut buffer, text.len()).unwrap();
        assert_eq!(len, buffer.len());
        sealed.extend_from_slice(&buffer);
    }
    sealed
}

fn sealed(format: &Format, plaintext: &[u8]) -> Vec<u8> {
    seal_all(format, associated_data(format), plaintext, 2)
}

fn begin(format: &Format, associated_data: &[u8], ciphertext: &[u8]) -> Result<Stream, Error> {
    let head = &ciphertext[..ciphertext.len().min(format.head_len(ciphertext))];
    format.open_stream(associated_data, head, head.len() == ciphertext.len(), &mut vec![0; head.len()])
}

/// Opens a run from the whole ciphertext. A failure leaves no plaintext of the segment that failed.
fn open_one(stream: &Stream, run: &Run, ciphertext: &[u8], bytes: Range<usize>) -> (Vec<u8>, Option<Error>) {
    let lead = lead(stream, run.segments.start);
    let mut buffer = ciphertext[bytes.start - lead..bytes.end].to_vec();
    let before = buffer.clone();
    let opened = open(stream, run, &mut buffer);
    let plaintext = buffer[opened.plaintext.clone()].to_vec();
    if opened.fault.is_some() && plaintext.is_empty() && !stream.is_seamless() {
        let failed = &buffer[lead..];
        assert!(
            failed == &before[lead..] || failed.starts_with(&[0; 16]) || failed.len() < 16,
            "plaintext is left"
        );
    }
    (plaintext, opened.fault)
}

/// Opens a stream of known length, `at_once` segments at a time, the last run first: the order must not matter.
fn open_known(
    format: &Format,
    associated_data: &[u8],
    ciphertext: &[u8],
    at_once: u64,
) -> Result<Vec<u8>, Error> {
    let stream = begin(format, associated_data, ciphertext)?;
    let layout = stream.layout();
    let all = layout.segments_of_ciphertext(ciphertext.len() as u64)?;
    let mut parts = Vec::new();
    for part in (0..all.div_ceil(at_once)).rev() {
        let run = Run::of(part * at_once..all.min((part + 1) * at_once), all);
        let bytes = layout.ciphertext_range(&run.segments, ciphertext.len() as u64);
        let (part, fault) = open_one(&stream, &run, ciphertext, bytes.start as usize..bytes.end as usize);
        fault.map_or(Ok(()), Err)?;
        parts.push(part);
    }
    parts.reverse();
    Ok(parts.concat())
}

/// Opens a stream whose end is found by reading, `step` bytes more each time. Returns what came out, and what ended it.
fn open_found(
    format: &Format,
    associated_data: &[u8],
    ciphertext: &[u8],
    step: usize,
) -> (Vec<u8>, Option<Error>) {
    let stream = match begin(format, associated_data, ciphertext) {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let layout = stream.layout();
    let (mut plaintext, mut first, mut start) = (Vec::new(), 0, layout.header as usize);
    let mut end = start;
    loop {
        end = ciphertext.len().min(end + step);
        let is_all = end == ciphertext.len();
        let run = Run::in_bytes(layout, first, end - start, Form::Ciphertext, is_all);
        if run.segments.is_empty() {
            continue;
        }
        let next = run.segments.end;
        let bytes = start..if is_all { end } else { layout.ciphertext_offset(next) as usize };
        let (part, fault) = open_one(&stream, &run, ciphertext, bytes.clone());
        plaintext.extend_from_slice(&part);
        if is_all || fault.is_some() {
            return (plaintext, fault);
        }
        (first, start) = (next, bytes.end);
    }
}

#[test]
fn what_is_sealed_opens_in_runs_of_any_length() {
    let text = pattern((3 << 20) + 99);
    for format in formats() {
        let bound = associated_data(&format);
        for length in lengths(&format) {
            let (plaintext, what) = (&text[..length], format!("{format:?}, {length} bytes"));
            let sealed = seal_all(&format, bound, plaintext, 1);
            assert_eq!(sealed.len() as u64, format.layout().ciphertext_len(length as u64), "{what}");
            if format.layout().header == 0 {
                assert!(sealed == seal_all(&format, bound, plaintext, 3), "{what}: the same in longer runs");
            }
            for at_once in [1, 2, 100] {
                assert!(open_known(&format, bound, &sealed, at_once).unwrap() == plaintext, "{what}");
            }
            let sealed = seal_all(&format, bound, plaintext, 100);
            for step in [1000, 70_000, 1 << 20, 5 << 20] {
                let (opened, fault) = open_found(&format, bound, &sealed, step);
                assert!(fault.is_none() && opened == plaintext, "{what}: {fault:?}");
            }
        }
    }
}

#[test]
fn an_end_that_is_found_is_the_end_that_the_length_tells() {
    for format in formats() {
        let layout = format.layout();
        let limit = layout.plaintext_offset(if is_large(&format) { 2 } else { 4 }) + 40;
        for len in (0..limit)
            .step_by(if is_large(&format) { 9973 } else { 7 })
            .chain(lengths(&format).iter().map(|len| *len as u64))
        {
            let all = layout.segments(len);
            let body = (layout.ciphertext_len(len) - u64::from(layout.header)) as usize;
            for (len, form) in [(len as usize, Form::Plaintext), (body, Form::Ciphertext)] {
                assert_eq!(Run::in_bytes(&layout, 0, len, form, true), Run::of(0..all, all));
                let open_ended = Run::in_bytes(&layout, 0, len, form, false);
                assert_eq!(
                    (open_ended.segments, open_ended.ends),
                    (0..all - 1, false),
                    "the last is never taken before the end"
                );
            }
        }
    }
}

#[test]
fn more_segments_than_the_format_numbers_are_refused() {
    for (format, limit) in [
        (tink(Template::Aes128GcmHkdf4Kb), u64::from(u32::MAX)),
        (tink(Template::Aes128CtrHmacSha256Of4Kb), u64::from(u32::MAX)),
        (cobblestone(&[1; 16]), 1 << 38),
    ] {
        let sealing = Sealing::begin(&format, b"").unwrap();
        let mut buffer = vec![0; 1 + format.layout().overhead as usize];
        let last = |index| Run { segments: index..index + 1, ends: true };
        seal(&sealing.stream, &last(limit - 1), None, &mut buffer, 1).unwrap();
        let opened = open(&sealing.stream, &last(limit - 1), &mut buffer.clone());
        assert_eq!(opened.whole().unwrap(), 0..1);
        let refused = seal(&sealing.stream, &last(limit), None, &mut buffer, 1);
        assert!(matches!(refused, Err(Error::TooManySegments { .. })));
        let refused = open(&sealing.stream, &last(limit), &mut buffer).whole();
        assert!(matches!(refused, Err(Error::TooManySegments { .. })));
    }
}

#[test]
fn chains_side_by_side_are_the_same_chains() {
    let (shared, own) = (raw(Cipher::Aes128Cbc, IvPolicy::Prefixed), openssl(Cipher::Aes256Cbc));
    for formats in [vec![&shared; 5], vec![&own; 3], vec![&shared, &own]] {
        let sealings: Vec<Sealing> =
            formats.iter().map(|format| Sealing::begin(format, b"").unwrap()).collect();
        let mut before: Vec<[u8; 16]> =
            sealings.iter().map(|sealing| sealing.stream.chain().unwrap().1).collect();
        let mut streams: Vec<Vec<u8>> = sealings.iter().map(|sealing| sealing.lead(0).to_vec()).collect();
        // In two rounds, the second padded.
        for round in [pattern(160), pattern(50)] {
            let mut piece = round.clone();
            if piece.len() == 50 {
                piece.resize(64, 0);
                assert_eq!(pad(&mut piece, 50), 64);
            }
            let mut buffer = piece.repeat(sealings.len());
            encrypt_pieces(
                &mut buffer,
                sealings.iter().zip(&mut before).enumerate().map(|(index, (sealing, chain))| CbcPiece {
                    aes: sealing.stream.chain().unwrap().0,
                    chain,
                    body: index * piece.len()..(index + 1) * piece.len(),
                }),
            );
            for (stream, piece) in streams.iter_mut().zip(buffer.chunks(piece.len())) {
                stream.extend(piece);
            }
        }
        let text = [pattern(160), pattern(50)].concat();
        for (format, stream) in formats.iter().zip(streams) {
            assert!(open_known(format, b"", &stream, 1).unwrap() == text);
        }
    }
}
