//! What a file may be, told from its first bytes and its length: any of both gives a list, never a panic.
#![no_main]

use cipherloom::format::recognise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // The length is the input's own, or one that its last bytes claim.
    let _ = recognise(input, input.len() as u64);
    if let Some((head, claim)) = input.split_last_chunk::<8>() {
        let claimed = u64::from_le_bytes(*claim);
        let _ = recognise(head, claimed.max(head.len() as u64));
    }
});
