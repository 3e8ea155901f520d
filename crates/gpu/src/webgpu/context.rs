//! An opened device: compiles WGSL to pipelines, creates buffers, submits commands, waits for them, and reads bytes back.
//!
//! No failure panics. A failure that the driver reports late (a lost device, an error outside of any call) is kept, and every
//! later call returns it.

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
    /// Opens `adapter` with its highest memory limits, and with timestamps if it supports them.
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

    /// The driver's description of the device.
    #[must_use]
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// wgpu's own device.
    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// wgpu's own queue.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// Fails if the driver has reported a failure outside of a call. Results since then are not reliable.
    ///
    /// # Errors
    /// That failure.
    pub fn check(&self) -> Result<(), Error> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    /// Compiles `wgsl` into a pipeline that begins at the function `entry`, with the bindings that the source declares.
    ///
    /// # Errors
    /// [`Error::Driver`] with the compiler's message.
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

    /// Creates a zeroed buffer of so many bytes.
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

    /// Creates a buffer that holds `contents`, whose length is a multiple of 4.
    ///
    /// # Errors
    /// As [`Context::buffer`].
    pub fn filled(&self, contents: &[u8], usage: wgpu::BufferUsages) -> Result<wgpu::Buffer, Error> {
        let buffer = self.buffer(contents.len() as u64, usage | wgpu::BufferUsages::COPY_DST)?;
        self.write(&buffer, contents)?;
        Ok(buffer)
    }

    /// Writes `contents`, whose length is a multiple of 4, to the beginning of a buffer made with `COPY_DST`, before the next
    /// submission runs.
    ///
    /// # Errors
    /// [`Error::Driver`] if the buffer does not accept it.
    pub fn write(&self, buffer: &wgpu::Buffer, contents: &[u8]) -> Result<(), Error> {
        self.scoped("fill a buffer", || self.queue.write_buffer(buffer, 0, contents))
    }

    /// Binds buffers to a pipeline's bindings 0, 1, … of group 0.
    ///
    /// # Errors
    /// [`Error::Driver`] if they do not match the declarations of the pipeline's source.
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

    /// Records commands and submits them to the device, which runs submissions in order.
    ///
    /// # Errors
    /// [`Error::Driver`] if the commands are not valid; [`Context::wait`] returns failures on the device.
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

    /// Waits until a submission and all before it have ended; `None` waits for all submissions.
    ///
    /// # Errors
    /// [`Error::Hangs`] if it does not end within a minute; other errors if the device failed.
    pub fn wait(&self, submission: Option<wgpu::SubmissionIndex>) -> Result<(), Error> {
        let start = Instant::now();
        let polled = loop {
            // For OpenGL, wgpu ends a wait after 4.3 s (32 bits of nanoseconds), so the loop waits again.
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

    /// Requests that a buffer be mapped for reading or writing; it is mapped after the next [`Context::wait`].
    ///
    /// # Errors
    /// [`Error::Driver`] if the buffer's usage does not allow it.
    pub fn map(&self, buffer: &wgpu::Buffer, mode: wgpu::MapMode) -> Result<(), Error> {
        self.scoped("map a buffer", || buffer.slice(..).map_async(mode, |_| ()))
    }

    /// Reads the bytes of a buffer that was made with `COPY_SRC`, after waiting for all earlier work.
    ///
    /// # Errors
    /// As [`Context::submit`], [`Context::wait`] and [`Context::buffer`].
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
    #[doc(hidden)]
    pub fn unmapped(&self, error: &dyn std::fmt::Display) -> Error {
        let device = self.report.name.clone();
        self.check().err().unwrap_or(Error::Driver {
            device,
            action: "map a buffer",
            reason: error.to_string(),
        })
    }

    /// Returns the errors that wgpu reports for the calls inside.
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
            // The first lines say what failed; the chain of causes after them is internal to wgpu.
            let reason = description.split_whitespace().collect::<Vec<_>>().join(" ");
            Error::Driver { device, action, reason }
        }
    }
}
