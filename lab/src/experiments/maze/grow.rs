//! How a maze grows: walls spread from the border over the pillars, each of which joins them once.
//!
//! ```text
//! even frames, slots:    FLOOR -> RESERVED   a head at one end points here, the other end is free
//!                        FLOOR -> OPEN       both ends have joined the walls without this slot
//!                        RESERVED -> WALL    its target took it for its parent
//!                        RESERVED -> FLOOR   it took another
//! odd frames, pillars:   FLOOR -> HEAD       one of the reserved slots that come in becomes its parent
//!                        HEAD -> WALL        its slot is reserved, or no side is left to try
//!                        HEAD -> HEAD        its slot went to somebody else: another side
//!                        WALL -> HEAD        by chance, beside a slot that is free
//! ```
//!
//! A pillar joins by one slot to one pillar that had joined before, so the walls are a tree (with the border as its root) that
//! holds every pillar; the passages, which are the dual graph, are then a spanning tree of the rooms: the maze is perfect.
//!
//! From frame `finish` on nothing is left to chance: every wall beside a free slot becomes a head, which takes the first side
//! from `frame / 2 mod 4` on. A free slot has a joined pillar at one end somewhere (or else the free pillars would not be
//! connected to the border), that pillar becomes a head and points at it within two frames, and then the slot is open
//! or its other end joins within two more: the end comes after at most four frames for each slot.

use super::automaton::Place;
use super::cell::{
    ALL_SIDES, FLOOR, HEAD, OPEN, PARENTAGE, RESERVED, WALL, direction, kind, opposite, parent, tried,
    with_parent,
};
use super::chance::{any_of, next_of};

/// The cell in the next frame; `around` are its neighbours up, right, down and left.
pub(super) fn next(place: &Place<'_>, cell: u32, around: [u32; 4]) -> u32 {
    let (is_odd_column, is_odd_row) = (place.x & 1 == 1, place.y & 1 == 1);
    if place.frame & 1 == 0 {
        if is_odd_column == is_odd_row || place.is_border() {
            cell
        } else {
            slot(cell, is_odd_column, around)
        }
    } else if is_odd_column || is_odd_row {
        cell
    } else {
        pillar(place, cell, around)
    }
}

fn slot(cell: u32, is_level: bool, around: [u32; 4]) -> u32 {
    // The pillars at its ends, and the direction from the first to the second.
    let (first, second, forth) = if is_level { (around[3], around[1], 1) } else { (around[0], around[2], 2) };
    let back = opposite(forth);
    match kind(cell) {
        FLOOR => {
            let is_wanted = |head: u32, way: u32, target: u32| {
                kind(head) == HEAD && direction(head) == way && kind(target) == FLOOR
            };
            if is_wanted(first, forth, second) {
                RESERVED | (forth << 3)
            } else if is_wanted(second, back, first) {
                RESERVED | (back << 3)
            } else if kind(first) != FLOOR && kind(second) != FLOOR {
                OPEN
            } else {
                FLOOR
            }
        }
        RESERVED => {
            let way = direction(cell);
            let target = if way == forth { second } else { first };
            if kind(target) != FLOOR && parent(target) == Some(opposite(way)) { WALL } else { FLOOR }
        }
        _ => cell,
    }
}

fn pillar(place: &Place<'_>, cell: u32, around: [u32; 4]) -> u32 {
    let is = |side: u32, wanted: u32| around[side as usize] & 31 == wanted;
    let sides = |is_one: &dyn Fn(u32) -> bool| {
        (0..4).filter(|side| is_one(*side)).fold(0, |sides, side| sides | (1 << side))
    };
    let free = || sides(&|side| kind(around[side as usize]) == FLOOR);
    let keep = cell & PARENTAGE;
    match kind(cell) {
        FLOOR => {
            let offers = sides(&|side| is(side, RESERVED | (opposite(side) << 3)));
            if offers == 0 {
                return cell;
            }
            let words = place.random();
            let from = choose(place, offers, words[0]);
            let way = choose(place, ALL_SIDES & !(1 << from), words[1]);
            HEAD | (way << 3) | (1 << (from + 5)) | with_parent(from)
        }
        HEAD => {
            let way = direction(cell);
            let tried = tried(cell) | (1 << way) | (ALL_SIDES & !free());
            if is(way, RESERVED | (way << 3)) || tried == ALL_SIDES {
                return WALL | keep;
            }
            let way = choose(place, ALL_SIDES & !tried, place.random()[1]);
            HEAD | (way << 3) | (tried << 5) | keep
        }
        WALL => {
            let free = free();
            if free == 0 {
                return cell;
            }
            let words = place.random();
            if !place.is_finishing() && words[2] >> 16 >= place.setting.chance {
                return cell;
            }
            let way = choose(place, free, words[1]);
            HEAD | (way << 3) | ((ALL_SIDES & !free) << 5) | keep
        }
        _ => cell,
    }
}

fn choose(place: &Place<'_>, sides: u32, word: u32) -> u32 {
    if place.is_finishing() { next_of(sides, (place.frame >> 1) & 3) } else { any_of(sides, word) }
}
