//! AES on graphics processors: devices are listed, opened, checked, and put to work on CTR and CBC decryption.
//!
//! - [`webgpu`] (feature `wgpu`): devices of Vulkan, Metal, Direct3D 12 and OpenGL.
//!
//! Both kinds of device are off by default: `wgpu` takes minutes to build, and drivers are libraries that only a dynamic
//! executable can load (`cargo --config .cargo/dynamic.toml build --features gpu`; a static build with devices stops and
//! says so).

mod error;
#[cfg(feature = "wgpu")]
pub mod webgpu;

pub use error::Error;
