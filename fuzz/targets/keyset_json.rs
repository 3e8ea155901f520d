//! A keyset's JSON: nothing in it may panic, and what is accepted survives being written and read again.
#![no_main]

use cipherloom::key::Keyset;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|json: &[u8]| {
    let Ok(keyset) = Keyset::parse(json) else { return };
    let again = Keyset::parse(keyset.to_json().as_bytes()).expect("a written keyset is a keyset");
    assert_eq!(again.primary_id(), keyset.primary_id());
    assert_eq!(again.keys().count(), keyset.keys().count());
});
