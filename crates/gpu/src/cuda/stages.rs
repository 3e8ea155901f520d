//! Pieces on one of NVIDIA's devices: each slot has a stream of its own, with pinned memory at both ends, so that one
//! stream's copies go on beside another's kernel.

use super::bounded::{Bounded, Patience, Unfinished};
use super::compile::ptx;
use super::devices::DeviceReport;
use super::{Keys, refused};
use crate::Error;
use crate::circuit::{GROUP_BLOCKS, GROUP_THREADS, Mode};
use crate::costs::Parts;
use crate::emit::cuda::GROUPS_A_BLOCK;
use crate::staging::{Stages, Task};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError, LaunchConfig,
    PinnedHostSlice, PushKernelArg, result, sys,
};
use std::sync::Arc;
use std::time::{Duration, Instant};
use zeroize::Zeroize;

const SLOTS: usize = 3;

/// Bytes of a piece: at 50 GB/s some 160 µs, against about 10 µs for a launch.
const PIECE_BYTES: usize = 8 << 20;

pub(crate) struct CudaStages {
    name: String,
    context: Arc<CudaContext>,
    keys: Box<Keys>,
    slots: Vec<Bounded<Place>>,
}

/// What a slot's work reaches into.
struct Place {
    kernels: Kernels,
    upload: PinnedHostSlice<u8>,
    source: CudaSlice<u8>,
    sink: CudaSlice<u8>,
    landing: PinnedHostSlice<u8>,
}

#[derive(Clone)]
struct Kernels {
    ctr: CudaFunction,
    cbc_decrypt: CudaFunction,
}

impl CudaStages {
    /// `limit`: how long a piece may take.
    pub(super) fn new(report: &DeviceReport, limit: Duration) -> Result<CudaStages, Error> {
        let refuse = |action| move |error: DriverError| refused(&report.name, action, &error);
        let patience = Patience::new(report.number, limit);
        patience.check().map_err(|hangs| hangs.told(&report.name, "open the device"))?;
        let context = CudaContext::new(report.number).map_err(refuse("open the device"))?;
        let module =
            context.load_module(ptx(report.compute_capability)?).map_err(refuse("load the kernels"))?;
        let function = |name| module.load_function(name).map_err(refuse("load the kernels"));
        let kernels = Kernels { ctr: function("ctr")?, cbc_decrypt: function("cbc_decrypt")? };
        let slot = || place(&context, &kernels, patience).map_err(refuse("make buffers"));
        let slots = (0..SLOTS).map(|_| slot()).collect::<Result<_, _>>()?;
        Ok(CudaStages { name: report.name.clone(), context, keys: Box::new(Keys::zero()), slots })
    }

    fn told(&self, action: &'static str) -> impl Fn(Unfinished) -> Error {
        let name = self.name.clone();
        move |error| error.told(&name, action)
    }

    fn begin(&mut self, slot: usize, task: &Task, text: &[u8]) -> Result<(), Unfinished> {
        let lead = if task.mode == Mode::CbcDecrypt { 16 } else { 0 };
        let whole = text.len().next_multiple_of(16);
        self.context.bind_to_thread()?;
        let (stream, place) = self.slots[slot].parts()?;
        let upload = place.upload.as_mut_slice()?;
        upload[..lead].copy_from_slice(&task.chain[..lead]);
        upload[lead..lead + text.len()].copy_from_slice(text);
        upload[lead + text.len()..lead + whole].fill(0);
        place.copy_in(stream, lead + whole)?;
        place.launch(stream, &self.keys, task, whole / 16)?;
        place.copy_out(stream, whole)?;
        Ok(self.slots[slot].mark()?)
    }

    fn end(&mut self, slot: usize, text: &mut [u8]) -> Result<(), Unfinished> {
        self.context.bind_to_thread()?;
        self.slots[slot].wait()?;
        let (_, place) = self.slots[slot].parts()?;
        text.copy_from_slice(&place.landing.as_slice()?[..text.len()]);
        Ok(self.context.check_err()?)
    }

    fn clear(&mut self) -> Result<(), Unfinished> {
        self.context.bind_to_thread()?;
        for slot in &mut self.slots {
            slot.mark()?;
            slot.wait()?;
            let (stream, place) = slot.parts()?;
            stream.memset_zeros(&mut place.source)?;
            stream.memset_zeros(&mut place.sink)?;
            place.upload.as_mut_slice()?.fill(0);
            place.landing.as_mut_slice()?.fill(0);
            slot.mark()?;
            slot.wait()?;
        }
        Ok(())
    }
}

fn place(
    context: &Arc<CudaContext>,
    kernels: &Kernels,
    patience: Patience,
) -> Result<Bounded<Place>, DriverError> {
    let stream = context.new_stream()?;
    let pinned = |flags: u32| {
        // SAFETY: what was not set is bytes, of which every value is one, and is written before it is read.
        let mut slice = unsafe { context.alloc_pinned_with_flags::<u8>(PIECE_BYTES + 16, flags) }?;
        slice.as_mut_slice()?.fill(0);
        Ok::<_, DriverError>(slice)
    };
    let place = Place {
        kernels: kernels.clone(),
        source: stream.alloc_zeros(PIECE_BYTES + 16)?,
        sink: stream.alloc_zeros(PIECE_BYTES + 16)?,
        upload: pinned(sys::CU_MEMHOSTALLOC_WRITECOMBINED)?,
        landing: pinned(0)?,
    };
    Bounded::new(stream, patience, place)
}

/// What a stream is asked. The buffers have room for a piece and a block each; they are not touched again before the stream was
/// waited for, and not freed before its work has ended ([`Bounded`]).
impl Place {
    fn copy_in(&mut self, stream: &CudaStream, bytes: usize) -> Result<(), DriverError> {
        let upload = &self.upload.as_slice()?[..bytes];
        let (source, _recorded) = self.source.device_ptr_mut(stream);
        // SAFETY: `source` has room for so many bytes; `upload` is pinned, and both stay as they are until the stream was
        // waited for.
        unsafe { result::memcpy_htod_async(source, upload, stream.cu_stream()) }
    }

    fn copy_out(&mut self, stream: &CudaStream, bytes: usize) -> Result<(), DriverError> {
        let landing = &mut self.landing.as_mut_slice()?[..bytes];
        let (sink, _recorded) = self.sink.device_ptr(stream);
        // SAFETY: as in `copy_in`, the other way.
        unsafe { result::memcpy_dtoh_async(landing, sink, stream.cu_stream()) }
    }

    /// Asks for a kernel on what lies in the buffers.
    fn launch(
        &mut self,
        stream: &Arc<CudaStream>,
        keys: &Keys,
        task: &Task,
        blocks: usize,
    ) -> Result<(), DriverError> {
        let is_ctr = task.mode == Mode::Ctr;
        let function = if is_ctr { &self.kernels.ctr } else { &self.kernels.cbc_decrypt };
        let skip = if is_ctr { (task.first % u128::from(GROUP_BLOCKS)) as u32 } else { 0 };
        let aligned = task.first.wrapping_sub(u128::from(skip));
        let counter = [96, 64, 32, 0].map(|shift| (aligned >> shift) as u32);
        let blocks = blocks as u32;
        let configuration = LaunchConfig {
            grid_dim: ((skip + blocks).div_ceil(GROUP_BLOCKS * GROUPS_A_BLOCK), 1, 1),
            block_dim: (GROUP_THREADS * GROUPS_A_BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(function);
        launch.arg(&self.source).arg(&mut self.sink).arg(keys);
        counter.iter().for_each(|word| {
            launch.arg(word);
        });
        launch.arg(&blocks).arg(&skip).arg(&task.rounds);
        // SAFETY: the arguments are those of the kernels' declaration, in its order; a kernel touches `blocks` blocks of
        // the sink and one more of the source, and both have room for a piece and a block.
        unsafe { launch.launch(configuration) }.map(drop)
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

    fn start(&mut self, slot: usize, task: &Task, text: &[u8]) -> Result<(), Error> {
        self.begin(slot, task, text).map_err(self.told("take work"))
    }

    fn finish(&mut self, slot: usize, text: &mut [u8]) -> Result<(), Error> {
        self.end(slot, text).map_err(self.told("end its work"))
    }

    fn wipe(&mut self) -> Result<(), Error> {
        self.keys.zeroize();
        self.clear().map_err(self.told("clear its buffers"))
    }
}

impl Parts for CudaStages {
    fn transfer_seconds(&mut self, bytes: usize) -> Result<f64, Error> {
        let mut text = vec![0; bytes];
        let start = Instant::now();
        let mut copy = || {
            self.context.bind_to_thread()?;
            let (stream, place) = self.slots[0].parts()?;
            place.upload.as_mut_slice()?[..bytes].copy_from_slice(&text);
            place.copy_in(stream, bytes)?;
            place.copy_out(stream, bytes)?;
            Ok::<_, Unfinished>(self.slots[0].mark()?)
        };
        copy().map_err(self.told("move bytes"))?;
        self.finish(0, &mut text)?;
        Ok(start.elapsed().as_secs_f64())
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
        // The difference leaves out what launching and waiting cost.
        Ok(((many - one) / f64::from(TIMES)).max(one / 1000.0))
    }

    fn staging_bytes(&self) -> usize {
        2 * SLOTS * PIECE_BYTES
    }
}
