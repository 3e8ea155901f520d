//! Whether the machine's device does the cipher's work, or the CPU: whichever ends first, there and back counted.

use super::{CipherCost, Operation, Request};
use crate::machine::{DeviceCosts, Machine};

/// The longest run that is handed to a device at once: each worker holds one in memory.
pub(super) const LONGEST_RUN: usize = 64 << 20;

/// The device, if it takes part; says why, or why not.
pub(super) fn choose<'m>(
    sizes: &[u64],
    threads: usize,
    machine: &'m Machine,
    request: &Request,
    reasons: &mut Vec<String>,
) -> Option<&'m DeviceCosts> {
    let Some(device) = &machine.device else {
        for known in &machine.known_devices {
            let (wins, words) = match lacks(request) {
                Some(words) => (false, words.to_owned()),
                None => {
                    let (wins, words) = compared(known, sizes, threads, machine, request);
                    (wins, format!("it {words}"))
                }
            };
            let title = known.title();
            reasons.push(match wins {
                true => format!("{title}, as calibrated, would end first: {words}"),
                false => format!("{title}, as calibrated, would not pay: {words}"),
            });
        }
        return None;
    };
    let title = device.title();
    if let Some(words) = lacks(request) {
        reasons.push(format!("{title} has nothing to do: {words}"));
        return None;
    }
    let (wins, words) = compared(device, sizes, threads, machine, request);
    reasons.push(format!("{title} {words}"));
    reasons.push(match (wins, device.is_forced) {
        (true, _) => "so the device does it".to_owned(),
        (false, true) => "the CPU would end first; the device does it all the same, as asked".to_owned(),
        (false, false) => "so the CPU does it".to_owned(),
    });
    (wins || device.is_forced).then_some(device)
}

/// Whether the device would end first, and both times in words.
fn compared(
    device: &DeviceCosts,
    sizes: &[u64],
    threads: usize,
    machine: &Machine,
    request: &Request,
) -> (bool, String) {
    let total = sizes.iter().sum::<u64>() as f64;
    let cpu_rate = machine.calibration.ctr_bytes_per_second * threads as f64;
    let calls: u64 = sizes.iter().map(|size| size.div_ceil(device.call_bytes.max(1) as u64)).sum();
    let cpu = total / cpu_rate;
    let there_and_back = calls as f64 * device.call_seconds + total / device.end_to_end_bytes_per_second;
    let each = if calls == 1 { "its one call".to_owned() } else { format!("each of {calls} calls") };
    let words = format!(
        "takes {} for the cipher, there and back: {:.0} µs for {each}, then {} ({} for moving \
         alone, {} for the kernel alone; {} MiB of memory for staging); the CPU takes {} with {} on {threads} thread{}, {}",
        milliseconds(there_and_back),
        device.call_seconds * 1e6,
        rate(device.end_to_end_bytes_per_second),
        rate(device.transfer_bytes_per_second),
        rate(device.kernel_bytes_per_second),
        device.staging_bytes >> 20,
        milliseconds(cpu),
        request.backend.name(),
        if threads == 1 { "" } else { "s" },
        rate(cpu_rate),
    );
    (there_and_back < cpu, words)
}

/// What keeps a device from the work, whatever it costs.
fn lacks(request: &Request) -> Option<&'static str> {
    match (request.cipher, request.operation) {
        (CipherCost::None, _) => Some("there is no cipher"),
        (CipherCost::Gcm, _) => Some("AES-GCM is done by the CPU; devices do AES-CTR and CBC decryption"),
        (CipherCost::CbcChain, Operation::Encrypt) => {
            Some("CBC encryption is a chain within a file, which a device does no faster")
        }
        _ => None,
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}

fn rate(bytes_per_second: f64) -> String {
    format!("{:.2} GB/s", bytes_per_second / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Calibration;
    use crate::plan::Plan;
    use cipherloom_kernels::Backend;

    fn device(end_to_end: f64) -> DeviceCosts {
        DeviceCosts {
            backend: "wgpu",
            name: "a device".to_owned(),
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
            backend: Backend::Soft,
            cipher,
            key_iterations: 0,
            largest_segment: 1 << 20,
            open_files: 1024,
        };
        Plan::new(&[1 << 30], machine, &request)
    }

    #[test]
    fn the_device_works_only_where_it_ends_first_or_was_asked_for() {
        let slow = plan(CipherCost::Ctr, Operation::Encrypt, device(1e9));
        assert!(slow.device.is_none() && slow.run_len == super::super::RUN_LEN);
        assert!(slow.reasons.iter().any(|reason| reason == "so the CPU does it"), "{:?}", slow.reasons);
        let fast = plan(CipherCost::Ctr, Operation::Encrypt, device(50e9));
        assert!(fast.device.is_some() && fast.run_len == 16 << 20 && fast.buffer_len > fast.run_len);
        let forced =
            plan(CipherCost::CbcChain, Operation::Decrypt, DeviceCosts { is_forced: true, ..device(1e9) });
        assert!(forced.device.is_some());
    }

    #[test]
    fn a_device_that_was_measured_earlier_is_spoken_of_and_not_used() {
        let words = |cipher, end_to_end| {
            let machine = Machine {
                known_devices: vec![device(end_to_end)],
                ..Machine::detect(Calibration::default())
            };
            let plan = plan_on(&machine, cipher, Operation::Encrypt);
            assert!(plan.device.is_none() && plan.run_len == super::super::RUN_LEN);
            plan.reasons.join("\n")
        };
        assert!(words(CipherCost::Ctr, 500e9).contains("as calibrated, would end first: it takes"));
        assert!(words(CipherCost::Ctr, 1e6).contains("as calibrated, would not pay: it takes"));
        assert!(words(CipherCost::Gcm, 500e9).contains("would not pay: AES-GCM is done by the CPU"));
    }

    #[test]
    fn what_no_device_does_stays_with_the_cpu() {
        let forced = DeviceCosts { is_forced: true, ..device(50e9) };
        for (cipher, operation) in [
            (CipherCost::Gcm, Operation::Encrypt),
            (CipherCost::CbcChain, Operation::Encrypt),
            (CipherCost::None, Operation::Copy),
        ] {
            let plan = plan(cipher, operation, forced.clone());
            assert!(plan.device.is_none(), "{cipher:?} {operation:?}");
            assert!(plan.reasons.iter().any(|reason| reason.contains("has nothing to do")));
        }
    }
}
