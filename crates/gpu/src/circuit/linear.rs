//! ShiftRows, MixColumns, AddRoundKey and their inverses (FIPS 197, sections 5.1.2 to 5.1.4 and 5.3) as sums of wires.
//! Byte 4 c + r of the state is row r of column c.

use super::{STATE, Step, Wire};

/// Wire of bit `bit` of row `row` of column `column`.
fn wire(row: usize, column: usize, bit: usize) -> Wire {
    (8 * (4 * (column % 4) + row % 4) + bit % 8) as Wire
}

/// Where row `row` of column `column` comes from in ShiftRows.
fn shifted(row: usize, column: usize, bit: usize) -> Wire {
    wire(row, column + row % 4, bit)
}

fn places() -> impl Iterator<Item = (usize, usize, usize)> {
    (0..4).flat_map(|column| (0..4).flat_map(move |row| (0..8).map(move |bit| (row, column, bit))))
}

/// Collects sums into temporaries, and puts them into the state at the end: the state is read until then.
struct Sums {
    steps: Vec<Step>,
    next: Wire,
}

impl Sums {
    fn new() -> Sums {
        Sums { steps: Vec::new(), next: STATE }
    }

    fn sum(&mut self, wires: Vec<Wire>, key: Option<Wire>) -> Wire {
        let target = self.next;
        self.next += 1;
        self.steps.push(Step::Sum { target, wires, key });
        target
    }

    fn into_state(mut self, values: &[(Wire, Wire)]) -> Vec<Step> {
        self.steps.extend(values.iter().map(|&(target, source)| Step::Copy { target, source }));
        self.steps
    }
}

/// Adds the round key in place.
pub(super) fn add_key() -> Vec<Step> {
    (0..STATE).map(|target| Step::Sum { target, wires: vec![target], key: Some(target) }).collect()
}

/// ShiftRows, then the round key: the last round's.
pub(super) fn shift_rows() -> Vec<Step> {
    let mut sums = Sums::new();
    let values: Vec<_> = places()
        .map(|(row, column, bit)| {
            let target = wire(row, column, bit);
            (target, sums.sum(vec![shifted(row, column, bit)], Some(target)))
        })
        .collect();
    sums.into_state(&values)
}

/// InvShiftRows alone, in front of the substitution (the two may be exchanged).
pub(super) fn unshift_rows_unsubstituted() -> Vec<Step> {
    let mut sums = Sums::new();
    let values: Vec<_> = places()
        .map(|(row, column, bit)| {
            (wire(row, column, bit), sums.sum(vec![wire(row, column + 4 - row, bit)], None))
        })
        .collect();
    sums.into_state(&values)
}

/// ShiftRows, MixColumns, then the round key.
pub(super) fn mix_columns_of_shifted() -> Vec<Step> {
    let mut sums = Sums::new();
    let values = mixed(&mut sums, &shifted, true);
    sums.into_state(&values)
}

/// The round key, then InvMixColumns: MixColumns of a state to whose rows 4 (a[r] + a[r+2]) was added before. Stands in one
/// phase with [`unshift_rows_unsubstituted`], whose temporaries are the first.
pub(super) fn unmix_columns() -> Vec<Step> {
    let mut sums = Sums { next: 2 * STATE, ..Sums::new() };
    let mut keyed = [0; STATE as usize];
    for target in 0..STATE {
        keyed[usize::from(target)] = sums.sum(vec![target], Some(target));
    }
    let mut prepared = [0; STATE as usize];
    for column in 0..4 {
        // Rows 0 and 2 share their sum, and so do rows 1 and 3.
        for pair in 0..2 {
            let rows = [pair, pair + 2];
            let sum: [Wire; 8] = std::array::from_fn(|bit| {
                sums.sum(rows.map(|row| keyed[usize::from(wire(row, column, bit))]).to_vec(), None)
            });
            for row in rows {
                for (bit, terms) in quadruple(&sum).into_iter().enumerate() {
                    let place = usize::from(wire(row, column, bit));
                    let mut wires = terms;
                    wires.push(keyed[place]);
                    prepared[place] = sums.sum(wires, None);
                }
            }
        }
    }
    let at = |row: usize, column: usize, bit: usize| prepared[usize::from(wire(row, column, bit))];
    let values = mixed(&mut sums, &at, false);
    sums.into_state(&values)
}

/// Row r becomes 2 (a[r] + a[r+1]) + a[r+1] + (a[r+2] + a[r+3]).
fn mixed(sums: &mut Sums, at: &impl Fn(usize, usize, usize) -> Wire, with_key: bool) -> Vec<(Wire, Wire)> {
    let mut values = Vec::new();
    for column in 0..4 {
        let pairs: [[Wire; 8]; 4] = std::array::from_fn(|row| {
            std::array::from_fn(|bit| {
                sums.sum(vec![at(row, column, bit), at((row + 1) % 4, column, bit)], None)
            })
        });
        for row in 0..4 {
            for (bit, mut wires) in double(&pairs[row]).into_iter().enumerate() {
                wires.extend([at((row + 1) % 4, column, bit), pairs[(row + 2) % 4][bit]]);
                let target = wire(row, column, bit);
                values.push((target, sums.sum(wires, with_key.then_some(target))));
            }
        }
    }
    values
}

/// Multiplication by x modulo x^8 + x^4 + x^3 + x + 1: each bit's terms.
fn double(bits: &[Wire; 8]) -> [Vec<Wire>; 8] {
    std::array::from_fn(|bit| match bit {
        0 => vec![bits[7]],
        1 | 3 | 4 => vec![bits[bit - 1], bits[7]],
        _ => vec![bits[bit - 1]],
    })
}

/// Multiplication by x^2.
fn quadruple(bits: &[Wire; 8]) -> [Vec<Wire>; 8] {
    let once = double(bits);
    std::array::from_fn(|bit| {
        let mut terms: Vec<Wire> = match bit {
            0 => once[7].clone(),
            1 | 3 | 4 => [once[bit - 1].as_slice(), once[7].as_slice()].concat(),
            _ => once[bit - 1].clone(),
        };
        // What is there twice is not there.
        terms.sort_unstable();
        let all = terms.clone();
        terms.retain(|term| all.iter().filter(|other| *other == term).count() == 1);
        terms
    })
}
