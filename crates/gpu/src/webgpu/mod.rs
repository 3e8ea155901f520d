//! Devices of Vulkan, Metal, Direct3D 12 and OpenGL, by way of wgpu: listing them, opening one, running WGSL on it.
//!
//! ```text
//! Adapters::list ──> AdapterReport (what there is)
//!        └─ open ──> Context: pipeline, buffers, submit, wait, read back
//! ```

mod adapters;
mod cipher;
mod context;
mod messages;
mod stages;

pub use adapters::{AdapterReport, Adapters, MemoryLimits};
pub use cipher::WebGpuCipher;
pub use context::Context;
pub use messages::Messages;
/// The library beneath, in the version that this crate's types are of.
pub use wgpu;
