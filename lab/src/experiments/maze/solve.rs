//! How a maze is solved, twice: by filling dead ends, and by dots that wander.
//!
//! **Filling.** A passage with at most one open neighbour is filled, unless it is the start or the goal. What stays open in
//! the end is the one way between them.
//!
//! **Dots** come into being at the start and move by the protocol by which walls grow:
//!
//! ```text
//! even frames:   OPEN -> CLAIMED     one of the dots that point here is let in
//! odd frames:    CLAIMED -> DOT      it arrives; a cell entered for the first time notes from which side: its parent
//!                DOT -> OPEN         it has been let in elsewhere
//!                DOT -> FILLED       ... by its parent, since nothing beyond here is left to see; or the parent is taken
//!                                    by another dot: they collide, and the one that comes back goes out
//!                DOT -> DOT          it was not let in: another way
//!                OPEN -> DOT         at the start, by chance
//! ```
//!
//! A dot prefers what nobody has entered; it never goes where a passage is filled, and turns back only where all other ways
//! are. So every dot goes down the tree until it fills a cell, and no cell on the way to the goal is ever filled: a dot
//! reaches the goal. In a tree the side by which a cell is first entered is that of the start, so that the parents lead back
//! from the goal: that is the trail, laid by one cell each frame. When the start has it, all stands still.

use super::automaton::Place;
use super::cell::{
    CLAIMED, DOT, FILLED, OPEN, PARENTAGE, TRAIL, direction, is_passage, kind, opposite, parent, with_parent,
};
use super::chance::any_of;

/// Filling: the cell in the next frame.
pub(super) fn fill(place: &Place<'_>, cell: u32, around: [u32; 4]) -> u32 {
    if kind(cell) != OPEN || place.is_start() || place.is_goal() {
        return cell;
    }
    let open = around.into_iter().filter(|neighbour| kind(*neighbour) == OPEN).count();
    if open <= 1 { FILLED } else { cell }
}

/// Dots: the cell in the next frame.
pub(super) fn dots(place: &Place<'_>, cell: u32, around: [u32; 4]) -> u32 {
    if !is_passage(cell) {
        return cell;
    }
    let moved = if place.frame & 1 == 0 { let_in(place, cell, around) } else { move_on(place, cell, around) };
    let leads_here = |side: u32| {
        let neighbour = around[side as usize];
        neighbour & TRAIL != 0 && parent(neighbour) == Some(opposite(side))
    };
    if (0..4).any(leads_here) { moved | TRAIL } else { moved }
}

fn let_in(place: &Place<'_>, cell: u32, around: [u32; 4]) -> u32 {
    let comes = |side: &u32| around[*side as usize] & 31 == DOT | (opposite(*side) << 3);
    let sides = (0..4).filter(comes).fold(0, |sides, side| sides | (1 << side));
    if kind(cell) != OPEN || sides == 0 {
        return cell;
    }
    CLAIMED | (any_of(sides, place.random()[0]) << 3) | keep(cell)
}

fn move_on(place: &Place<'_>, cell: u32, around: [u32; 4]) -> u32 {
    match kind(cell) {
        CLAIMED => {
            let entered = match parent(cell) {
                None if !place.is_start() => keep(cell) | with_parent(direction(cell)),
                _ => keep(cell),
            };
            if place.is_goal() { OPEN | entered | TRAIL } else { dot(place, entered, around, 0) }
        }
        DOT => {
            let way = direction(cell);
            let is_let_in = around[way as usize] & 31 == CLAIMED | (opposite(way) << 3);
            let is_back = parent(cell) == Some(way);
            match (is_let_in, is_back) {
                (true, false) => OPEN | keep(cell),
                (_, true) => FILLED | keep(cell),
                (false, false) => dot(place, keep(cell), around, 1 << way),
            }
        }
        OPEN if place.is_start() && place.random()[2] >> 16 < place.setting.chance => {
            dot(place, keep(cell), around, 0)
        }
        _ => cell,
    }
}

/// A dot in this cell, with a way to go: new ones before known ones, others before those in `shunned`, back if there is no
/// other.
fn dot(place: &Place<'_>, entered: u32, around: [u32; 4], shunned: u32) -> u32 {
    let back = parent(entered);
    let sides = |is_one: &dyn Fn(u32) -> bool| {
        let onward = (0..4).filter(|side| Some(*side) != back);
        onward.filter(|side| is_one(around[*side as usize])).fold(0, |sides, side| sides | (1 << side))
    };
    let ways = sides(&|neighbour| is_passage(neighbour) && kind(neighbour) != FILLED);
    let new = sides(&|neighbour| matches!(kind(neighbour), OPEN | CLAIMED) && parent(neighbour).is_none());
    let better = [new & !shunned, ways & !shunned].into_iter().find(|sides| *sides != 0).unwrap_or(ways);
    let way = match back {
        Some(back) if ways == 0 => back,
        _ => any_of(better, place.random()[1]),
    };
    DOT | (way << 3) | entered
}

fn keep(cell: u32) -> u32 {
    cell & (PARENTAGE | TRAIL)
}
