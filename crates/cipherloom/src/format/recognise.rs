//! What can be told of a file without a key, from its first bytes and its length.
//!
//! Only age, openssl and keysets mark their files. A Tink stream begins with its header's length, 24 or 40, which one
//! random file in 128 does too; Cobblestone and raw streams look like random bytes, which other files seldom do. So each
//! finding says how sure it is.

use super::{LastSegment, Layout};
use super::{age, cobblestone, openssl};
use crate::Error;
use crate::key::{Template, wrapped};

/// How many first bytes [`recognise`] looks at; more are ignored.
pub const RECOGNISE_LEN: usize = 4096;

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The file says so itself.
    Certain,
    /// Nothing speaks against it.
    Possible,
}

/// One thing that the file may be.
///
/// ```
/// use cipherloom::format::{Certainty, Finding, RECOGNISE_LEN, Recognised, recognise};
/// use cipherloom::key::{Keyset, Template};
/// use cipherloom::stream;
///
/// let keyset = Keyset::generate(Template::default())?;
/// let sealed = stream::encrypt(&[7; 100_000], &keyset, b"")?;
/// let findings = recognise(&sealed[..RECOGNISE_LEN], sealed.len() as u64);
/// let is_tink = |finding: &Finding| matches!(finding.what, Recognised::Tink { .. });
/// let tink = findings.iter().find(|finding| is_tink(finding)).expect("its first byte says so");
/// assert_eq!(tink.certainty, Certainty::Possible);
/// # Ok::<(), cipherloom::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How sure it is.
    pub certainty: Certainty,
    /// What it may be.
    pub what: Recognised,
}

/// What a file may be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recognised {
    /// An age file: a wrapped keyset, or anything else.
    Age {
        /// True for the form in letters.
        armored: bool,
        /// What opens it, if the header is whole within the first bytes.
        lock: Option<wrapped::LockKind>,
        /// The types of its recipients, in the header's order; under the same condition.
        recipients: Vec<String>,
        /// Bytes of plaintext, of a binary file under the same condition.
        plaintext_len: Option<u64>,
    },
    /// A keyset in the clear.
    Keyset,
    /// A stream of `openssl enc`.
    OpenSsl {
        /// PBKDF2's salt.
        salt: [u8; 8],
        /// Bytes behind the header; for CBC a multiple of 16.
        body_len: u64,
    },
    /// A Tink stream.
    Tink {
        /// Bytes of the derived AES key.
        derived_key_size: u32,
        /// HKDF's salt, as long as the derived key.
        salt: Vec<u8>,
        /// The part of the nonces that is fixed.
        nonce_prefix: [u8; 7],
        /// The templates that could have made it, with the plaintext's length in bytes.
        templates: Vec<(Template, u64)>,
    },
    /// A Cobblestone stream.
    Cobblestone {
        /// HKDF's salt.
        salt: [u8; 24],
        /// Bytes of plaintext.
        plaintext_len: u64,
    },
}

/// What a file with these first bytes and this length may be, the surest first. An empty list: none of our formats has
/// a file of this shape, except raw, which has no shape.
#[must_use]
pub fn recognise(head: &[u8], length: u64) -> Vec<Finding> {
    let head = &head[..head.len().min(RECOGNISE_LEN)];
    if let Some(what) = marked(head, length) {
        return vec![Finding { certainty: Certainty::Certain, what }];
    }
    [tink(head, length), cobblestone(head, length)]
        .into_iter()
        .flatten()
        .map(|what| Finding { certainty: Certainty::Possible, what })
        .collect()
}

/// How many first bytes [`refuse_marked`] looks at: a raw stream's header.
pub(super) const MARK_LEN: usize = 16;

/// Refuses a stream of a format without a mark that begins with another one's. By chance one in 2^64 does.
pub(super) fn refuse_marked(format: &'static str, head: &[u8]) -> Result<(), Error> {
    let marks: [(&[u8], &str); 3] = [
        (openssl::MAGIC, "it begins as a stream of `openssl enc` does, which --format openssl opens"),
        (b"age-encryption.o", "it begins as an age file does, which --format age opens"),
        (b"-----BEGIN AGE E", "it begins as an age file does, which --format age opens"),
    ];
    match marks.iter().find(|(mark, _)| head.starts_with(mark)) {
        Some((_, problem)) => Err(Error::NotThisFormat { format, problem }),
        None => Ok(()),
    }
}

fn marked(head: &[u8], length: u64) -> Option<Recognised> {
    if wrapped::is_wrapped(head) {
        let armored = !head.starts_with(b"age-");
        let (recipients, plaintext_len) = age::describe(head, length);
        let plaintext_len = plaintext_len.filter(|_| !armored);
        return Some(Recognised::Age {
            armored,
            lock: wrapped::lock_kind(head).ok(),
            recipients,
            plaintext_len,
        });
    }
    if let Some((salt, _)) = head.strip_prefix(openssl::MAGIC).and_then(<[u8]>::split_first_chunk) {
        return Some(Recognised::OpenSsl {
            salt: *salt,
            body_len: length.saturating_sub(openssl::HEADER as u64),
        });
    }
    let is_keyset = head.trim_ascii_start().starts_with(b"{")
        && ["\"primaryKeyId\"", "\"primary_key_id\"", "\"encryptedKeyset\""]
            .iter()
            .any(|name| head.windows(name.len()).any(|window| window == name.as_bytes()));
    is_keyset.then_some(Recognised::Keyset)
}

fn tink(head: &[u8], length: u64) -> Option<Recognised> {
    let (&header_len, rest) = head.split_first()?;
    let derived_key_size = match header_len {
        24 => 16,
        40 => 32,
        _ => return None,
    };
    if !looks_random(rest) {
        return None;
    }
    let (salt, rest) = rest.split_at_checked(derived_key_size as usize)?;
    let nonce_prefix = *rest.first_chunk()?;
    let templates: Vec<_> = Template::ALL
        .into_iter()
        .filter(|template| template.derived_key_size() == derived_key_size)
        .filter_map(|template| Some((template, template_layout(template).plaintext_len(length).ok()?)))
        .collect();
    let salt = salt.to_vec();
    Some(Recognised::Tink { derived_key_size, salt, nonce_prefix, templates })
}

fn template_layout(template: Template) -> Layout {
    let header = 1 + template.derived_key_size() + 7;
    Layout {
        header,
        segment: template.segment_size(),
        overhead: template.protection().tag_size(),
        first_deficit: header,
        last: LastSegment::MayBeFull,
    }
}

fn cobblestone(head: &[u8], length: u64) -> Option<Recognised> {
    let salt = *head.first_chunk()?;
    let plaintext_len = cobblestone::LAYOUT.plaintext_len(length).ok()?;
    looks_random(head).then_some(Recognised::Cobblestone { salt, plaintext_len })
}

/// Whether bytes may be a ciphertext's, as text and most other files' are not: they are no UTF-8, both halves of the
/// values occur, and none of the 256 far too often. Random bytes, 40 or more, fail with a chance below 2^-30.
fn looks_random(bytes: &[u8]) -> bool {
    // What is cut off in the midst of a character is text still.
    if std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true) {
        return false;
    }
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let expected = bytes.len() as f64 / 256.0;
    let most = expected + 8.0 * expected.sqrt() + 8.0;
    let high: u32 = counts[128..].iter().sum();
    (high > 0 && (high as usize) < bytes.len()) && counts.iter().all(|count| f64::from(*count) <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Keyset, Passphrase};

    fn only(head: &[u8], length: u64) -> Recognised {
        let findings = recognise(head, length);
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings[0].what.clone()
    }

    #[test]
    fn marked_files_are_certain() {
        assert_eq!(
            recognise(b"Salted__01234567rest", 48),
            [Finding {
                certainty: Certainty::Certain,
                what: Recognised::OpenSsl { salt: *b"01234567", body_len: 32 }
            }]
        );
        let keyset = Keyset::generate(Template::default()).unwrap();
        assert_eq!(only(keyset.to_json().as_bytes(), 300), Recognised::Keyset);
        let secret = Passphrase::new(b"x").unwrap();
        let file = wrapped::wrap(&keyset, &wrapped::Lock::Passphrase(&secret)).unwrap();
        let lock = Some(wrapped::LockKind::Passphrase);
        let (recipients, plaintext_len) = (vec!["scrypt".to_owned()], Some(keyset.to_json().len() as u64));
        let whole = Recognised::Age { armored: false, lock, recipients, plaintext_len };
        assert_eq!(only(&file, file.len() as u64), whole);
        let armored = b"-----BEGIN AGE ENCRYPTED FILE-----\nYWdl";
        let (recipients, plaintext_len) = (Vec::new(), None);
        let cut = Recognised::Age { armored: true, lock: None, recipients, plaintext_len };
        assert_eq!(only(armored, 500), cut);
    }

    #[test]
    fn a_tink_header_is_possible_and_lists_templates() {
        let mut head: Vec<u8> = (0..41).map(|at: u8| at.wrapping_mul(101)).collect();
        head[0] = 40;
        let findings = recognise(&head, 40 + 16 + 100);
        assert!(findings.iter().all(|finding| finding.certainty == Certainty::Possible));
        let Recognised::Tink { derived_key_size: 32, salt, nonce_prefix, templates } = &findings[0].what
        else {
            panic!("{findings:?}")
        };
        assert_eq!((salt.as_slice(), nonce_prefix.as_slice()), (&head[1..33], &head[33..40]));
        assert!(templates.contains(&(Template::Aes256GcmHkdf1Mb, 100)));
        assert!(templates.contains(&(Template::Aes256CtrHmacSha256Of4Kb, 84)));
        assert!(templates.iter().all(|(template, _)| template.name().contains("AES256")));
        // One full 4 KiB segment and a bare tag: possible with 1 MiB segments only.
        let findings = recognise(&head, 4096 + 16);
        let Recognised::Tink { templates, .. } = &findings[0].what else { panic!("{findings:?}") };
        assert!(templates.iter().all(|(template, _)| template.name() != "AES256_GCM_HKDF_4KB"));
        assert!(templates.contains(&(Template::Aes256GcmHkdf1Mb, 4056)));
    }

    #[test]
    fn a_possible_cobblestone_length_is_told() {
        let head: [u8; 77] = std::array::from_fn(|at| (at as u8).wrapping_mul(37));
        let salt = *head.first_chunk().unwrap();
        assert_eq!(only(&head, 56 + 16 + 5), Recognised::Cobblestone { salt, plaintext_len: 5 });
        assert_eq!(recognise(&head, 56 + 16_400), []);
        assert_eq!(recognise(b"", 0), []);
        assert_eq!(recognise(b"hello", 5), []);
    }

    #[test]
    fn text_and_sparse_files_are_no_cobblestone_streams() {
        let text = "Call me Ishmael. Some years ago, never mind how long precisely. ".repeat(64);
        assert_eq!(recognise(text.as_bytes(), text.len() as u64), []);
        let sparse: Vec<u8> = (0..4096_u32).map(|at| if at % 8 == 0 { 0xc3 ^ at as u8 } else { 0 }).collect();
        assert_eq!(recognise(&sparse, 4096), []);
    }

    #[test]
    fn random_bytes_of_any_length_look_so() {
        for length in 72..600 {
            let mut bytes = vec![0; length];
            getrandom::fill(&mut bytes).unwrap();
            assert!(looks_random(&bytes), "{bytes:?}");
        }
    }

    #[test]
    fn any_first_bytes_are_survived() {
        for first in 0..=255 {
            for length in 0..70 {
                let head = vec![first; length];
                let _ = recognise(&head, length as u64);
                let _ = recognise(&head, 1 << 40);
            }
        }
        let _ = recognise(b"Salted__01234567", 16);
    }
}
