//! The adapters of every API on this machine: what each is called, what drives it, what it can do.

use super::context::Context;
use crate::Error;
use serde::Serialize;

/// Every adapter that was found. Listing takes tens of milliseconds: drivers are loaded.
#[derive(Debug)]
pub struct Adapters {
    adapters: Vec<wgpu::Adapter>,
}

/// What a device's driver says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdapterReport {
    /// Its number in the list, by which it can be chosen.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// `vulkan`, `metal`, `dx12` or `gl`.
    pub api: &'static str,
    /// `discrete`, `integrated`, `virtual`, `software` or `other`.
    pub kind: &'static str,
    /// The driver and its version.
    pub driver: String,
    /// Vendor and device numbers, as PCI has them.
    pub vendor: u32,
    /// See [`AdapterReport::vendor`].
    pub device: u32,
    /// `0000:01:00.0` where it is known, else empty.
    pub pci_bus: String,
    /// Threads that run in step, fewest and most.
    pub subgroup: [u32; 2],
    /// Whether times can be taken on the device itself.
    pub timestamps: bool,
    /// Whether it runs compute kernels, as all work here is: OpenGL before 4.3 (ES: before 3.1) has none.
    pub compute: bool,
    /// Whether it is OpenGL's way to what another API reaches as well: it gets work only when asked for by its number.
    pub second_way: bool,
    /// Limits that matter to computing.
    pub limits: MemoryLimits,
    /// Every feature, by WebGPU's or wgpu's name.
    pub features: Vec<String>,
}

/// Limits of an adapter, in bytes or counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MemoryLimits {
    /// The largest buffer.
    pub buffer_bytes: u64,
    /// The largest part of a buffer that a shader sees.
    pub binding_bytes: u64,
    /// Memory that the threads of a workgroup share.
    pub workgroup_bytes: u32,
    /// The most threads of a workgroup.
    pub workgroup_threads: u32,
    /// The most workgroups in one dimension of a dispatch.
    pub workgroups: u32,
}

impl AdapterReport {
    /// Why it gets no work by itself; `None`: it does.
    #[must_use]
    pub fn left_out(&self) -> Option<&'static str> {
        match self {
            AdapterReport { compute: false, .. } => Some(NO_COMPUTE),
            AdapterReport { second_way: true, .. } => {
                Some("OpenGL's way to what another API reaches too; asked for by its number it works")
            }
            _ => None,
        }
    }

    fn is_hardware(&self) -> bool {
        matches!(self.kind, "discrete" | "integrated")
    }
}

const NO_COMPUTE: &str = "it has no compute kernels, which came with OpenGL 4.3 and OpenGL ES 3.1";

/// APIs with kernels of their own language, through which more of a device is reached than through OpenGL.
const DIRECT: wgpu::Backends =
    wgpu::Backends::VULKAN.union(wgpu::Backends::METAL).union(wgpu::Backends::DX12);

impl Adapters {
    /// Looks for adapters. `validate` asks the API's validation layers to check every call, where they are installed;
    /// what they say goes to [`super::Messages`].
    #[must_use]
    pub fn list(validate: bool) -> Adapters {
        Adapters::of(DIRECT, validate).and(Adapters::of(wgpu::Backends::GL, validate))
    }

    /// What is needed to open `wanted` as [`Adapters::open`] does: drivers of OpenGL are loaded only where no other API has
    /// it. Numbers are those of the whole list, whose end OpenGL is.
    pub(super) fn with(wanted: Option<&str>) -> Adapters {
        let direct = Adapters::of(DIRECT, false);
        let reports = direct.reports();
        let is_there = match wanted {
            None => reports.iter().any(AdapterReport::is_hardware),
            Some(wanted) => choose(&reports, wanted).is_ok(),
        };
        if is_there { direct } else { direct.and(Adapters::of(wgpu::Backends::GL, false)) }
    }

    fn of(backends: wgpu::Backends, validate: bool) -> Adapters {
        let flags = if validate {
            wgpu::InstanceFlags::VALIDATION | wgpu::InstanceFlags::DEBUG
        } else {
            wgpu::InstanceFlags::empty()
        };
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends,
            flags,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        Adapters { adapters: pollster::block_on(instance.enumerate_adapters(backends)) }
    }

    fn and(mut self, others: Adapters) -> Adapters {
        self.adapters.extend(others.adapters);
        self
    }

    /// What each says of itself, in the list's order.
    #[must_use]
    pub fn reports(&self) -> Vec<AdapterReport> {
        let mut reports: Vec<AdapterReport> =
            self.adapters.iter().enumerate().map(|(number, adapter)| report(number, adapter)).collect();
        let direct = reports.iter().filter(|report| report.api != "gl");
        let (any, hardware) = (direct.clone().count() > 0, direct.clone().any(AdapterReport::is_hardware));
        for report in reports.iter_mut().filter(|report| report.api == "gl") {
            report.second_way = if report.is_hardware() { hardware } else { any };
        }
        reports
    }

    /// Opens one: by its number, or by a part of its name in whichever case; without either, the first hardware there
    /// is, and else the first, of those that get work by themselves.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there are none, [`Error::UnknownDevice`] if none is meant; [`Error::Driver`] if the driver
    /// refuses.
    pub fn open(&self, wanted: Option<&str>) -> Result<Context, Error> {
        let reports = self.reports();
        if reports.is_empty() {
            let reason = "no driver for Vulkan, Metal, Direct3D 12 or OpenGL was found".to_owned();
            return Err(Error::NoDevice { api: "wgpu", reason });
        }
        let number = match wanted {
            None => {
                let works = |report: &&AdapterReport| report.left_out().is_none();
                let hardware = reports.iter().filter(works).find(|report| report.is_hardware());
                hardware.or_else(|| reports.iter().find(works)).unwrap_or(&reports[0]).number
            }
            Some(wanted) => choose(&reports, wanted)?,
        };
        let report = reports[number].clone();
        if !report.compute {
            return Err(Error::Driver {
                device: format!("{} ({} {})", report.name, report.api, report.driver),
                action: "do AES",
                reason: NO_COMPUTE.to_owned(),
            });
        }
        Context::open(&self.adapters[number], report)
    }
}

fn choose(reports: &[AdapterReport], wanted: &str) -> Result<usize, Error> {
    if let Some(number) = wanted.parse().ok().filter(|number| *number < reports.len()) {
        return Ok(number);
    }
    let lower = wanted.to_lowercase();
    let is_meant = |report: &AdapterReport| report.name.to_lowercase().contains(&lower);
    reports.iter().position(is_meant).ok_or_else(|| {
        let known =
            reports.iter().map(|report| format!("{} ({}, {})", report.number, report.name, report.api));
        Error::UnknownDevice { wanted: wanted.to_owned(), known: known.collect::<Vec<_>>().join(", ") }
    })
}

fn report(number: usize, adapter: &wgpu::Adapter) -> AdapterReport {
    let (info, limits, features) = (adapter.get_info(), adapter.limits(), adapter.features());
    AdapterReport {
        number,
        name: info.name,
        api: info.backend.to_str(),
        kind: match info.device_type {
            wgpu::DeviceType::DiscreteGpu => "discrete",
            wgpu::DeviceType::IntegratedGpu => "integrated",
            wgpu::DeviceType::VirtualGpu => "virtual",
            wgpu::DeviceType::Cpu => "software",
            wgpu::DeviceType::Other => "other",
        },
        driver: [info.driver, info.driver_info].join(" ").trim().to_owned(),
        vendor: info.vendor,
        device: info.device,
        pci_bus: info.device_pci_bus_id,
        subgroup: [info.subgroup_min_size, info.subgroup_max_size],
        compute: adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS),
        second_way: false,
        timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
        limits: MemoryLimits {
            buffer_bytes: limits.max_buffer_size,
            binding_bytes: limits.max_storage_buffer_binding_size,
            workgroup_bytes: limits.max_compute_workgroup_storage_size,
            workgroup_threads: limits.max_compute_invocations_per_workgroup,
            workgroups: limits.max_compute_workgroups_per_dimension,
        },
        features: features.iter_names().map(|(name, _)| name.to_owned()).collect(),
    }
}
