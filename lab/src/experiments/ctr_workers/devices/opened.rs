//! The devices of this machine, with their workers' kernels compiled.

use crate::experiments::{Context, Findings};
use crate::record::{Excluded, Level};
use cipherloom_gpu::cuda::{self, CudaCipher};
use cipherloom_gpu::webgpu::{Adapters, WebGpuCipher};
use cipherloom_gpu::{Device, Error};
use cipherloom_lab_gpu::{Bench, CudaBench, CudaProgram, WebGpuBench, WebGpuProgram, Worker};
use std::rc::Rc;

/// A device with the kernels that it can run.
pub(super) struct Opened {
    pub(super) name: String,
    pub(super) programs: Vec<(Worker, Program)>,
    /// What counts as many workers here.
    pub(super) workers: Vec<u32>,
    /// A driver that computes on this machine's processor.
    pub(super) is_software: bool,
    /// By what the product opens it.
    product: Product,
}

pub(super) enum Program {
    WebGpu(WebGpuProgram),
    Cuda(Box<CudaProgram>),
}

enum Product {
    WebGpu(usize),
    Cuda(usize),
}

impl Program {
    pub(super) fn bench(&self, key: &[u8], first: u128, length: usize) -> Result<Box<dyn Bench>, Error> {
        Ok(match self {
            Program::WebGpu(program) => Box::new(WebGpuBench::new(program, key, first, length)?),
            Program::Cuda(program) => Box::new(CudaBench::new(program, key, first, length)?),
        })
    }
}

impl Opened {
    /// The product's own backend on it, which lives as long as the process.
    pub(super) fn product(&self) -> Result<&'static dyn Device, Error> {
        Ok(match self.product {
            Product::WebGpu(number) => {
                Box::leak(Box::new(WebGpuCipher::open(Some(&number.to_string()))?)) as &dyn Device
            }
            Product::Cuda(number) => Box::leak(Box::new(CudaCipher::open(Some(&number.to_string()))?)),
        })
    }
}

/// Opens what is here, NVIDIA's own way and wgpu's. A line says so where there is none.
pub(super) fn all(kinds: &[Worker], context: &mut Context, findings: &mut Findings) -> Vec<Opened> {
    let mut opened = Vec::new();
    match cuda::list() {
        Ok(devices) => {
            for device in devices {
                let name = named(&opened, "cuda", &device.name);
                context.progress.say(format!("kernels for {name}"));
                let driver = format!("CUDA {}", device.driver);
                findings.versions.insert(name.clone(), driver);
                let many = device.multiprocessors.max(1) as u32;
                let mut workers = vec![1, 6, many, 4 * many, 16 * many];
                workers.sort_unstable();
                workers.dedup();
                let compile =
                    |worker| CudaProgram::new(&device, worker).map(|made| Program::Cuda(Box::new(made)));
                let programs = programs(kinds, &name, compile, findings);
                for worker in kinds {
                    let clock = f64::from(device.clock_khz) * 1e3;
                    let ceiling = worker.counted_bits_per_second(many, clock) / 1e6;
                    let parameter = super::answers::ceiling_parameter(&worker.name(), &name);
                    findings.parameters.insert(parameter, Level::from(ceiling));
                }
                let product = Product::Cuda(device.number);
                opened.push(Opened { name, programs, workers, is_software: false, product });
            }
        }
        Err(error) => findings.notes.push(error.to_string()),
    }
    let adapters = Adapters::list(false);
    let reports = adapters.reports();
    if reports.is_empty() {
        findings.notes.push(
            "no device of wgpu: no driver was found; Debian's mesa-vulkan-drivers has one in software"
                .to_owned(),
        );
    }
    for report in reports {
        let name = named(&opened, report.api, &report.name);
        if let Some(reason) = report.left_out() {
            findings.notes.push(format!("{name}: not used: {reason}"));
            continue;
        }
        context.progress.say(format!("kernels for {name}"));
        let device = match adapters.open(Some(&report.number.to_string())) {
            Ok(device) => Rc::new(device),
            Err(error) => {
                findings.notes.push(format!("{name}: not used: {error}"));
                continue;
            }
        };
        findings.versions.insert(name.clone(), format!("{} ({})", report.driver, report.kind));
        let compile = |worker| WebGpuProgram::new(&device, worker).map(Program::WebGpu);
        let programs = programs(kinds, &name, compile, findings);
        let workers = context.by_extent(vec![1, 6, 64], vec![1, 2, 4, 6, 16, 64, 512]);
        let product = Product::WebGpu(report.number);
        opened.push(Opened { name, programs, workers, is_software: report.kind == "software", product });
    }
    opened
}

/// A device's name with the API that leads to it; two of one name are told apart by their number.
fn named(opened: &[Opened], api: &str, name: &str) -> String {
    let name = format!("{name} ({api})");
    let same = opened.iter().filter(|other| other.name.starts_with(&name)).count();
    if same == 0 { name } else { format!("{name} #{same}") }
}

fn programs(
    kinds: &[Worker],
    device: &str,
    compile: impl Fn(Worker) -> Result<Program, Error>,
    findings: &mut Findings,
) -> Vec<(Worker, Program)> {
    let mut programs = Vec::new();
    for &worker in kinds {
        match compile(worker) {
            Ok(program) => programs.push((worker, program)),
            Err(error) => findings.excluded.push(Excluded {
                variant: worker.name(),
                factors: crate::experiments::factors([("device", device.into())]),
                was_wrong: false,
                reason: error.to_string(),
            }),
        }
    }
    programs
}
