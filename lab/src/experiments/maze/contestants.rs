//! Who takes part: this processor on one thread and on all, and every form on every device.

use super::automaton::{step, step_on_threads};
use super::stages::{Part, Stage, bytes};
use crate::experiments::factors;
use crate::measure::{Contestant, Entrant, Stopwatch};
use crate::record::{Clock, Level, Oracle, Sample, Work};
use std::rc::Rc;

const ORACLE: Oracle = Oracle("the automaton on this processor, every cell by itself");

/// What stands for this machine's processor where devices have their names.
pub(super) const PROCESSOR: &str = "processor";

/// An entrant of this stage. A repeat is a frame.
pub(super) fn entrant(
    stage: &Rc<Stage>,
    device: &str,
    variant: &str,
    contestant: Box<dyn Contestant>,
) -> Entrant<'static> {
    let cells = stage.setting.cells() as u64;
    let mut factors = factors([
        ("device", device.into()),
        ("size", u64::from(stage.setting.width).into()),
        ("task", stage.rule.name().into()),
        ("part", stage.part_name()),
        ("frames", Level::from(u64::from(stage.frames))),
    ]);
    if let Part::WithDots(dots) = stage.part {
        factors.insert("dots".to_owned(), u64::from(dots).into());
    }
    Entrant {
        variant: variant.to_owned(),
        factors,
        work: Work { bytes: 4 * cells, operations: cells },
        clock: Clock::Process,
        oracle: ORACLE,
        expected: Rc::clone(&stage.expected),
        contestant,
    }
}

/// The processor, on one thread and on all.
pub(super) fn on_processor(stage: &Rc<Stage>) -> Vec<Entrant<'static>> {
    let forms: [(&str, Step); 2] = [("one thread", step), ("all threads", step_on_threads)];
    forms
        .into_iter()
        .map(|(variant, step)| {
            let contestant =
                Processor { stage: Rc::clone(stage), step, cells: Vec::new(), next: stage.from.to_vec() };
            entrant(stage, PROCESSOR, variant, Box::new(contestant))
        })
        .collect()
}

type Step = fn(super::automaton::Rule, &super::automaton::Setting, u32, &[u32], &mut [u32]);

struct Processor {
    stage: Rc<Stage>,
    step: Step,
    cells: Vec<u32>,
    next: Vec<u32>,
}

impl Processor {
    fn run(&mut self) -> Sample {
        let Stage { rule, setting, first_frame, frames, ref from, .. } = *self.stage;
        self.cells.clear();
        self.cells.extend_from_slice(from);
        let watch = Stopwatch::start(Clock::Process);
        for frame in first_frame..first_frame + frames {
            (self.step)(rule, &setting, frame, &self.cells, &mut self.next);
            std::mem::swap(&mut self.cells, &mut self.next);
        }
        watch.stop(u64::from(frames))
    }
}

impl Contestant for Processor {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.run();
        Ok(bytes(&self.cells))
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        Ok(self.run())
    }
}

/// A device, in one form of the stage's rule.
#[cfg(feature = "gpu")]
pub(super) struct OnDevice {
    stage: Rc<Stage>,
    program: Rc<super::device::Program>,
    /// Buffers are made when they are first wanted: memory may be too little.
    automaton: Option<super::device::Automaton>,
}

#[cfg(feature = "gpu")]
impl OnDevice {
    pub(super) fn new(stage: &Rc<Stage>, program: &Rc<super::device::Program>) -> OnDevice {
        OnDevice { stage: Rc::clone(stage), program: Rc::clone(program), automaton: None }
    }

    fn run(&mut self) -> anyhow::Result<Sample> {
        let Stage { setting, first_frame, frames, ref from, .. } = *self.stage;
        let automaton = match &mut self.automaton {
            Some(automaton) => automaton,
            empty => empty.insert(super::device::Automaton::new(&self.program, setting)?),
        };
        automaton.load(from, first_frame)?;
        let watch = Stopwatch::start(Clock::Process);
        let on_device = automaton.advance(frames)?;
        let sample = watch.stop(u64::from(frames));
        // A clock that shows no time, or more than passed outside, is none.
        let is_sane = |nanoseconds: &u64| *nanoseconds > 0 && *nanoseconds <= sample.wall_ns;
        Ok(Sample { wall_ns: on_device.filter(is_sane).unwrap_or(sample.wall_ns), ..sample })
    }
}

#[cfg(feature = "gpu")]
impl Contestant for OnDevice {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.run()?;
        match &self.automaton {
            Some(automaton) => Ok(bytes(&automaton.cells()?)),
            None => anyhow::bail!("the device has no cells"),
        }
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        self.run()
    }
}
