//! Memory for a text at both ends of a stream, and what the stream is asked to do with it.
//!
//! The buffers are not touched again before the stream was waited for, and not freed before its work has ended
//! ([`Bounded`](super::bounded::Bounded)).

use super::Keys;
use crate::staging::Launch;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError, LaunchConfig,
    PinnedHostSlice, PushKernelArg, result, sys,
};
use std::sync::Arc;

/// Pinned memory of this machine, and the device's own.
#[derive(Debug)]
pub struct Buffers {
    /// Written here, read by the device.
    pub upload: PinnedHostSlice<u8>,
    pub(super) source: CudaSlice<u8>,
    pub(super) sink: CudaSlice<u8>,
    /// Written by the device, read here.
    pub landing: PinnedHostSlice<u8>,
}

impl Buffers {
    /// Room for so many bytes, zeroed.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(
        context: &Arc<CudaContext>,
        stream: &Arc<CudaStream>,
        bytes: usize,
    ) -> Result<Buffers, DriverError> {
        let pinned = |flags: u32| {
            // SAFETY: what was not set is bytes, of which every value is one, and is written before it is read.
            let mut slice = unsafe { context.alloc_pinned_with_flags::<u8>(bytes, flags) }?;
            slice.as_mut_slice()?.fill(0);
            Ok::<_, DriverError>(slice)
        };
        Ok(Buffers {
            upload: pinned(sys::CU_MEMHOSTALLOC_WRITECOMBINED)?,
            source: stream.alloc_zeros(bytes)?,
            sink: stream.alloc_zeros(bytes)?,
            // This one is read: what combines writes is not cached, and would be read word by word.
            landing: pinned(0)?,
        })
    }

    /// Asks for the first bytes of `upload` to be copied to the device.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn copy_in(&mut self, stream: &CudaStream, bytes: usize) -> Result<(), DriverError> {
        let upload = &self.upload.as_slice()?[..bytes];
        let (source, _recorded) = self.source.device_ptr_mut(stream);
        // SAFETY: `source` has room for so many bytes; `upload` is pinned, and both stay as they are until the stream was
        // waited for.
        unsafe { result::memcpy_htod_async(source, upload, stream.cu_stream()) }
    }

    /// Asks for the first bytes of the result to be copied to `landing`.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn copy_out(&mut self, stream: &CudaStream, bytes: usize) -> Result<(), DriverError> {
        let landing = &mut self.landing.as_mut_slice()?[..bytes];
        let (sink, _recorded) = self.sink.device_ptr(stream);
        // SAFETY: as in `copy_in`, the other way.
        unsafe { result::memcpy_dtoh_async(landing, sink, stream.cu_stream()) }
    }

    /// Asks for a kernel on what lies in the buffers.
    ///
    /// # Errors
    /// If the driver refuses.
    ///
    /// # Safety
    /// `function` must be a kernel with the parameters that `ARGUMENTS` of the CUDA texts declares, and touch no more of
    /// source and sink than they have room for, and of the shared memory than `configuration` gives it.
    pub unsafe fn launch(
        &mut self,
        stream: &Arc<CudaStream>,
        function: &CudaFunction,
        configuration: LaunchConfig,
        keys: &Keys,
        numbers: &Launch,
    ) -> Result<(), DriverError> {
        let mut launch = stream.launch_builder(function);
        launch.arg(&self.source).arg(&mut self.sink).arg(keys);
        numbers.counter.iter().chain([&numbers.blocks, &numbers.skip, &numbers.rounds]).for_each(|word| {
            launch.arg(word);
        });
        // SAFETY: the arguments are those of the kernels' declaration, in its order; the rest is the caller's promise.
        unsafe { launch.launch(configuration) }.map(drop)
    }
}
