//! Runs steps on the CPU, 32 lanes at once, as a device runs them. It uses no tables, whose lookups would show in their
//! timing.

use super::{Function, Step};

/// Runs `steps` on `wires`. `keys` are the masks that a step's key indexes. `low` is the lowest word of the thread's counter.
///
/// # Panics
/// On [`Step::Substitute`], which is the circuit's own function, and on a counter bit without a counter.
pub(crate) fn evaluate(steps: &[Step], wires: &mut [u32], keys: &[u32], low: Option<u32>) {
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
            Step::Exchange { low, high, shift, mask } => {
                let (a, b) = (wires[usize::from(*low)], wires[usize::from(*high)]);
                wires[usize::from(*low)] = (a & mask) | ((b << shift) & !mask);
                wires[usize::from(*high)] = ((a >> shift) & mask) | (b & !mask);
            }
            Step::CounterBit { target, bit } => {
                let low = low.expect("a kernel with counters");
                wires[usize::from(*target)] = 0_u32.wrapping_sub(low >> bit & 1);
            }
            Step::Constant { target, value } => wires[usize::from(*target)] = *value,
            Step::Substitute { .. } => unreachable!("substitution is the circuit's own function"),
        }
    }
}

impl Function {
    /// The outputs for these inputs. `wires` is working memory, with one element for each wire.
    pub(crate) fn apply(&self, inputs: [u32; 8], wires: &mut [u32]) -> [u32; 8] {
        wires[..8].copy_from_slice(&inputs);
        evaluate(&self.steps, wires, &[], None);
        self.outputs.map(|wire| wires[usize::from(wire)])
    }

    /// How many wires it has.
    pub(crate) fn wires(&self) -> usize {
        8 + self.steps.len()
    }
}

fn lookup(table: u8, [a, b, c]: [u32; 3]) -> u32 {
    (0..8).filter(|index| table >> index & 1 == 1).fold(0, |sum, index| {
        let chosen = |bit: u32, value: u32| if index >> bit & 1 == 1 { value } else { !value };
        sum | (chosen(2, a) & chosen(1, b) & chosen(0, c))
    })
}
