//! Raw keys and passphrase files: any bytes give a key, a passphrase or an error.
#![no_main]

use cipherloom::key::{Passphrase, RawKey};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|contents: &[u8]| {
    if let Ok(key) = RawKey::parse(contents) {
        assert!(matches!(key.len(), 16 | 24 | 32), "{} bytes", key.len());
    }
    let _ = Passphrase::from_file(contents);
});
