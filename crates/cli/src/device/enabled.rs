//! A build with devices.

pub use super::kept::known;
use crate::output;
use cipherloom::machine::{Accelerator, DeviceCosts};
use cipherloom_gpu::webgpu::{AdapterReport, Adapters, Messages, WebGpuCipher};
use cipherloom_gpu::{Costs, Device, cuda};
use serde::Serialize;
use std::fmt::Write as _;
use std::sync::OnceLock;

/// The process's only device. It stays open until the end.
static DEVICE: OnceLock<&'static dyn Device> = OnceLock::new();

/// The error is what is wrong with the device; `None` in a build without devices.
pub fn open(api: Option<&str>, name: Option<&str>) -> Result<DeviceCosts, Option<String>> {
    type Named = Result<(&'static str, Box<dyn Device>), cipherloom_gpu::Error>;
    let unusable = |error: cipherloom_gpu::Error| Some(error.to_string());
    let open_cuda = || -> Named { Ok(("cuda", Box::new(cuda::CudaCipher::open(name)?))) };
    let open_wgpu = || -> Named { Ok(("wgpu", Box::new(WebGpuCipher::open(name)?))) };
    let (backend, device) = match api {
        Some("cuda") => open_cuda(),
        Some(_) => open_wgpu(),
        // CUDA first: it uses more of an NVIDIA device than wgpu does.
        None => open_cuda().or_else(|_| open_wgpu()),
    }
    .map_err(unusable)?;
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
    Some(*DEVICE.get()?)
}

pub fn set_idle(idle: bool) {
    if let Some(device) = DEVICE.get() {
        device.set_idle(idle);
    }
}

pub fn close() -> Option<String> {
    let device = DEVICE.get()?;
    device.wipe();
    device.fault().map(ToString::to_string)
}

/// What `devices` shows of GPUs.
#[derive(Serialize)]
pub struct Listing {
    wgpu: Vec<AdapterReport>,
    cuda: Vec<cuda::DeviceReport>,
    /// Why CUDA lists no device.
    cuda_note: Option<String>,
    /// With --validate.
    #[serde(skip_serializing_if = "Option::is_none")]
    validation: Option<Validation>,
}

/// The messages of the validation layers.
#[derive(Serialize)]
struct Validation {
    /// Those of the search for drivers.
    search: Vec<String>,
    devices: Vec<Verdict>,
}

/// The self-test of a device under the validation layers.
#[derive(Serialize)]
struct Verdict {
    device: String,
    verdict: String,
    messages: Vec<String>,
}

impl Listing {
    pub fn new(validate: bool) -> Listing {
        let heard = Messages::listen();
        let adapters = Adapters::list(validate);
        let wgpu = adapters.reports();
        let validation = validate.then(|| {
            let search = heard.take();
            let check = |report: &AdapterReport| {
                let checked = adapters.check(report.number);
                let verdict =
                    checked.map_or_else(|error| error.to_string(), |()| "passed the self-test".into());
                Verdict { device: format!("wgpu:{}", report.number), verdict, messages: heard.take() }
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
        let mut line = |name: &str, words: String| {
            let _ = writeln!(text, "{name:<10}{words}");
        };
        if self.wgpu.is_empty() {
            line("GPUs", "none of Vulkan, Metal, Direct3D 12 or OpenGL: no driver, or no device".to_owned());
        }
        for report in &self.wgpu {
            let AdapterReport { number, name, api, kind, driver, limits, timestamps, features, .. } = report;
            let vendor =
                report.vendor_name().map_or_else(|| format!("{:#06x}", report.vendor), str::to_owned);
            let api = [api, report.api_version.as_str()].join(" ");
            let (buffer, shared) =
                (output::size(limits.buffer_bytes), output::size(limits.workgroup_bytes.into()));
            let (threads, no) = (limits.workgroup_threads, if *timestamps { "" } else { "no " });
            line(&format!("wgpu:{number}"), format!("{name}, {}, {kind}", api.trim_end()));
            line("", format!("vendor {vendor}, driver {driver}, shaders in {}", report.shading_language));
            let workgroups = format!("workgroups of up to {threads} threads with {shared} to share");
            line("", format!("buffers up to {buffer}, {workgroups}, {no}timestamps"));
            line("", format!("{} features (--json names them)", features.len()));
            if let Some(reason) = report.left_out() {
                line("", format!("gets work only if it is named: {reason}"));
            }
        }
        for report in &self.cuda {
            let cuda::DeviceReport {
                number, name, compute_capability: [major, minor], multiprocessors, ..
            } = report;
            let (memory, driver) = (output::size(report.memory_bytes), &report.driver);
            let capability = format!("compute capability {major}.{minor}, {multiprocessors} multiprocessors");
            line(
                &format!("cuda:{number}"),
                format!("{name}, {capability}, {memory} of memory, driver {driver}"),
            );
        }
        if let Some(note) = &self.cuda_note {
            line("CUDA", note.clone());
        }
        if let Some(Validation { search, devices }) = &self.validation {
            let mut print = |title: String, messages: &[String]| {
                let _ = writeln!(text, "\n{title}");
                for message in messages {
                    let _ = writeln!(text, "  {message}");
                }
                if messages.is_empty() {
                    text.push_str("  no messages\n");
                }
            };
            print("the search for drivers under validation".to_owned(), search);
            for Verdict { device, verdict, messages } in devices {
                print(format!("{device} under validation: {verdict}"), messages);
            }
        }
        text
    }
}
