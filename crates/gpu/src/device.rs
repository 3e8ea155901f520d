//! What every kind of device offers beyond the kernels' door.

use crate::Error;
use crate::costs::Costs;
use cipherloom_kernels::Accelerator;
use std::time::Duration;

/// How long a piece of work may take: a kernel that does not end then hangs. Drivers with a limit of their own give up after a
/// few seconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// An opened device that does AES-CTR and CBC decryption, bit for bit what the CPU gives. After a failure it leaves
/// everything to the CPU.
pub trait Device: Accelerator + Send {
    /// Measures what it costs, in less than a second on hardware.
    ///
    /// # Errors
    /// If the device fails.
    fn costs(&self) -> Result<Costs, Error>;

    /// Why it does nothing any more, if something failed.
    fn fault(&self) -> Option<&Error>;

    /// Leaves everything to the CPU, or no longer.
    fn set_idle(&self, idle: bool);

    /// Has so many pieces under way at most; 1: nothing overlaps. Devices have three slots or fewer.
    fn set_slots(&self, most: usize);

    /// Overwrites what is left of texts and keys in its buffers, as far as they are ours.
    fn wipe(&self);
}

/// Implements both traits for a type whose field `staged` does the work.
macro_rules! device {
    ($name:ty) => {
        impl cipherloom_kernels::Accelerator for $name {
            fn name(&self) -> &str {
                self.staged.name()
            }

            fn ctr_xor(&self, round_keys: &[[u8; 16]], first: u128, buffer: &mut [u8]) -> usize {
                self.staged.ctr_xor(round_keys, first, buffer)
            }

            fn cbc_decrypt(&self, round_keys: &[[u8; 16]], chain: &mut [u8; 16], buffer: &mut [u8]) -> usize {
                self.staged.cbc_decrypt(round_keys, chain, buffer)
            }
        }

        impl $crate::Device for $name {
            fn costs(&self) -> Result<$crate::Costs, $crate::Error> {
                $crate::costs::measure(&self.staged)
            }

            fn fault(&self) -> Option<&$crate::Error> {
                self.staged.fault()
            }

            fn set_idle(&self, idle: bool) {
                self.staged.set_idle(idle);
            }

            fn set_slots(&self, most: usize) {
                self.staged.set_slots(most);
            }

            fn wipe(&self) {
                self.staged.wipe();
            }
        }
    };
}

pub(crate) use device;
