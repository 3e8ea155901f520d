//! Every graphics device of this machine, opened, with every rule in both forms; none where the program is built without
//! them.

use super::conformance::Finding;
use super::stages::{Stage, Story};
use crate::experiments::{Context, Findings};
use crate::measure::Entrant;
use std::rc::Rc;

/// What can be had here.
pub(super) struct Devices {
    #[cfg(feature = "gpu")]
    opened: Vec<gpu::Opened>,
}

#[cfg(not(feature = "gpu"))]
impl Devices {
    /// Says how to have devices.
    pub(super) fn open(findings: &mut Findings) -> Devices {
        findings.notes.push(
            "no graphics devices: this program is built without them; `cargo --config .cargo/dynamic.toml run --release \
             -p cipherloom-lab --features gpu -- run maze` has them"
                .to_owned(),
        );
        Devices {}
    }

    pub(super) fn examine(
        &self,
        _story: &Story,
        _patience: f64,
        _mazes: &[Finding],
        _context: &mut Context,
        _findings: &mut Findings,
    ) -> Vec<Finding> {
        Vec::new()
    }

    pub(super) fn entrants(&self, _stage: &Rc<Stage>, _mazes: &[Finding]) -> Vec<Entrant<'static>> {
        Vec::new()
    }
}

#[cfg(feature = "gpu")]
mod gpu {
    use super::super::affordable;
    use super::super::automaton::Rule;
    use super::super::conformance::sha256;
    use super::super::contestants::{OnDevice, entrant};
    use super::super::device::{Automaton, Form, Program, SHADER};
    use super::super::proof::Verdict;
    use super::super::stages::bytes;
    use super::{Context, Devices, Entrant, Finding, Findings, Rc, Stage, Story};
    use crate::experiments::factors;
    use crate::record::Excluded;
    use cipherloom_gpu::webgpu::{AdapterReport, Adapters};
    use std::time::Instant;

    /// A device with its programs.
    pub(super) struct Opened {
        name: String,
        report: AdapterReport,
        programs: Vec<(Rule, Form, Rc<Program>)>,
    }

    impl Devices {
        /// Opens what is here. What cannot be opened is noted, and the rest goes on.
        pub(in super::super) fn open(findings: &mut Findings) -> Devices {
            Devices::open_with(SHADER, findings)
        }

        /// With another shader than the right one: what a driver does that miscomputes.
        pub(super) fn open_with(shader: &str, findings: &mut Findings) -> Devices {
            let adapters = Adapters::list(false);
            let mut opened: Vec<Opened> = Vec::new();
            let reports = adapters.reports();
            if reports.is_empty() {
                findings.notes.push(
                    "no graphics devices: no driver for Vulkan, Metal, Direct3D 12 or OpenGL was found; Debian's mesa-vulkan-drivers \
                     has one in software"
                        .to_owned(),
                );
            }
            for report in reports {
                // Two cards of one name are told apart by their number.
                let is_taken = opened.iter().any(|other| other.name == report.name);
                let name = if is_taken {
                    format!("{} #{}", report.name, report.number)
                } else {
                    report.name.clone()
                };
                if let Some(reason) = report.left_out() {
                    findings.notes.push(format!("{name} ({}): not used: {reason}", report.api));
                    continue;
                }
                match open_one(&adapters, &report, &name, shader) {
                    Ok(device) => {
                        findings.versions.insert(device.name.clone(), driver(&device.report));
                        opened.push(device);
                    }
                    Err(error) => findings.notes.push(format!("{name}: not used: {error:#}")),
                }
            }
            if opened.iter().all(|device| device.report.kind == "software") {
                findings.notes.push(
                    "graphics cards: not measured yet; the devices here, if any, are drivers in software, which run on the \
                     processor's cores and show conformance rather than what a card can do"
                        .to_owned(),
                );
            }
            Devices { opened }
        }

        /// Has every device that can afford it grow the maze by itself, in both forms. What is not perfect is excluded.
        pub(in super::super) fn examine(
            &self,
            story: &Story,
            patience: f64,
            mazes: &[Finding],
            context: &mut Context,
            findings: &mut Findings,
        ) -> Vec<Finding> {
            let mut found = Vec::new();
            for device in &self.opened {
                for (_, form, program) in device.programs.iter().filter(|(rule, ..)| *rule == Rule::Grow) {
                    let pace = affordable::nanoseconds(findings, mazes, &device.name, form.name(), "grow");
                    let seconds = pace * story.setting.cells() as f64 * f64::from(story.frames) / 1e9;
                    if seconds > patience {
                        findings.notes.push(format!(
                            "{}, {}: not asked to grow {} cells a side, which would take about {seconds:.0} s here",
                            device.name,
                            form.name(),
                            story.setting.width
                        ));
                        continue;
                    }
                    context.progress.say(format!("{} grows {} by itself", device.name, story.setting.width));
                    let excluded = match examine(device, *form, program, story) {
                        Ok(finding) => {
                            let verdict = finding.verdict;
                            found.push(finding);
                            (verdict != Verdict::Perfect).then(|| (true, verdict.to_string()))
                        }
                        Err(error) => Some((false, format!("{error:#}"))),
                    };
                    if let Some((was_wrong, reason)) = excluded {
                        let size = u64::from(story.setting.width).into();
                        let factors = factors([("device", device.name.as_str().into()), ("size", size)]);
                        let variant = form.name().to_owned();
                        findings.excluded.push(Excluded { variant, factors, was_wrong, reason });
                    }
                }
            }
            found
        }

        /// Devices and forms that grew this size right.
        pub(in super::super) fn entrants(
            &self,
            stage: &Rc<Stage>,
            mazes: &[Finding],
        ) -> Vec<Entrant<'static>> {
            let mut entrants = Vec::new();
            for device in &self.opened {
                for (rule, form, program) in &device.programs {
                    let is_sound = mazes.iter().any(|maze| {
                        maze.device == device.name
                            && maze.form == form.name()
                            && maze.size == stage.setting.width
                            && maze.verdict == Verdict::Perfect
                    });
                    if *rule == stage.rule && is_sound {
                        let contestant = OnDevice::new(stage, program);
                        entrants.push(entrant(stage, &device.name, form.name(), Box::new(contestant)));
                    }
                }
            }
            entrants
        }
    }

    fn driver(report: &AdapterReport) -> String {
        format!("{} ({}, {})", report.driver, report.api, report.kind)
    }

    fn open_one(
        adapters: &Adapters,
        report: &AdapterReport,
        name: &str,
        shader: &str,
    ) -> anyhow::Result<Opened> {
        let context = Rc::new(adapters.open(Some(&report.number.to_string()))?);
        let mut programs = Vec::new();
        for rule in Rule::ALL {
            for form in Form::ALL {
                programs.push((rule, form, Rc::new(Program::of(shader, &context, rule, form)?)));
            }
        }
        Ok(Opened { name: name.to_owned(), report: report.clone(), programs })
    }

    fn examine(device: &Opened, form: Form, program: &Rc<Program>, story: &Story) -> anyhow::Result<Finding> {
        let mut automaton = Automaton::new(program, story.setting)?;
        automaton.load(&story.setting.plot(), 0)?;
        // A device that is right ends with the oracle; one that is not gets some rounds more.
        let start = Instant::now();
        let frames = automaton.finish(story.frames + 128)?;
        let seconds = start.elapsed().as_secs_f64();
        let cells = automaton.cells()?;
        Ok(Finding {
            device: device.name.clone(),
            driver: driver(&device.report),
            form: form.name().to_owned(),
            size: story.setting.width,
            frames,
            seconds,
            digest: sha256(&bytes(&cells)),
            verdict: Verdict::on(&story.setting, &story.grown, &cells),
        })
    }
}

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use super::super::automaton::{Rule, Setting};
    use super::super::device::SHADER;
    use super::super::{DOTS_CHANCE, conformance};
    use super::*;

    /// What the whole way from device to record says of a driver that makes this of the shader.
    fn examined(faulty: &str) -> (Vec<Finding>, Findings) {
        let mut findings = Findings::default();
        let devices = Devices::open_with(faulty, &mut findings);
        let mut context = Context::of_a_test();
        let story = Story::tell(Setting::new(33, 29, 1), &[(Rule::Dots, DOTS_CHANCE)]).unwrap();
        let mazes = devices.examine(&story, f64::INFINITY, &[], &mut context, &mut findings);
        assert!(!mazes.is_empty(), "no device is here; install mesa-vulkan-drivers, which needs no card");
        for stage in story.stages.iter().filter(|stage| stage.rule == Rule::Grow) {
            let is_sound = mazes.iter().all(|maze| maze.verdict.word() == "perfect");
            assert_eq!(devices.entrants(stage, &mazes).is_empty(), !is_sound, "what is wrong is not timed");
        }
        (mazes, findings)
    }

    #[test]
    fn a_driver_that_miscomputes_is_told_and_not_timed() {
        let with = |right: &str, wrong: &str| {
            assert!(SHADER.contains(right), "{right}");
            SHADER.replace(right, wrong)
        };
        let a_wall_less = with("opposite(way)) { return WALL; }", "opposite(way)) { return OPEN; }")
            .replace("select(FLOOR, WALL, (kind(toward)", "select(FLOOR, OPEN, (kind(toward)");
        let never = with("return frame.number >= frame.finish;", "return false;")
            .replace("(words.z >> 16u)", "(words.z | 0xffffffffu)");
        let other_chances = with("1664525u", "1664529u");
        for (faulty, word) in [
            (SHADER.to_owned(), "perfect"),
            (a_wall_less, "broken walls"),
            (never, "stopped growing"),
            (other_chances, "another maze"),
        ] {
            let (mazes, findings) = examined(&faulty);
            let rows = conformance::table(&mazes).rows;
            for (maze, row) in mazes.iter().zip(&rows) {
                let told = row.last().unwrap();
                assert!(told.starts_with(word), "{}, {}: {told} is not {word}", maze.device, maze.form);
                assert_eq!(told.contains("the first wrong cell is ("), word != "perfect", "{told}");
            }
            let out = findings.excluded.iter().filter(|out| out.was_wrong && out.reason.starts_with(word));
            assert_eq!(out.count(), if word == "perfect" { 0 } else { mazes.len() });
        }
    }
}
