//! A maze that grows and is solved by a cellular automaton: what do branches cost, when does a device pay, and does every
//! driver grow the same maze?
//!
//! Published on phones of 2010 to 2013, whose drivers broke walls or stopped growing. Here with rules that provably end in a
//! perfect maze and random numbers made on the device, so that the cells after every frame are the same on every
//! device, driver and in the browser (`web/`), and the digest of the last ones is a test of conformance.

mod affordable;
mod answers;
pub mod automaton;
pub mod cell;
mod chance;
mod conformance;
mod contestants;
#[cfg(feature = "gpu")]
pub mod device;
mod devices;
mod grow;
mod picture;
pub mod proof;
mod solve;
mod stages;
#[cfg(test)]
mod tests;

use super::{Context, Experiment, Findings, Published};
use crate::measure::Contest;
use crate::record::Level;
use automaton::{Rule, Setting};
use devices::Devices;
use stages::Story;

/// Cells along a side: odd, and one more than the published powers of two.
const SIDES: [u32; 6] = [129, 257, 513, 1025, 2049, 4097];
const QUICK_SIDES: [u32; 2] = [129, 257];

/// Mazes up to these sides are solved too: filling takes about twice as many frames as a side has cells, dots more.
const MOST_FILLED: u32 = 1025;
const MOST_DOTTED: u32 = 257;
const QUICK_MOST_DOTTED: u32 = 129;

/// How often a dot comes into being, in 65536ths: heads are to be rare, dots are not.
pub const DOTS_CHANCE: u32 = 16_384;

/// What would take longer than so many seconds is left out, by the rate of the size before.
const QUICK_PATIENCE: f64 = 6.0;
const PATIENCE: f64 = 60.0;

/// The experiment.
pub struct Maze;

impl Experiment for Maze {
    fn name(&self) -> &'static str {
        "maze"
    }

    fn question(&self) -> &'static str {
        "How fast does a maze grow by a cellular automaton, what do branches cost, and does every driver grow it right?"
    }

    fn published(&self) -> Option<Published> {
        Some(Published {
            file: "maze_fps.csv, maze_branching.csv",
            origin: "a maze grown and solved by a cellular automaton on GPUs of phones and tablets, 2010 to 2013",
            csv: include_str!("../../../published/maze_fps.csv"),
        })
    }

    fn run(&self, context: &mut Context) -> anyhow::Result<Findings> {
        let mut findings = Findings::default();
        let setting = |side: u32, seed: u64| Setting::new(side, side, seed as u32);
        let rounds = context.by_extent(3, 11);
        let patience = context.by_extent(QUICK_PATIENCE, PATIENCE);
        let sides: &[u32] = context.by_extent(&QUICK_SIDES, &SIDES);
        let usual = setting(sides[0], context.seed);
        for (name, value) in [
            ("rounds", rounds as u64),
            ("chance_of_heads", u64::from(usual.chance)),
            ("chance_of_dots", u64::from(DOTS_CHANCE)),
            ("finish_after_frame", u64::from(usual.finish)),
        ] {
            findings.parameters.insert(name.into(), Level::from(value));
        }
        let devices = Devices::open(&mut findings);
        let mut mazes = Vec::new();
        for &side in sides {
            let setting = setting(side, context.seed);
            context.progress.say(format!("the oracle's maze of {side} by {side} cells"));
            let expected = f64::from(usual.finish)
                * 2.0
                * affordable::nanoseconds(&findings, contestants::PROCESSOR, "all threads", "grow");
            if expected * setting.cells() as f64 / 1e9 > 4.0 * patience {
                findings
                    .notes
                    .push(format!("{side} by {side}: left out, the oracle would take too long here"));
                continue;
            }
            let mut solvers = Vec::new();
            if side <= MOST_FILLED {
                solvers.push((Rule::Fill, 0));
            }
            if side <= context.by_extent(QUICK_MOST_DOTTED, MOST_DOTTED) {
                solvers.push((Rule::Dots, DOTS_CHANCE));
            }
            let story = Story::tell(setting, &solvers)?;
            mazes.push(conformance::oracle(&story));
            mazes.extend(devices.examine(&story, patience, context, &mut findings));
            for stage in &story.stages {
                let mut entrants = contestants::on_processor(stage);
                entrants.extend(devices.entrants(stage, &mazes));
                let entrants = affordable::among(entrants, stage, rounds, patience, &mut findings);
                let contest = Contest { warm_ups: 1, rounds, seed: context.seed + u64::from(side) };
                let part = stage.part.map_or_else(String::new, |part| format!(", part {part}"));
                context.hold(
                    contest,
                    &format!("{side} by {side}, {}{part}", stage.rule.name()),
                    entrants,
                    &mut findings,
                );
            }
        }
        findings.tables = answers::tables(&findings);
        findings.tables.push(conformance::table(&mazes));
        findings.answers = answers::of(&findings, &mazes[..]);
        findings.pictures = picture::moments(context.seed as u32, DOTS_CHANCE)?;
        if let Some(path) = &context.drawings.png {
            picture::write_png(&setting(context.drawings.cells, context.seed), path)?;
        }
        if let Some(path) = &context.drawings.apng {
            picture::write_apng(&setting(context.drawings.cells, context.seed), DOTS_CHANCE, path)?;
        }
        Ok(findings)
    }
}
