//! What is timed: parts of a maze's life, each from given cells to cells that the oracle knows.

use super::automaton::{Life, Rule, Setting};
use super::proof;
use crate::record::Level;
use anyhow::{Context as _, ensure};
use std::rc::Rc;
use std::time::Instant;

/// Growing is cut into so many parts, so that the first and the last can be told apart.
pub(super) const PARTS: u32 = 8;

/// Some frames of a maze's life.
pub(super) struct Stage {
    pub(super) rule: Rule,
    /// 1 to [`PARTS`]; nothing if it is the rule's whole life.
    pub(super) part: Option<u32>,
    pub(super) setting: Setting,
    pub(super) first_frame: u32,
    pub(super) frames: u32,
    /// The cells before the first frame.
    pub(super) from: Rc<[u32]>,
    /// The cells after the last, as bytes.
    pub(super) expected: Rc<[u8]>,
}

impl Stage {
    /// `1 of 8`, or `all`.
    pub(super) fn part_name(&self) -> Level {
        match self.part {
            Some(part) => Level::from(u64::from(part)),
            None => Level::from("all"),
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
                part: None,
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
                part: Some(part),
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
        let proven = Story::prove(story.setting).unwrap();
        assert_eq!((proven.frames, &proven.grown), (story.frames, &story.grown));
    }
}
