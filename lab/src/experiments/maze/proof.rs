//! What a finished maze must be, and the way through it, by means that have nothing to do with the automaton.

use super::automaton::Setting;
use super::cell::{FLOOR, OPEN, STEPS, TRAIL, WALL, is_passage, is_unsettled, kind, word};
use std::collections::VecDeque;
use std::fmt;

/// A cell that is not as it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongCell {
    /// Column, from 0.
    pub x: u32,
    /// Row, from 0.
    pub y: u32,
    /// What is there.
    pub found: u32,
    /// What should be.
    pub expected: u32,
}

/// What became of a maze on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is the oracle's, cell by cell.
    Perfect,
    /// Walls or passages are wrong: some rooms cannot be reached, or can on two ways; with the first cell that is not the oracle's.
    BrokenWalls(WrongCell),
    /// Cells are left that were still to decide, with the first of them.
    StoppedGrowing(WrongCell),
    /// A perfect maze, but of other chances: random numbers or the order of frames differ.
    AnotherMaze(WrongCell),
}

impl Verdict {
    /// The verdict on what a device made, by the oracle's cells.
    ///
    /// # Panics
    /// If the lengths are not the setting's.
    #[must_use]
    pub fn on(setting: &Setting, expected: &[u32], found: &[u32]) -> Verdict {
        assert!(expected.len() == setting.cells() && found.len() == setting.cells(), "both have every cell");
        let wrong = |index: usize| {
            let (x, y) = (index as u32 % setting.width, index as u32 / setting.width);
            WrongCell { x, y, found: found[index], expected: expected[index] }
        };
        if let Some(index) = found.iter().position(|cell| is_unsettled(*cell))
            && !expected.iter().any(|cell| is_unsettled(*cell))
        {
            return Verdict::StoppedGrowing(wrong(index));
        }
        match expected.iter().zip(found).position(|(expected, found)| expected != found) {
            None => Verdict::Perfect,
            Some(index) if flaw(setting, found).is_none() => Verdict::AnotherMaze(wrong(index)),
            Some(index) => Verdict::BrokenWalls(wrong(index)),
        }
    }

    /// In one or two words.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Perfect => "perfect",
            Verdict::BrokenWalls(_) => "broken walls",
            Verdict::StoppedGrowing(_) => "stopped growing",
            Verdict::AnotherMaze(_) => "another maze",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())?;
        match self {
            Verdict::Perfect => Ok(()),
            Verdict::BrokenWalls(cell) | Verdict::StoppedGrowing(cell) | Verdict::AnotherMaze(cell) => {
                write!(
                    out,
                    ": the first wrong cell is ({}, {}), a {} ({:#x}) instead of a {} ({:#x})",
                    cell.x,
                    cell.y,
                    word(cell.found),
                    cell.found,
                    word(cell.expected),
                    cell.expected
                )
            }
        }
    }
}

/// Why the cells are not a perfect maze; nothing if they are: every pillar and the border are walls, every room is open, and
/// the rooms are connected by one passage less than there are rooms.
#[must_use]
pub fn flaw(setting: &Setting, cells: &[u32]) -> Option<String> {
    let (width, height) = (setting.width as usize, setting.height as usize);
    let mut passages = 0;
    for (index, &cell) in cells.iter().enumerate() {
        let (x, y) = (index % width, index / width);
        let is_border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
        let is_right = match (x % 2, y % 2) {
            _ if is_border => kind(cell) == WALL,
            (1, 1) => is_passage(cell),
            (0, 0) => kind(cell) == WALL,
            _ => kind(cell) == WALL || is_passage(cell),
        };
        if !is_right {
            return Some(format!("({x}, {y}) is a {}", word(cell)));
        }
        passages += usize::from(x % 2 != y % 2 && is_passage(cell));
    }
    let rooms = (width / 2) * (height / 2);
    let reached = distances(setting, cells)
        .into_iter()
        .enumerate()
        .filter(|(index, distance)| index % width % 2 == 1 && index / width % 2 == 1 && distance.is_some());
    match (reached.count(), passages) {
        (reached, _) if reached != rooms => Some(format!("{reached} of {rooms} rooms can be reached")),
        (_, passages) if passages != rooms - 1 => {
            Some(format!("{passages} passages between {rooms} rooms: there are rings"))
        }
        _ => None,
    }
}

/// Every passage's distance from the start, by breadth-first search.
fn distances(setting: &Setting, cells: &[u32]) -> Vec<Option<u32>> {
    let mut distances = vec![None; cells.len()];
    distances[setting.start()] = Some(0);
    let mut queue = VecDeque::from([(setting.start(), 0)]);
    while let Some((index, distance)) = queue.pop_front() {
        for next in neighbours(setting, index) {
            if is_passage(cells[next]) && distances[next].is_none() {
                distances[next] = Some(distance + 1);
                queue.push_back((next, distance + 1));
            }
        }
    }
    distances
}

/// Cells beside a cell that is not on the border.
fn neighbours(setting: &Setting, index: usize) -> [usize; 4] {
    STEPS.map(|(right, down)| {
        index.wrapping_add_signed(right as isize + down as isize * setting.width as isize)
    })
}

/// The shortest way from start to goal by breadth-first search, as indices in rising order; nothing if there is none.
#[must_use]
pub fn shortest_way(setting: &Setting, cells: &[u32]) -> Option<Vec<usize>> {
    let distances = distances(setting, cells);
    let mut at = setting.goal();
    let mut way = vec![at];
    for distance in (0..distances[at]?).rev() {
        at = neighbours(setting, at).into_iter().find(|next| distances[*next] == Some(distance))?;
        way.push(at);
    }
    way.sort_unstable();
    Some(way)
}

/// The way that is left when dead ends are filled.
#[must_use]
pub fn unfilled(cells: &[u32]) -> Vec<usize> {
    (0..cells.len()).filter(|index| kind(cells[*index]) == OPEN).collect()
}

/// The way that the dots' trail marks.
#[must_use]
pub fn trail(cells: &[u32]) -> Vec<usize> {
    (0..cells.len()).filter(|index| cells[*index] & TRAIL != 0).collect()
}

/// How much of the growing is done: the share of slots inside the border that are decided, 0 to 1.
#[must_use]
pub fn grown_share(setting: &Setting, cells: &[u32]) -> f64 {
    let (width, height) = (setting.width as usize, setting.height as usize);
    let slots = (width / 2) * (height / 2 - 1) + (width / 2 - 1) * (height / 2);
    let is_slot = |index: usize| (index % width + index / width) % 2 == 1;
    let open = (0..cells.len()).filter(|index| is_slot(*index) && kind(cells[*index]) == FLOOR).count();
    if slots == 0 { 1.0 } else { 1.0 - open as f64 / slots as f64 }
}
