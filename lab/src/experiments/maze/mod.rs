//! A maze that grows and is solved by a cellular automaton: what do branches cost, when does a device pay, and does every
//! driver grow the same maze?
//!
//! Published on phones of 2010 to 2013, whose drivers broke walls or stopped growing. Here with rules that provably end in a
//! perfect maze and random numbers made on the device, so that the cells after every frame are the same on every
//! device, driver and in the browser (`lab/web/`), and the digest of the last ones is a test of conformance.

mod affordable;
mod animation;
mod answers;
pub mod automaton;
mod browser;
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
mod published;
mod solve;
mod stages;
#[cfg(test)]
mod tests;

use super::{Context, Experiment, Findings, Published};
use crate::measure::Contest;
use crate::record::Level;
use automaton::{Rule, Setting};
use browser::Browser;
use devices::Devices;
use stages::Story;

/// Cells along a side: odd, and one more than the published powers of two.
const SIDES: [u32; 6] = [129, 257, 513, 1025, 2049, 4097];
const QUICK_SIDES: [u32; 2] = [129, 257];

/// Mazes up to these sides are solved too: filling takes about twice as many frames as a side has cells, dots more.
const MOST_FILLED: u32 = 1025;
const MOST_DOTTED: u32 = 257;
const QUICK_MOST_DOTTED: u32 = 129;

/// Mazes up to this side have at least the first and the last frames of growing and filling timed.
const MOST_SHORT: u32 = 2049;

/// Numbers of dots, and the side of the maze that they run through.
const DOTS: [u32; 3] = [1, 100, 10_000];
const DOTS_SIDE: u32 = 1025;
const QUICK_DOTS_SIDE: u32 = 257;

/// How often a dot comes into being, in 65536ths: heads are to be rare, dots are not.
pub const DOTS_CHANCE: u32 = 16_384;

/// Seconds that every contestant may take for all its turns in a contest, by what is known of it: of a part of growing, and
/// of a whole solution.
const PATIENCE: f64 = 4.0;
const PATIENCE_WITH_SOLVERS: f64 = 20.0;

/// Seconds in which a maze must grow for its verdict to be sought; more where its size was asked for.
const QUICK_PROOF: f64 = 6.0;
const PROOF: f64 = 60.0;
const PROOF_OF_ASKED: f64 = 1200.0;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "maze",
    question: "How fast does a maze grow by a cellular automaton, what do branches cost, and does every driver grow it right?",
    published: &[
        Published {
            file: "maze_fps.csv",
            origin: "a maze grown and solved by a cellular automaton on GPUs of phones and tablets, 2010 to 2013",
            csv: include_str!("../../../published/maze_fps.csv"),
        },
        Published {
            file: "maze_branching.csv",
            origin: "the same, by two forms of the rule, at the beginning and the end of a maze's life",
            csv: include_str!("../../../published/maze_branching.csv"),
        },
    ],
    // Fewer bits than the rules need are a finding, as they were in the publication.
    is_ours: |variant| !["lowp", "mediump"].iter().any(|less| variant.ends_with(less)),
    run,
    answer: answers::of,
};

fn run(context: &mut Context) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    let setting = |side: u32, seed: u64| Setting::new(side, side, seed as u32);
    let most_rounds = context.by_extent(3, 11);
    let asked = std::mem::take(&mut context.sides);
    let usual_sides: &[u32] = context.by_extent(&QUICK_SIDES, &SIDES);
    let (sides, proof) = match asked.as_slice() {
        [] => (usual_sides, context.by_extent(QUICK_PROOF, PROOF)),
        asked => (asked, PROOF_OF_ASKED),
    };
    let usual = setting(sides[0], context.seed);
    for (name, value) in [
        ("rounds_at_most", most_rounds as u64),
        ("chance_of_heads", u64::from(usual.chance)),
        ("chance_of_dots", u64::from(DOTS_CHANCE)),
        ("finish_after_frames_per_cell_of_a_side", u64::from(Setting::FINISH_PER_CELL)),
        ("finish_after_frames_at_least", u64::from(Setting::LEAST_FINISH)),
    ] {
        findings.parameters.insert(name.into(), Level::from(value));
    }
    let devices = Devices::open(&mut findings);
    let browser = Browser::open(context, &mut findings);
    let mut mazes = Vec::new();
    for &side in sides {
        let setting = setting(side, context.seed);
        context.progress.say(format!("the oracle's maze of {side} by {side} cells"));
        // Heads come from the border and walk inwards: lives of 1025 and 2049 cells a side have 1988 and 3950 frames.
        let work = setting.cells() as f64 * f64::from(2 * side) / 1e9;
        let pace = affordable::nanoseconds(&findings, &mazes, contestants::PROCESSOR, "all threads", "grow");
        if work * pace > proof {
            let words =
                format!("{side} by {side}: left out, this processor would take about {:.0} s", work * pace);
            findings.notes.push(words);
            continue;
        }
        let mut solvers = Vec::new();
        if side <= MOST_FILLED {
            solvers.push((Rule::Fill, 0));
        }
        if side <= context.by_extent(QUICK_MOST_DOTTED, MOST_DOTTED) {
            solvers.push((Rule::Dots, DOTS_CHANCE));
        }
        // The oracle keeps eight moments and solves; where one part alone were too much to time, the proof is enough.
        let is_timed = work * pace / f64::from(stages::PARTS) <= PATIENCE;
        let mut story = if is_timed { Story::tell(setting, &solvers)? } else { Story::prove(setting)? };
        if !is_timed && side <= MOST_SHORT {
            story.add_ends(Rule::Grow, 0);
        }
        if side <= MOST_SHORT {
            story.add_ends(Rule::Fill, 0);
        }
        if solvers.contains(&(Rule::Dots, DOTS_CHANCE)) {
            story.add_ends(Rule::Dots, DOTS_CHANCE);
        }
        if side == context.by_extent(QUICK_DOTS_SIDE, DOTS_SIDE) {
            story.add_dots(&DOTS);
        }
        mazes.push(conformance::oracle(&story));
        mazes.extend(devices.examine(&story, proof, &mazes, context, &mut findings));
        for stage in &story.stages {
            let mut entrants = contestants::on_processor(stage);
            entrants.extend(devices.entrants(stage, &mazes));
            if let Some(browser) = &browser {
                entrants.extend(browser.entrants(stage));
            }
            let patience =
                if stage.rule == Rule::Grow && is_timed { PATIENCE } else { PATIENCE_WITH_SOLVERS };
            let (entrants, rounds) =
                affordable::among(entrants, stage, most_rounds, patience, &mazes, &mut findings);
            let contest = Contest { warm_ups: 1, rounds, seed: context.seed + u64::from(side) };
            let what = format!("{side} by {side}, {}, part {}", stage.rule.name(), stage.part_name());
            context.hold(contest, &what, entrants, &mut findings);
        }
    }
    findings.tables.push(conformance::table(&mazes));
    findings.pictures = picture::moments(context.seed as u32, DOTS_CHANCE)?;
    if let Some(path) = &context.drawings.png {
        picture::write_png(&setting(context.drawings.cells, context.seed), path)?;
    }
    if let Some(path) = &context.drawings.apng {
        animation::write_apng(&setting(context.drawings.cells, context.seed), DOTS_CHANCE, path)?;
    }
    if let Some(path) = &context.drawings.gif {
        animation::write_gif(&setting(context.drawings.cells, context.seed), DOTS_CHANCE, path)?;
    }
    Ok(findings)
}
