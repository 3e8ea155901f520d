//! Bytes in memory on several threads.

use super::memory::{Opening, Sealing, Slice};
use super::*;
use crate::format::{Cipher, IvPolicy};
use crate::key::{RawKey, Template};
use crate::report::{Event, Observer};
use std::sync::atomic::{AtomicU64, Ordering};

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|position| (position % 251) as u8 ^ (position / 251) as u8).collect()
}

fn raw(cipher: Cipher) -> Format {
    Format::raw(cipher, &RawKey::from_bytes(&[3; 16]).unwrap(), IvPolicy::Prefixed, Backend::best()).unwrap()
}

fn formats() -> Vec<Format> {
    let templates = [Template::Aes256GcmHkdf1Mb, Template::Aes128CtrHmacSha256Of4Kb];
    let tink = templates.map(|template| tink(&Keyset::generate(template).unwrap()).unwrap());
    let cobblestone = Format::cobblestone(&RawKey::from_bytes(&[1; 32]).unwrap(), b"").unwrap();
    tink.into_iter().chain([cobblestone, raw(Cipher::Aes128Cbc), raw(Cipher::Aes128Ctr)]).collect()
}

/// Counts bytes, and stops the run after a given number.
struct Limit {
    bytes: AtomicU64,
    most: u64,
}

impl Observer for Limit {
    fn advanced(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
    fn entry_ended(&self) {}
    fn wants_every_event(&self) -> bool {
        false
    }
    fn ended(&self, _event: &Event<'_>) {}
    fn is_stopped(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.most
    }
}

fn no_limit() -> Limit {
    Limit { bytes: AtomicU64::new(0), most: u64::MAX }
}

fn sealed(format: &Format, text: &[u8], threads: usize, observer: &Limit) -> Result<Vec<u8>, Error> {
    let sealing = Sealing::begin(format, b"")?;
    let mut output = vec![0xee; sealing.ciphertext_len(text.len() as u64) as usize];
    sealing.seal(&Slice(text), &mut output, threads, observer).map(|()| output)
}

fn opened(format: &Format, sealed: &[u8], threads: usize, observer: &Limit) -> Result<Vec<u8>, Error> {
    let opening = Opening::begin(format, b"", &Slice(sealed))?;
    let mut output = vec![0xee; opening.plaintext_len() as usize];
    let len = opening.open(&Slice(sealed), &mut output, threads, observer)?;
    output.truncate(len);
    Ok(output)
}

#[test]
fn any_number_of_threads_makes_one_stream() {
    let text = pattern((3 << 20) + 77);
    for format in formats() {
        for len in [0, 1, 16, 1 << 20, text.len()] {
            for threads in [1, 3] {
                let observer = no_limit();
                let ciphertext = sealed(&format, &text[..len], threads, &observer).unwrap();
                assert_eq!(observer.bytes.into_inner(), len as u64, "{format:?}");
                let observer = no_limit();
                let plaintext = opened(&format, &ciphertext, threads, &observer).unwrap();
                assert!(plaintext == text[..len], "{format:?}, {len}, {threads} threads");
                let mut read = Vec::new();
                let decryptor = Decryptor::with_format(&ciphertext[..], &format, b"");
                decryptor.unwrap().read_to_end(&mut read).unwrap();
                assert!(read == text[..len], "{format:?}, {len}");
            }
        }
    }
}

#[test]
fn of_several_failures_the_first_is_told() {
    let text = pattern(5 << 20);
    for format in formats().iter().filter(|format| format.is_authenticated()) {
        let mut ciphertext = sealed(format, &text, 2, &no_limit()).unwrap();
        let layout = format.layout();
        for position in [1 << 20, 3 << 20, 4 << 20] {
            ciphertext[position] ^= 1;
        }
        let first = (0..).find(|index| layout.ciphertext_offset(index + 1) > 1 << 20).unwrap();
        for threads in [1, 4] {
            match opened(format, &ciphertext, threads, &no_limit()).unwrap_err() {
                Error::DamagedSegment { index, .. } => {
                    assert_eq!(index, first, "{format:?}")
                }
                error => panic!("{format:?}: {error}"),
            }
        }
        assert!(opened(format, &ciphertext[..2 << 20], 2, &no_limit()).unwrap_err().is_authentication());
    }
}

#[test]
fn it_stops_when_the_observer_says_so() {
    let text = pattern(5 << 20);
    let limit = || Limit { bytes: AtomicU64::new(0), most: 1 << 20 };
    for format in formats().iter().filter(|format| !format.is_chained()) {
        assert!(matches!(sealed(format, &text, 2, &limit()), Err(Error::Stopped)));
        let ciphertext = sealed(format, &text, 2, &no_limit()).unwrap();
        assert!(matches!(opened(format, &ciphertext, 2, &limit()), Err(Error::Stopped)));
    }
}
