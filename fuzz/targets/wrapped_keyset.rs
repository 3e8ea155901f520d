//! A keyset wrapped in an age file: whatever the file is, unwrapping ends with a keyset or an error.
//!
//! The identity below is public and opens the seeds. Files locked with a passphrase are only recognised, since scrypt
//! takes seconds at the work factor that a file asks for.
#![no_main]

use cipherloom::key::wrapped::{IdentityText, LockKind, Opener, is_wrapped, lock_kind, unwrap};
use libfuzzer_sys::fuzz_target;

const IDENTITY: &str = "AGE-SECRET-KEY-1RHCFXUSS8PDYENQJHL7XHEXTQ82KJ8U88DT3076WG2HTKKDEJ7NQSKFU0Z";

fuzz_target!(|file: &[u8]| {
    let _ = is_wrapped(file);
    if matches!(lock_kind(file), Ok(LockKind::Recipients)) {
        let identity = IdentityText::new(IDENTITY.into());
        if let Ok(keyset) = unwrap(file, &Opener::IdentityFile(&identity)) {
            assert!(keyset.keys().any(|key| key.id == keyset.primary_id()));
        }
    }
});
