//! The automaton on this processor: what every device is compared with.
//!
//! Frame f makes the cells of frame f + 1 from a cell and its four neighbours alone, so the order of cells does not count.

use super::cell::{OPEN, STEPS, TRAIL, WALL, is_unsettled, kind};
use super::chance::pcg4d;
use super::{grow, solve};
use rayon::prelude::*;

/// What is done with the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A maze grows.
    Grow,
    /// Dead ends are filled.
    Fill,
    /// Dots look for the goal.
    Dots,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 3] = [Rule::Grow, Rule::Fill, Rule::Dots];

    /// A word for it, as the shader's functions have.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Rule::Grow => "grow",
            Rule::Fill => "fill",
            Rule::Dots => "dots",
        }
    }
}

/// Which maze.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Cells from left to right; odd, at least 5.
    pub width: u32,
    /// Cells from top to bottom; odd, at least 5.
    pub height: u32,
    /// Of everything that is left to chance.
    pub seed: u32,
    /// How often a wall beside a free slot becomes a head, and a dot comes into being, in 65536ths of a round.
    pub chance: u32,
    /// The frame from which on growing leaves nothing to chance.
    pub finish: u32,
}

impl Setting {
    /// Growing leaves nothing to chance after so many frames for each cell of the longer side: twice what it takes mazes of
    /// 500 cells a side and more, so that the finish only sees to it that there is an end.
    pub const FINISH_PER_CELL: u32 = 4;

    /// Small mazes have at least so many frames, for chance can be slow.
    pub const LEAST_FINISH: u32 = 1024;

    /// A maze with the usual chance and finish.
    ///
    /// # Panics
    /// If a side is even or below 5.
    #[must_use]
    pub fn new(width: u32, height: u32, seed: u32) -> Setting {
        assert!(
            width % 2 == 1 && height % 2 == 1 && width >= 5 && height >= 5,
            "sides are odd and at least 5, not {width} by {height}"
        );
        let finish = Self::LEAST_FINISH.max(Self::FINISH_PER_CELL * width.max(height));
        Setting { width, height, seed, chance: 656, finish }
    }

    /// The same maze with another chance: 656 keeps heads rare while a maze grows, dots want more.
    #[must_use]
    pub fn with_chance(self, chance: u32) -> Setting {
        Setting { chance, ..self }
    }

    /// How many cells there are.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Before the first frame: a border of walls, and rooms.
    #[must_use]
    pub fn plot(&self) -> Vec<u32> {
        let cell = |x: u32, y: u32| match () {
            () if x == 0 || y == 0 || x == self.width - 1 || y == self.height - 1 => WALL,
            () if x % 2 == 1 && y % 2 == 1 => OPEN,
            () => super::cell::FLOOR,
        };
        (0..self.height).flat_map(|y| (0..self.width).map(move |x| cell(x, y))).collect()
    }

    /// The index of the start: the room at the top left.
    #[must_use]
    pub fn start(&self) -> usize {
        self.width as usize + 1
    }

    /// The index of the goal: the room at the bottom right.
    #[must_use]
    pub fn goal(&self) -> usize {
        self.cells() - self.width as usize - 2
    }
}

/// Waking a thread costs more than so many cells.
const MIN_CELLS: usize = 1 << 14;

/// A cell's place in space and time.
pub(super) struct Place<'a> {
    pub(super) setting: &'a Setting,
    pub(super) frame: u32,
    pub(super) x: u32,
    pub(super) y: u32,
}

impl Place<'_> {
    pub(super) fn random(&self) -> [u32; 4] {
        pcg4d(self.x, self.y, self.frame, self.setting.seed)
    }

    pub(super) fn is_border(&self) -> bool {
        self.x == 0 || self.y == 0 || self.x == self.setting.width - 1 || self.y == self.setting.height - 1
    }

    pub(super) fn is_finishing(&self) -> bool {
        self.frame >= self.setting.finish
    }

    pub(super) fn is_start(&self) -> bool {
        (self.x, self.y) == (1, 1)
    }

    pub(super) fn is_goal(&self) -> bool {
        (self.x, self.y) == (self.setting.width - 2, self.setting.height - 2)
    }
}

/// One frame, cell by cell on this thread.
///
/// # Panics
/// If the slices are not of the setting's size.
pub fn step(rule: Rule, setting: &Setting, frame: u32, from: &[u32], to: &mut [u32]) {
    assert!(from.len() == setting.cells() && to.len() == setting.cells(), "both have every cell");
    if is_at_rest(rule, setting, from) {
        to.copy_from_slice(from);
        return;
    }
    for (y, row) in to.chunks_exact_mut(setting.width as usize).enumerate() {
        step_row(rule, setting, frame, from, y as u32, row);
    }
}

/// One frame, on the threads of rayon's pool.
///
/// # Panics
/// As [`step`].
pub fn step_on_threads(rule: Rule, setting: &Setting, frame: u32, from: &[u32], to: &mut [u32]) {
    assert!(from.len() == setting.cells() && to.len() == setting.cells(), "both have every cell");
    if is_at_rest(rule, setting, from) {
        to.copy_from_slice(from);
        return;
    }
    to.par_chunks_exact_mut(setting.width as usize)
        .enumerate()
        .for_each(|(y, row)| step_row(rule, setting, frame, from, y as u32, row));
}

/// Dots stand still when the trail has come to the start; the other rules come to rest by themselves.
fn is_at_rest(rule: Rule, setting: &Setting, cells: &[u32]) -> bool {
    rule == Rule::Dots && cells[setting.start()] & TRAIL != 0
}

fn step_row(rule: Rule, setting: &Setting, frame: u32, from: &[u32], y: u32, to: &mut [u32]) {
    let (width, height) = (setting.width as usize, setting.height);
    let start = y as usize * width;
    let row = &from[start..start + width];
    to.copy_from_slice(row);
    let at = |x: u32, y: u32, (right, down): (i32, i32)| {
        let (x, y) = (x.wrapping_add_signed(right), y.wrapping_add_signed(down));
        if x < setting.width && y < height { from[y as usize * width + x as usize] } else { WALL }
    };
    // Growing changes every second cell at most.
    let (first, stride) = match rule {
        Rule::Grow if frame.is_multiple_of(2) => (1 - y % 2, 2),
        Rule::Grow if y % 2 == 1 => return,
        Rule::Grow => (0, 2),
        _ => (0, 1),
    };
    for x in (first..setting.width).step_by(stride) {
        let cell = row[x as usize];
        if rule != Rule::Grow && kind(cell) == WALL {
            continue;
        }
        let place = Place { setting, frame, x, y };
        let around = STEPS.map(|step| at(x, y, step));
        to[x as usize] = match rule {
            Rule::Grow => grow::next(&place, cell, around),
            Rule::Fill => solve::fill(&place, cell, around),
            Rule::Dots => solve::dots(&place, cell, around),
        };
    }
}

/// The cells after so many frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// The last cells.
    pub cells: Vec<u32>,
    /// How many frames led to them.
    pub frames: u32,
    /// Whether the rule has come to its end; otherwise it has gone on for [`Life::MOST`] frames.
    pub has_ended: bool,
}

impl Life {
    /// No rule is followed for longer.
    pub const MOST: u32 = 1 << 22;

    /// Follows a rule from these cells to its end; `each` sees the cells after each frame. This is the oracle: it looks at
    /// every cell in every frame, and leaves nothing out as [`step`] does.
    #[must_use]
    pub fn of(rule: Rule, setting: &Setting, cells: Vec<u32>, each: impl FnMut(u32, &[u32])) -> Life {
        Life::by(step_plainly, rule, setting, cells, each)
    }

    fn by(
        step: fn(Rule, &Setting, u32, &[u32], &mut [u32]),
        rule: Rule,
        setting: &Setting,
        cells: Vec<u32>,
        mut each: impl FnMut(u32, &[u32]),
    ) -> Life {
        let (mut cells, mut next) = (cells.clone(), cells);
        for frame in 0..Life::MOST {
            step(rule, setting, frame, &cells, &mut next);
            std::mem::swap(&mut cells, &mut next);
            each(frame + 1, &cells);
            if has_ended(rule, setting, &next, &cells) {
                return Life { cells, frames: frame + 1, has_ended: true };
            }
        }
        Life { cells, frames: Life::MOST, has_ended: false }
    }

    /// A maze grown from its plot.
    #[must_use]
    pub fn grown(setting: &Setting) -> Life {
        Life::of(Rule::Grow, setting, setting.plot(), |_, _| ())
    }

    /// The same by [`step_on_threads`], which leaves out cells that cannot change.
    #[must_use]
    pub fn grown_quickly(setting: &Setting) -> Life {
        Life::quickly(Rule::Grow, setting, setting.plot(), |_, _| ())
    }

    /// [`Life::of`] by [`step_on_threads`]: for what the oracle has proven, or is too slow for.
    #[must_use]
    pub fn quickly(rule: Rule, setting: &Setting, cells: Vec<u32>, each: impl FnMut(u32, &[u32])) -> Life {
        Life::by(step_on_threads, rule, setting, cells, each)
    }
}

/// Every cell by itself.
fn step_plainly(rule: Rule, setting: &Setting, frame: u32, from: &[u32], to: &mut [u32]) {
    let is_at_rest = is_at_rest(rule, setting, from);
    let cell_at = |x: u32, y: u32| {
        let is_inside = x < setting.width && y < setting.height;
        if is_inside { from[y as usize * setting.width as usize + x as usize] } else { WALL }
    };
    let rows =
        to.par_chunks_exact_mut(setting.width as usize).with_min_len(MIN_CELLS / setting.width as usize);
    rows.enumerate().for_each(|(y, row)| {
        let y = y as u32;
        for (x, cell) in (0..).zip(row) {
            let place = Place { setting, frame, x, y };
            let around =
                STEPS.map(|(right, down)| cell_at(x.wrapping_add_signed(right), y.wrapping_add_signed(down)));
            *cell = match rule {
                _ if is_at_rest => cell_at(x, y),
                Rule::Grow => grow::next(&place, cell_at(x, y), around),
                Rule::Fill => solve::fill(&place, cell_at(x, y), around),
                Rule::Dots => solve::dots(&place, cell_at(x, y), around),
            };
        }
    });
}

fn has_ended(rule: Rule, setting: &Setting, before: &[u32], after: &[u32]) -> bool {
    match rule {
        Rule::Grow => !after.iter().any(|cell| is_unsettled(*cell)),
        Rule::Fill => before == after,
        Rule::Dots => is_at_rest(rule, setting, after),
    }
}
