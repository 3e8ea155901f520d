//! What signatures alone cost: signs and verifies COUNT texts of a license's length with THREADS threads, and nothing
//! else. The bench of licenses is held against it.
//!
//! `bare_signatures CERTIFICATE PRIVATE-KEY COUNT THREADS`

use cipherloom::internal::engine::Workers;
use cipherloom::report::Unobserved;
use cipherloom_lcp::license::Signer;

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
    let workers = Workers::new(threads.parse().expect("a number of threads"), &Unobserved);
    let all_ended = workers.run_each(
        count,
        || vec![b'x'; LENGTH],
        |number, text| {
            text[..8].copy_from_slice(&number.to_le_bytes());
            signer.sign(text).expect("a signature");
        },
    );
    all_ended.expect("signatures");
}
