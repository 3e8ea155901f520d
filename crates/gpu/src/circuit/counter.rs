//! The counters of CTR (SP 800-38A, section 6.5), and the first round, most of which they share.
//!
//! The 2^24 counters of a *stretch* have their first 13 bytes in common. What these bring to the first round is worked out
//! once, by [`crate::keys::of_counters`], and given to the device as a part of that round's key. The kernel does the round for
//! bytes 13, 14 and 15 alone: 13 of the 160 substitutions of AES-128 are left out, and most of a MixColumns.
//!
//! (The idea of keeping what counters have in common: Bernstein and Schwabe, "New AES software speed records", 2008. The second
//! round could keep a column too; its code for the others would make a kernel longer by a half, to save another 2%.)

use super::{STATE, Step, linear};
use std::ops::Range;

/// Counters that differ in their last three bytes alone. No launch of a kernel goes over a multiple of it.
pub(crate) const STRETCH_BLOCKS: u128 = 1 << 24;

/// Bytes of a counter that are the same for a whole stretch.
pub(crate) const COMMON: Range<usize> = 0..13;

/// The counters of a thread's blocks, and the first round. The lowest bits are the thread's number, the five from
/// `lane_shift` on the lane's, which gives five constants.
pub(super) fn first_round(lane_shift: u32) -> Vec<Step> {
    const LANE_BITS: [u32; 5] = [0xaaaa_aaaa, 0xcccc_cccc, 0xf0f0_f0f0, 0xff00_ff00, 0xffff_0000];
    let differing = COMMON.end as u16..STATE / 8;
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
