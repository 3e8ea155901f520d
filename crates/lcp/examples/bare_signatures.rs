//! What signatures alone cost: signs and verifies COUNT texts of a licence's length with THREADS threads, and nothing
//! else. The bench of licences is held against it.
//!
//! `bare_signatures CERTIFICATE PRIVATE-KEY COUNT THREADS`

use cipherloom_lcp::licence::Signer;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a usual canonical form.
const LENGTH: usize = 1200;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [certificate, key, count, threads] = arguments.as_slice() else {
        panic!("bare_signatures CERTIFICATE PRIVATE-KEY COUNT THREADS");
    };
    let read = |path: &String| std::fs::read(path).expect("a file that can be read");
    let signer = Signer::new(&read(certificate), &read(key)).expect("a certificate with its key");
    let count: usize = count.parse().expect("a count");
    let next = AtomicUsize::new(0);
    cipherloom::on_workers(threads.parse().expect("a number of threads"), &|| {
        let mut text = vec![b'x'; LENGTH];
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            text[..8].copy_from_slice(&number.to_le_bytes());
            signer.sign(&text).expect("a signature");
        }
    });
}
