//! Stops a static build with devices, and says how to build instead.
//!
//! Drivers are libraries that are loaded when the program runs. A program with a statically linked C library cannot load a
//! library that needs another one, so on Linux with glibc the static flags of `.cargo/config.toml` must not apply.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let set = |name: &str| env::var(name).unwrap_or_default();
    let wants_devices =
        env::var_os("CARGO_FEATURE_WGPU").is_some() || env::var_os("CARGO_FEATURE_CUDA").is_some();
    let is_static = set("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static");
    let is_glibc = set("CARGO_CFG_TARGET_OS") == "linux" && set("CARGO_CFG_TARGET_ENV") == "gnu";
    if wants_devices && is_static && is_glibc {
        eprintln!(
            "devices need a dynamic executable, since drivers are loaded when it runs: build with\n\
             \n    cargo --config .cargo/dynamic.toml build --features gpu\n"
        );
        std::process::exit(1);
    }
}
