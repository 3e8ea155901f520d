//! A cell of the automaton: one word of 32 bits, the same on every device.
//!
//! ```text
//! bit  31-13     12         11         10-9     8-5       4-3      2-0
//!      zero     trail   has parent    parent   tried   direction   kind
//! ```
//!
//! The grid is odd by odd. Cells at (odd, odd) are rooms, those at (even, even) pillars, the rest slots: places for a wall
//! between two pillars, or else for a passage between two rooms. `tried` has a bit for each side.

use std::ops::RangeInclusive;

/// Nobody has decided yet whether there will be a wall.
pub const FLOOR: u32 = 0;
/// A wall, for good.
pub const WALL: u32 = 1;
/// A pillar that has joined the walls and wants to build on in its direction.
pub const HEAD: u32 = 2;
/// A slot that is spoken for by a head, which builds in the slot's direction.
pub const RESERVED: u32 = 3;
/// A passage. While the maze is solved: one without a dot.
pub const OPEN: u32 = 4;
/// A passage with a dot in it, that wants to go in its direction.
pub const DOT: u32 = 5;
/// A passage that is spoken for by a dot, which comes from the side of its direction.
pub const CLAIMED: u32 = 6;
/// A passage that leads to no goal.
pub const FILLED: u32 = 7;

/// Up, right, down, left: what is added to x and y.
pub const STEPS: [(i32, i32); 4] = [(0, -1), (1, 0), (0, 1), (-1, 0)];

/// Every side's bit.
pub(super) const ALL_SIDES: u32 = 15;

/// The bits that say who the parent is.
pub(super) const PARENTAGE: u32 = 0b111 << 9;

/// The trail from the goal back to the start.
pub const TRAIL: u32 = 1 << 12;

/// Kinds that end when a maze is grown.
const UNSETTLED: [u32; 3] = [FLOOR, HEAD, RESERVED];

/// What stands in the cell.
#[must_use]
pub const fn kind(cell: u32) -> u32 {
    cell & 7
}

/// The side it points at: 0 up, 1 right, 2 down, 3 left.
#[must_use]
pub const fn direction(cell: u32) -> u32 {
    (cell >> 3) & 3
}

pub(super) const fn tried(cell: u32) -> u32 {
    (cell >> 5) & ALL_SIDES
}

/// The side of the parent; nothing if it has none.
#[must_use]
pub const fn parent(cell: u32) -> Option<u32> {
    if cell & (1 << 11) == 0 { None } else { Some((cell >> 9) & 3) }
}

pub(super) const fn with_parent(side: u32) -> u32 {
    (side << 9) | (1 << 11)
}

/// The other side of the same line.
#[must_use]
pub const fn opposite(side: u32) -> u32 {
    (side + 2) & 3
}

/// Whether the cell is still to change while the maze grows.
#[must_use]
pub fn is_unsettled(cell: u32) -> bool {
    UNSETTLED.contains(&kind(cell))
}

/// Whether it is a passage, in whatever state of solving.
#[must_use]
pub fn is_passage(cell: u32) -> bool {
    const PASSAGES: RangeInclusive<u32> = OPEN..=FILLED;
    PASSAGES.contains(&kind(cell))
}

/// What a person calls it.
#[must_use]
pub fn word(cell: u32) -> &'static str {
    ["floor", "wall", "head", "reserved slot", "passage", "dot", "claimed passage", "filled passage"]
        [kind(cell) as usize]
}
