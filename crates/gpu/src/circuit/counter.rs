//! The counters of CTR (SP 800-38A, section 6.5), and the first round, most of which is the same for all of them.
//!
//! The 2^24 counters of a *stretch* have their first 13 bytes in common. [`crate::keys::of_counters`] computes their contribution
//! to the first round once, and the device gets it as a part of that round's key. The kernel computes the round for bytes 13, 14
//! and 15 only. This saves 13 of the 160 substitutions of AES-128, and most of a MixColumns.
//!
//! The idea is from Bernstein and Schwabe, "New AES software speed records", 2008. The second round could save a column too, but
//! its code for the other columns would make a kernel longer by a half, to save another 2%.

use super::{STATE, Step, Wire, linear};
use std::ops::Range;

/// Counters that differ in their last three bytes alone. No launch of a kernel goes over a multiple of it.
pub const STRETCH_BLOCKS: u128 = 1 << 24;

/// Bytes of a counter that are the same for a whole stretch.
pub(crate) const COMMON: Range<Wire> = 0..13;

/// The counters of a thread's blocks, and the first round. The lowest bits are the thread's number. The five bits from
/// `lane_shift` on are the lane's number, which gives five constants.
pub(super) fn first_round(lane_shift: u32) -> Vec<Step> {
    const LANE_BITS: [u32; 5] = [0xaaaa_aaaa, 0xcccc_cccc, 0xf0f0_f0f0, 0xff00_ff00, 0xffff_0000];
    let differing = COMMON.end..STATE / 8;
    let mut steps = Vec::new();
    for target in 8 * differing.start..STATE {
        let bit = u32::from(8 * (15 - target / 8) + target % 8);
        let lane_bit = bit.checked_sub(lane_shift).and_then(|place| LANE_BITS.get(place as usize));
        steps.push(match lane_bit {
            Some(value) => Step::Constant { target, value: *value },
            None => Step::CounterBit { target, bit },
        });
        steps.push(Step::Sum { target, wires: vec![target], key: Some(target) });
    }
    steps.extend(differing.clone().map(|byte| Step::Substitute { byte }));
    steps.extend(linear::mix_columns_of_some(&differing));
    steps
}
