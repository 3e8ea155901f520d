//! AES on graphics processors: devices are listed, opened, checked, and put to work on CTR and CBC decryption.
//!
//! ```text
//! circuit (AES in gates, 32 blocks a thread) ──> emit: WGSL ──> webgpu: staging, kernels, self-test ─┐
//!        │                                   └─> emit: CUDA C ──> cuda: the same on NVIDIA's own ────┴─> Accelerator
//!        └─> interpreter, and the CUDA text through a C compiler: both checked against the CPU's kernels
//! ```
//!
//! - `cuda` (feature `cuda`): NVIDIA's devices.
//! - `experiments` (feature `experiments`): other kernels, for the lab alone.
//! - `webgpu` (feature `wgpu`): devices of Vulkan, Metal, Direct3D 12 and OpenGL.
//!
//! Both kinds of device are off by default: `wgpu` takes minutes to build, and drivers are libraries that only a dynamic
//! executable can load (`cargo --config .cargo/dynamic.toml build --features gpu`; a static build with devices stops and
//! says so).

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
#[cfg(all(test, any(feature = "wgpu", feature = "cuda")))]
mod equality_tests;
mod error;
#[cfg(all(feature = "experiments", any(feature = "wgpu", feature = "cuda")))]
pub mod experiments;
#[cfg(all(test, any(feature = "wgpu", feature = "cuda")))]
mod interpreter;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod keys;
#[cfg(all(test, feature = "cuda", feature = "experiments"))]
mod over_stand_in;
#[cfg(all(test, any(feature = "wgpu", feature = "cuda")))]
mod processor;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod self_test;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
mod staging;
#[cfg(all(test, any(feature = "wgpu", feature = "cuda")))]
#[path = "../tests/processor/stand_in.rs"]
mod stand_in;
#[cfg(feature = "wgpu")]
pub mod webgpu;

#[cfg(any(feature = "wgpu", feature = "cuda"))]
pub use costs::Costs;
#[cfg(any(feature = "wgpu", feature = "cuda"))]
pub use device::Device;
pub use error::Error;
