//! A build with devices.

use crate::output;
use cipherloom::Accelerator;
use cipherloom::machine::DeviceCosts;
use cipherloom_gpu::webgpu::{AdapterReport, Adapters, Messages, WebGpuCipher};
use cipherloom_gpu::{Costs, Device, cuda};
use serde::Serialize;
use std::fmt::Write as _;
use std::sync::OnceLock;

pub enum Refused {
    #[expect(dead_code, reason = "the twin's answer")]
    NoSupport(String),
    Unusable(String),
}

/// One device a process: it stays open until the end.
static DEVICE: OnceLock<&'static dyn Device> = OnceLock::new();

pub fn open(api: Option<&str>, name: Option<&str>) -> Result<DeviceCosts, Refused> {
    let (backend, device) = match api {
        Some("cuda") => ("cuda", open_cuda(name)),
        Some(_) => ("wgpu", open_wgpu(name)),
        // NVIDIA's own way first: it takes more of the device.
        None => open_cuda(None).map_or_else(|_| ("wgpu", open_wgpu(None)), |device| ("cuda", Ok(device))),
    };
    let unusable = |error: cipherloom_gpu::Error| Refused::Unusable(error.to_string());
    let device = device.map_err(unusable)?;
    let costs = device.costs().map_err(unusable)?;
    let device: &'static dyn Device = Box::leak(device);
    Ok(for_plans(backend, DEVICE.get_or_init(|| device).name(), None, &costs))
}

/// A device's figures as the planner takes them.
pub fn for_plans(backend: &'static str, name: &str, driver: Option<String>, costs: &Costs) -> DeviceCosts {
    DeviceCosts {
        backend,
        name: name.to_owned(),
        driver,
        call_seconds: costs.call_seconds,
        transfer_bytes_per_second: costs.transfer_bytes_per_second,
        kernel_bytes_per_second: costs.kernel_bytes_per_second,
        end_to_end_bytes_per_second: costs.end_to_end_bytes_per_second,
        call_bytes: costs.call_bytes,
        staging_bytes: costs.staging_bytes,
        is_forced: false,
    }
}

fn open_wgpu(name: Option<&str>) -> Result<Box<dyn Device>, cipherloom_gpu::Error> {
    Ok(Box::new(WebGpuCipher::open(name)?))
}

fn open_cuda(name: Option<&str>) -> Result<Box<dyn Device>, cipherloom_gpu::Error> {
    Ok(Box::new(cuda::CudaCipher::open(name)?))
}

/// A device with its driver's name, or why there is none.
pub type Opened = Result<(Box<dyn Device>, String), cipherloom_gpu::Error>;

/// Every device of wgpu that gets work by itself, opened with its driver's name. None without a driver.
pub fn wgpu_devices() -> Vec<Opened> {
    let reports = Adapters::list(false).reports();
    let open = |report: &AdapterReport| {
        let device = WebGpuCipher::open(Some(&report.number.to_string()))?;
        Ok((Box::new(device) as Box<dyn Device>, report.driver.clone()))
    };
    reports.iter().filter(|report| report.left_out().is_none()).map(open).collect()
}

/// Every device of NVIDIA's, as [`wgpu_devices`]; a driver that lists none says why.
pub fn cuda_devices() -> Vec<Opened> {
    let open = |report: &cuda::DeviceReport| {
        let device = cuda::CudaCipher::open(Some(&report.number.to_string()))?;
        Ok((Box::new(device) as Box<dyn Device>, format!("CUDA {}", report.driver)))
    };
    match cuda::list() {
        Ok(reports) => reports.iter().map(open).collect(),
        Err(error) if cuda::has_driver() => vec![Err(error)],
        Err(_) => Vec::new(),
    }
}

pub fn accelerator() -> Option<&'static dyn Accelerator> {
    let device = *DEVICE.get()?;
    Some(device)
}

pub fn set_idle(idle: bool) {
    if let Some(device) = DEVICE.get() {
        device.set_idle(idle);
    }
}

pub fn dismiss() -> Option<String> {
    let device = DEVICE.get()?;
    device.wipe();
    device.fault().map(ToString::to_string)
}

/// What `devices` tells of GPUs.
#[derive(Serialize)]
pub struct Listing {
    wgpu: Vec<AdapterReport>,
    cuda: Vec<cuda::DeviceReport>,
    /// Why there is none of NVIDIA's.
    cuda_note: Option<String>,
    /// With --validate.
    #[serde(skip_serializing_if = "Option::is_none")]
    validation: Option<Validation>,
}

/// What the validation layers said.
#[derive(Serialize)]
struct Validation {
    /// While drivers were looked for.
    search: Vec<String>,
    /// While each device did the self-test.
    devices: Vec<Verdict>,
}

/// How a device took the checks under the validation layers.
#[derive(Serialize)]
struct Verdict {
    device: String,
    verdict: String,
    messages: Vec<String>,
}

impl Listing {
    pub fn look(validate: bool) -> Listing {
        let heard = Messages::listen();
        let adapters = Adapters::list(validate);
        let wgpu = adapters.reports();
        let validation = validate.then(|| {
            let search = heard.take();
            let check = |report: &AdapterReport| {
                let checked = adapters.check(report.number);
                Verdict {
                    device: format!("wgpu:{}", report.number),
                    verdict: checked
                        .map_or_else(|error| error.to_string(), |()| "computes rightly".to_owned()),
                    messages: heard.take(),
                }
            };
            Validation { search, devices: wgpu.iter().map(check).collect() }
        });
        let (cuda, cuda_note) = match cuda::list() {
            Ok(list) => (list, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Listing { wgpu, cuda, cuda_note, validation }
    }

    pub fn table(&self) -> String {
        let mut text = String::new();
        if self.wgpu.is_empty() {
            text.push_str(
                "GPUs      none of Vulkan, Metal, Direct3D 12 or OpenGL: no driver, or no device\n",
            );
        }
        for report in &self.wgpu {
            let AdapterReport { limits, .. } = report;
            let _ = writeln!(
                text,
                "{:<10}{}, {}, {}",
                format!("wgpu:{}", report.number),
                report.name,
                report.api,
                report.kind
            );
            let _ = writeln!(text, "          driver {}", report.driver);
            let _ = writeln!(
                text,
                "          buffers up to {}, workgroups of up to {} threads with {} to share, {}timestamps",
                output::size(limits.buffer_bytes),
                limits.workgroup_threads,
                output::size(limits.workgroup_bytes.into()),
                if report.timestamps { "" } else { "no " },
            );
            let _ = writeln!(text, "          {} features (--json names them)", report.features.len());
            if let Some(reason) = report.left_out() {
                let _ = writeln!(text, "          gets no work by itself: {reason}");
            }
        }
        for report in &self.cuda {
            let _ = writeln!(
                text,
                "{:<10}{}, compute capability {}.{}, {} multiprocessors, {} of memory, driver {}",
                format!("cuda:{}", report.number),
                report.name,
                report.compute_capability[0],
                report.compute_capability[1],
                report.multiprocessors,
                output::size(report.memory_bytes),
                report.driver,
            );
        }
        if let Some(note) = &self.cuda_note {
            let _ = writeln!(text, "CUDA      {note}");
        }
        if let Some(Validation { search, devices }) = &self.validation {
            let mut told = |title: String, messages: &[String]| {
                let _ = writeln!(text, "\n{title}");
                for message in messages {
                    let _ = writeln!(text, "  {message}");
                }
                if messages.is_empty() {
                    text.push_str("  no messages\n");
                }
            };
            told("the search for drivers under validation".to_owned(), search);
            for Verdict { device, verdict, messages } in devices {
                told(format!("{device} under validation: {verdict}"), messages);
            }
        }
        text
    }
}
