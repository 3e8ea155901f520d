//! Workers on a device of wgpu: workgroups, with workgroup memory as their private one.

use super::material::material;
use super::{Begun, Bench, Clock, Worker, launches, texts};
use cipherloom_gpu::Error;
use cipherloom_gpu::internal::round_keys;
use cipherloom_gpu::webgpu::{Context, wgpu};
use std::rc::Rc;
use std::time::Instant;
use wgpu::{BufferUsages, MapMode};

/// A worker's kernel, compiled for a device.
#[derive(Debug, Clone)]
pub struct WebGpuProgram {
    context: Rc<Context>,
    pipeline: wgpu::ComputePipeline,
    worker: Worker,
}

/// A message on a device, and a worker's kernel.
#[derive(Debug)]
pub struct WebGpuBench {
    program: WebGpuProgram,
    /// One for each launch.
    bound: Vec<wgpu::BindGroup>,
    /// Mapped for writing between copies.
    upload: wgpu::Buffer,
    source: wgpu::Buffer,
    sink: wgpu::Buffer,
    landing: wgpu::Buffer,
    /// Nothing where runs are timed by this machine's clock.
    clock: Option<Clock>,
}

/// Workers and runs by which a device's clock is tried.
const TRIAL: (u32, usize) = (64, 3);

impl WebGpuProgram {
    /// Compiles it.
    ///
    /// # Errors
    /// [`Error::Driver`] if the device has not the private memory or the threads that the worker needs, with its limits, or
    /// refuses.
    pub fn new(context: &Rc<Context>, worker: Worker) -> Result<WebGpuProgram, Error> {
        let limits = context.report().limits;
        if worker.private_bytes() > limits.workgroup_bytes || worker.threads() > limits.workgroup_threads {
            return Err(Error::Driver {
                device: context.report().name.clone(),
                action: "run such a worker",
                reason: format!(
                    "{} needs {} bytes of workgroup memory and {} threads, and the device's limits are {} and {}",
                    worker.name(),
                    worker.private_bytes(),
                    worker.threads(),
                    limits.workgroup_bytes,
                    limits.workgroup_threads
                ),
            });
        }
        let pipeline = context.pipeline(&texts::wgsl(worker), "main")?;
        Ok(WebGpuProgram { context: Rc::clone(context), pipeline, worker })
    }
}

impl WebGpuBench {
    /// Makes room for messages of this length, under this key (of AES's lengths) and first counter.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn new(
        program: &WebGpuProgram,
        key: &[u8],
        first: u128,
        length: usize,
    ) -> Result<WebGpuBench, Error> {
        let WebGpuProgram { context, pipeline, worker } = program;
        let keys = round_keys(key);
        let bytes = length.next_multiple_of(16) as u64;
        let upload = context.buffer(bytes, BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC)?;
        let source = context.buffer(bytes, BufferUsages::STORAGE | BufferUsages::COPY_DST)?;
        let sink = context.buffer(bytes, BufferUsages::STORAGE | BufferUsages::COPY_SRC)?;
        let landing = context.buffer(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?;
        let bind = |(launch, first): Begun| {
            let parameters = context.filled(&launch.uniform(), BufferUsages::UNIFORM)?;
            let masks = material(*worker, &keys, first);
            let masks: Vec<u8> = masks.iter().flat_map(|mask| mask.to_le_bytes()).collect();
            let masks = context.filled(&masks, BufferUsages::STORAGE)?;
            context.bind(pipeline, &[&source, &sink, &masks, &parameters])
        };
        let launches = launches(*worker, first, length, keys.len() as u32 - 1);
        let bound = launches.into_iter().map(bind).collect::<Result<_, Error>>()?;
        let clock = Clock::of(context)?;
        context.map(&upload, MapMode::Write)?;
        context.wait(None)?;
        let mut bench = WebGpuBench { program: program.clone(), bound, upload, source, sink, landing, clock };
        bench.try_clock()?;
        Ok(bench)
    }

    /// Chooses the clock once, since two in one series could not be compared: a device's clock that shows no time, or more
    /// than passed outside, is none.
    fn try_clock(&mut self) -> Result<(), Error> {
        let (workers, runs) = TRIAL;
        for _ in 0..runs {
            let (outside, inside) = self.run(workers)?;
            if !inside.is_some_and(|inside| inside > 0.0 && inside <= outside) {
                self.clock = None;
                break;
            }
        }
        Ok(())
    }

    /// Has so many workers encrypt the message: seconds by this machine's clock, and by the device's.
    fn run(&mut self, workers: u32) -> Result<(f64, Option<f64>), Error> {
        let timestamp_writes = self.clock.as_ref().and_then(|clock| clock.writes(true, true));
        let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
        let start = Instant::now();
        self.program.context.submit(|encoder| {
            let mut pass = encoder.begin_compute_pass(&descriptor);
            pass.set_pipeline(&self.program.pipeline);
            for bound in &self.bound {
                pass.set_bind_group(0, bound, &[]);
                pass.dispatch_workgroups(workers, 1, 1);
            }
        })?;
        self.program.context.wait(None)?;
        let outside = start.elapsed().as_secs_f64();
        let inside = self.clock.as_ref().map(|clock| clock.read(&self.program.context)).transpose()?;
        Ok((outside, inside.map(|nanoseconds| nanoseconds / 1e9)))
    }
}

impl Bench for WebGpuBench {
    fn copy_in(&mut self, text: &[u8]) -> Result<(), Error> {
        {
            let range = self.upload.slice(..);
            let mut view =
                range.get_mapped_range_mut().map_err(|error| self.program.context.unmapped(&error))?;
            view.slice(..text.len()).copy_from_slice(text);
        }
        self.upload.unmap();
        let size = self.upload.size();
        self.program
            .context
            .submit(|encoder| encoder.copy_buffer_to_buffer(&self.upload, 0, &self.source, 0, size))?;
        self.program.context.map(&self.upload, MapMode::Write)?;
        self.program.context.wait(None)
    }

    fn compute(&mut self, workers: u32) -> Result<f64, Error> {
        let (outside, inside) = self.run(workers)?;
        Ok(inside.unwrap_or(outside))
    }

    fn copy_out(&mut self, text: &mut [u8]) -> Result<(), Error> {
        let size = self.landing.size();
        self.program
            .context
            .submit(|encoder| encoder.copy_buffer_to_buffer(&self.sink, 0, &self.landing, 0, size))?;
        self.program.context.map(&self.landing, MapMode::Read)?;
        self.program.context.wait(None)?;
        {
            let range = self.landing.slice(..);
            let view = range.get_mapped_range().map_err(|error| self.program.context.unmapped(&error))?;
            text.copy_from_slice(&view[..text.len()]);
        }
        self.landing.unmap();
        Ok(())
    }

    fn has_clock(&self) -> bool {
        self.clock.is_some()
    }
}
