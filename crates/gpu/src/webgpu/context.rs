//! An opened device: pipelines from WGSL, buffers, submissions that are waited for, and bytes read back.
//!
//! No failure panics. What the driver reports late (a lost device, an error outside of any call) is kept, and every
//! later call tells it.

use super::adapters::AdapterReport;
use crate::Error;
use crate::device::PATIENCE;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A device with its queue. Shared by reference among threads.
#[derive(Debug)]
pub struct Context {
    device: wgpu::Device,
    queue: wgpu::Queue,
    report: AdapterReport,
    fault: Arc<Mutex<Option<Error>>>,
}

impl Context {
    /// Opens `adapter` with all the memory that it offers, and with timestamps where it has them.
    pub(super) fn open(adapter: &wgpu::Adapter, report: AdapterReport) -> Result<Context, Error> {
        let wanted = wgpu::Features::TIMESTAMP_QUERY
            | wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS
            | wgpu::Features::SUBGROUP;
        let opened = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("cipherloom"),
            required_features: adapter.features() & wanted,
            required_limits: adapter.limits(),
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        }));
        let (device, queue) = opened.map_err(|error| Error::Driver {
            device: report.name.clone(),
            action: "open the device",
            reason: error.to_string(),
        })?;
        let fault = Arc::new(Mutex::new(None));
        let (kept, name) = (Arc::clone(&fault), report.name.clone());
        device.set_device_lost_callback(move |reason, words| {
            if reason != wgpu::DeviceLostReason::Destroyed || !words.is_empty() {
                keep(&kept, Error::Lost { device: name.clone(), reason: words });
            }
        });
        let (kept, name) = (Arc::clone(&fault), report.name.clone());
        device.on_uncaptured_error(Arc::new(move |error| keep(&kept, told(&name, "go on", &error))));
        Ok(Context { device, queue, report, fault })
    }

    /// What its driver says of it.
    #[must_use]
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// The library's own device.
    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// The library's own queue.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// The first failure that was told outside of a call, if there was one: then nothing the device gave since counts.
    ///
    /// # Errors
    /// That failure.
    pub fn check(&self) -> Result<(), Error> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    /// Compiles `wgsl` into a pipeline that begins at the function `entry`; the bindings are those the source declares.
    ///
    /// # Errors
    /// [`Error::Driver`] with the compiler's words.
    pub fn pipeline(&self, wgsl: &str, entry: &str) -> Result<wgpu::ComputePipeline, Error> {
        self.scoped("compile a kernel", || {
            let source = wgpu::ShaderSource::Wgsl(wgsl.into());
            let descriptor = wgpu::ShaderModuleDescriptor { label: Some(entry), source };
            let module = self.device.create_shader_module(descriptor);
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry),
                layout: None,
                module: &module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        })
    }

    /// A buffer of so many bytes, zeroed.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or [`Error::Driver`] if it is larger than the device allows.
    pub fn buffer(&self, bytes: u64, usage: wgpu::BufferUsages) -> Result<wgpu::Buffer, Error> {
        self.scoped("make a buffer", || {
            let descriptor =
                wgpu::BufferDescriptor { label: None, size: bytes, usage, mapped_at_creation: false };
            self.device.create_buffer(&descriptor)
        })
    }

    /// A buffer that holds `contents`, whose length is a multiple of 4.
    ///
    /// # Errors
    /// As [`Context::buffer`].
    pub fn filled(&self, contents: &[u8], usage: wgpu::BufferUsages) -> Result<wgpu::Buffer, Error> {
        let buffer = self.buffer(contents.len() as u64, usage | wgpu::BufferUsages::COPY_DST)?;
        self.write(&buffer, contents)?;
        Ok(buffer)
    }

    /// Puts `contents`, whose length is a multiple of 4, at the beginning of a buffer made with `COPY_DST`, before what is
    /// submitted next.
    ///
    /// # Errors
    /// [`Error::Driver`] if the buffer does not take it.
    pub fn write(&self, buffer: &wgpu::Buffer, contents: &[u8]) -> Result<(), Error> {
        self.scoped("fill a buffer", || self.queue.write_buffer(buffer, 0, contents))
    }

    /// Ties buffers to a pipeline's bindings 0, 1, … of group 0.
    ///
    /// # Errors
    /// [`Error::Driver`] if they are not what the pipeline's source declares.
    pub fn bind(
        &self,
        pipeline: &wgpu::ComputePipeline,
        buffers: &[&wgpu::Buffer],
    ) -> Result<wgpu::BindGroup, Error> {
        self.scoped("bind buffers", || {
            let entries: Vec<_> = (0..)
                .zip(buffers)
                .map(|(binding, buffer)| wgpu::BindGroupEntry {
                    binding,
                    resource: buffer.as_entire_binding(),
                })
                .collect();
            self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipeline.get_bind_group_layout(0),
                entries: &entries,
            })
        })
    }

    /// Records commands and hands them to the device, which runs submissions in order.
    ///
    /// # Errors
    /// [`Error::Driver`] if the commands are not valid; what fails on the device is told by [`Context::wait`].
    pub fn submit(
        &self,
        record: impl FnOnce(&mut wgpu::CommandEncoder),
    ) -> Result<wgpu::SubmissionIndex, Error> {
        self.scoped("take commands", || {
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            record(&mut encoder);
            self.queue.submit([encoder.finish()])
        })
    }

    /// Waits until a submission has ended, and all before it; `None`: all there are.
    ///
    /// # Errors
    /// [`Error::Hangs`] if it does not end within a minute; others if the device failed.
    pub fn wait(&self, submission: Option<wgpu::SubmissionIndex>) -> Result<(), Error> {
        let start = Instant::now();
        let polled = loop {
            // wgpu ends a wait for OpenGL after 4.3 s, with 32 bits of nanoseconds: it is begun again.
            let timeout = Some(PATIENCE.saturating_sub(start.elapsed()));
            let submission_index = submission.clone();
            match self.device.poll(wgpu::PollType::Wait { submission_index, timeout }) {
                Err(wgpu::PollError::Timeout) if start.elapsed() < PATIENCE => {}
                polled => break polled,
            }
        };
        self.check()?;
        polled.map(drop).map_err(|error| {
            let device = self.report.name.clone();
            match error {
                wgpu::PollError::Timeout => Error::Hangs { device, limit: PATIENCE },
                other => Error::Driver { device, action: "end its work", reason: other.to_string() },
            }
        })
    }

    /// Asks for a buffer to be mapped for reading or writing; it is after the next [`Context::wait`].
    ///
    /// # Errors
    /// [`Error::Driver`] if the buffer's usage does not allow it.
    pub fn map(&self, buffer: &wgpu::Buffer, mode: wgpu::MapMode) -> Result<(), Error> {
        self.scoped("map a buffer", || buffer.slice(..).map_async(mode, |_| ()))
    }

    /// The bytes of a buffer that was made with `COPY_SRC`; waits for all work before.
    ///
    /// # Errors
    /// As the calls it is made of.
    pub fn read(&self, buffer: &wgpu::Buffer) -> Result<Vec<u8>, Error> {
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
        let landing = self.buffer(buffer.size(), usage)?;
        self.submit(|encoder| encoder.copy_buffer_to_buffer(buffer, 0, &landing, 0, buffer.size()))?;
        self.map(&landing, wgpu::MapMode::Read)?;
        self.wait(None)?;
        let view = landing.slice(..).get_mapped_range().map_err(|error| self.unmapped(&error))?;
        Ok(view.to_vec())
    }

    /// The error of a mapping that did not come about.
    pub(crate) fn unmapped(&self, error: &dyn std::fmt::Display) -> Error {
        let device = self.report.name.clone();
        self.check().err().unwrap_or(Error::Driver {
            device,
            action: "map a buffer",
            reason: error.to_string(),
        })
    }

    /// Catches what wgpu tells of the calls inside.
    fn scoped<T>(&self, action: &'static str, calls: impl FnOnce() -> T) -> Result<T, Error> {
        let scopes =
            [wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Internal]
                .map(|filter| self.device.push_error_scope(filter));
        let made = calls();
        let mut error = None;
        // The last that was pushed must be the first that is popped.
        for scope in scopes.into_iter().rev() {
            error = pollster::block_on(scope.pop()).or(error);
        }
        self.check()?;
        match error {
            None => Ok(made),
            Some(error) => Err(told(&self.report.name, action, &error)),
        }
    }
}

fn keep(fault: &Mutex<Option<Error>>, error: Error) {
    fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
}

fn told(device: &str, action: &'static str, error: &wgpu::Error) -> Error {
    let device = device.to_owned();
    match error {
        wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { device },
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            // The first lines say what; the chain of causes behind them is the library's own.
            let reason = description.split_whitespace().collect::<Vec<_>>().join(" ");
            Error::Driver { device, action, reason }
        }
    }
}
