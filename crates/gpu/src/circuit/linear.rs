//! ShiftRows, MixColumns, AddRoundKey and their inverses (FIPS 197, sections 5.1.2 to 5.1.4 and 5.3) as sums of wires.
//! Byte 4 c + r of the state is row r of column c.
//!
//! Sums are split for processors that add three words in one instruction: MixColumns with its key takes 344 instructions.

use super::{STATE, Step, Wire};
use std::ops::Range;

/// Wire of bit `bit` of row `row` of column `column`.
fn wire(row: usize, column: usize, bit: usize) -> Wire {
    (8 * (4 * (column % 4) + row % 4) + bit % 8) as Wire
}

/// The source of row `row` of column `column` in ShiftRows.
fn shifted(row: usize, column: usize, bit: usize) -> Wire {
    wire(row, column + row % 4, bit)
}

fn places() -> impl Iterator<Item = (usize, usize, usize)> {
    (0..4).flat_map(|column| (0..4).flat_map(move |row| (0..8).map(move |bit| (row, column, bit))))
}

/// Collects sums in temporaries, and writes them to the state at the end, since the state is read until then.
struct Sums {
    steps: Vec<Step>,
    next: Wire,
}

impl Sums {
    /// With temporaries from `next` on.
    fn from(next: Wire) -> Sums {
        Sums { steps: Vec::new(), next }
    }

    fn sum(&mut self, wires: Vec<Wire>, key: Option<Wire>) -> Wire {
        let target = self.next;
        self.next += 1;
        self.steps.push(Step::Sum { target, wires, key });
        target
    }

    fn into_state(mut self, values: &[(Wire, Wire)]) -> Vec<Step> {
        let copy = |&(target, source): &(Wire, Wire)| Step::Sum { target, wires: vec![source], key: None };
        self.steps.extend(values.iter().map(copy));
        self.steps
    }
}

/// Adds the round key in place.
pub(super) fn add_key() -> Vec<Step> {
    (0..STATE).map(|target| Step::Sum { target, wires: vec![target], key: Some(target) }).collect()
}

/// ShiftRows, then the round key: the last round's.
pub(super) fn shift_rows() -> Vec<Step> {
    moved(&shifted, true)
}

/// InvShiftRows alone, before the substitution (the two commute).
pub(super) fn unshift_rows_unsubstituted() -> Vec<Step> {
    moved(&|row, column, bit| wire(row, column + 4 - row, bit), false)
}

/// Every wire's value from another one's, with the round key or without.
fn moved(from: &dyn Fn(usize, usize, usize) -> Wire, has_key: bool) -> Vec<Step> {
    let mut sums = Sums::from(STATE);
    let value = |(row, column, bit)| {
        let target = wire(row, column, bit);
        (target, sums.sum(vec![from(row, column, bit)], has_key.then_some(target)))
    };
    let values: Vec<_> = places().map(value).collect();
    sums.into_state(&values)
}

/// ShiftRows, MixColumns, then the round key.
pub(super) fn mix_columns_of_shifted() -> Vec<Step> {
    let mut sums = Sums::from(STATE);
    let values = mixed(&mut sums, &shifted);
    sums.into_state(&values)
}

/// The same for the first round, where only some bytes count (as they were before ShiftRows), and its key has what the others
/// bring.
pub(crate) fn mix_columns_of_some(bytes: &Range<Wire>) -> Vec<Step> {
    let mut sums = Sums::from(STATE);
    let mut values = Vec::new();
    for (row, column, bit) in places() {
        let byte = |row| std::array::from_fn(|bit| shifted(row, column, bit));
        let twice = [row, (row + 1) % 4].map(|row| double(&byte(row))[bit].clone());
        let once = [1, 2, 3].map(|further| shifted((row + further) % 4, column, bit));
        let terms = [twice.concat(), once.to_vec()].concat();
        let target = wire(row, column, bit);
        let there = terms.into_iter().filter(|term| bytes.contains(&(term / 8))).collect();
        values.push((target, sums.sum(there, Some(STATE + target))));
    }
    sums.into_state(&values)
}

/// InvMixColumns, then the round key (which is to be that of the equivalent inverse cipher): MixColumns of a state to whose rows
/// 4 (a[r] + a[r+2]) was added before. Stands in one phase with [`unshift_rows_unsubstituted`], whose temporaries are the first.
pub(crate) fn unmix_columns() -> Vec<Step> {
    let mut sums = Sums::from(2 * STATE);
    let mut prepared = [0; STATE as usize];
    for column in 0..4 {
        // Rows 0 and 2 share their sum, and so do rows 1 and 3.
        for pair in 0..2 {
            let rows = [pair, pair + 2];
            let sum: [Wire; 8] =
                std::array::from_fn(|bit| sums.sum(rows.map(|row| wire(row, column, bit)).to_vec(), None));
            for row in rows {
                for (bit, mut wires) in quadruple(&sum).into_iter().enumerate() {
                    let place = wire(row, column, bit);
                    wires.push(place);
                    prepared[usize::from(place)] = sums.sum(wires, None);
                }
            }
        }
    }
    let at = |row: usize, column: usize, bit: usize| prepared[usize::from(wire(row, column, bit))];
    let values = mixed(&mut sums, &at);
    sums.into_state(&values)
}

/// MixColumns and the round key, by the sum u of a column's rows: row r becomes u + 2 (a[r] + a[r+1]) + a[r], and the
/// middle of that for row r + 2 is the same with 2 u added.
fn mixed(sums: &mut Sums, at: &dyn Fn(usize, usize, usize) -> Wire) -> Vec<(Wire, Wire)> {
    let mut values = Vec::new();
    for column in 0..4 {
        let rows: [[Wire; 8]; 4] = std::array::from_fn(|row| std::array::from_fn(|bit| at(row, column, bit)));
        let all: [Wire; 8] = std::array::from_fn(|bit| sums.sum(rows.map(|row| row[bit]).to_vec(), None));
        let doubled = [&rows[0], &rows[1], &rows[2], &all].map(double);
        let mut middles = [[0; 8]; 4];
        for bit in 0..8 {
            for row in 0..2 {
                let terms = [doubled[row][bit].as_slice(), &doubled[row + 1][bit], &[all[bit]]].concat();
                middles[row][bit] = sums.sum(terms, None);
                let terms = [doubled[3][bit].as_slice(), &[middles[row][bit]]].concat();
                middles[row + 2][bit] = sums.sum(terms, None);
            }
        }
        for (row, bit) in (0..4).flat_map(|row| (0..8).map(move |bit| (row, bit))) {
            let target = wire(row, column, bit);
            values.push((target, sums.sum(vec![middles[row][bit], rows[row][bit]], Some(target))));
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
        // A term that occurs twice cancels.
        terms.sort_unstable();
        let all = terms.clone();
        terms.retain(|term| all.iter().filter(|other| *other == term).count() == 1);
        terms
    })
}
