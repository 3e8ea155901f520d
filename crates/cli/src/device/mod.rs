//! Devices beside the CPU: which `--backend` means one, and what a run does with it. They need the feature `gpu`; a build
//! without it refuses them and says how to get them.

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

pub use devices::{Listing, known};

use crate::arguments::MachineArguments;
use crate::exit_code::usage;
use crate::hint::hint;
use crate::output;
use cipherloom::machine::Backend;
use cipherloom::machine::{Calibration, Engine, Machine, calibration_file};
use cipherloom::plan::Plan;

/// What `--backend` takes besides the CPU's backends.
pub const NAMES: &str = "wgpu, wgpu:NAME, cuda, cuda:NUMBER, auto";

/// How to get a build with devices.
const REMEDY: &str = "one with it is made from the sources by `cargo --config .cargo/dynamic.toml build --release --features gpu`";

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

/// Opens the device that is wanted and measures it, for the planner. If it cannot be used, this warns and the CPU does the
/// work.
///
/// # Errors
/// If this build has no devices.
pub fn open(wanted: Wanted<'_>, machine: &mut Machine) -> anyhow::Result<()> {
    match devices::open(wanted.api, wanted.name) {
        Ok(mut costs) => {
            costs.is_forced = wanted.api.is_some();
            // With `auto` the device gets work only where a plan finds that it is faster.
            devices::set_idle(!costs.is_forced);
            machine.device = Some(costs);
        }
        Err(None) => return Err(usage("this build has no GPU support", REMEDY)),
        // With `auto` the CPU is a choice as good as any.
        Err(Some(_)) if wanted.api.is_none() => {}
        Err(Some(error)) => output::warn(format_args!("{error}; the CPU does the work")),
    }
    Ok(())
}

/// The engine for keys: the CPU's backend, and the device beside it if one was opened.
pub fn engine(machine: &Machine) -> Engine {
    match devices::accelerator().filter(|_| machine.device.is_some()) {
        Some(accelerator) => Engine::with_accelerator(machine.backend, accelerator),
        None => machine.backend.into(),
    }
}

/// Applies the plan's decision: a device that is not in it leaves everything to the CPU.
pub fn settle(plan: &Plan) {
    devices::set_idle(plan.device().is_none());
}

/// Wipes the device's buffers at the end of a run, and warns if the device failed during it.
pub fn close() {
    if let Some(fault) = devices::close() {
        output::warn(format_args!("{fault}; the CPU did the rest, and nothing is missing"));
    }
}

/// This machine, with its backend, device and calibration. `shows_estimate`: whether the run prints how long it should
/// take.
pub fn choose_machine(arguments: &MachineArguments, shows_estimate: bool) -> anyhow::Result<Machine> {
    let device = arguments.backend.as_deref().and_then(Wanted::parse);
    // The calibration chooses the number of threads, or between CPU and device. Otherwise it is not read.
    let decides = arguments.threads.is_none() || device.is_some();
    let calibration = if decides || shows_estimate { stored_calibration() } else { Calibration::default() };
    let mut machine = Machine::detect(calibration);
    match (device, &arguments.backend) {
        (Some(device), _) => open(device, &mut machine)?,
        (None, Some(name)) => machine.backend = find_backend(name)?,
        (None, None) => {}
    }
    Ok(machine)
}

fn find_backend(name: &str) -> anyhow::Result<Backend> {
    let join =
        |backends: Vec<Backend>| backends.into_iter().map(Backend::name).collect::<Vec<_>>().join(", ");
    let Some(backend) = Backend::from_name(name) else {
        let known = join(Backend::ALL.to_vec());
        let hint = format!("the backends are {known}; for GPUs {}", NAMES);
        return Err(usage(format!("there is no backend {name:?}"), hint));
    };
    if !backend.is_available() {
        let hint = format!("it can run {}", join(Backend::available().collect()));
        return Err(usage(format!("this CPU cannot run the backend {name}"), hint));
    }
    Ok(backend)
}

/// The calibration of this machine, or the built-in one. A damaged file causes a warning and is otherwise ignored.
fn stored_calibration() -> Calibration {
    let Some(json) = calibration_file().and_then(|path| std::fs::read(path).ok()) else {
        return Calibration::default();
    };
    Calibration::from_json(&json).unwrap_or_else(|error| {
        output::warn(&error);
        if let Some(hint) = hint(&error) {
            output::warn(hint);
        }
        Calibration::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_differ_from_those_of_the_cpu() {
        assert_eq!(Wanted::parse("wgpu"), Some(Wanted { api: Some("wgpu"), name: None }));
        assert_eq!(Wanted::parse("cuda:1"), Some(Wanted { api: Some("cuda"), name: Some("1") }));
        assert_eq!(Wanted::parse("auto"), Some(Wanted { api: None, name: None }));
        assert!(["aesni", "auto:1", "", "wgpux"].into_iter().all(|name| Wanted::parse(name).is_none()));
    }
}
