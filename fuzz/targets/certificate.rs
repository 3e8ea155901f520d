//! A certificate and a file of roots: nothing in them may panic.
#![no_main]

use cipherloom_lcp::licence::{Certificate, Moment, Roots, Signer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|contents: &[u8]| {
    let _ = Signer::new(contents, contents);
    let Ok(certificate) = Certificate::from_file(contents) else { return };
    let roots = Roots::from_file(contents).expect("a certificate is a root");
    roots.confirm(&certificate, Moment::now()).expect("a root confirms itself");
});
