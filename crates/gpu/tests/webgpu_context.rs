//! Lists and opens a device, computes on it, and checks that it reports failures. It needs a driver; Debian's
//! mesa-vulkan-drivers is enough.
#![cfg(feature = "wgpu")]

use cipherloom_gpu::Error;
use cipherloom_gpu::webgpu::{Adapters, Context, wgpu};
use wgpu::BufferUsages;

const DOUBLE: &str = "
    @group(0) @binding(0) var<storage, read_write> data: array<u32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&data) { data[id.x] = 2u * data[id.x]; }
    }";

/// Doubles numbers on a device; returns the buffer and the expected numbers.
fn double(context: &Context) -> (wgpu::Buffer, Vec<u8>) {
    let pipeline = context.pipeline(DOUBLE, "main").unwrap();
    let numbers: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
    let buffer = context.filled(&numbers, BufferUsages::STORAGE | BufferUsages::COPY_SRC).unwrap();
    let bound = context.bind(&pipeline, &[&buffer]).unwrap();
    context
        .submit(|encoder| {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &bound, &[]);
            pass.dispatch_workgroups(1000_u32.div_ceil(64), 1, 1);
        })
        .unwrap();
    let doubled: Vec<u8> = (0..1000_u32).flat_map(|number| (2 * number).to_le_bytes()).collect();
    assert_eq!(context.read(&buffer).unwrap(), doubled);
    (buffer, doubled)
}

#[test]
fn a_device_computes_and_tells_what_fails() {
    let adapters = Adapters::list(false);
    let reports = adapters.reports();
    assert!(!reports.is_empty(), "no adapter: install mesa-vulkan-drivers");
    assert!(reports.iter().all(|report| !report.name.is_empty() && report.limits.workgroup_threads >= 64));
    for report in &reports {
        let [first, second] = match report.api {
            "vulkan" => ["1.", "SPIR-V 1."],
            "gl" => ["", "GLSL "],
            _ => ["", ""],
        };
        assert!(report.api_version.starts_with(first), "{report:?}");
        assert!(report.shading_language.starts_with(second), "{report:?}");
    }
    let mesa = reports.iter().find(|report| report.api == "vulkan" && report.kind == "software");
    assert_eq!(mesa.and_then(|report| report.vendor_name()), Some("Mesa"));
    let context = adapters.open(None).unwrap();

    let (buffer, doubled) = double(&context);
    let wrong = context.pipeline("fn main( {", "main").unwrap_err();
    assert!(matches!(&wrong, Error::Driver { action: "compile a kernel", .. }), "{wrong}");
    let too_large = context.buffer(1 << 62, BufferUsages::STORAGE).unwrap_err();
    assert!(
        too_large.to_string().contains("make a buffer") || matches!(too_large, Error::OutOfMemory { .. })
    );
    assert_eq!(context.read(&buffer).unwrap(), doubled, "a refused call leaves the device as it was");
}

#[test]
fn opengl_is_listed_last_and_left_to_who_asks_for_it() {
    let adapters = Adapters::list(false);
    let reports = adapters.reports();
    let number = reports.iter().position(|report| report.api == "gl");
    let number = number.expect("no adapter of OpenGL: install libegl1 and libgl1-mesa-dri");
    assert!(reports[..number].iter().all(|report| report.left_out().is_none()));
    assert!(reports[number].compute && reports[number].left_out().unwrap().contains("by its number"));
    assert_ne!(adapters.open(None).unwrap().report().api, "gl");
    let context = adapters.open(Some(&number.to_string())).unwrap();
    assert_eq!(context.report().api, "gl");
    double(&context);
}

#[test]
fn an_unknown_device_is_answered_with_those_there_are() {
    let adapters = Adapters::list(false);
    let error = adapters.open(Some("no such device")).unwrap_err().to_string();
    assert!(error.contains("`no such device`") && error.contains(&adapters.reports()[0].name), "{error}");
    assert!(adapters.open(Some("0")).is_ok());
}

#[test]
fn a_lost_device_is_told_by_every_later_call() {
    let context = Adapters::list(false).open(None).unwrap();
    context.device().destroy();
    let failed = context
        .filled(&[0; 64], BufferUsages::STORAGE | BufferUsages::COPY_SRC)
        .and_then(|buffer| context.read(&buffer));
    assert!(failed.is_err());
}
