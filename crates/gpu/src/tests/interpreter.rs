//! Runs a circuit on the CPU, thread by thread as a device would. An emitter's text is right if this is right, and if the
//! emitter prints each step as this module runs it.

use crate::circuit::{Circuit, GROUP_BLOCKS, GROUP_THREADS, LANES, Mode, STATE, Step, evaluate};
use crate::keys::ROUND_MASKS;

/// What a device would write to `sink`. `source` is the text for CTR, and the chain's block and the ciphertext for CBC.
/// `masks` are those of all rounds; for CTR, of the stretch that contains all the blocks.
pub(crate) fn run(
    circuit: &Circuit,
    masks: &[u32],
    rounds: usize,
    first: u128,
    source: &[[u32; 4]],
    sink: &mut [[u32; 4]],
) {
    let skip = (first % u128::from(GROUP_BLOCKS)) as usize;
    let aligned = first - skip as u128;
    let groups = (skip + sink.len()).div_ceil(GROUP_BLOCKS as usize);
    for group in 0..groups {
        for thread in 0..GROUP_THREADS as usize {
            let start = group * GROUP_BLOCKS as usize + thread;
            let low = aligned.wrapping_add(start as u128) as u32;
            let place = |lane: usize| (start + GROUP_THREADS as usize * lane).wrapping_sub(skip);
            one_thread(circuit, masks, rounds, low, &place, source, sink);
        }
    }
}

fn one_thread(
    circuit: &Circuit,
    masks: &[u32],
    rounds: usize,
    low: u32,
    place: &dyn Fn(usize) -> usize,
    source: &[[u32; 4]],
    sink: &mut [[u32; 4]],
) {
    let phases = [&circuit.begin, &circuit.round, &circuit.end];
    let most = phases.iter().map(|steps| STATE as usize + steps.len()).max().unwrap_or(0);
    let mut wires = vec![0_u32; most];
    let is_ctr = circuit.mode == Mode::Ctr;
    if !is_ctr {
        for lane in 0..LANES as usize {
            let block = source.get(place(lane).wrapping_add(1)).copied().unwrap_or_default();
            (0..4).for_each(|word| wires[32 * word + lane] = block[word]);
        }
    }
    let keys_from = |round: usize| &masks[ROUND_MASKS * round..];
    let (first, last) = if is_ctr { (0, rounds) } else { (rounds, 0) };
    phase(circuit, &circuit.begin, &mut wires, keys_from(first), low);
    for step in circuit.looped_from as usize..rounds {
        let round = if is_ctr { step } else { rounds - step };
        phase(circuit, &circuit.round, &mut wires, keys_from(round), low);
    }
    phase(circuit, &circuit.end, &mut wires, keys_from(last), low);
    for lane in 0..LANES as usize {
        let place = place(lane);
        // For CTR the text itself, for CBC the previous ciphertext block.
        if let Some(out) = sink.get_mut(place) {
            *out = std::array::from_fn(|word| wires[32 * word + lane] ^ source[place][word]);
        }
    }
}

fn phase(circuit: &Circuit, steps: &[Step], wires: &mut [u32], keys: &[u32], low: u32) {
    for step in steps {
        match step {
            Step::Substitute { byte } => {
                let function = &circuit.substitution;
                let byte = &mut wires[8 * usize::from(*byte)..][..8];
                let outputs =
                    function.apply(std::array::from_fn(|bit| byte[bit]), &mut vec![0; function.wires()]);
                byte.copy_from_slice(&outputs);
            }
            other => evaluate(std::slice::from_ref(other), wires, keys, Some(low)),
        }
    }
}
