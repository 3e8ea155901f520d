//! Workers on one of NVIDIA's devices: blocks of threads, with shared memory as their private one.

use super::material::material;
use super::{Begun, Bench, Worker, launches, texts};
use cipherloom_gpu::Error;
use cipherloom_gpu::cuda::DeviceReport;
use cipherloom_gpu::internal::cudarc::driver::sys::{CUevent_flags, CUfunction_attribute_enum};
use cipherloom_gpu::internal::cudarc::driver::{CudaContext, CudaFunction, DriverError, LaunchConfig};
use cipherloom_gpu::internal::{
    Bounded, Buffers, Keys, Launch, PATIENCE, Patience, Unfinished, cuda, ptx_of, refused, round_keys,
};
use std::sync::Arc;
#[cfg(test)]
use std::time::Duration;

/// Shared memory beyond this must be asked for (CUDA C++ programming guide, compute capabilities).
const USUAL_SHARED_BYTES: u32 = 48 << 10;

/// A worker's kernel, compiled for a device.
#[derive(Debug, Clone)]
pub struct CudaProgram {
    device: DeviceReport,
    context: Arc<CudaContext>,
    function: CudaFunction,
    worker: Worker,
    patience: Patience,
}

/// A message on a device, and a worker's kernel.
#[derive(Debug)]
pub struct CudaBench {
    program: CudaProgram,
    launches: Vec<(Launch, Box<Keys>)>,
    work: Bounded<Place>,
}

/// What the work reaches into.
#[derive(Debug)]
struct Place {
    function: CudaFunction,
    buffers: Buffers,
}

impl CudaProgram {
    /// The kernel's text, as a device's compiler gets it.
    #[must_use]
    pub fn text(worker: Worker) -> String {
        cuda::head() + &texts::cuda(worker)
    }

    /// Compiles it.
    ///
    /// # Errors
    /// [`Error::Driver`] if the device has not enough shared memory, or refuses; [`Error::NoDevice`] without a compiler.
    pub fn new(device: &DeviceReport, worker: Worker) -> Result<CudaProgram, Error> {
        let refuse = |action| move |error: DriverError| refused(&device.name, action, &error);
        if i64::from(worker.private_bytes()) > i64::from(device.shared_bytes) {
            return Err(Error::Driver {
                device: device.name.clone(),
                action: "run such a worker",
                reason: format!(
                    "{} needs {} bytes of shared memory, and a block may have {}",
                    worker.name(),
                    worker.private_bytes(),
                    device.shared_bytes
                ),
            });
        }
        let patience = Patience::new(device.number, PATIENCE);
        patience.check().map_err(|hangs| hangs.told(&device.name, "open the device"))?;
        let context = CudaContext::new(device.number).map_err(refuse("open the device"))?;
        let ptx = ptx_of(CudaProgram::text(worker), device.compute_capability)?;
        let module = context.load_module(ptx).map_err(refuse("load the kernels"))?;
        let function = module.load_function(&worker.name()).map_err(refuse("load the kernels"))?;
        if worker.private_bytes() > USUAL_SHARED_BYTES {
            let most = CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            function
                .set_attribute(most, worker.private_bytes() as i32)
                .map_err(refuse("give a kernel its shared memory"))?;
        }
        Ok(CudaProgram { device: device.clone(), context, function, worker, patience })
    }

    /// The same, of which a copy or a kernel may take so long.
    #[cfg(test)]
    pub(super) fn with_limit(self, limit: Duration) -> CudaProgram {
        CudaProgram { patience: Patience::new(self.device.number, limit), ..self }
    }
}

impl CudaBench {
    /// Makes room for messages of this length, under this key (of AES's lengths) and first counter.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn new(program: &CudaProgram, key: &[u8], first: u128, length: usize) -> Result<CudaBench, Error> {
        let round_keys = round_keys(key);
        let action = "make buffers";
        program.patience.check().map_err(|hangs| hangs.told(&program.device.name, action))?;
        let room = || {
            let stream = program.context.new_stream()?;
            let buffers = Buffers::new(&program.context, &stream, length.next_multiple_of(16))?;
            Bounded::new(stream, program.patience, Place { function: program.function.clone(), buffers })
        };
        let work = room().map_err(|error| refused(&program.device.name, action, &error))?;
        let launches = launches(program.worker, first, length, round_keys.len() as u32 - 1);
        let with_keys = |(launch, first): Begun| {
            let mut keys = Box::new(Keys::zero());
            keys.set(&material(program.worker, &round_keys, first));
            (launch, keys)
        };
        let launches = launches.into_iter().map(with_keys).collect();
        Ok(CudaBench { program: program.clone(), launches, work })
    }

    fn run(&mut self, workers: u32) -> Result<f64, Unfinished> {
        let configuration = LaunchConfig {
            grid_dim: (workers, 1, 1),
            block_dim: (self.program.worker.threads(), 1, 1),
            shared_mem_bytes: self.program.worker.private_bytes(),
        };
        let event = || self.program.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let (begin, end) = (event()?, event()?);
        let (stream, place) = self.work.parts()?;
        begin.record(stream)?;
        for (launch, keys) in &self.launches {
            // SAFETY: the text is this crate's own, with the parameters of the product's kernels: a kernel touches `blocks` blocks
            // of source and sink, which have that room, and the shared memory that it is given.
            unsafe { place.buffers.launch(stream, &place.function, configuration, keys, launch) }?;
        }
        end.record(stream)?;
        self.ended()?;
        Ok(f64::from(begin.elapsed_ms(&end)?) / 1e3)
    }

    /// Waits for everything that was asked.
    fn ended(&self) -> Result<(), Unfinished> {
        self.work.mark()?;
        self.work.wait()
    }

    fn copied_in(&mut self, text: &[u8]) -> Result<(), Unfinished> {
        let (stream, place) = self.work.parts()?;
        place.buffers.upload.as_mut_slice()?[..text.len()].copy_from_slice(text);
        place.buffers.copy_in(stream, text.len().next_multiple_of(16))?;
        self.ended()
    }

    fn copied_out(&mut self, text: &mut [u8]) -> Result<(), Unfinished> {
        let (stream, place) = self.work.parts()?;
        place.buffers.copy_out(stream, text.len().next_multiple_of(16))?;
        self.ended()?;
        let (_, place) = self.work.parts()?;
        text.copy_from_slice(&place.buffers.landing.as_slice()?[..text.len()]);
        Ok(())
    }

    /// Does something in the device's context.
    fn there<T>(
        &mut self,
        action: &'static str,
        work: impl FnOnce(&mut CudaBench) -> Result<T, Unfinished>,
    ) -> Result<T, Error> {
        let bound = self.program.context.bind_to_thread().map_err(Unfinished::from);
        bound.and_then(|()| work(self)).map_err(|error| error.told(&self.program.device.name, action))
    }
}

impl Bench for CudaBench {
    fn copy_in(&mut self, text: &[u8]) -> Result<(), Error> {
        self.there("move bytes", |bench| bench.copied_in(text))
    }

    fn compute(&mut self, workers: u32) -> Result<f64, Error> {
        self.there("run a kernel", |bench| bench.run(workers))
    }

    fn copy_out(&mut self, text: &mut [u8]) -> Result<(), Error> {
        self.there("move bytes", |bench| bench.copied_out(text))
    }

    fn has_clock(&self) -> bool {
        true
    }
}
