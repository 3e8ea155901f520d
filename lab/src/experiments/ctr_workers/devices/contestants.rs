//! Who takes part on a device: each kind and number of workers, end to end and the kernel alone; and the product.

use super::super::crew::Phases;
use super::super::{IV, KEY, Log, ORACLE, WARM_UPS, message, phases};
use super::opened::Opened;
use crate::experiments::{Context, Findings, factors, size_words};
use crate::measure::{Contest, Contestant, Entrant, Stopwatch};
use crate::record::{Clock, Excluded, Factors, Sample, Work};
use anyhow::{bail, ensure};
use cipherloom_gpu::Device;
use cipherloom_kernels::{Aes, Backend, Engine};
use cipherloom_lab_gpu::{Bench, Worker};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

/// A message on a device, shared by those who take turns with it.
type Shared = Rc<RefCell<Box<dyn Bench>>>;

struct OnDevice {
    bench: Shared,
    plain: Rc<[u8]>,
    output: Vec<u8>,
    workers: u32,
    /// Where `end-to-end` notes its phases; nothing for the kernel alone.
    log: Option<Log>,
}

impl OnDevice {
    fn run(&mut self) -> anyhow::Result<(Sample, Phases)> {
        let mut bench = self.bench.borrow_mut();
        let watch = Stopwatch::start(Clock::Process);
        let begin = Instant::now();
        bench.copy_in(&self.plain)?;
        let copied = Instant::now();
        bench.compute(self.workers)?;
        let computed = Instant::now();
        bench.copy_out(&mut self.output)?;
        let end = Instant::now();
        let nanoseconds = |from: Instant, to: Instant| (to - from).as_nanos() as u64;
        let phases = Phases {
            copy_in: nanoseconds(begin, copied),
            compute: nanoseconds(copied, computed),
            copy_out: nanoseconds(computed, end),
        };
        Ok((watch.stop(1), phases))
    }
}

impl Contestant for OnDevice {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.run()?;
        Ok(self.output.clone())
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        if let Some(log) = self.log.clone() {
            let (sample, phases) = self.run()?;
            log.borrow_mut().push((sample, vec![phases]));
            return Ok(sample);
        }
        let watch = Stopwatch::start(Clock::Process);
        let seconds = self.bench.borrow_mut().compute(self.workers)?;
        ensure!(seconds > 0.0, "the device's clock showed no time");
        Ok(Sample { wall_ns: ((seconds * 1e9) as u64).max(1), ..watch.stop(1) })
    }
}

/// Under which name the clock of `kernel-only` stands among the parameters, `device` or `host`: one for all its runs.
pub(super) fn clock_parameter(kernel: &str, device: &str, bytes: usize) -> String {
    format!("clock of {kernel} on {device}, {bytes} bytes")
}

fn levels(device: &str, worker: Worker, workers: u32, bytes: usize) -> Factors {
    factors([
        ("device", device.into()),
        ("kernel", (&*worker.name()).into()),
        ("tile", u64::from(worker.turn_bytes()).into()),
        ("private", u64::from(worker.private_bytes()).into()),
        ("workers", u64::from(workers).into()),
        ("bytes", bytes.into()),
        ("part", "device".into()),
    ])
}

/// Every kind of worker in every number that the message has turns for.
pub(super) fn workers(device: &Opened, bytes: usize, context: &mut Context, findings: &mut Findings) {
    let (plain, encrypted) = message(bytes);
    let plain: Rc<[u8]> = plain.into();
    let (mut entrants, mut logs) = (Vec::new(), Vec::new());
    for (worker, program) in &device.programs {
        let bench: Shared = match program.bench(&KEY, u128::from_be_bytes(IV), bytes) {
            Ok(bench) => {
                let parameter = clock_parameter(&worker.name(), &device.name, bytes);
                let clock = if bench.has_clock() { "device" } else { "host" };
                findings.parameters.insert(parameter, clock.into());
                Rc::new(RefCell::new(bench))
            }
            Err(error) => {
                findings.notes.push(format!("{}, {}: {error}", device.name, worker.name()));
                continue;
            }
        };
        let turns = bytes.div_ceil(worker.turn_bytes() as usize) as u32 + 1;
        for &workers in device.workers.iter().filter(|workers| **workers <= turns) {
            let factors = levels(&device.name, *worker, workers, bytes);
            for variant in ["end-to-end", "kernel-only"] {
                let log = (variant == "end-to-end").then(Log::default);
                logs.extend(log.clone().map(|log| (factors.clone(), log)));
                entrants.push(Entrant {
                    variant: variant.to_owned(),
                    factors: factors.clone(),
                    work: Work { bytes: bytes as u64, operations: 1 },
                    clock: Clock::Process,
                    oracle: ORACLE,
                    expected: Rc::clone(&encrypted),
                    contestant: Box::new(OnDevice {
                        bench: Rc::clone(&bench),
                        plain: Rc::clone(&plain),
                        output: vec![0; bytes],
                        workers,
                        log,
                    }),
                });
            }
        }
    }
    let what = format!("{}: {} by worker", device.name, size_words(bytes as u64));
    let contest = Contest { warm_ups: WARM_UPS, rounds: context.by_extent(5, 21), seed: context.seed };
    context.hold(contest, &what, entrants, findings);
    for (factors, log) in logs {
        let is_it = |variant: &str, levels: &Factors| variant == "end-to-end" && *levels == factors;
        let parts = findings
            .series
            .iter()
            .find(|series| is_it(&series.variant, &series.factors))
            .map(|whole| phases(whole, &log.borrow()[WARM_UPS..]));
        findings.series.extend(parts.into_iter().flatten());
    }
}

/// The product's backend on this device, with so many pieces under way.
struct Overlapped {
    device: &'static dyn Device,
    aes: Aes,
    slots: usize,
    plain: Rc<[u8]>,
    text: Vec<u8>,
}

impl Contestant for Overlapped {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.turn()?;
        Ok(self.text.clone())
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        self.text.copy_from_slice(&self.plain);
        self.device.set_slots(self.slots);
        let watch = Stopwatch::start(Clock::Process);
        self.aes.ctr_xor(&IV, 0, &mut self.text);
        let sample = watch.stop(1);
        // What a device leaves, the processor does: that would be no measurement.
        match self.device.fault() {
            Some(fault) => bail!("{fault}"),
            None => Ok(sample),
        }
    }
}

/// The product's own way, by the number of its pieces under way.
pub(super) fn overlapped(device: &Opened, bytes: usize, context: &mut Context, findings: &mut Findings) {
    let product = match device.product() {
        Ok(product) => product,
        Err(error) => {
            findings.excluded.push(Excluded {
                variant: "overlapped".to_owned(),
                factors: factors([("device", (&*device.name).into())]),
                was_wrong: false,
                reason: error.to_string(),
            });
            return;
        }
    };
    let (plain, encrypted) = message(bytes);
    let plain: Rc<[u8]> = plain.into();
    let mut entrants = Vec::new();
    for slots in 1..=3 {
        let engine = Engine::with_accelerator(Backend::best(), product);
        let aes = Aes::new(&KEY, engine).expect("a key of AES's lengths");
        entrants.push(Entrant {
            variant: "overlapped".to_owned(),
            factors: factors([
                ("device", (&*device.name).into()),
                ("streams", slots.into()),
                ("bytes", bytes.into()),
                ("part", "streams".into()),
            ]),
            work: Work { bytes: bytes as u64, operations: 1 },
            clock: Clock::Process,
            oracle: ORACLE,
            expected: Rc::clone(&encrypted),
            contestant: Box::new(Overlapped {
                device: product,
                aes,
                slots,
                plain: Rc::clone(&plain),
                text: vec![0; bytes],
            }),
        });
    }
    let what = format!("{}: {} by pieces under way", device.name, size_words(bytes as u64));
    let contest = Contest { warm_ups: 1, rounds: context.by_extent(3, 11), seed: context.seed };
    context.hold(contest, &what, entrants, findings);
}
