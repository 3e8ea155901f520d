//! AES on graphics processors: lists, opens and checks devices, and runs CTR and CBC decryption on them.
//!
//! ```text
//! circuit (AES in gates, 32 blocks a thread) ──> emit: WGSL ──> webgpu: staging, kernels, self-test ─┐
//!        │                                   └─> emit: CUDA C ──> cuda: the same on NVIDIA's own ────┴─> Accelerator
//!        └─> tests::interpreter, and the CUDA text through a C compiler: both checked against the CPU's kernels
//! ```
//!
//! - `cuda` (feature `cuda`): NVIDIA's devices.
//! - `webgpu` (feature `wgpu`): devices of Vulkan, Metal, Direct3D 12 and OpenGL.
//!
//! Both kinds of device are off by default. `wgpu` takes minutes to build, and drivers are libraries that only a dynamic
//! executable can load: `cargo --config .cargo/dynamic.toml build --features gpu`. A static build with devices stops and
//! says so.

#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod circuit;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod costs;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod device;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod emit;
mod error;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod keys;
#[cfg(all(test, feature = "cuda"))]
#[path = "../tests/processor/over_stand_in.rs"]
mod over_stand_in;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod self_test;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod staging;
#[cfg(all(test, any(feature = "wgpu", feature = "cuda")))]
#[path = "../tests/processor/stand_in.rs"]
mod stand_in;
#[cfg(all(test, any(feature = "wgpu", feature = "cuda")))]
mod tests;
#[cfg(feature = "wgpu")]
pub mod webgpu;

#[cfg(any(feature = "wgpu", feature = "cuda"))]
pub use costs::Costs;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
pub use device::Device;
pub use error::Error;

/// What kernels of others are made of and run by; for the lab's alone, and no part of the interface.
#[cfg(all(feature = "wgpu", feature = "cuda"))]
#[doc(hidden)]
pub mod internal {
    pub use crate::circuit::counter::STRETCH_BLOCKS;
    pub use crate::circuit::{Circuit, GROUP_THREADS, Gates, LANES, Mode, STATE, Step};
    pub use crate::cuda::bounded::{Bounded, Patience, Unfinished};
    pub use crate::cuda::buffers::Buffers;
    pub use crate::cuda::compile::ptx_of;
    pub use crate::cuda::{Keys, refused};
    pub use crate::device::PATIENCE;
    pub use crate::emit::{Language, cuda, lane_words, phases, variables, wgsl};
    pub use crate::keys::{MOST_MASKS, of_counters};
    pub use crate::self_test::round_keys;
    pub use crate::staging::Launch;
    pub use cudarc;
}
