//! Compiles the kernels' text with NVIDIA's run-time compiler, which needs no device.

use super::{refused, require_compiler};
use crate::Error;
pub use crate::emit::cuda::source as text;
use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts};

/// The kernels as PTX for devices of this compute capability (`[8, 0]`, `[9, 0]`) and later ones.
///
/// # Errors
/// [`Error::NoDevice`] if the compiler's library is missing; [`Error::Driver`] with its message if it refuses.
pub fn compile(compute_capability: [i32; 2]) -> Result<String, Error> {
    Ok(ptx_of(text(), compute_capability)?.to_src())
}

/// The same for other kernels.
///
/// # Errors
/// As [`compile`].
pub fn ptx_of(source: String, [major, minor]: [i32; 2]) -> Result<Ptx, Error> {
    require_compiler()?;
    let options = CompileOptions {
        options: vec![format!("--gpu-architecture=compute_{major}{minor}")],
        name: Some("cipherloom.cu".to_owned()),
        ..CompileOptions::default()
    };
    compile_ptx_with_opts(source, options).map_err(|error| {
        let words = match &error {
            CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
            other => other.to_string(),
        };
        refused("nvrtc", "compile the kernels", &words)
    })
}
