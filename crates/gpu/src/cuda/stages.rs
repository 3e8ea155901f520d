//! Pieces on an NVIDIA device: each slot has its own stream, with pinned memory at both ends, so that one stream copies while
//! another runs its kernel.

use super::bounded::{Bounded, Patience, Unfinished};
use super::buffers::Buffers;
use super::compile::{ptx_of, text};
use super::devices::DeviceReport;
use super::{Keys, refused};
use crate::Error;
use crate::circuit::{GROUP_THREADS, Mode};
use crate::emit::cuda::GROUPS_A_BLOCK;
use crate::staging::{Stages, Task};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, LaunchConfig};
use std::sync::Arc;
use std::time::{Duration, Instant};
use zeroize::Zeroize;

const SLOTS: usize = 3;

/// Bytes of a piece: at 50 GB/s some 160 µs, against about 10 µs for a launch.
const PIECE_BYTES: usize = 8 << 20;

/// The streams, buffers and kernels of an opened device.
pub struct CudaStages {
    name: String,
    context: Arc<CudaContext>,
    keys: Box<Keys>,
    slots: Vec<Bounded<Place>>,
}

/// What a slot's work reaches into.
struct Place {
    ctr: CudaFunction,
    cbc_decrypt: CudaFunction,
    buffers: Buffers,
}

impl CudaStages {
    /// `limit`: how long a piece may take.
    pub(super) fn new(report: &DeviceReport, limit: Duration) -> Result<CudaStages, Error> {
        let refuse = |action| move |error: DriverError| refused(&report.name, action, &error);
        let patience = Patience::new(report.number, limit);
        patience.check().map_err(|hangs| hangs.told(&report.name, "open the device"))?;
        let context = CudaContext::new(report.number).map_err(refuse("open the device"))?;
        let kernels = ptx_of(text(), report.compute_capability)?;
        let module = context.load_module(kernels).map_err(refuse("load the kernels"))?;
        let function = |name| module.load_function(name).map_err(refuse("load the kernels"));
        let (ctr, cbc_decrypt) = (function("ctr")?, function("cbc_decrypt")?);
        let slot = || {
            let stream = context.new_stream()?;
            let buffers = Buffers::new(&context, &stream, PIECE_BYTES + 16)?;
            let place = Place { ctr: ctr.clone(), cbc_decrypt: cbc_decrypt.clone(), buffers };
            Bounded::new(stream, patience, place)
        };
        let slots = (0..SLOTS).map(|_| slot()).collect::<Result<_, _>>().map_err(refuse("make buffers"))?;
        Ok(CudaStages { name: report.name.clone(), context, keys: Box::new(Keys::zero()), slots })
    }

    fn told(&self, action: &'static str) -> impl Fn(Unfinished) -> Error {
        let name = self.name.clone();
        move |error| error.told(&name, action)
    }

    /// Asks for a piece to be copied in, worked on and copied out; without a task only for the copies.
    fn begin(&mut self, slot: usize, task: Option<&Task>, text: &[u8]) -> Result<(), Unfinished> {
        let front = task.map_or(&[][..], Task::front);
        let lead = front.len();
        let whole = text.len().next_multiple_of(16);
        self.context.bind_to_thread()?;
        let (stream, place) = self.slots[slot].parts()?;
        let upload = place.buffers.upload.as_mut_slice()?;
        upload[..lead].copy_from_slice(front);
        upload[lead..lead + text.len()].copy_from_slice(text);
        upload[lead + text.len()..lead + whole].fill(0);
        place.buffers.copy_in(stream, lead + whole)?;
        if let Some(task) = task {
            place.launch(stream, &self.keys, task, whole / 16)?;
        }
        place.buffers.copy_out(stream, whole)?;
        Ok(self.slots[slot].mark()?)
    }

    fn end(&mut self, slot: usize, text: &mut [u8]) -> Result<(), Unfinished> {
        self.context.bind_to_thread()?;
        self.slots[slot].wait()?;
        let (_, place) = self.slots[slot].parts()?;
        text.copy_from_slice(&place.buffers.landing.as_slice()?[..text.len()]);
        Ok(self.context.check_err()?)
    }

    fn clear(&mut self) -> Result<(), Unfinished> {
        self.context.bind_to_thread()?;
        for slot in &mut self.slots {
            slot.mark()?;
            slot.wait()?;
            let (stream, place) = slot.parts()?;
            stream.memset_zeros(&mut place.buffers.source)?;
            stream.memset_zeros(&mut place.buffers.sink)?;
            place.buffers.upload.as_mut_slice()?.fill(0);
            place.buffers.landing.as_mut_slice()?.fill(0);
            slot.mark()?;
            slot.wait()?;
        }
        Ok(())
    }
}

impl Place {
    /// Asks for a task's kernel on what lies in the buffers.
    fn launch(
        &mut self,
        stream: &Arc<CudaStream>,
        keys: &Keys,
        task: &Task,
        blocks: usize,
    ) -> Result<(), DriverError> {
        let numbers = task.launch(blocks);
        let configuration = LaunchConfig {
            grid_dim: (numbers.groups().div_ceil(GROUPS_A_BLOCK), 1, 1),
            block_dim: (GROUP_THREADS * GROUPS_A_BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        let function = if task.mode == Mode::Ctr { &self.ctr } else { &self.cbc_decrypt };
        // SAFETY: the kernels are this crate's own. They touch `blocks` blocks of the sink and one more of the source, and both
        // have room for a piece and a block; they use no shared memory.
        unsafe { self.buffers.launch(stream, function, configuration, keys, &numbers) }
    }
}

impl Stages for CudaStages {
    fn slots(&self) -> usize {
        SLOTS
    }

    fn piece_bytes(&self) -> usize {
        PIECE_BYTES
    }

    fn set_keys(&mut self, masks: &[u32]) -> Result<(), Error> {
        self.keys.set(masks);
        Ok(())
    }

    fn start(&mut self, slot: usize, task: Option<&Task>, text: &[u8]) -> Result<(), Error> {
        self.begin(slot, task, text).map_err(self.told("take work"))
    }

    fn finish(&mut self, slot: usize, text: &mut [u8]) -> Result<(), Error> {
        self.end(slot, text).map_err(self.told("end its work"))
    }

    fn wipe(&mut self) -> Result<(), Error> {
        self.keys.zeroize();
        self.clear().map_err(self.told("clear its buffers"))
    }

    fn kernel_seconds(&mut self, bytes: usize) -> Result<f64, Error> {
        const TIMES: u32 = 8;
        let task = Task { mode: Mode::Ctr, rounds: 10, first: 0, chain: [0; 16] };
        let mut run = |times: u32| {
            let start = Instant::now();
            let (stream, place) = self.slots[0].parts()?;
            for _ in 0..times {
                place.launch(stream, &self.keys, &task, bytes / 16)?;
            }
            self.slots[0].mark()?;
            self.slots[0].wait()?;
            Ok::<_, Unfinished>(start.elapsed().as_secs_f64())
        };
        let both = run(1).and_then(|one| Ok((one, run(1 + TIMES)?)));
        let (one, many) = both.map_err(self.told("run a kernel"))?;
        // The difference excludes the cost of launching and waiting.
        Ok(((many - one) / f64::from(TIMES)).max(one / 1000.0))
    }
}
