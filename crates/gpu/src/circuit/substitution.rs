//! SubBytes and its inverse (FIPS 197, sections 5.1.1 and 5.3.2) without their constants.
//!
//! The function has two forms, both checked against the S-box's definition on every byte. The first is the circuit of Boyar
//! and Peralta ("A new combinational logic minimization technique with applications to cryptology", 2010) in sums and
//! products, with their names of wires. The second is the same, mapped to 77 functions of three inputs, each of which is
//! one instruction (`lop3`) on NVIDIA's processors. The logic synthesiser ABC found the mapping.

use super::{Function, Step, Wire};
use std::collections::HashMap;

/// What the circuit is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gates {
    /// Sums and products of two.
    Two,
    /// Tables of three.
    Three,
}

/// S(x) + 0x63.
pub(crate) fn forward(gates: Gates) -> Function {
    let mut wires: HashMap<String, Wire> = (0..8).map(|bit| (format!("x{}", 7 - bit), bit)).collect();
    let text = match gates {
        Gates::Two => include_str!("substitution.gates"),
        Gates::Three => include_str!("substitution.luts"),
    };
    let steps = (8..).zip(text.lines()).map(|(target, line)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let step = match words[2..] {
            [a, "^", b] => Step::Sum { target, wires: vec![wires[a], wires[b]], key: None },
            [a, "&", b] => Step::Product { target, factors: [wires[a], wires[b]] },
            [table, a, b, c] => {
                let table = u8::from_str_radix(table, 16).expect("a table of eight bits");
                Step::Lookup { target, table, inputs: [wires[a], wires[b], wires[c]] }
            }
            _ => unreachable!("a line of the circuit: {line}"),
        };
        wires.insert(words[0].to_owned(), target);
        step
    });
    let steps: Vec<Step> = steps.collect();
    let outputs = std::array::from_fn(|bit| wires[&format!("s{}", 7 - bit)]);
    Function { steps, outputs }
}

/// The inverse of S on a byte to which 0x63 was already added. Inversion in the field is its own inverse, so this is the
/// forward circuit between two inverse affine maps; their constants cancel those of the forward circuit.
pub(super) fn inverse(gates: Gates) -> Function {
    let forward = forward(gates);
    // The first map's outputs are wires 8 … 15, and the circuit's own temporaries follow them.
    let moved = |wire: Wire| wire + 8;
    let mut steps = inverse_affine(std::array::from_fn(|bit| bit as Wire), 8);
    steps.extend(forward.steps.iter().map(|step| step.renamed(&moved)));
    let first_free = moved(8 + forward.steps.len() as Wire);
    steps.extend(inverse_affine(forward.outputs.map(moved), first_free));
    Function { steps, outputs: std::array::from_fn(|bit| first_free + bit as Wire) }
}

/// Bit i is the sum of bits i + 2, i + 5 and i + 7.
fn inverse_affine(inputs: [Wire; 8], first_target: Wire) -> Vec<Step> {
    let bit = |i: usize| inputs[i % 8];
    (0..8)
        .map(|i| {
            let wires = vec![bit(i + 2), bit(i + 5), bit(i + 7)];
            Step::Sum { target: first_target + i as Wire, wires, key: None }
        })
        .collect()
}

impl Step {
    fn renamed(&self, moved: &impl Fn(Wire) -> Wire) -> Step {
        match self {
            Step::Sum { target, wires, key } => Step::Sum {
                target: moved(*target),
                wires: wires.iter().map(|wire| moved(*wire)).collect(),
                key: *key,
            },
            Step::Product { target, factors } => {
                Step::Product { target: moved(*target), factors: factors.map(moved) }
            }
            Step::Lookup { target, table, inputs } => {
                Step::Lookup { target: moved(*target), table: *table, inputs: inputs.map(moved) }
            }
            _ => unreachable!("a function has sums, products and tables only"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the definition: the inverse in GF(2^8), and the affine map (FIPS 197, section 5.1.1).
    fn defined(byte: u8) -> u8 {
        let double = |x: u8| (x << 1) ^ (0x1b * (x >> 7));
        let product = |mut a: u8, b: u8| {
            (0..8).fold(0, |sum, bit| {
                let term = if b >> bit & 1 == 1 { a } else { 0 };
                a = double(a);
                sum ^ term
            })
        };
        let inverse = (0..=255).find(|other| product(byte, *other) == 1).unwrap_or(0);
        (0..8).fold(0x63, |sum, bit| sum ^ if bit < 5 { inverse.rotate_left(bit) } else { 0 })
    }

    fn apply(function: &Function, byte: u8) -> u8 {
        let inputs = std::array::from_fn(|bit| u32::from(byte >> bit & 1));
        let outputs = function.apply(inputs, &mut vec![0; function.wires()]);
        outputs.iter().rev().fold(0, |value, wire| value << 1 | (wire & 1) as u8)
    }

    #[test]
    fn both_forms_are_the_s_box_on_every_byte_and_so_are_their_inverses() {
        assert_eq!((defined(0), defined(0x53)), (0x63, 0xed));
        for gates in [Gates::Two, Gates::Three] {
            let (forward, inverse) = (forward(gates), inverse(gates));
            for byte in 0..=255 {
                assert_eq!(apply(&forward, byte) ^ 0x63, defined(byte), "{gates:?} {byte}");
                assert_eq!(apply(&inverse, defined(byte) ^ 0x63), byte, "{gates:?} {byte}");
            }
        }
        assert_eq!(super::forward(Gates::Three).steps.len(), 77);
    }
}
