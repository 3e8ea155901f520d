//! Formats of every kind, lengths around their segments' edges, and streams that were changed.

use super::pattern;
use cipherloom::age::Identity;
use cipherloom::format::{Cipher, IvPolicy};
use cipherloom::key::{Keyset, Passphrase, RawKey, Template};
use cipherloom::{Format, machine::Backend};

/// Tink's, with a new key.
pub(crate) fn tink(template: Template) -> Format {
    Format::tink(Keyset::generate(template).unwrap(), Backend::best()).unwrap()
}

/// A cipher alone.
pub(crate) fn raw(cipher: Cipher, iv: IvPolicy) -> Format {
    let key = RawKey::from_bytes(&pattern(cipher.key_len())).unwrap();
    Format::raw(cipher, &key, iv, Backend::best()).unwrap()
}

/// That of `openssl enc`, with so few iterations that it is quick.
pub(crate) fn openssl(cipher: Cipher) -> Format {
    Format::openssl(cipher, Passphrase::new(b"secret").unwrap(), 3, Backend::best()).unwrap()
}

/// Age, for a new identity.
pub(crate) fn age() -> Format {
    Format::age_from([Identity::generate().unwrap()]).unwrap()
}

/// Cobblestone-256.
pub(crate) fn cobblestone() -> Format {
    Format::cobblestone(&RawKey::from_bytes(&pattern(32)).unwrap(), b"context").unwrap()
}

/// Every kind of stream: both segment sizes, both protections, each bare mode with and without a header.
pub(crate) fn formats() -> Vec<Format> {
    let templates = [
        Template::Aes256GcmHkdf1Mb,
        Template::Aes128GcmHkdf4Kb,
        Template::Aes128CtrHmacSha256Of1Mb,
        Template::Aes256CtrHmacSha256Of4Kb,
    ];
    let mut formats: Vec<Format> = templates.into_iter().map(tink).collect();
    formats.push(cobblestone());
    formats.push(age());
    for cipher in [Cipher::Aes128Cbc, Cipher::Aes256Ctr] {
        formats.push(raw(cipher, IvPolicy::Prefixed));
        formats.push(raw(cipher, IvPolicy::Fixed([5; 16])));
        formats.push(openssl(cipher));
    }
    formats
}

/// Whether segments are so large that every case more is felt.
pub(crate) fn is_large(format: &Format) -> bool {
    format.layout().segment > 1 << 16
}

/// The plaintext lengths that fill one, two and three segments.
pub(crate) fn edges(format: &Format) -> [usize; 3] {
    let layout = format.layout();
    let full = (layout.segment - layout.overhead) as usize;
    let first = full - layout.first_deficit as usize;
    [first, first + full, first + 2 * full]
}

/// Plaintext lengths around the edges of a format's segments.
pub(crate) fn lengths(format: &Format) -> Vec<usize> {
    let [one, two, three] = edges(format);
    if is_large(format) {
        return vec![0, 17, one - 1, one, one + 1, two + 1];
    }
    let around = [one, two, three].into_iter().flat_map(|edge| [edge - 1, edge, edge + 1]);
    [0, 1, 15, 16, 17].into_iter().chain(around).collect()
}

/// Fewer of them, still with one, two and three segments, the last of them full or nearly empty.
pub(crate) fn few_lengths(format: &Format) -> Vec<usize> {
    let [one, two, _] = edges(format);
    if is_large(format) { vec![17, one + 1] } else { vec![0, 17, one, one + 1, two, two + 1] }
}

/// Associated data, where the format can bind it.
pub(crate) fn associated_data(format: &Format) -> &'static [u8] {
    if format.binds_associated_data() { b"bound" } else { b"" }
}

/// Two formats with small segments. The walker's own tests have all.
pub(crate) fn two_formats() -> [Format; 2] {
    [tink(Template::Aes128GcmHkdf4Kb), cobblestone()]
}

/// A few ways to change a stream: cut at a border and elsewhere, longer, damaged.
pub(crate) fn changed(format: &Format, sealed: &[u8]) -> Vec<Vec<u8>> {
    let mut changed: Vec<Vec<u8>> = vec![[sealed, b"\0"].concat(), [sealed, sealed].concat()];
    let header = format.layout().header as usize;
    for cut in [0, header, format.layout().ciphertext_offset(2) as usize, sealed.len() - 1] {
        changed.push(sealed[..cut].to_vec());
    }
    changed.push(sealed.to_vec());
    changed.last_mut().unwrap()[sealed.len() - 1] ^= 4;
    changed
}
