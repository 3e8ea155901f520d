//! Workers on one of NVIDIA's devices: blocks of threads, with shared memory as their private one.

use super::material::material;
use super::{Bench, Launch, Worker, texts};
use crate::Error;
use crate::cuda::{DeviceReport, Keys, ptx_of, refused};
use crate::emit;
use crate::self_test::round_keys;
use cudarc::driver::sys::{CUevent_flags, CUfunction_attribute_enum};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PinnedHostSlice,
    PushKernelArg,
};
use std::sync::Arc;

/// Shared memory beyond this must be asked for (CUDA C++ programming guide, compute capabilities).
const USUAL_SHARED_BYTES: u32 = 48 << 10;

/// A worker's kernel, compiled for a device.
#[derive(Debug, Clone)]
pub struct CudaProgram {
    device: DeviceReport,
    context: Arc<CudaContext>,
    function: CudaFunction,
    worker: Worker,
}

/// A message on a device, and a worker's kernel.
#[derive(Debug)]
pub struct CudaBench {
    program: CudaProgram,
    stream: Arc<CudaStream>,
    launches: Vec<(Launch, Box<Keys>)>,
    rounds: u32,
    upload: PinnedHostSlice<u8>,
    source: CudaSlice<u8>,
    sink: CudaSlice<u8>,
    landing: PinnedHostSlice<u8>,
}

impl CudaProgram {
    /// The kernel's text, as a device's compiler gets it.
    #[must_use]
    pub fn text(worker: Worker) -> String {
        emit::cuda::head() + &texts::cuda(worker)
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
        Ok(CudaProgram { device: device.clone(), context, function, worker })
    }
}

impl CudaBench {
    /// Makes room for messages of this length, under this key (of AES's lengths) and first counter.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn new(program: &CudaProgram, key: &[u8], first: u128, length: usize) -> Result<CudaBench, Error> {
        let round_keys = round_keys(key);
        let bytes = length.next_multiple_of(16);
        let made = || {
            let stream = program.context.new_stream()?;
            let pinned = || {
                // SAFETY: what was not set is bytes, of which every value is one, and is written before it is read.
                let mut slice = unsafe { program.context.alloc_pinned::<u8>(bytes) }?;
                slice.as_mut_slice()?.fill(0);
                Ok::<_, DriverError>(slice)
            };
            let launches = Launch::all(program.worker, first, length).into_iter().map(|launch| {
                let mut keys = Box::new(Keys::zero());
                keys.set(&material(program.worker, &round_keys, launch.first));
                (launch, keys)
            });
            Ok(CudaBench {
                program: program.clone(),
                launches: launches.collect(),
                rounds: round_keys.len() as u32 - 1,
                upload: pinned()?,
                source: stream.alloc_zeros(bytes)?,
                sink: stream.alloc_zeros(bytes)?,
                landing: pinned()?,
                stream,
            })
        };
        made().map_err(|error: DriverError| refused(&program.device.name, "make buffers", &error))
    }

    fn run(&mut self, workers: u32) -> Result<f64, DriverError> {
        let configuration = LaunchConfig {
            grid_dim: (workers, 1, 1),
            block_dim: (self.program.worker.threads(), 1, 1),
            shared_mem_bytes: self.program.worker.private_bytes(),
        };
        let event = || self.program.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let (begin, end) = (event()?, event()?);
        begin.record(&self.stream)?;
        for (numbers, keys) in &self.launches {
            let mut launch = self.stream.launch_builder(&self.program.function);
            launch.arg(&self.source).arg(&mut self.sink).arg(&**keys);
            let counter = numbers.counter();
            counter.iter().for_each(|word| {
                launch.arg(word);
            });
            launch.arg(&numbers.blocks).arg(&numbers.skip).arg(&self.rounds);
            // SAFETY: the arguments are those of the kernels' declaration, in its order, and the text is this crate's own: a
            // kernel touches `blocks` blocks of source and sink, which have that room, and the shared memory that it is given.
            unsafe { launch.launch(configuration) }?;
        }
        end.record(&self.stream)?;
        Ok(f64::from(begin.elapsed_ms(&end)?) / 1e3)
    }
}

impl Bench for CudaBench {
    fn copy_in(&mut self, text: &[u8]) -> Result<(), Error> {
        let copied = (|| {
            self.program.context.bind_to_thread()?;
            self.upload.as_mut_slice()?[..text.len()].copy_from_slice(text);
            self.stream.memcpy_htod(&self.upload, &mut self.source)?;
            self.stream.synchronize()
        })();
        copied.map_err(|error| refused(&self.program.device.name, "move bytes", &error))
    }

    fn compute(&mut self, workers: u32) -> Result<f64, Error> {
        let ran = self.program.context.bind_to_thread().and_then(|()| self.run(workers));
        ran.map_err(|error| refused(&self.program.device.name, "run a kernel", &error))
    }

    fn copy_out(&mut self, text: &mut [u8]) -> Result<(), Error> {
        let copied = (|| {
            self.program.context.bind_to_thread()?;
            self.stream.memcpy_dtoh(&self.sink, &mut self.landing)?;
            self.stream.synchronize()?;
            text.copy_from_slice(&self.landing.as_slice()?[..text.len()]);
            Ok(())
        })();
        copied.map_err(|error: DriverError| refused(&self.program.device.name, "move bytes", &error))
    }

    fn has_clock(&self) -> bool {
        true
    }
}
