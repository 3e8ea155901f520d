//! The automaton on a graphics device: the shader's pipelines, two buffers of cells that take turns, and the frames' numbers.
//!
//! ```text
//! slots    one frame each, 256 bytes apart:  width height number seed chance finish report 0
//! groups   binding of slot i: cells[i mod 2] -> cells[1 - i mod 2]
//! submit   up to 64 frames in one pass; dispatches of a pass run one after the other
//! ```

use super::automaton::{Rule, Setting};
use super::stages::bytes;
use cipherloom_gpu::Error;
use cipherloom_gpu::webgpu::{Context, wgpu};
use cipherloom_lab_gpu::Clock;
use std::rc::Rc;

/// The one source for every device, joined as the page does.
pub const SHADER: &str = concat!(
    include_str!("../../../shaders/maze/cells.wgsl"),
    include_str!("../../../shaders/maze/branches.wgsl"),
    include_str!("../../../shaders/maze/selects.wgsl"),
    include_str!("../../../shaders/maze/frames.wgsl"),
);

/// Frames in one submission.
const SLOTS: u32 = 64;

/// Uniforms lie as far apart as every device accepts (`minUniformBufferOffsetAlignment`'s largest value).
const STRIDE: u64 = 256;

/// Cells that one workgroup covers, as the shader has it.
const GROUP: (u32, u32) = (16, 8);

/// How a rule is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// (A) branches with early returns.
    Branches,
    /// (B) everything computed, and selected from.
    Selects,
}

impl Form {
    /// Both.
    pub const ALL: [Form; 2] = [Form::Branches, Form::Selects];

    /// Its word, as the shader's functions have.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Form::Branches => "branches",
            Form::Selects => "selects",
        }
    }
}

/// One rule in one form, compiled for a device.
pub struct Program {
    context: Rc<Context>,
    pipeline: wgpu::ComputePipeline,
}

impl Program {
    /// Compiles it.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(context: &Rc<Context>, rule: Rule, form: Form) -> Result<Program, Error> {
        Program::of(SHADER, context, rule, form)
    }

    /// Compiles it from another source: a test of what is told where a driver miscomputes.
    pub(super) fn of(source: &str, context: &Rc<Context>, rule: Rule, form: Form) -> Result<Program, Error> {
        let pipeline = context.pipeline(source, &format!("{}_{}", rule.name(), form.name()))?;
        Ok(Program { context: Rc::clone(context), pipeline })
    }
}

/// A maze on a device.
pub struct Automaton {
    program: Rc<Program>,
    setting: Setting,
    cells: [wgpu::Buffer; 2],
    slots: wgpu::Buffer,
    status: wgpu::Buffer,
    groups: Vec<wgpu::BindGroup>,
    clock: Option<Clock>,
    frame: u32,
}

impl Automaton {
    /// Makes room for the cells.
    ///
    /// # Errors
    /// If the device has not enough memory.
    pub fn new(program: &Rc<Program>, setting: Setting) -> Result<Automaton, Error> {
        let Program { context, pipeline } = &**program;
        let storage =
            wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let size = setting.cells() as u64 * 4;
        let cells = [context.buffer(size, storage)?, context.buffer(size, storage)?];
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let slots = context.buffer(u64::from(SLOTS) * STRIDE, uniform)?;
        let status = context.buffer(8, storage)?;
        let layout = pipeline.get_bind_group_layout(0);
        let group = |slot: u32| {
            let frame = wgpu::BufferBinding {
                buffer: &slots,
                offset: u64::from(slot) * STRIDE,
                size: 32.try_into().ok(),
            };
            let (before, after) = (slot as usize % 2, 1 - slot as usize % 2);
            let resources = [
                cells[before].as_entire_binding(),
                cells[after].as_entire_binding(),
                wgpu::BindingResource::Buffer(frame),
                status.as_entire_binding(),
            ];
            let entries: Vec<_> = (0..)
                .zip(resources)
                .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
                .collect();
            context.device().create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &layout,
                entries: &entries,
            })
        };
        let groups = (0..SLOTS).map(group).collect();
        context.check()?;
        let clock = Clock::of(context)?;
        Ok(Automaton { program: Rc::clone(program), setting, cells, slots, status, groups, clock, frame: 0 })
    }

    /// Puts cells in place, before an even frame.
    ///
    /// # Errors
    /// If the device failed.
    ///
    /// # Panics
    /// If the frame is odd, or these are not the setting's cells.
    pub fn load(&mut self, cells: &[u32], frame: u32) -> Result<(), Error> {
        assert!(frame.is_multiple_of(2) && cells.len() == self.setting.cells());
        self.program.context.queue().write_buffer(&self.cells[0], 0, &bytes(cells));
        self.program.context.queue().write_buffer(&self.status, 0, &[0; 8]);
        self.frame = frame;
        self.program.context.submit(|_| ())?;
        self.program.context.wait(None)
    }

    /// Makes so many frames, and waits for them. Gives the nanoseconds that passed on the device's own clock; nothing if it
    /// has none.
    ///
    /// # Errors
    /// If the device failed.
    pub fn advance(&mut self, frames: u32) -> Result<Option<u64>, Error> {
        let end = self.frame + frames;
        let mut is_first = true;
        while self.frame < end {
            // The slots' parity is the frames'.
            let first = self.frame % SLOTS;
            let count = (SLOTS - first).min(end - self.frame);
            let is_last = self.frame + count == end;
            self.write_slots(first, count);
            let timestamp_writes = self.clock.as_ref().and_then(|clock| clock.writes(is_first, is_last));
            let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
            let size = [self.setting.width.div_ceil(GROUP.0), self.setting.height.div_ceil(GROUP.1)];
            self.program.context.submit(|encoder| {
                let mut pass = encoder.begin_compute_pass(&descriptor);
                pass.set_pipeline(&self.program.pipeline);
                for group in &self.groups[first as usize..(first + count) as usize] {
                    pass.set_bind_group(0, group, &[]);
                    pass.dispatch_workgroups(size[0], size[1], 1);
                }
            })?;
            self.frame += count;
            is_first = false;
        }
        self.program.context.wait(None)?;
        let time = self.clock.as_ref().map(|clock| clock.read(&self.program.context)).transpose()?;
        Ok(time.map(|nanoseconds| nanoseconds as u64))
    }

    fn write_slots(&self, first: u32, count: u32) {
        let Setting { width, height, seed, chance, finish } = self.setting;
        let mut slots = vec![0; count as usize * STRIDE as usize];
        for (index, slot) in (0..count).zip(slots.chunks_exact_mut(STRIDE as usize)) {
            let is_last = u32::from(index + 1 == count);
            let words = [width, height, self.frame + index, seed, chance, finish, is_last, 0];
            slot[..32].copy_from_slice(&bytes(&words));
        }
        self.program.context.queue().write_buffer(&self.slots, u64::from(first) * STRIDE, &slots);
    }

    /// Makes frames until the rule has come to its end, but not many more than `most`; gives how many.
    ///
    /// # Errors
    /// If the device failed.
    pub fn finish(&mut self, most: u32) -> Result<u32, Error> {
        let start = self.frame;
        while self.frame - start < most {
            self.program.context.queue().write_buffer(&self.status, 0, &[0; 4]);
            self.advance(SLOTS)?;
            let status = self.program.context.read(&self.status)?;
            if status[..4] == [0; 4] {
                break;
            }
        }
        Ok(self.frame - start)
    }

    /// The cells now.
    ///
    /// # Errors
    /// If the device failed.
    pub fn cells(&self) -> Result<Vec<u32>, Error> {
        let read = self.program.context.read(&self.cells[self.frame as usize % 2])?;
        Ok(read.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }
}
