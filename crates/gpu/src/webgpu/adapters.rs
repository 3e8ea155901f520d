//! The adapters of every API on this machine: name, driver and capabilities of each.

use super::context::Context;
use crate::Error;
use crate::device::choose;
use serde::Serialize;

/// Every adapter that was found. Listing loads drivers, which takes tens of milliseconds.
#[derive(Debug)]
pub struct Adapters {
    adapters: Vec<wgpu::Adapter>,
}

/// A driver's description of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdapterReport {
    /// Its number in the list; `wgpu:NUMBER` selects it.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// `vulkan`, `metal`, `dx12` or `gl`.
    pub api: &'static str,
    /// `discrete`, `integrated`, `virtual`, `software` or `other`.
    pub kind: &'static str,
    /// The driver and its version.
    pub driver: String,
    /// The highest version of the API that the device has, such as `1.3.230`; empty if the driver's words have it (OpenGL)
    /// or the API does not tell.
    pub api_version: String,
    /// The language in which the driver is given shaders, with its highest version: `SPIR-V 1.6`, `GLSL 320 es`, `HLSL` or
    /// `MSL`.
    pub shading_language: String,
    /// Vendor and device numbers of PCI, or the vendor's number of Khronos. See [`AdapterReport::vendor_name`].
    pub vendor: u32,
    /// See [`AdapterReport::vendor`].
    pub device: u32,
    /// The PCI address, such as `0000:01:00.0`; empty if unknown.
    pub pci_bus: String,
    /// Threads that run in step, fewest and most.
    pub subgroup: [u32; 2],
    /// Whether the device can measure times itself.
    pub timestamps: bool,
    /// Whether it runs compute kernels, which all work here needs. OpenGL before 4.3 (ES: before 3.1) has none.
    pub compute: bool,
    /// Whether it is an OpenGL adapter of a device that another API reaches too. It gets work only if selected by its number.
    pub second_way: bool,
    /// Limits that matter for computing.
    pub limits: MemoryLimits,
    /// Every feature, by WebGPU's or wgpu's name.
    pub features: Vec<String>,
}

/// Limits of an adapter, in bytes or counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MemoryLimits {
    /// The largest buffer.
    pub buffer_bytes: u64,
    /// The largest part of a buffer that a shader can access.
    pub binding_bytes: u64,
    /// Memory that the threads of a workgroup share.
    pub workgroup_bytes: u32,
    /// The most threads of a workgroup.
    pub workgroup_threads: u32,
    /// The most workgroups in one dimension of a dispatch.
    pub workgroups: u32,
}

impl AdapterReport {
    /// Why it is not selected automatically; `None` if it may be.
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

    /// The vendor's name; `None` if its number is not known here.
    #[must_use]
    pub fn vendor_name(&self) -> Option<&'static str> {
        // PCI-SIG's numbers; above 16 bits, those of `VkVendorId` in Khronos' registry.
        Some(match self.vendor {
            0x1002 => "AMD",
            0x1010 => "Imagination",
            0x106b => "Apple",
            0x10de => "NVIDIA",
            0x13b5 => "Arm",
            0x1414 => "Microsoft",
            0x14e4 => "Broadcom",
            0x1af4 => "Red Hat",
            0x5143 => "Qualcomm",
            0x8086 => "Intel",
            0x10005 => "Mesa",
            _ => return None,
        })
    }

    fn names(&self) -> (&str, Option<&str>) {
        (&self.name, Some(self.api))
    }

    fn is_hardware(&self) -> bool {
        matches!(self.kind, "discrete" | "integrated")
    }
}

const NO_COMPUTE: &str = "it has no compute kernels, which came with OpenGL 4.3 and OpenGL ES 3.1";

/// APIs that are preferred to OpenGL, since they give access to more of a device.
const DIRECT: wgpu::Backends =
    wgpu::Backends::VULKAN.union(wgpu::Backends::METAL).union(wgpu::Backends::DX12);

impl Adapters {
    /// Lists the adapters. With `validate`, the API's validation layers check every call if they are installed; their messages
    /// go to [`super::Messages`].
    #[must_use]
    pub fn list(validate: bool) -> Adapters {
        Adapters::of(DIRECT, validate).and(Adapters::of(wgpu::Backends::GL, validate))
    }

    /// Lists what [`Adapters::open`] needs to open `wanted`. It loads OpenGL drivers only if no other API has the device. Numbers
    /// are those of the whole list, at whose end OpenGL is.
    pub(super) fn with(wanted: Option<&str>) -> Adapters {
        let direct = Adapters::of(DIRECT, false);
        let reports = direct.reports();
        let is_there = match wanted {
            None => reports.iter().any(AdapterReport::is_hardware),
            Some(wanted) => choose(&reports, wanted, AdapterReport::names).is_ok(),
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

    /// The description of each adapter, in the list's order.
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

    /// Opens an adapter by its number, or by a part of its name, ignoring case. Without either, it opens the first hardware
    /// adapter, or else the first adapter, among those that may be selected automatically.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is none, [`Error::UnknownDevice`] if none matches; [`Error::Driver`] if the driver
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
            Some(wanted) => choose(&reports, wanted, AdapterReport::names)?,
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

fn report(number: usize, adapter: &wgpu::Adapter) -> AdapterReport {
    let (info, limits, features) = (adapter.get_info(), adapter.limits(), adapter.features());
    let (api_version, shading_language) = versions(adapter, info.backend);
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
        api_version,
        shading_language,
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

/// The version of the API, and the shading language with its version.
fn versions(adapter: &wgpu::Adapter, api: wgpu::Backend) -> (String, String) {
    let language = match api {
        wgpu::Backend::Metal => "MSL",
        wgpu::Backend::Dx12 => "HLSL",
        _ => "",
    };
    #[cfg(any(target_os = "linux", target_os = "windows"))]
    {
        use wgpu::hal::api;
        // SAFETY: the adapter lives on, and its handles are only read.
        if let Some(adapter) = unsafe { adapter.as_hal::<api::Vulkan>() } {
            let version = adapter.physical_device_capabilities().properties().api_version;
            // Vulkan's layout: 3 bits of variant, 7 of major, 10 of minor, 12 of patch.
            let (major, minor, patch) = (version >> 22 & 0x7f, version >> 12 & 0x3ff, version & 0xfff);
            // Vulkan 1.3, appendix A, "Versions and Formats".
            let spir_v = match (major, minor) {
                (1, 0) => "1.0",
                (1, 1) => "1.3",
                (1, 2) => "1.5",
                _ => "1.6",
            };
            return (format!("{major}.{minor}.{patch}"), format!("SPIR-V {spir_v}"));
        }
        // SAFETY: as above.
        if let Some(adapter) = unsafe { adapter.as_hal::<api::Gles>() } {
            return (String::new(), format!("GLSL {}", adapter.get_glsl_version()));
        }
    }
    (String::new(), language.to_owned())
}
