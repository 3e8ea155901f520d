//! What is timed: parts of a maze's life, each from given cells to cells that the oracle knows.

use super::automaton::{Life, Rule, Setting, step_on_threads};
use super::cell::{DOT, is_passage};
use super::proof;
use crate::measure::Random;
use crate::record::Level;
use anyhow::{Context as _, ensure};
use std::rc::Rc;
use std::time::Instant;

/// Growing is cut into so many parts, so that the first and the last can be told apart.
pub(super) const PARTS: u32 = 8;

/// How many frames of a large maze's part, and of a solver's, are timed: 32, fewer of those with more than a million cells.
fn short(setting: &Setting) -> u32 {
    ((1 << 25) / setting.cells() as u32).clamp(4, 32) & !1
}

/// Which frames of a rule's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// 1 to [`PARTS`].
    Of(u32),
    /// All of them.
    Whole,
    /// The first, with this number of dots from the start and no others.
    WithDots(u32),
}

/// Some frames of a maze's life.
pub(super) struct Stage {
    pub(super) rule: Rule,
    pub(super) part: Part,
    pub(super) setting: Setting,
    pub(super) first_frame: u32,
    pub(super) frames: u32,
    /// The cells before the first frame.
    pub(super) from: Rc<[u32]>,
    /// The cells after the last, as bytes.
    pub(super) expected: Rc<[u8]>,
}

impl Stage {
    /// As records have it.
    pub(super) fn part_name(&self) -> Level {
        match self.part {
            Part::Of(part) => Level::from(u64::from(part)),
            Part::Whole => Level::from("all"),
            Part::WithDots(_) => Level::from("so many dots"),
        }
    }
}

/// A maze's whole life by the oracle.
pub(super) struct Story {
    pub(super) setting: Setting,
    /// How many frames it takes to grow.
    pub(super) frames: u32,
    /// How long it took this processor to grow it.
    pub(super) seconds: f64,
    /// The grown maze.
    pub(super) grown: Rc<[u32]>,
    pub(super) stages: Vec<Rc<Stage>>,
}

impl Story {
    /// Grows a maze and proves it perfect; solves it by these rules, with their chances, and proves each solution the
    /// shortest way.
    ///
    /// # Errors
    /// If one of them is not what it must be.
    pub(super) fn tell(setting: Setting, solvers: &[(Rule, u32)]) -> anyhow::Result<Story> {
        let (grown, seconds, mut stages) = grow(&setting)?;
        let way = proof::shortest_way(&setting, &grown).context("the maze has no way")?;
        let from: Rc<[u32]> = grown.as_slice().into();
        for &(rule, chance) in solvers {
            let setting = setting.with_chance(chance);
            let life = Life::of(rule, &setting, grown.clone(), |_, _| ());
            let found =
                if rule == Rule::Fill { proof::unfilled(&life.cells) } else { proof::trail(&life.cells) };
            ensure!(
                life.has_ended && found == way,
                "{}: the way that was found is not the shortest",
                rule.name()
            );
            let expected = bytes(&life.cells).into();
            let from = Rc::clone(&from);
            stages.push(Stage {
                rule,
                part: Part::Whole,
                setting,
                first_frame: 0,
                frames: life.frames,
                from,
                expected,
            });
        }
        let frames = stages.iter().filter(|stage| stage.rule == Rule::Grow).map(|stage| stage.frames).sum();
        let stages = stages.into_iter().map(Rc::new).collect();
        Ok(Story { setting, frames, seconds, grown: from, stages })
    }

    /// Grows a maze in the processor's quickest way and proves it perfect, with nothing to time: for sizes whose every frame
    /// cannot be kept.
    ///
    /// # Errors
    /// If it is not perfect.
    pub(super) fn prove(setting: Setting) -> anyhow::Result<Story> {
        let start = Instant::now();
        let life = Life::grown_quickly(&setting);
        let seconds = start.elapsed().as_secs_f64();
        ensure_perfect(&setting, &life)?;
        Ok(Story { setting, frames: life.frames, seconds, grown: life.cells.into(), stages: Vec::new() })
    }

    /// Adds the beginnings of the first and the last part of this rule's life: what is timed where whole parts would take too long,
    /// and how a solver's rate changes.
    pub(super) fn add_ends(&mut self, rule: Rule, chance: u32) {
        let setting = if rule == Rule::Grow { self.setting } else { self.setting.with_chance(chance) };
        let begin = || if rule == Rule::Grow { setting.plot() } else { self.grown.to_vec() };
        let frames = match rule {
            Rule::Grow => self.frames,
            _ => Life::quickly(rule, &setting, begin(), |_, _| ()).frames,
        };
        // Parts begin at even frames.
        let firsts = [0, (frames * (PARTS - 1) / PARTS) & !1];
        let count = |first| short(&setting).min(frames - first);
        let mut from: [Rc<[u32]>; 2] = [begin().into(), [].into()];
        let mut stages = Vec::new();
        let again = Life::quickly(rule, &setting, begin(), |frame, cells| {
            for (index, first_frame) in firsts.into_iter().enumerate() {
                if frame == first_frame {
                    from[index] = cells.into();
                }
                if frame == first_frame + count(first_frame) {
                    stages.push(Rc::new(Stage {
                        rule,
                        part: Part::Of(if index == 0 { 1 } else { PARTS }),
                        setting,
                        first_frame,
                        frames: count(first_frame),
                        from: Rc::clone(&from[index]),
                        expected: bytes(cells).into(),
                    }));
                }
            }
        });
        assert_eq!(again.frames, frames, "a life is the same each time");
        self.stages.extend(stages);
    }

    /// Adds some frames with these numbers of dots in the grown maze, which all begin in rooms of their own; none comes into being
    /// meanwhile.
    pub(super) fn add_dots(&mut self, numbers: &[u32]) {
        let setting = self.setting.with_chance(0);
        let width = setting.width as usize;
        let mut rooms: Vec<usize> =
            (0..setting.cells()).filter(|at| at % width % 2 == 1 && at / width % 2 == 1).collect();
        Random::new(u64::from(setting.seed)).shuffle(&mut rooms);
        for &dots in numbers.iter().filter(|dots| **dots as usize <= rooms.len()) {
            let mut from = self.grown.to_vec();
            for &room in &rooms[..dots as usize] {
                let beside = [room - width, room + 1, room + width, room - 1];
                let side = beside.iter().position(|&cell| is_passage(self.grown[cell])).unwrap_or(0);
                from[room] = DOT | (side as u32) << 3;
            }
            let (mut cells, mut next) = (from.clone(), from.clone());
            let frames = short(&setting);
            for frame in 0..frames {
                step_on_threads(Rule::Dots, &setting, frame, &cells, &mut next);
                std::mem::swap(&mut cells, &mut next);
            }
            self.stages.push(Rc::new(Stage {
                rule: Rule::Dots,
                part: Part::WithDots(dots),
                setting,
                first_frame: 0,
                frames,
                from: from.into(),
                expected: bytes(&cells).into(),
            }));
        }
    }
}

fn ensure_perfect(setting: &Setting, life: &Life) -> anyhow::Result<()> {
    let flaw = proof::flaw(setting, &life.cells);
    ensure!(life.has_ended && flaw.is_none(), "the oracle's maze is not perfect: {flaw:?}");
    Ok(())
}

/// The grown maze, the seconds it took, and the parts of its life.
fn grow(setting: &Setting) -> anyhow::Result<(Vec<u32>, f64, Vec<Stage>)> {
    let start = Instant::now();
    let frames = Life::grown(setting).frames;
    let seconds = start.elapsed().as_secs_f64();
    // Parts begin at even frames.
    let ends = |part: u32| if part == PARTS { frames } else { (frames * part / PARTS) & !1 };
    let mut stages: Vec<Stage> = Vec::new();
    let mut from: Rc<[u32]> = setting.plot().into();
    let life = Life::of(Rule::Grow, setting, setting.plot(), |frame, cells| {
        let part = stages.len() as u32 + 1;
        if frame == ends(part) {
            let first_frame = ends(part - 1);
            let to: Rc<[u32]> = cells.into();
            stages.push(Stage {
                rule: Rule::Grow,
                part: Part::Of(part),
                setting: *setting,
                first_frame,
                frames: frame - first_frame,
                from: std::mem::replace(&mut from, to),
                expected: bytes(cells).into(),
            });
        }
    });
    ensure_perfect(setting, &life)?;
    ensure!(stages.len() as u32 == PARTS, "a life of {frames} frames is too short to be cut");
    Ok((life.cells, seconds, stages))
}

/// Cells as they lie in memory of a device: little-endian words.
pub(super) fn bytes(cells: &[u32]) -> Vec<u8> {
    cells.iter().flat_map(|cell| cell.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_life_follow_each_other() {
        let story = Story::tell(Setting::new(33, 29, 1), &[(Rule::Fill, 0), (Rule::Dots, 16_384)]).unwrap();
        let parts: Vec<&Rc<Stage>> = story.stages.iter().filter(|stage| stage.rule == Rule::Grow).collect();
        assert_eq!(parts.len() as u32, PARTS);
        for pair in parts.windows(2) {
            assert_eq!(pair[0].first_frame + pair[0].frames, pair[1].first_frame);
            assert_eq!(*pair[0].expected, *bytes(&pair[1].from));
            assert_eq!(pair[1].first_frame % 2, 0);
        }
        assert_eq!(*parts[PARTS as usize - 1].expected, *bytes(&story.grown));
        let mut ends = Story::prove(story.setting).unwrap();
        ends.add_ends(Rule::Grow, 0);
        ends.add_ends(Rule::Fill, 0);
        let firsts: Vec<(Rule, Part, u32)> =
            ends.stages.iter().map(|stage| (stage.rule, stage.part, stage.first_frame)).collect();
        assert_eq!(firsts[0], (Rule::Grow, Part::Of(1), 0));
        assert_eq!(firsts[1], (Rule::Grow, Part::Of(PARTS), parts[PARTS as usize - 1].first_frame));
        assert_eq!(*ends.stages[1].from, *parts[PARTS as usize - 1].from);
        assert_eq!(firsts[2..].iter().map(|first| first.0).collect::<Vec<_>>(), [Rule::Fill; 2]);
        let proven = Story::prove(story.setting).unwrap();
        assert_eq!((proven.frames, &proven.grown), (story.frames, &story.grown));
    }
    #[test]
    fn so_many_dots_move_and_none_is_lost() {
        let mut story = Story::prove(Setting::new(65, 65, 1)).unwrap();
        story.add_dots(&[1, 100, 10_000]);
        let count =
            |cells: &mut dyn Iterator<Item = u32>| cells.filter(|cell| matches!(cell & 7, 5 | 6)).count();
        // There are 1024 rooms.
        assert_eq!(story.stages.len(), 2);
        for (stage, dots) in story.stages.iter().zip([1, 100]) {
            assert_eq!(count(&mut stage.from.iter().copied()), dots);
            let expected = stage.expected.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
            let after: Vec<u32> = expected.collect();
            assert_ne!(after, stage.from.to_vec());
            assert!((1..=dots).contains(&count(&mut after.into_iter())), "dots leave by the goal alone");
        }
    }
}
