//! Pieces on one of NVIDIA's devices: each slot has a stream of its own, with pinned memory at both ends, so that one
//! stream's copies go on beside another's kernel.

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
use std::time::Instant;
use zeroize::Zeroize;

const SLOTS: usize = 3;

/// Bytes of a piece: at 50 GB/s some 160 µs, against about 10 µs for a launch.
const PIECE_BYTES: usize = 8 << 20;

pub(crate) struct CudaStages {
    name: String,
    context: Arc<CudaContext>,
    ctr: CudaFunction,
    cbc_decrypt: CudaFunction,
    keys: Box<Keys>,
    slots: Vec<Slot>,
}

struct Slot {
    stream: Arc<CudaStream>,
    upload: PinnedHostSlice<u8>,
    source: CudaSlice<u8>,
    sink: CudaSlice<u8>,
    landing: PinnedHostSlice<u8>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        // Copies may be under way that reach into the buffers.
        let _ = self.stream.synchronize();
    }
}

impl CudaStages {
    pub(super) fn new(report: &DeviceReport) -> Result<CudaStages, Error> {
        let refuse = |action| move |error: DriverError| refused(&report.name, action, &error);
        let context = CudaContext::new(report.number).map_err(refuse("open the device"))?;
        let module =
            context.load_module(ptx(report.compute_capability)?).map_err(refuse("load the kernels"))?;
        let function = |name| module.load_function(name).map_err(refuse("load the kernels"));
        let (ctr, cbc_decrypt) = (function("ctr")?, function("cbc_decrypt")?);
        let slot = || Slot::new(&context).map_err(refuse("make buffers"));
        let slots = (0..SLOTS).map(|_| slot()).collect::<Result<_, _>>()?;
        let keys = Box::new(Keys::zero());
        Ok(CudaStages { name: report.name.clone(), context, ctr, cbc_decrypt, keys, slots })
    }

    fn refuse(&self, action: &'static str) -> impl Fn(DriverError) -> Error {
        let name = self.name.clone();
        move |error| refused(&name, action, &error)
    }

    /// Puts a kernel into a slot's stream, on what lies in its buffers.
    fn launch(&mut self, slot: usize, task: &Task, blocks: usize) -> Result<(), DriverError> {
        let place = &mut self.slots[slot];
        let is_ctr = task.mode == Mode::Ctr;
        let function = if is_ctr { &self.ctr } else { &self.cbc_decrypt };
        let skip = if is_ctr { (task.first % u128::from(GROUP_BLOCKS)) as u32 } else { 0 };
        let aligned = task.first.wrapping_sub(u128::from(skip));
        let counter = [96, 64, 32, 0].map(|shift| (aligned >> shift) as u32);
        let blocks = blocks as u32;
        let configuration = LaunchConfig {
            grid_dim: ((skip + blocks).div_ceil(GROUP_BLOCKS * GROUPS_A_BLOCK), 1, 1),
            block_dim: (GROUP_THREADS * GROUPS_A_BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        let stream = Arc::clone(&place.stream);
        let mut launch = stream.launch_builder(function);
        launch.arg(&place.source).arg(&mut place.sink).arg(&*self.keys);
        counter.iter().for_each(|word| {
            launch.arg(word);
        });
        launch.arg(&blocks).arg(&skip).arg(&task.rounds);
        // SAFETY: the arguments are those of the kernels' declaration, in its order; a kernel touches `blocks` blocks of
        // the sink and one more of the source, and both have room for a piece and a block.
        unsafe { launch.launch(configuration) }.map(drop)
    }

    fn begin(&mut self, slot: usize, task: &Task, text: &[u8]) -> Result<(), DriverError> {
        let lead = if task.mode == Mode::CbcDecrypt { 16 } else { 0 };
        let whole = text.len().next_multiple_of(16);
        self.context.bind_to_thread()?;
        let place = &mut self.slots[slot];
        let upload = place.upload.as_mut_slice()?;
        upload[..lead].copy_from_slice(&task.chain[..lead]);
        upload[lead..lead + text.len()].copy_from_slice(text);
        upload[lead + text.len()..lead + whole].fill(0);
        {
            let (source, _recorded) = place.source.device_ptr_mut(&place.stream);
            // SAFETY: `source` has room for a piece and a block; `upload` is pinned, lives as long as the slot, and is not
            // touched again before `finish` has waited for the stream.
            unsafe { result::memcpy_htod_async(source, &upload[..lead + whole], place.stream.cu_stream()) }?;
        }
        self.launch(slot, task, whole / 16)?;
        let place = &mut self.slots[slot];
        let landing = place.landing.as_mut_slice()?;
        let (sink, _recorded) = place.sink.device_ptr(&place.stream);
        // SAFETY: as above, the other way.
        unsafe { result::memcpy_dtoh_async(&mut landing[..whole], sink, place.stream.cu_stream()) }
    }

    fn end(&mut self, slot: usize, text: &mut [u8]) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        let place = &mut self.slots[slot];
        place.stream.synchronize()?;
        text.copy_from_slice(&place.landing.as_slice()?[..text.len()]);
        self.context.check_err()
    }

    fn clear(&mut self) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        for place in &mut self.slots {
            place.stream.synchronize()?;
            place.stream.memset_zeros(&mut place.source)?;
            place.stream.memset_zeros(&mut place.sink)?;
            place.upload.as_mut_slice()?.fill(0);
            place.landing.as_mut_slice()?.fill(0);
            place.stream.synchronize()?;
        }
        Ok(())
    }
}

impl Slot {
    fn new(context: &Arc<CudaContext>) -> Result<Slot, DriverError> {
        let stream = context.new_stream()?;
        let pinned = |flags: u32| {
            // SAFETY: what was not set is bytes, of which every value is one, and is written before it is read.
            let mut slice = unsafe { context.alloc_pinned_with_flags::<u8>(PIECE_BYTES + 16, flags) }?;
            slice.as_mut_slice()?.fill(0);
            Ok::<_, DriverError>(slice)
        };
        Ok(Slot {
            source: stream.alloc_zeros(PIECE_BYTES + 16)?,
            sink: stream.alloc_zeros(PIECE_BYTES + 16)?,
            upload: pinned(sys::CU_MEMHOSTALLOC_WRITECOMBINED)?,
            landing: pinned(0)?,
            stream,
        })
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
        self.begin(slot, task, text).map_err(self.refuse("take work"))
    }

    fn finish(&mut self, slot: usize, text: &mut [u8]) -> Result<(), Error> {
        self.end(slot, text).map_err(self.refuse("end its work"))
    }

    fn wipe(&mut self) -> Result<(), Error> {
        self.keys.zeroize();
        self.clear().map_err(self.refuse("clear its buffers"))
    }
}

impl Parts for CudaStages {
    fn transfer_seconds(&mut self, bytes: usize) -> Result<f64, Error> {
        let mut text = vec![0; bytes];
        let start = Instant::now();
        let place = &mut self.slots[0];
        let copied = (|| {
            self.context.bind_to_thread()?;
            let upload = place.upload.as_mut_slice()?;
            upload[..bytes].copy_from_slice(&text);
            let (source, _recorded) = place.source.device_ptr_mut(&place.stream);
            let stream = place.stream.cu_stream();
            // SAFETY: a piece has room on both sides, and the stream is waited for before anything is touched.
            unsafe { result::memcpy_htod_async(source, &upload[..bytes], stream) }?;
            let (sink, _recorded) = place.sink.device_ptr(&place.stream);
            let landing = place.landing.as_mut_slice()?;
            // SAFETY: as above.
            unsafe { result::memcpy_dtoh_async(&mut landing[..bytes], sink, stream) }
        })();
        copied.map_err(self.refuse("move bytes"))?;
        self.finish(0, &mut text)?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn kernel_seconds(&mut self, bytes: usize) -> Result<f64, Error> {
        const TIMES: u32 = 8;
        let task = Task { mode: Mode::Ctr, rounds: 10, first: 0, chain: [0; 16] };
        let mut run = |times: u32| {
            let start = Instant::now();
            for _ in 0..times {
                self.launch(0, &task, bytes / 16)?;
            }
            self.slots[0].stream.synchronize()?;
            Ok::<_, DriverError>(start.elapsed().as_secs_f64())
        };
        let both = run(1).and_then(|one| Ok((one, run(1 + TIMES)?)));
        let (one, many) = both.map_err(self.refuse("run a kernel"))?;
        // The difference leaves out what launching and waiting cost.
        Ok(((many - one) / f64::from(TIMES)).max(one / 1000.0))
    }

    fn staging_bytes(&self) -> usize {
        2 * SLOTS * PIECE_BYTES
    }
}
