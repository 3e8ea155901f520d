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

impl Adapters {
    /// Looks for adapters. `validate` asks the API's validation layers to check every call, where they are installed;
    /// what they say goes to [`super::Messages`].
    #[must_use]
    pub fn list(validate: bool) -> Adapters {
        let flags = if validate {
            wgpu::InstanceFlags::VALIDATION | wgpu::InstanceFlags::DEBUG
        } else {
            wgpu::InstanceFlags::empty()
        };
        let backends =
            wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12 | wgpu::Backends::GL;
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends,
            flags,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        Adapters { adapters: pollster::block_on(instance.enumerate_adapters(backends)) }
    }

    /// What each says of itself, in the list's order.
    #[must_use]
    pub fn reports(&self) -> Vec<AdapterReport> {
        self.adapters.iter().enumerate().map(|(number, adapter)| report(number, adapter)).collect()
    }

    /// Opens one: by its number, or by a part of its name in whichever case; without either, the first hardware there
    /// is, and else the first.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there are none, [`Error::UnknownDevice`] if none is meant; [`Error::Driver`] if the driver
    /// refuses.
    pub fn open(&self, wanted: Option<&str>) -> Result<Context, Error> {
        let reports = self.reports();
        if reports.is_empty() {
            let reason = "no driver for Vulkan, Metal or Direct3D 12 was found".to_owned();
            return Err(Error::NoDevice { api: "wgpu", reason });
        }
        let number = match wanted {
            None => {
                let is_hardware = |report: &AdapterReport| matches!(report.kind, "discrete" | "integrated");
                reports.iter().position(is_hardware).unwrap_or(0)
            }
            Some(wanted) => choose(&reports, wanted)?,
        };
        Context::open(&self.adapters[number], reports[number].clone())
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
