//! Wrapping and unwrapping, and each way in which unwrapping fails.

use super::*;
use crate::age::{NoPrompt, Prompt};
use crate::key::Template;
use ::age::secrecy::ExposeSecret;
use std::io::Write as _;
use std::sync::Arc;

/// Low, so that the tests are quick; the shipped factor is tested once.
const QUICK: u8 = 2;

fn keyset() -> Keyset {
    Keyset::generate(Template::default()).unwrap()
}

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text.as_bytes()).unwrap()
}

/// A new identity, read from its file, and its recipient.
fn identity() -> (Vec<Identity>, String) {
    let identity = ::age::x25519::Identity::generate();
    let text = format!("# created: today\n\n{}\r\n", identity.to_string().expose_secret());
    (read_identities(text.as_bytes()).unwrap(), identity.to_public().to_string())
}

fn read_identities(file: &[u8]) -> Result<Vec<Identity>, Error> {
    let prompt: Arc<dyn Prompt> = Arc::new(NoPrompt);
    Identity::parse_file(file, &prompt)
}

fn armored(file: &[u8]) -> Vec<u8> {
    let mut writer =
        ::age::armor::ArmoredWriter::wrap_output(Vec::new(), ::age::armor::Format::AsciiArmor).unwrap();
    writer.write_all(file).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_passphrase_opens_what_it_locked() {
    let (keyset, secret) = (keyset(), passphrase("correct horse"));
    let file = wrap_with_work(&keyset, &Lock::Passphrase(&secret), QUICK).unwrap();
    assert!(is_wrapped(&file) && !is_wrapped(keyset.to_json().as_bytes()));
    assert_eq!(lock_kind(&file).unwrap(), LockKind::Passphrase);
    for file in [&file, &armored(&file)] {
        assert!(is_wrapped(file));
        let opened = unwrap(file, &Opener::Passphrase(&secret)).unwrap();
        assert_eq!(opened.to_json(), keyset.to_json());
    }
    let wrong = passphrase("correct hors");
    assert!(matches!(unwrap(&file, &Opener::Passphrase(&wrong)), Err(Error::WrongPassphrase)));
    let (identity, _) = identity();
    assert!(matches!(unwrap(&file, &Opener::Identities(&identity)), Err(Error::PassphraseNeeded)));
}

#[test]
fn any_recipient_opens_and_nobody_else() {
    let keyset = keyset();
    let ((first, first_name), (second, second_name), (other, _)) = (identity(), identity(), identity());
    let file = wrap(&keyset, &Lock::Recipients(&[first_name, second_name])).unwrap();
    assert_eq!(lock_kind(&file).unwrap(), LockKind::Recipients);
    let both = [other.clone(), second.clone()].concat();
    for identities in [first, second, both] {
        assert_eq!(unwrap(&file, &Opener::Identities(&identities)).unwrap().to_json(), keyset.to_json());
    }
    assert!(matches!(unwrap(&file, &Opener::Identities(&other)), Err(Error::NoMatchingIdentity)));
    let secret = passphrase("x");
    assert!(matches!(unwrap(&file, &Opener::Passphrase(&secret)), Err(Error::IdentityNeeded)));
}

#[test]
fn the_shipped_work_factor_is_accepted_and_larger_ones_are_not() {
    let secret = passphrase("x");
    let file = wrap(&keyset(), &Lock::Passphrase(&secret)).unwrap();
    let position = String::from_utf8_lossy(&file).find(" 18\n").unwrap();
    unwrap(&file, &Opener::Passphrase(&secret)).unwrap();
    // The header's authentication comes only after the work, so that the limit must hold before it.
    let mut costly = file.clone();
    costly[position + 1..position + 3].copy_from_slice(b"23");
    assert!(matches!(
        unwrap(&costly, &Opener::Passphrase(&secret)),
        Err(Error::WrappedWork { log_n: 23, limit: 22 })
    ));
}

#[test]
fn damage_is_told_from_a_wrong_secret() {
    let (text, name) = identity();
    let whole = wrap(&keyset(), &Lock::Recipients(&[name])).unwrap();
    let damaged = |file: &[u8]| {
        let error = unwrap(file, &Opener::Identities(&text)).unwrap_err();
        assert!(matches!(error, Error::WrappedDamaged { .. } | Error::NoMatchingIdentity), "{error:?}");
        matches!(error, Error::WrappedDamaged { .. })
    };
    for length in 0..whole.len() {
        assert!(damaged(&whole[..length]), "cut to {length}");
    }
    let stanza = whole.windows(4).position(|window| window == b"\n---").unwrap();
    for position in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[position] ^= 1;
        // A recipient's own lines may be damaged so that they look like another's; all else is plainly damage.
        assert!(damaged(&flipped) || position < stanza, "flipped {position}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    assert!(damaged(&longer));
}

#[test]
fn refuses_bad_recipients_and_identities() {
    let (_, name) = identity();
    let lock = [name, "age1nonsense".to_owned()];
    assert!(matches!(wrap(&keyset(), &Lock::Recipients(&lock)), Err(Error::Recipient { position: 2, .. })));
    assert!(matches!(wrap(&keyset(), &Lock::Recipients(&[])), Err(Error::WrapSecretMissing)));
    let file = wrap(&keyset(), &Lock::Recipients(&lock[..1])).unwrap();
    let refused = read_identities(b"# comment\nssh-ed25519 AAAA\n");
    assert!(matches!(refused, Err(Error::Age(AgeFault::Line { line: 2, .. }))), "{refused:?}");
    let refused = read_identities(b"# only a comment\n");
    assert!(matches!(refused, Err(Error::Age(AgeFault::Empty { .. }))), "{refused:?}");
    // As `age-keygen | age -p` makes one.
    for locked in [file.clone(), armored(&file)] {
        let refused = read_identities(&locked);
        assert!(matches!(refused, Err(Error::Age(AgeFault::IdentityLocked))), "{refused:?}");
    }
    let latin = Passphrase::new(b"caf\xe9").unwrap();
    assert!(matches!(wrap(&keyset(), &Lock::Passphrase(&latin)), Err(Error::PassphraseUnfit { .. })));
}

#[test]
fn debug_shows_no_secret() {
    let (identities, _) = identity();
    assert_eq!(format!("{:?}", Opener::Identities(&identities)), "Identities([Identity(X25519)])");
}
