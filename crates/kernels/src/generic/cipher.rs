//! The block cipher (FIPS 197, sections 5.1 and 5.3.5) on several vectors at once.

use crate::schedule::Schedule;
use crate::vector::Vector;

/// Encrypts every block of `states`, which the caller has whitened.
///
/// # Safety
/// Needs the CPU features of `V`.
#[inline(always)]
pub(crate) unsafe fn encrypt<V: Vector, const N: usize, const ROUNDS: usize>(
    schedule: &Schedule,
    states: &mut [V; N],
) {
    let schedule = reread(schedule);
    // SAFETY: the caller has the CPU features.
    unsafe {
        let mut before = V::broadcast(&schedule.encrypt[0]);
        for round in 1..ROUNDS {
            let key = V::broadcast(&schedule.encrypt[round]);
            for state in states.iter_mut() {
                *state = state.encrypt_round(before, key);
            }
            before = key;
        }
        let key = V::broadcast(&schedule.encrypt[ROUNDS]);
        for state in states.iter_mut() {
            *state = state.encrypt_last(before, key);
        }
    }
}

/// Decrypts every block of `states`, which the caller has whitened.
///
/// # Safety
/// Needs the CPU features of `V`.
#[inline(always)]
pub(crate) unsafe fn decrypt<V: Vector, const N: usize, const ROUNDS: usize>(
    schedule: &Schedule,
    states: &mut [V; N],
) {
    let schedule = reread(schedule);
    // SAFETY: the caller has the CPU features.
    unsafe {
        let mut before = V::broadcast(&schedule.decrypt[0]);
        for round in 1..ROUNDS {
            let key = V::broadcast(&schedule.decrypt[round]);
            for state in states.iter_mut() {
                *state = state.decrypt_round(before, key);
            }
            before = key;
        }
        let key = V::broadcast(&schedule.decrypt[ROUNDS]);
        for state in states.iter_mut() {
            *state = state.decrypt_last(before, key);
        }
    }
}

/// Returns the same schedule, but the compiler no longer knows that it has been read before.
///
/// Round keys are loaded where they are used, once per round for all states. Without this the compiler lifts the
/// loads out of the caller's loop and keeps the keys in registers. It must then spill the *states* to memory and
/// reload them in every round, which halves the speed.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block)] // it reads and writes nothing
fn reread(schedule: &Schedule) -> &Schedule {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut address: *const Schedule = schedule;
        // SAFETY: emits no instruction; the pointer does not change.
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) address, options(nomem, nostack, preserves_flags));
            &*address
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    schedule
}

/// Encrypts `CHAINS` independent registers `passes` times over and returns the number of blocks.
///
/// # Safety
/// Needs the CPU features of `V`.
#[inline(always)]
pub(crate) unsafe fn unit_bound<V: Vector, const ROUNDS: usize>(schedule: &Schedule, passes: usize) -> usize {
    const CHAINS: usize = 12;
    // SAFETY: the caller has the CPU features; `out` holds a whole vector.
    unsafe {
        const { assert!(V::BYTES <= 128) };
        let mut out = [0u8; 128];
        let mut states = [V::broadcast(&schedule.encrypt[0]); CHAINS];
        for (chain, state) in states.iter_mut().enumerate() {
            *state = state.xor(V::broadcast(&[chain as u8; 16]));
        }
        for _ in 0..passes {
            encrypt::<V, CHAINS, ROUNDS>(schedule, &mut states);
        }
        for state in states {
            state.xor(V::load(out.as_ptr())).store(out.as_mut_ptr());
        }
        core::hint::black_box(out);
    }
    passes * CHAINS * V::WIDTH
}
