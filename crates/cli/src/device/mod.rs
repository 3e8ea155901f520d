//! Devices beside the CPU: which `--backend` means one, and what a run does with it. Without the feature `gpu` there are
//! none, and whoever asks is told how to get them.

#[cfg(not(feature = "gpu"))]
mod disabled;
#[cfg(feature = "gpu")]
mod enabled;
#[cfg(feature = "gpu")]
pub mod kept;

#[cfg(not(feature = "gpu"))]
use disabled as devices;
#[cfg(feature = "gpu")]
use enabled as devices;

pub use devices::Listing;

use crate::exit_code::usage;
use crate::output;
use cipherloom::{Engine, Machine, Plan};

/// What `--backend` takes besides the CPU's backends.
pub const NAMES: &str = "wgpu, wgpu:NAME, cuda, cuda:NUMBER, auto";

/// What a value of `--backend` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'n> {
    /// `wgpu` or `cuda`; `None` for whichever there is.
    api: Option<&'n str>,
    /// A part of the device's name, or its number.
    name: Option<&'n str>,
}

impl<'n> Wanted<'n> {
    /// `None` if it is no device's name.
    pub fn parse(backend: &'n str) -> Option<Wanted<'n>> {
        let (api, name) = backend.split_once(':').map_or((backend, None), |(api, name)| (api, Some(name)));
        match (api, name) {
            ("auto", None) => Some(Wanted { api: None, name: None }),
            ("wgpu" | "cuda", _) => Some(Wanted { api: Some(api), name }),
            _ => None,
        }
    }
}

/// Opens the device that is wanted and measures it, for the planner. A device that cannot be used is told, and the CPU
/// does the work.
///
/// # Errors
/// If this build has no devices.
pub fn open(wanted: Wanted<'_>, machine: &mut Machine) -> anyhow::Result<()> {
    match devices::open(wanted.api, wanted.name) {
        Ok(mut costs) => {
            costs.is_forced = wanted.api.is_some();
            // Who leaves the choice to us gets the device only where a plan has found that it pays.
            devices::set_idle(!costs.is_forced);
            machine.device = Some(costs);
        }
        Err(devices::Refused::NoSupport(words)) => return Err(usage(words)),
        // Who leaves the choice to us need not hear that there is none.
        Err(devices::Refused::Unusable(_)) if wanted.api.is_none() => {}
        Err(devices::Refused::Unusable(words)) => {
            output::warn(format_args!("{words}; the CPU does the work"));
        }
    }
    Ok(())
}

/// What works for keys on this machine: the CPU's backend, and the device beside it if one was opened.
pub fn engine(machine: &Machine) -> Engine {
    match devices::accelerator().filter(|_| machine.device.is_some()) {
        Some(accelerator) => Engine::with_accelerator(machine.backend, accelerator),
        None => machine.backend.into(),
    }
}

/// The plan has decided: a device that is not in it leaves everything to the CPU.
pub fn settle(plan: &Plan) {
    devices::set_idle(plan.device().is_none());
}

/// At the end of a run: wipes the device's buffers, and tells if it failed on the way.
pub fn dismiss() {
    if let Some(fault) = devices::dismiss() {
        output::warn(format_args!("{fault}; the CPU did the rest, and nothing is missing"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_told_from_those_of_the_cpu() {
        assert_eq!(Wanted::parse("wgpu"), Some(Wanted { api: Some("wgpu"), name: None }));
        assert_eq!(Wanted::parse("cuda:1"), Some(Wanted { api: Some("cuda"), name: Some("1") }));
        assert_eq!(Wanted::parse("auto"), Some(Wanted { api: None, name: None }));
        assert!(["aesni", "auto:1", "", "wgpux"].into_iter().all(|name| Wanted::parse(name).is_none()));
    }
}
