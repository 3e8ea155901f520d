//! Tests CUDA without a device: the compiler accepts the kernels, and missing libraries are reported.
//! Needs libnvrtc: `cargo xtask test gpu` fetches it (Python's package nvidia-cuda-nvrtc-cu12).
#![cfg(feature = "cuda")]

use cipherloom_gpu::{Error, cuda};

#[test]
fn the_kernels_compile_for_ampere_and_hopper() {
    for capability in [[8, 0], [9, 0]] {
        let ptx = cuda::compile(capability).unwrap_or_else(|error| panic!("{error}"));
        assert!(ptx.contains(&format!(".target sm_{}{}", capability[0], capability[1])), "{:.300}", ptx);
        assert!(ptx.contains(".entry ctr(") && ptx.contains(".entry cbc_decrypt("));
        // The substitution is tables of three inputs, 77 for each of 16 bytes in the loop and in the last round.
        assert!(ptx.matches("lop3.b32").count() > 2 * 16 * 77, "{}", ptx.matches("lop3.b32").count());
        // A looped circuit stays in registers: nothing is spilled into an array.
        assert!(!ptx.contains(".local"), "the kernel uses local memory");
    }
}

#[test]
fn a_machine_without_a_driver_says_so() {
    match cuda::list() {
        Ok(devices) => assert!(!devices.is_empty()),
        Err(error) => {
            assert!(matches!(&error, Error::NoDevice { api: "cuda", .. }), "{error}");
            assert!(cuda::CudaCipher::open(None).is_err());
        }
    }
}
