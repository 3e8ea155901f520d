//! Devices of Vulkan, Metal, Direct3D 12 and OpenGL, through wgpu: lists them, opens one, and runs WGSL on it.
//!
//! ```text
//! Adapters::list ──> AdapterReport (one for each device)
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
/// The wgpu library, in the version of this crate's types.
pub use wgpu;
