//! The targets under libFuzzer: the variable `CIPHERLOOM_FUZZ_TARGET` says which one (`cargo xtask fuzz` sets it).
#![no_main]

use cipherloom_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let wanted = std::env::var("CIPHERLOOM_FUZZ_TARGET").expect("CIPHERLOOM_FUZZ_TARGET names a target");
    let target = TARGETS.iter().find(|(name, _)| *name == wanted);
    target.unwrap_or_else(|| panic!("there is no target `{wanted}`")).1
});

fuzz_target!(|input: &[u8]| TARGET(input));
