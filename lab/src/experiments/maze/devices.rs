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
    use super::super::device::{Automaton, Form, Program};
    use super::super::proof::Verdict;
    use super::super::stages::bytes;
    use super::{Context, Devices, Entrant, Finding, Findings, Rc, Stage, Story};
    use crate::experiments::factors;
    use crate::record::Excluded;
    use cipherloom_gpu::webgpu::{AdapterReport, Adapters};

    /// A device with its programs.
    pub(super) struct Opened {
        name: String,
        report: AdapterReport,
        programs: Vec<(Rule, Form, Rc<Program>)>,
    }

    impl Devices {
        /// Opens what is here. What cannot be opened is noted, and the rest goes on.
        pub(in super::super) fn open(findings: &mut Findings) -> Devices {
            let adapters = Adapters::list(false);
            let mut opened: Vec<Opened> = Vec::new();
            let reports = adapters.reports();
            if reports.is_empty() {
                findings.notes.push(
                    "no graphics devices: no driver for Vulkan, Metal or Direct3D 12 was found; Debian's mesa-vulkan-drivers \
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
                match open_one(&adapters, &report, &name) {
                    Ok(device) => {
                        findings.versions.insert(device.name.clone(), driver(&device.report));
                        opened.push(device);
                    }
                    Err(error) => findings.notes.push(format!("{name}: not used: {error:#}")),
                }
            }
            Devices { opened }
        }

        /// Has every device that can afford it grow the maze by itself, in both forms. What is not perfect is excluded.
        pub(in super::super) fn examine(
            &self,
            story: &Story,
            patience: f64,
            context: &mut Context,
            findings: &mut Findings,
        ) -> Vec<Finding> {
            let mut found = Vec::new();
            for device in &self.opened {
                for (_, form, program) in device.programs.iter().filter(|(rule, ..)| *rule == Rule::Grow) {
                    let pace = affordable::nanoseconds(findings, &device.name, form.name(), "grow");
                    let seconds = pace * story.setting.cells() as f64 * f64::from(story.frames) / 1e9;
                    if seconds > patience {
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

    fn open_one(adapters: &Adapters, report: &AdapterReport, name: &str) -> anyhow::Result<Opened> {
        let context = Rc::new(adapters.open(Some(&report.number.to_string()))?);
        let mut programs = Vec::new();
        for rule in Rule::ALL {
            for form in Form::ALL {
                programs.push((rule, form, Rc::new(Program::new(&context, rule, form)?)));
            }
        }
        Ok(Opened { name: name.to_owned(), report: report.clone(), programs })
    }

    fn examine(device: &Opened, form: Form, program: &Rc<Program>, story: &Story) -> anyhow::Result<Finding> {
        let mut automaton = Automaton::new(program, story.setting)?;
        automaton.load(&story.setting.plot(), 0)?;
        // A device that is right ends with the oracle; one that is not gets some rounds more.
        let frames = automaton.finish(story.frames + 128)?;
        let cells = automaton.cells()?;
        Ok(Finding {
            device: device.name.clone(),
            driver: driver(&device.report),
            form: form.name().to_owned(),
            size: story.setting.width,
            frames,
            digest: sha256(&bytes(&cells)),
            verdict: Verdict::on(&story.setting, &story.grown, &cells),
        })
    }
}
