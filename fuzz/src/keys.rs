//! Key files of all kinds.

use cipherloom::age::Identity;
use cipherloom::key::wrapped::{LockKind, Opener, is_wrapped, lock_kind, unwrap};
use cipherloom::key::{Keyset, Passphrase, RawKey};

/// Public; opens the seeds of `wrapped_keyset`.
const IDENTITY: &str = "AGE-SECRET-KEY-1RHCFXUSS8PDYENQJHL7XHEXTQ82KJ8U88DT3076WG2HTKKDEJ7NQSKFU0Z";

/// A keyset's JSON: what is accepted survives being written and read again.
pub fn keyset_json(json: &[u8]) {
    let Ok(keyset) = Keyset::parse(json) else { return };
    let again = Keyset::parse(keyset.to_json().as_bytes()).expect("a written keyset is a keyset");
    assert_eq!(again.primary_id(), keyset.primary_id());
    assert_eq!(again.keys().count(), keyset.keys().count());
}

/// Raw keys and passphrase files: any bytes give a key, a passphrase or an error.
pub fn raw_key(contents: &[u8]) {
    if let Ok(key) = RawKey::parse(contents) {
        assert!(matches!(key.len(), 16 | 24 | 32), "{} bytes", key.len());
    }
    let _ = Passphrase::from_file(contents);
}

/// A keyset wrapped in an age file: whatever the file is, unwrapping ends with a keyset or an error.
///
/// Files locked with a passphrase are only recognised, since scrypt takes seconds at the work factor that a file asks for.
pub fn wrapped_keyset(file: &[u8]) {
    let _ = is_wrapped(file);
    if matches!(lock_kind(file), Ok(LockKind::Recipients)) {
        let identity = Identity::parse(IDENTITY).expect("an identity");
        if let Ok(keyset) = unwrap(file, &Opener::Identities(&[identity])) {
            assert!(keyset.keys().any(|key| key.id == keyset.primary_id()));
        }
    }
}
