//! A licence: nothing in it may panic; its canonical form is its own canonical form, and means what it means.
#![no_main]

use cipherloom_lcp::licence::{Licence, Moment, UserKey, canonical};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Ok(text) = std::str::from_utf8(text)
        && let Ok(form) = canonical(text)
    {
        let form = String::from_utf8(form).expect("a canonical form is text");
        assert_eq!(canonical(&form).as_deref(), Ok(form.as_bytes()));
    }
    let Ok(licence) = Licence::parse(text) else { return };
    let again = Licence::parse(licence.text().as_bytes()).expect("what was read can be read");
    assert_eq!(again.canonical(), licence.canonical());
    let _ = licence.check_completeness();
    let _ = licence.check_signature();
    let _ = licence.check_rights(Moment::now());
    let key = UserKey::basic("passphrase");
    let _ = key.content_key(licence.document());
    let _ = key.user_fields(licence.document());
});
