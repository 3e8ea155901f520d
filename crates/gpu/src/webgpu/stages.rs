//! Pieces on a wgpu device. Each slot has buffers that this processor writes and reads, buffers that the kernels access, and
//! one submission for copy-in, kernel and copy-out. The driver runs submissions in order while this thread fills and empties
//! the other slots' buffers.

use super::context::Context;
use crate::Error;
use crate::circuit::{GROUP_BLOCKS, Mode};
use crate::emit::wgsl;
use crate::keys::MOST_MASKS;
use crate::staging::{Stages, Task};
use std::sync::Arc;
use std::time::Instant;
use wgpu::{BufferUsages, MapMode};

const SLOTS: usize = 3;

/// Bytes of a piece, if the device's limits allow.
const PIECE_BYTES: u64 = 4 << 20;

/// The buffers and kernels of an opened device.
pub struct WebGpuStages {
    pub(super) context: Arc<Context>,
    ctr: wgpu::ComputePipeline,
    cbc_decrypt: wgpu::ComputePipeline,
    keys: wgpu::Buffer,
    slots: Vec<Slot>,
    piece_bytes: usize,
}

struct Slot {
    /// Mapped for writing whenever the slot is free.
    upload: wgpu::Buffer,
    source: wgpu::Buffer,
    sink: wgpu::Buffer,
    landing: wgpu::Buffer,
    parameters: wgpu::Buffer,
    ctr: wgpu::BindGroup,
    cbc_decrypt: wgpu::BindGroup,
    submission: Option<wgpu::SubmissionIndex>,
}

impl WebGpuStages {
    /// `alter` may change the kernels' sources before they are compiled, so that a test can make them wrong.
    pub(super) fn new(context: Arc<Context>, alter: impl Fn(String) -> String) -> Result<Self, Error> {
        let ctr = context.pipeline(&alter(wgsl::source(Mode::Ctr)), "main")?;
        let cbc_decrypt = context.pipeline(&alter(wgsl::source(Mode::CbcDecrypt)), "main")?;
        let keys = context.buffer(4 * MOST_MASKS as u64, BufferUsages::STORAGE | BufferUsages::COPY_DST)?;
        let limits = context.report().limits;
        let most = limits.binding_bytes.min(limits.buffer_bytes).saturating_sub(16);
        let groups = u64::from(limits.workgroups.saturating_sub(1)) * u64::from(16 * GROUP_BLOCKS);
        let piece = PIECE_BYTES.min(most).min(groups) / 16 * 16;
        let slot = || Slot::new(&context, [&ctr, &cbc_decrypt], &keys, piece);
        let slots = (0..SLOTS).map(|_| slot()).collect::<Result<Vec<_>, _>>()?;
        context.wait(None)?;
        Ok(WebGpuStages { context, ctr, cbc_decrypt, keys, slots, piece_bytes: piece as usize })
    }

    /// Waits for a slot's submission, after which its buffers are mapped.
    fn wait(&mut self, slot: usize) -> Result<(), Error> {
        let submission = self.slots[slot].submission.take();
        self.context.wait(submission)
    }

    fn dispatch(&self, encoder: &mut wgpu::CommandEncoder, slot: &Slot, mode: Mode, groups: u32) {
        let (pipeline, bound) = match mode {
            Mode::Ctr => (&self.ctr, &slot.ctr),
            Mode::CbcDecrypt => (&self.cbc_decrypt, &slot.cbc_decrypt),
        };
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, bound, &[]);
        pass.dispatch_workgroups(groups, 1, 1);
    }
}

impl Slot {
    fn new(
        context: &Context,
        [ctr, cbc_decrypt]: [&wgpu::ComputePipeline; 2],
        keys: &wgpu::Buffer,
        piece: u64,
    ) -> Result<Slot, Error> {
        let upload = context.buffer(piece + 16, BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC)?;
        let source = context.buffer(piece + 16, BufferUsages::STORAGE | BufferUsages::COPY_DST)?;
        let sink =
            context.buffer(piece, BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST)?;
        let landing = context.buffer(piece, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?;
        let parameters = context.buffer(32, BufferUsages::UNIFORM | BufferUsages::COPY_DST)?;
        let buffers = [&source, &sink, keys, &parameters];
        let (ctr, cbc_decrypt) = (context.bind(ctr, &buffers)?, context.bind(cbc_decrypt, &buffers)?);
        context.map(&upload, MapMode::Write)?;
        Ok(Slot { upload, source, sink, landing, parameters, ctr, cbc_decrypt, submission: None })
    }
}

impl Stages for WebGpuStages {
    fn slots(&self) -> usize {
        SLOTS
    }

    fn piece_bytes(&self) -> usize {
        self.piece_bytes
    }

    fn set_keys(&mut self, masks: &[u32]) -> Result<(), Error> {
        let bytes =
            zeroize::Zeroizing::new(masks.iter().flat_map(|mask| mask.to_le_bytes()).collect::<Vec<_>>());
        self.context.write(&self.keys, &bytes)
    }

    fn start(&mut self, slot: usize, task: Option<&Task>, text: &[u8]) -> Result<(), Error> {
        let place = &self.slots[slot];
        let front = task.map_or(&[][..], Task::front);
        let (lead, whole) = (front.len(), text.len().next_multiple_of(16));
        let bytes = (lead + whole) as u64;
        {
            let range = place.upload.slice(..bytes);
            let mut view = range.get_mapped_range_mut().map_err(|error| self.context.unmapped(&error))?;
            view.slice(..lead).copy_from_slice(front);
            view.slice(lead..lead + text.len()).copy_from_slice(text);
            view.slice(lead + text.len()..).copy_from_slice(&[0; 16][..whole - text.len()]);
        }
        place.upload.unmap();
        let launch = task.map(|task| task.launch(whole / 16));
        if let Some(launch) = &launch {
            self.context.write(&place.parameters, &launch.uniform())?;
        }
        let submission = self.context.submit(|encoder| {
            encoder.copy_buffer_to_buffer(&place.upload, 0, &place.source, 0, bytes);
            if let (Some(task), Some(launch)) = (task, &launch) {
                self.dispatch(encoder, place, task.mode, launch.groups());
            }
            encoder.copy_buffer_to_buffer(&place.sink, 0, &place.landing, 0, whole as u64);
        })?;
        self.context.map(&place.landing, MapMode::Read)?;
        self.context.map(&place.upload, MapMode::Write)?;
        self.slots[slot].submission = Some(submission);
        Ok(())
    }

    fn finish(&mut self, slot: usize, text: &mut [u8]) -> Result<(), Error> {
        self.wait(slot)?;
        let landing = &self.slots[slot].landing;
        {
            let whole = text.len().next_multiple_of(16) as u64;
            let range = landing.slice(..whole);
            let view = range.get_mapped_range().map_err(|error| self.context.unmapped(&error))?;
            text.copy_from_slice(&view[..text.len()]);
        }
        landing.unmap();
        Ok(())
    }

    fn wipe(&mut self) -> Result<(), Error> {
        for slot in &self.slots {
            let range = slot.upload.slice(..);
            let mut view = range.get_mapped_range_mut().map_err(|error| self.context.unmapped(&error))?;
            view.slice(..).fill(0);
        }
        self.context.submit(|encoder| {
            encoder.clear_buffer(&self.keys, 0, None);
            for slot in &self.slots {
                encoder.clear_buffer(&slot.source, 0, None);
                encoder.clear_buffer(&slot.sink, 0, None);
                encoder.clear_buffer(&slot.landing, 0, None);
            }
        })?;
        self.context.wait(None)
    }

    fn kernel_seconds(&mut self, bytes: usize) -> Result<f64, Error> {
        let task = Task { mode: Mode::Ctr, rounds: 10, first: 0, chain: [0; 16] };
        let launch = task.launch(bytes / 16);
        self.context.write(&self.slots[0].parameters, &launch.uniform())?;
        self.context.wait(None)?;
        let run = |times: u32| {
            let start = Instant::now();
            self.context.submit(|encoder| {
                (0..times).for_each(|_| self.dispatch(encoder, &self.slots[0], Mode::Ctr, launch.groups()));
            })?;
            self.context.wait(None)?;
            Ok(start.elapsed().as_secs_f64())
        };
        // The difference excludes the cost of a submission.
        let (one, three) = (run(1)?, run(3)?);
        Ok(((three - one) / 2.0).max(one / 100.0))
    }
}
