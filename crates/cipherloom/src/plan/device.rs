//! Whether the machine's device does the cipher's work, or the CPU: whichever ends first, there and back counted.

use super::{CipherCost, Operation, Request};
use crate::machine::{DeviceCosts, Machine};
use serde::Serialize;

/// The longest run that is handed to a device at once: each worker holds one in memory.
pub(super) const LONGEST_RUN: usize = 64 << 20;

/// A device beside the CPU: what was decided, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceChoice {
    /// Its backend's name: `wgpu`, `cuda`.
    pub backend: &'static str,
    /// The device's own name.
    pub name: String,
    /// Its driver, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// What comes of it.
    pub verdict: DeviceVerdict,
    /// Both times, and what they are made of; nothing where a device has nothing to do.
    #[serde(flatten)]
    pub times: Option<DeviceTimes>,
}

/// What comes of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceVerdict {
    /// It is open, ends first, and does the work.
    Works,
    /// It is open, and does the work since it was asked for; the CPU would end first.
    WorksAsAsked,
    /// It is open, and leaves the work to the CPU, which ends first.
    Idle,
    /// Its figures are from an earlier calibration: it would end first.
    WouldPay,
    /// Its figures are from an earlier calibration: the CPU ends first.
    WouldNotPay,
    /// AES-GCM is the CPU's.
    NotForGcm,
    /// Encryption in CBC is a chain within a file.
    NotForChains,
    /// There is no cipher.
    NoCipher,
}

/// What the cipher takes on a device, there and back, and on the CPU. Rates in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DeviceTimes {
    /// Seconds on the device: its calls, and the bytes there and back.
    pub device_seconds: f64,
    /// Calls.
    pub calls: u64,
    /// Seconds of each, beside its bytes.
    pub call_seconds: f64,
    /// All of it in long pieces, moving and computing overlapped.
    pub end_to_end_bytes_per_second: f64,
    /// Moving there and back alone.
    pub transfer_bytes_per_second: f64,
    /// The kernel alone.
    pub kernel_bytes_per_second: f64,
    /// Bytes of this machine's memory that it holds for staging.
    pub staging_bytes: usize,
    /// Seconds on the CPU.
    pub cpu_seconds: f64,
    /// All its threads together.
    pub cpu_bytes_per_second: f64,
}

/// The device, if it takes part; and what is to be said of every one that is known.
pub(super) fn choose<'m>(
    sizes: &[u64],
    threads: usize,
    machine: &'m Machine,
    request: &Request,
) -> (Option<&'m DeviceCosts>, Vec<DeviceChoice>) {
    let compared = |device: &DeviceCosts| compare(device, sizes, threads, machine);
    let Some(device) = &machine.device else {
        let known = machine.known_devices.iter().map(|device| {
            choice(device, request, compared, |wins| {
                if wins { DeviceVerdict::WouldPay } else { DeviceVerdict::WouldNotPay }
            })
        });
        return (None, known.collect());
    };
    let choice = choice(device, request, compared, |wins| match (wins, device.is_forced) {
        (true, _) => DeviceVerdict::Works,
        (false, true) => DeviceVerdict::WorksAsAsked,
        (false, false) => DeviceVerdict::Idle,
    });
    let works = matches!(choice.verdict, DeviceVerdict::Works | DeviceVerdict::WorksAsAsked);
    (works.then_some(device), vec![choice])
}

fn choice(
    device: &DeviceCosts,
    request: &Request,
    compared: impl Fn(&DeviceCosts) -> DeviceTimes,
    verdict: impl Fn(bool) -> DeviceVerdict,
) -> DeviceChoice {
    let (verdict, times) = match lacks(request) {
        Some(verdict) => (verdict, None),
        None => {
            let times = compared(device);
            (verdict(times.device_seconds < times.cpu_seconds), Some(times))
        }
    };
    let DeviceCosts { backend, name, driver, .. } = device;
    DeviceChoice { backend, name: name.clone(), driver: driver.clone(), verdict, times }
}

fn compare(device: &DeviceCosts, sizes: &[u64], threads: usize, machine: &Machine) -> DeviceTimes {
    let total = sizes.iter().sum::<u64>() as f64;
    let cpu_bytes_per_second = machine.calibration.ctr_bytes_per_second * threads as f64;
    let calls: u64 = sizes.iter().map(|size| size.div_ceil(device.call_bytes.max(1) as u64)).sum();
    DeviceTimes {
        device_seconds: calls as f64 * device.call_seconds + total / device.end_to_end_bytes_per_second,
        calls,
        call_seconds: device.call_seconds,
        end_to_end_bytes_per_second: device.end_to_end_bytes_per_second,
        transfer_bytes_per_second: device.transfer_bytes_per_second,
        kernel_bytes_per_second: device.kernel_bytes_per_second,
        staging_bytes: device.staging_bytes,
        cpu_seconds: total / cpu_bytes_per_second,
        cpu_bytes_per_second,
    }
}

/// What keeps a device from the work, whatever it costs.
fn lacks(request: &Request) -> Option<DeviceVerdict> {
    match (request.cipher, request.operation) {
        (CipherCost::None, _) => Some(DeviceVerdict::NoCipher),
        (CipherCost::Gcm, _) => Some(DeviceVerdict::NotForGcm),
        (CipherCost::CbcChain, Operation::Encrypt) => Some(DeviceVerdict::NotForChains),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Calibration;
    use crate::plan::Plan;

    fn device(end_to_end: f64) -> DeviceCosts {
        DeviceCosts {
            backend: "wgpu",
            name: "a device".to_owned(),
            driver: None,
            call_seconds: 1e-4,
            transfer_bytes_per_second: end_to_end,
            kernel_bytes_per_second: 1e12,
            end_to_end_bytes_per_second: end_to_end,
            call_bytes: 16 << 20,
            staging_bytes: 64 << 20,
            is_forced: false,
        }
    }

    fn plan(cipher: CipherCost, operation: Operation, device: DeviceCosts) -> Plan {
        plan_on(
            &Machine { device: Some(device), ..Machine::detect(Calibration::default()) },
            cipher,
            operation,
        )
    }

    fn plan_on(machine: &Machine, cipher: CipherCost, operation: Operation) -> Plan {
        let request = Request {
            operation,
            threads: std::num::NonZeroUsize::new(1),
            cipher,
            key_iterations: 0,
            largest_segment: 1 << 20,
            names_in_turns: false,
        };
        Plan::new(&[1 << 30], machine, &request)
    }

    #[test]
    fn the_device_works_only_where_it_ends_first_or_was_asked_for() {
        let slow = plan(CipherCost::Ctr, Operation::Encrypt, device(1e9));
        assert!(slow.device.is_none() && slow.run_len == super::super::RUN_LEN);
        assert_eq!(slow.devices[0].verdict, DeviceVerdict::Idle);
        let fast = plan(CipherCost::Ctr, Operation::Encrypt, device(50e9));
        assert!(fast.device.is_some() && fast.run_len == 16 << 20 && fast.buffer_len > fast.run_len);
        assert_eq!(fast.devices[0].verdict, DeviceVerdict::Works);
        // 64 calls for 1 GiB.
        let times = fast.devices[0].times.unwrap();
        assert_eq!(times.calls, 64);
        let seconds = 64.0 * 1e-4 + (1 << 30) as f64 / 50e9;
        assert!((times.device_seconds - seconds).abs() < 1e-12, "{times:?}");
        let forced =
            plan(CipherCost::CbcChain, Operation::Decrypt, DeviceCosts { is_forced: true, ..device(1e9) });
        assert!(forced.device.is_some());
        assert_eq!(forced.devices[0].verdict, DeviceVerdict::WorksAsAsked);
    }

    #[test]
    fn a_device_that_was_measured_earlier_is_spoken_of_and_not_used() {
        let verdict = |cipher, end_to_end| {
            let machine = Machine {
                known_devices: vec![device(end_to_end)],
                ..Machine::detect(Calibration::default())
            };
            let plan = plan_on(&machine, cipher, Operation::Encrypt);
            assert!(plan.device.is_none() && plan.run_len == super::super::RUN_LEN);
            plan.devices[0].verdict
        };
        assert_eq!(verdict(CipherCost::Ctr, 500e9), DeviceVerdict::WouldPay);
        assert_eq!(verdict(CipherCost::Ctr, 1e6), DeviceVerdict::WouldNotPay);
        assert_eq!(verdict(CipherCost::Gcm, 500e9), DeviceVerdict::NotForGcm);
    }

    #[test]
    fn what_no_device_does_stays_with_the_cpu() {
        let forced = DeviceCosts { is_forced: true, ..device(50e9) };
        for (cipher, operation, verdict) in [
            (CipherCost::Gcm, Operation::Encrypt, DeviceVerdict::NotForGcm),
            (CipherCost::CbcChain, Operation::Encrypt, DeviceVerdict::NotForChains),
            (CipherCost::None, Operation::Copy, DeviceVerdict::NoCipher),
        ] {
            let plan = plan(cipher, operation, forced.clone());
            assert!(plan.device.is_none(), "{cipher:?} {operation:?}");
            assert_eq!((plan.devices[0].verdict, plan.devices[0].times), (verdict, None));
        }
    }
}
