//! What belongs to age alone: which recipients can be combined, headers of any length, what each failure says, and re-keying.

mod support;

use cipherloom::age::{AgeFault, Identity, Recipient};
use cipherloom::key::{Keyset, Passphrase, Template};
use cipherloom::stream::{self, Decryptor};
use cipherloom::{Error, ErrorKind, Format, IfExists, machine::Backend};
use std::fs;
use std::io::{Cursor, Read, Seek, SeekFrom};
use support::pattern;

fn x25519() -> Identity {
    Identity::generate().unwrap()
}

fn hybrid() -> Identity {
    Identity::generate_post_quantum().unwrap()
}

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text.as_bytes()).unwrap()
}

fn quick(text: &str) -> Recipient {
    Recipient::from_passphrase(passphrase(text), Some(2)).unwrap()
}

fn seal(recipients: impl IntoIterator<Item = Recipient>, text: &[u8]) -> Vec<u8> {
    stream::encrypt_with_format(text, &Format::age_for(recipients).unwrap(), b"").unwrap()
}

fn open(sealed: &[u8], identity: &Identity) -> Result<Vec<u8>, Error> {
    let format = Format::age_from([identity.clone()])?;
    stream::decrypt_with_format(sealed, &format, b"").map(|plaintext| plaintext.to_vec())
}

#[test]
fn every_recipient_opens_and_nobody_else() {
    let (one, two, other) = (x25519(), x25519(), x25519());
    let sealed = seal([one.recipient(), two.recipient()], b"text");
    for identity in [&one, &two] {
        assert_eq!(open(&sealed, identity).unwrap(), b"text");
    }
    let refused = open(&sealed, &other).unwrap_err();
    assert_eq!(refused.to_string(), "no identity matches: the file is encrypted for 2 X25519");
    assert_eq!(refused.kind(), ErrorKind::Authentication);
    // Several identities are tried, in whatever order.
    let format = Format::age_from([hybrid(), other, two]).unwrap();
    assert_eq!(**stream::decrypt_with_format(&sealed, &format, b"").unwrap(), *b"text");
}

#[test]
fn who_cannot_stand_beside_each_other_is_refused_before_anything_is_written() {
    let said = |recipients: Vec<Recipient>| Format::age_for(recipients).unwrap_err().to_string();
    assert_eq!(said(vec![]), "no recipient is given");
    for others in [vec![x25519().recipient()], vec![quick("y")], vec![hybrid().recipient()]] {
        let mut recipients = vec![quick("x")];
        recipients.extend(others);
        let expected = "the recipients cannot be mixed: a passphrase has to be alone";
        assert_eq!(said(recipients.clone()), expected);
        recipients.reverse();
        assert_eq!(said(recipients), expected);
    }
    let said = said(vec![hybrid().recipient(), x25519().recipient()]);
    assert!(said.contains("quantum"), "{said}");
    let (one, two) = (hybrid(), hybrid());
    let sealed = seal([one.recipient(), two.recipient()], b"text");
    assert_eq!(open(&sealed, &two).unwrap(), b"text");
}

#[test]
fn each_failure_says_which_it_is() {
    let identity = x25519();
    let sealed = seal([identity.recipient()], b"text");
    let header = sealed.windows(4).position(|window| window == b"--- ").unwrap();
    let mut damaged = sealed.clone();
    // Another character of Base64.
    damaged[header + 10] = if damaged[header + 10] == b'A' { b'B' } else { b'A' };
    let fault = |error: Error| match error {
        Error::Age(fault) => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(open(&damaged, &identity).unwrap_err()), AgeFault::HeaderMac);
    assert_eq!(fault(Format::age_from([]).unwrap_err()), AgeFault::NoIdentity);
    let only_seals = Format::age_for([identity.recipient()]).unwrap();
    let refused = stream::decrypt_with_format(&sealed, &only_seals, b"").unwrap_err();
    assert_eq!(fault(refused), AgeFault::NoIdentity);

    let locked = seal([quick("right")], b"text");
    let with = |text: &str, limit| Identity::from_passphrase(passphrase(text), limit).unwrap();
    assert_eq!(open(&locked, &with("right", None)).unwrap(), b"text");
    assert_eq!(fault(open(&locked, &with("wrong", None)).unwrap_err()), AgeFault::WrongPassphrase);
    let refused = fault(open(&locked, &with("right", Some(1))).unwrap_err());
    assert_eq!(refused, AgeFault::WorkFactor { log_n: 2, limit: 1 });
    assert_eq!(fault(open(&locked, &identity).unwrap_err()), AgeFault::PassphraseNeeded);
    let refused = fault(open(&sealed, &with("right", None)).unwrap_err());
    assert_eq!(refused, AgeFault::NoMatch { types: "1 X25519".to_owned() });

    let refused = stream::encrypt_with_format(b"text", &only_seals, b"bound").unwrap_err();
    assert!(matches!(refused, Error::AssociatedDataUnsupported { format: "age" }), "{refused:?}");
}

/// 700 stanzas of X25519 are 68 KB: more than is read at first, and more than a chunk.
#[test]
fn a_header_may_be_longer_than_what_is_read_first() {
    let identity = x25519();
    let recipients: Vec<Recipient> =
        (0..700).map(|_| x25519().recipient()).chain([identity.recipient()]).collect();
    let text = pattern(300_000);
    let sealed = seal(recipients.clone(), &text);
    let format = Format::age_from([identity.clone()]).unwrap();
    assert!(open(&sealed, &identity).unwrap() == text);
    let mut read = Vec::new();
    let mut decryptor = Decryptor::with_format(Cursor::new(&sealed), &format, b"").unwrap();
    decryptor.read_to_end(&mut read).unwrap();
    assert!(read == text);
    // Places of the plaintext, and its length, are those of this header.
    assert_eq!(decryptor.seek(SeekFrom::End(-5)).unwrap(), 299_995);
    read.clear();
    decryptor.read_to_end(&mut read).unwrap();
    assert!(read == text[299_995..]);

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("plain"), &text).unwrap();
    let report = cipherloom::encrypt(path("plain"), path("sealed")).recipients(recipients).run().unwrap();
    assert_eq!(report.failed, 0);
    let report = cipherloom::decrypt(path("sealed"), path("opened")).identities([identity]).run().unwrap();
    assert_eq!((report.failed, report.output_bytes), (0, 300_000));
    assert!(fs::read(path("opened")).unwrap() == text);
}

#[test]
fn the_length_of_a_file_is_known_before() {
    for recipients in [
        vec![x25519().recipient()],
        vec![x25519().recipient(), x25519().recipient()],
        vec![hybrid().recipient()],
        vec![quick("x")],
    ] {
        let format = Format::age_for(recipients).unwrap();
        for len in [0, 1, 65_536, 65_537] {
            let sealed = stream::encrypt_with_format(&pattern(len), &format, b"").unwrap();
            assert_eq!(sealed.len() as u64, format.layout().ciphertext_len(len as u64), "{format:?}");
            assert!(format.may_make(sealed.len() as u64, len as u64));
        }
    }
}

#[test]
fn a_file_cut_at_a_chunk_s_border_leaves_nothing() {
    let identity = x25519();
    let text = pattern(3 * 65_536);
    let sealed = seal([identity.recipient()], &text);
    let header = sealed.len() - 3 * 65_552;
    let folder = tempfile::tempdir().unwrap();
    for chunks in 0..3 {
        let source = folder.path().join("cut.age");
        fs::write(&source, &sealed[..header + chunks * 65_552]).unwrap();
        let job = cipherloom::decrypt(&source, folder.path().join("cut")).identities([identity.clone()]);
        let report = job.run().unwrap();
        assert_eq!((report.failed, report.unauthentic), (1, 1), "{chunks} chunks");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{chunks} chunks");
        assert!(open(&sealed[..header + chunks * 65_552], &identity).is_err());
    }
}

/// From Tink to age in place; a second run, which has the identity too, finds everything done.
#[test]
fn a_tree_is_re_keyed_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, sealed) = (folder.path().join("plain"), folder.path().join("sealed"));
    fs::create_dir(&plain).unwrap();
    for len in [0, 1, 65_536, 200_000] {
        fs::write(plain.join(len.to_string()), pattern(len)).unwrap();
    }
    let keyset = Keyset::generate(Template::default()).unwrap();
    cipherloom::encrypt(&plain, &sealed).key(&keyset).run().unwrap();
    let identity = x25519();
    let age = Format::age([identity.recipient()], [identity.clone()]).unwrap();
    let tink = Format::tink(&keyset, Backend::best()).unwrap();
    let rekey = |from: &Format, to: &Format| {
        let job = cipherloom::rekey(&sealed, &sealed).format(from.clone()).new_format(to.clone());
        job.if_exists(IfExists::Overwrite).run().unwrap()
    };
    assert_eq!(rekey(&tink, &age).files, 4);
    let again = rekey(&tink, &age);
    assert_eq!((again.skipped, again.failed), (4, 0));
    let report = cipherloom::verify(&sealed).identities([identity]).run().unwrap();
    assert_eq!((report.files, report.failed), (4, 0));
    assert_eq!(rekey(&age, &tink).files, 4);
    assert_eq!(cipherloom::verify(&sealed).key(&keyset).run().unwrap().failed, 0);
}
