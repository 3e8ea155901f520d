//! Messages of drivers and validation layers. wgpu passes them to the `log` crate; a [`Messages`] keeps them while it exists.

use log::{LevelFilter, Log, Metadata, Record};
use std::sync::{Mutex, OnceLock};

/// Collects warnings and errors while it exists. Only one exists at a time. A process with its own logger keeps that logger,
/// which then receives the messages.
#[derive(Debug)]
pub struct Messages(());

struct Keeper(Mutex<Option<Vec<String>>>);

/// Text beyond this length is dropped: a layer can repeat itself at every call.
const MOST: usize = 1000;

static KEEPER: OnceLock<Keeper> = OnceLock::new();

impl Log for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("wgpu") || metadata.target().starts_with("naga")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(lines) = kept.as_mut().filter(|lines| lines.len() < MOST) {
            lines.push(format!("{}: {}", record.level().as_str().to_lowercase(), record.args()));
        }
    }

    fn flush(&self) {}
}

impl Messages {
    /// Starts collecting.
    #[must_use]
    pub fn listen() -> Messages {
        let keeper = KEEPER.get_or_init(|| Keeper(Mutex::new(None)));
        if log::set_logger(keeper).is_ok() {
            log::set_max_level(LevelFilter::Warn);
        }
        *keeper.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Vec::new());
        Messages(())
    }

    /// The messages since then.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        let Some(keeper) = KEEPER.get() else { return Vec::new() };
        let mut kept = keeper.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        kept.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        if let Some(keeper) = KEEPER.get() {
            *keeper.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Adapters;
    use super::*;

    #[test]
    fn what_the_validation_layers_say_of_a_bad_call_is_kept() {
        let heard = Messages::listen();
        let context = Adapters::list(true).open(None).unwrap();
        {
            // SAFETY: the device is of Vulkan, and outlives this block.
            let device = unsafe { context.device().as_hal::<wgpu::hal::api::Vulkan>() };
            let device = device.expect("a device of Vulkan");
            // SAFETY: the driver refuses or creates a buffer of no bytes and no use, and nobody uses it; the layers call it invalid.
            unsafe {
                if let Ok(buffer) = device.raw_device().create_buffer(&Default::default(), None) {
                    device.raw_device().destroy_buffer(buffer, None);
                }
            }
        }
        let words = heard.take().join("\n");
        assert!(
            words.contains("VUID-VkBufferCreateInfo-size-00912"),
            "install vulkan-validationlayers; what was said: {words}"
        );
    }
}
