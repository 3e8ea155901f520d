//! Runs a circuit on the CPU, thread by thread as a device would: what an emitter prints is right if this is, and the
//! emitter prints each step as this does it.

use crate::circuit::{Circuit, GROUP_BLOCKS, GROUP_THREADS, LANES, Mode, STATE, Step, Wire};
use crate::keys::ROUND_MASKS;

/// Does `steps` on `wires`. `keys`: the masks of the round at hand. `counter`: the thread's, highest word first.
/// None of them may be [`Step::Substitute`].
pub(crate) fn evaluate(steps: &[Step], wires: &mut [u32], keys: &[u32], counter: Option<[u32; 4]>) {
    for step in steps {
        match step {
            Step::Sum { target, wires: terms, key } => {
                let key = key.map_or(0, |key| keys[usize::from(key)]);
                wires[usize::from(*target)] =
                    terms.iter().fold(key, |sum, wire| sum ^ wires[usize::from(*wire)]);
            }
            Step::Product { target, factors: [a, b] } => {
                wires[usize::from(*target)] = wires[usize::from(*a)] & wires[usize::from(*b)];
            }
            Step::Lookup { target, table, inputs } => {
                wires[usize::from(*target)] = lookup(*table, inputs.map(|wire| wires[usize::from(wire)]));
            }
            Step::Copy { target, source } => wires[usize::from(*target)] = wires[usize::from(*source)],
            Step::Exchange { low, high, shift, mask } => {
                let (a, b) = (wires[usize::from(*low)], wires[usize::from(*high)]);
                wires[usize::from(*low)] = (a & mask) | ((b << shift) & !mask);
                wires[usize::from(*high)] = ((a >> shift) & mask) | (b & !mask);
            }
            Step::CounterBit { target, word, bit } => {
                let word = counter.expect("a kernel with counters")[*word];
                wires[usize::from(*target)] = 0_u32.wrapping_sub(word >> bit & 1);
            }
            Step::Constant { target, value } => wires[usize::from(*target)] = *value,
            Step::Substitute { .. } => unreachable!("substitution is the circuit's own function"),
        }
    }
}

fn lookup(table: u8, [a, b, c]: [u32; 3]) -> u32 {
    (0..8).filter(|index| table >> index & 1 == 1).fold(0, |sum, index| {
        let chosen = |bit: u32, value: u32| if index >> bit & 1 == 1 { value } else { !value };
        sum | (chosen(2, a) & chosen(1, b) & chosen(0, c))
    })
}

/// What a device would put into `sink`. `source`: for CTR the text, for CBC the chain's block and the ciphertext.
/// `masks`: of all rounds.
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
            let counter = aligned.wrapping_add(start as u128);
            let words = [96, 64, 32, 0].map(|shift| (counter >> shift) as u32);
            let place = |lane: usize| (start + GROUP_THREADS as usize * lane).wrapping_sub(skip);
            one_thread(circuit, masks, rounds, words, &place, source, sink);
        }
    }
}

fn one_thread(
    circuit: &Circuit,
    masks: &[u32],
    rounds: usize,
    counter: [u32; 4],
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
    let key_of = |round: usize| &masks[ROUND_MASKS * round..][..ROUND_MASKS];
    let (first, last) = if is_ctr { (0, rounds) } else { (rounds, 0) };
    phase(circuit, &circuit.begin, &mut wires, key_of(first), counter);
    for step in 1..rounds {
        let round = if is_ctr { step } else { rounds - step };
        phase(circuit, &circuit.round, &mut wires, key_of(round), counter);
    }
    phase(circuit, &circuit.end, &mut wires, key_of(last), counter);
    for lane in 0..LANES as usize {
        let place = place(lane);
        // For CTR the text itself, for CBC the ciphertext block in front.
        if let Some(out) = sink.get_mut(place) {
            *out = std::array::from_fn(|word| wires[32 * word + lane] ^ source[place][word]);
        }
    }
}

fn phase(circuit: &Circuit, steps: &[Step], wires: &mut [u32], key: &[u32], counter: [u32; 4]) {
    for step in steps {
        match step {
            Step::Substitute { byte } => {
                let function = &circuit.substitution;
                let mut own = vec![0; 8 + function.steps.len()];
                let place = 8 * usize::from(*byte);
                own[..8].copy_from_slice(&wires[place..place + 8]);
                evaluate(&function.steps, &mut own, &[], None);
                let outputs = function.outputs.map(|wire: Wire| own[usize::from(wire)]);
                wires[place..place + 8].copy_from_slice(&outputs);
            }
            other => evaluate(std::slice::from_ref(other), wires, key, Some(counter)),
        }
    }
}
