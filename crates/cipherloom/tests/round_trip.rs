//! Every format with itself: what is sealed opens, at the edges of segments, and what was changed does not.

mod support;

use cipherloom::Error;
use cipherloom::age::Identity;
use cipherloom::format::{Cipher, Format, IvPolicy, Mode};
use cipherloom::key::{Keyset, Passphrase, RawKey, Template};
use cipherloom::stream::Encryptor;
use cipherloom_kernels::Backend;
use support::{open, pattern, seal};

fn tink(template: Template) -> Format {
    Format::tink(Keyset::generate(template).unwrap(), Backend::best()).unwrap()
}

fn cobblestone(key: &[u8], context: &[u8]) -> Format {
    Format::cobblestone(&RawKey::from_bytes(key).unwrap(), context).unwrap()
}

fn raw(cipher: Cipher, iv: IvPolicy) -> Format {
    let key = RawKey::from_bytes(&pattern(cipher.key_len())).unwrap();
    Format::raw(cipher, &key, iv, Backend::best()).unwrap()
}

fn openssl(cipher: Cipher, passphrase: &str) -> Format {
    Format::openssl(cipher, Passphrase::new(passphrase.as_bytes()).unwrap(), 10, Backend::best()).unwrap()
}

/// Every format, with lengths at the edges of its segments.
fn every_format() -> Vec<Format> {
    let mut formats: Vec<Format> = Template::ALL.into_iter().map(tink).collect();
    formats.push(cobblestone(&[1; 16], b""));
    formats.push(cobblestone(&[1; 32], b"a context"));
    formats.push(Format::age_from([Identity::generate().unwrap()]).unwrap());
    formats.push(Format::age_from([Identity::generate_post_quantum().unwrap()]).unwrap());
    for cipher in Cipher::ALL {
        formats.push(raw(cipher, IvPolicy::Prefixed));
        formats.push(raw(cipher, IvPolicy::Fixed([9; 16])));
        formats.push(openssl(cipher, "secret"));
    }
    formats
}

#[test]
fn what_is_sealed_opens() {
    let text = pattern(3_200_000);
    for format in every_format() {
        let layout = format.layout();
        let full = (layout.segment - layout.overhead) as usize;
        let first = full - layout.first_deficit as usize;
        let mut lengths = vec![0, 1, 15, 16, 17, first - 1, first, first + 1];
        lengths.extend([first + full, first + full + 1, first + 2 * full + 7]);
        for length in lengths {
            let plaintext = &text[..length];
            let ciphertext = seal(&format, b"", plaintext).unwrap();
            assert_eq!(ciphertext.len() as u64, layout.ciphertext_len(length as u64));
            assert!(open(&format, b"", &ciphertext).unwrap() == plaintext, "{format:?} {length}");
        }
    }
}

#[test]
fn no_two_streams_are_alike() {
    for format in every_format().iter().filter(|format| format.layout().header > 0) {
        let header = format.layout().header as usize;
        let (first, second) = (seal(format, b"", &[0; 64]).unwrap(), seal(format, b"", &[0; 64]).unwrap());
        assert_ne!(first[header - 8..header], second[header - 8..header], "{format:?}");
        assert_ne!(first[header..header + 64], second[header..header + 64], "{format:?}");
    }
}

#[test]
fn truncation_at_a_border_is_named() {
    let plaintext = pattern(20_000);
    for template in Template::ALL.into_iter().filter(|template| template.segment_size() == 4096) {
        let format = tink(template);
        let ciphertext = seal(&format, b"", &plaintext).unwrap();
        for segments in 1..5 {
            let error = open(&format, b"", &ciphertext[..4096 * segments]).unwrap_err();
            let index = segments as u64 - 1;
            assert!(
                matches!(error, Error::Truncated { index: found } if found == index),
                "{template}: {error:?}"
            );
        }
        let error = open(&format, b"", &ciphertext[..4096 + 10]).unwrap_err();
        assert!(matches!(error, Error::ImpossibleLength { length: 4106 }), "{error:?}");
    }
    let format = cobblestone(&[1; 32], b"");
    let ciphertext = seal(&format, b"", &plaintext).unwrap();
    let error = open(&format, b"", &ciphertext[..56 + 16_400]).unwrap_err();
    assert!(matches!(error, Error::ImpossibleLength { .. }), "{error:?}");
}

#[test]
fn damage_is_located() {
    for (format, offset) in [
        (tink(Template::Aes256GcmHkdf4Kb), 2 * 4096),
        (tink(Template::Aes256CtrHmacSha256Of4Kb), 2 * 4096),
        (cobblestone(&[1; 16], b""), 56 + 2 * 16_400),
    ] {
        let mut ciphertext = seal(&format, b"", &pattern(60_000)).unwrap();
        ciphertext[offset + 5] ^= 1;
        let error = open(&format, b"", &ciphertext).unwrap_err();
        assert!(
            matches!(error, Error::DamagedSegment { index: 2, offset: found } if found == offset as u64),
            "{error:?}"
        );
    }
    // With Cobblestone the key is known to be right, so the first segment's damage is damage.
    let format = cobblestone(&[1; 16], b"");
    let mut ciphertext = seal(&format, b"", b"text").unwrap();
    ciphertext[56] ^= 1;
    let error = open(&format, b"", &ciphertext).unwrap_err();
    assert!(matches!(error, Error::DamagedSegment { index: 0, offset: 56 }), "{error:?}");
}

#[test]
fn the_right_key_of_a_keyset_is_found() {
    let keysets: Vec<Keyset> = [
        Template::Aes256GcmHkdf4Kb,
        Template::Aes256GcmHkdf4Kb,
        Template::Aes256CtrHmacSha256Of4Kb,
        Template::Aes256GcmHkdf1Mb,
        Template::Aes128GcmHkdf4Kb,
    ]
    .into_iter()
    .map(|template| Keyset::generate(template).unwrap())
    .collect();
    let merged = Format::tink(merge(&keysets), Backend::best()).unwrap();
    assert_eq!(merged.largest_segment(), 1 << 20);
    assert_eq!(merged.layout().segment, 4096);
    for keyset in &keysets {
        let single = Format::tink(keyset, Backend::best()).unwrap();
        for length in [0, 1, 4040, 4041, 9000, 1_048_520, 1_048_521] {
            let plaintext = pattern(length);
            let ciphertext = seal(&single, b"", &plaintext).unwrap();
            assert!(open(&merged, b"", &ciphertext).unwrap() == plaintext, "{single:?} {length}");
        }
        // Cut behind the first segment, the right key still tells that more must follow.
        let ciphertext = seal(&single, b"", &pattern(1_048_576)).unwrap();
        let first = single.layout().segment as usize;
        let error = open(&merged, b"", &ciphertext[..first]).unwrap_err();
        assert!(matches!(error, Error::Truncated { index: 0 }), "{error:?}");
    }
    let stranger = tink(Template::Aes256GcmHkdf4Kb);
    let ciphertext = seal(&stranger, b"", b"text").unwrap();
    assert!(matches!(open(&merged, b"", &ciphertext), Err(Error::FirstSegment)));
    // A stream from a 32-byte key cannot be meant for a keyset of 16-byte keys.
    let short = tink(Template::Aes128GcmHkdf1Mb);
    assert!(matches!(open(&short, b"", &ciphertext), Err(Error::WrongKey { .. })));
}

/// All keys in one keyset, the first one's primary the primary.
fn merge(keysets: &[Keyset]) -> Keyset {
    let mut all: Vec<serde_json::Value> =
        keysets.iter().map(|keyset| serde_json::from_str(&keyset.to_json()).unwrap()).collect();
    let keys: Vec<_> = all.iter_mut().map(|keyset| keyset["key"][0].take()).collect();
    all[0]["key"] = keys.into();
    Keyset::parse(all[0].to_string().as_bytes()).unwrap()
}

#[test]
fn wrong_passphrases_and_keys_mostly_break_the_padding() {
    let right = openssl(Cipher::Aes256Cbc, "right");
    let wrong = openssl(Cipher::Aes256Cbc, "wrong");
    let mut refused = 0;
    for _ in 0..50 {
        let ciphertext = seal(&right, b"", b"some text").unwrap();
        match open(&wrong, b"", &ciphertext) {
            Err(Error::Padding) => refused += 1,
            Err(other) => panic!("{other:?}"),
            Ok(text) => assert_ne!(text, b"some text"),
        }
    }
    assert!(refused > 25, "a random last byte is valid padding once in 256");
}

#[test]
fn other_files_are_refused_by_their_first_bytes() {
    let error = open(&tink(Template::default()), b"", b"%PDF-1.7").unwrap_err();
    assert!(matches!(error, Error::NotThisFormat { format: "tink", .. }), "{error:?}");
    let error = open(&tink(Template::default()), b"", b"").unwrap_err();
    assert!(matches!(error, Error::HeaderTruncated { found: 0, .. }), "{error:?}");
    let error = open(&openssl(Cipher::Aes128Cbc, "x"), b"", b"%PDF-1.7").unwrap_err();
    assert!(matches!(error, Error::NotThisFormat { format: "openssl", .. }), "{error:?}");
    let error = open(&openssl(Cipher::Aes128Cbc, "x"), b"", b"Salted__123").unwrap_err();
    assert!(matches!(error, Error::HeaderTruncated { needed: 16, found: 11, .. }), "{error:?}");
    let error = open(&raw(Cipher::Aes128Ctr, IvPolicy::Prefixed), b"", &[0; 15]).unwrap_err();
    assert!(matches!(error, Error::HeaderTruncated { needed: 16, found: 15, .. }), "{error:?}");
    let error = open(&cobblestone(&[1; 16], b""), b"", &[0; 55]).unwrap_err();
    assert!(matches!(error, Error::HeaderTruncated { needed: 56, found: 55, .. }), "{error:?}");
    let error = open(&cobblestone(&[1; 16], b""), b"", &[0; 56]).unwrap_err();
    assert!(matches!(error, Error::WrongKey { .. }), "{error:?}");
}

#[test]
fn unsuitable_keys_and_settings_are_refused() {
    let key = |length| RawKey::from_bytes(&vec![1; length]).unwrap();
    assert!(matches!(Format::cobblestone(&key(24), b""), Err(Error::KeyLength { found: 24, .. })));
    for cipher in Cipher::ALL {
        for length in [16, 24, 32] {
            let result = Format::raw(cipher, &key(length), IvPolicy::Prefixed, Backend::best());
            assert_eq!(result.is_ok(), length == cipher.key_len());
        }
    }
    let passphrase = Passphrase::new(b"x").unwrap();
    let result = Format::openssl(Cipher::Aes128Cbc, passphrase, 0, Backend::best());
    assert!(matches!(result, Err(Error::NoIterations)));
    if let Some(missing) = Backend::ALL.into_iter().find(|backend| !backend.is_available()) {
        let result = Format::raw(Cipher::Aes128Cbc, &key(16), IvPolicy::Prefixed, missing);
        assert!(matches!(result, Err(Error::BackendUnavailable { name }) if name == missing.name()));
        let keyset = Keyset::generate(Template::Aes128CtrHmacSha256Of1Mb).unwrap();
        assert!(matches!(Format::tink(keyset, missing), Err(Error::BackendUnavailable { .. })));
        // AES-GCM does not need it.
        assert!(Format::tink(Keyset::generate(Template::default()).unwrap(), missing).is_ok());
    }
}

#[test]
fn associated_data_is_refused_where_nothing_could_bind_it() {
    for format in every_format() {
        let refused = seal(&format, b"path", b"text").err();
        match format.binds_associated_data() {
            true => assert!(refused.is_none(), "{refused:?}"),
            false => assert!(matches!(refused, Some(Error::AssociatedDataUnsupported { .. }))),
        }
    }
}

#[test]
fn only_cbc_is_a_chain() {
    for cipher in Cipher::ALL {
        let is_chained = raw(cipher, IvPolicy::Fixed([0; 16])).is_chained();
        assert_eq!(is_chained, cipher.mode() == Mode::Cbc);
    }
}

#[test]
fn debug_shows_no_secret() {
    let secret = "pattern-of-a-secret";
    let shown = format!("{:?}", openssl(Cipher::Aes128Ctr, secret));
    assert!(shown.contains("openssl") && !shown.contains(secret));
    let format = cobblestone(&[0xab; 16], b"");
    let stream = Encryptor::with_format(Vec::new(), &format, b"").unwrap();
    assert!(!format!("{format:?} {stream:?}").contains("171"));
}

#[test]
fn every_backend_gives_the_same_bytes() {
    let plaintext = pattern(3_000_000);
    for cipher in Cipher::ALL {
        let key = RawKey::from_bytes(&pattern(cipher.key_len())).unwrap();
        let sealed: Vec<Vec<u8>> = Backend::ALL
            .into_iter()
            .filter(|backend| backend.is_available())
            .map(|backend| {
                let format = Format::raw(cipher, &key, IvPolicy::Fixed([0xff; 16]), backend).unwrap();
                let ciphertext = seal(&format, b"", &plaintext).unwrap();
                assert!(open(&format, b"", &ciphertext).unwrap() == plaintext);
                ciphertext
            })
            .collect();
        assert!(sealed.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
