//! Every committed seed through its target: whole, cut off after each byte, and with each byte changed.

use cipherloom_fuzz::TARGETS;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Of longer seeds, only so many bytes at the start and at the end are cut or changed.
const EDGE: usize = 600;

#[test]
fn no_seed_and_nothing_made_of_one_breaks_a_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    assert_eq!(
        fs::read_dir(&folder).unwrap().count(),
        TARGETS.len(),
        "a target has seeds, and seeds a target"
    );
    for (name, target) in TARGETS {
        let mut seeds = 0;
        for entry in fs::read_dir(folder.join(name)).unwrap() {
            let path = entry.unwrap().path();
            let seed = fs::read(&path).unwrap();
            let check = |input: &[u8], how: &str| {
                let ended = catch_unwind(AssertUnwindSafe(|| target(input)));
                assert!(ended.is_ok(), "{name}: {} {how}: a promise was broken, see above", path.display());
            };
            check(&seed, "as it is");
            let edges = (0..seed.len()).filter(|at| *at < EDGE || *at + EDGE >= seed.len());
            for at in edges {
                check(&seed[..at], &format!("cut off after {at} bytes"));
                let mut changed = seed.clone();
                changed[at] ^= 1 << (at % 8);
                check(&changed, &format!("with byte {at} changed"));
            }
            seeds += 1;
        }
        assert!(seeds > 0, "{name} has no seeds");
    }
}
