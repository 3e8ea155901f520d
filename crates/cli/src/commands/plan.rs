//! `cipherloom plan`: what would run where, and why. Needs no key.

use super::dry_run::LeftOut;
use super::sources::Source;
use super::stores;
use super::transform::machine;
use crate::arguments::{CipherName, FormatName, PlanArguments};
use crate::exit_code::{ExitCode, usage};
use crate::output;
use cipherloom::key::{Protection, Template};
use cipherloom::plan::{CipherCost, Description, DeviceChoice, DeviceVerdict};
use cipherloom::{Operation, Plan, Request};
use serde::Serialize;
use std::fmt::Write;

/// Bytes of a Cobblestone segment, and of the ranges into which files of formats without segments are cut.
const COBBLESTONE_SEGMENT: u32 = 16 << 10;
const VIRTUAL_SEGMENT: u32 = 1 << 20;

pub fn run(arguments: &PlanArguments) -> anyhow::Result<ExitCode> {
    #[cfg_attr(
        not(feature = "gpu"),
        expect(unused_mut, reason = "devices are known only where there are any")
    )]
    let mut machine = machine(&arguments.machine, true)?;
    #[cfg(feature = "gpu")]
    if arguments.machine.backend.is_none() {
        machine.known_devices = crate::device::kept::known();
    }
    let sizes: Vec<u64> = match Source::look(&arguments.tree, &arguments.stores)? {
        Source::Tree(tree) => tree.entries.iter().map(|entry| entry.size).collect(),
        Source::Listing(found) => return stores::show_plan(&found, arguments),
        Source::StandardInput => {
            return Err(usage(
                "standard input is one stream of unknown length: it is processed in order by one thread",
            ));
        }
    };
    let (cipher, segment) = shape(arguments)?;
    let request = Request {
        operation: Operation::Encrypt,
        threads: arguments.machine.threads,
        backend: machine.backend,
        cipher,
        key_iterations: match arguments.format {
            FormatName::Openssl => arguments.pbkdf2_iterations.get(),
            FormatName::Tink | FormatName::Cobblestone | FormatName::Raw => 0,
        },
        largest_segment: segment as usize,
        open_files: machine.open_files,
    };
    print(&Plan::new(&sizes, &machine, &request), Some(segment), None, arguments.json)?;
    Ok(ExitCode::Success)
}

/// What encryption in this format costs, and the bytes of its segments.
fn shape(arguments: &PlanArguments) -> anyhow::Result<(CipherCost, u32)> {
    use CipherName::{Aes128Cbc, Aes128Ctr, Aes192Cbc, Aes192Ctr, Aes256Cbc, Aes256Ctr};
    match (arguments.format, arguments.cipher) {
        (FormatName::Tink, _) => Ok((tink(arguments.template), arguments.template.segment_size())),
        (FormatName::Cobblestone, _) => Ok((CipherCost::Gcm, COBBLESTONE_SEGMENT)),
        (_, Some(Aes128Cbc | Aes192Cbc | Aes256Cbc)) => Ok((CipherCost::CbcChain, VIRTUAL_SEGMENT)),
        (_, Some(Aes128Ctr | Aes192Ctr | Aes256Ctr)) => Ok((CipherCost::Ctr, VIRTUAL_SEGMENT)),
        (FormatName::Raw | FormatName::Openssl, None) => {
            Err(usage("give --cipher too: CBC and CTR are planned differently"))
        }
    }
}

fn tink(template: Template) -> CipherCost {
    match template.protection() {
        Protection::Gcm => CipherCost::Gcm,
        Protection::CtrHmac { .. } => CipherCost::CtrHmac,
    }
}

/// Prints a plan for people or for programs. `segment`: bytes of the format's segments, if it has any. `left_out`: what the
/// run would not do.
///
/// # Errors
/// If standard output does not take it.
pub fn print(plan: &Plan, segment: Option<u32>, left_out: Option<LeftOut>, json: bool) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Planned<'p> {
        #[serde(flatten)]
        description: Description<'p>,
        segment_bytes: Option<u32>,
        #[serde(flatten)]
        left_out: Option<LeftOut>,
    }
    if json {
        let description = plan.describe();
        return output::print_json(&Planned { description, segment_bytes: segment, left_out });
    }
    output::print(&(table(plan, segment) + &left_out.unwrap_or_default().rows("file")))
}

/// A plan as a table for people.
pub fn table(plan: &Plan, segment: Option<u32>) -> String {
    let description = plan.describe();
    let bytes = |bytes: usize| output::size(bytes as u64);
    let tasks = match description.shared_entries as u64 {
        0 => description.tasks.to_string(),
        shared => format!(
            "{}, {} of them parts of {}",
            description.tasks,
            description.parts,
            output::count(shared, "large file")
        ),
    };
    let lanes = match description.lanes {
        1 => "1 file at a time in each thread".to_owned(),
        lanes => format!("{lanes} files interleaved in each thread"),
    };
    let files = output::count(description.entries as u64, "file");
    let rows = [
        ("files", Some(format!("{files}, {}", output::size(description.bytes)))),
        ("threads", Some(description.threads.to_string())),
        ("backend", Some(description.backend.to_owned())),
        ("device", description.device.map(str::to_owned)),
        ("lanes", Some(lanes)),
        ("tasks", Some(tasks)),
        ("segments", segment.map(|segment| format!("{} each", output::size(segment.into())))),
        ("reads", Some(format!("up to {} at once", bytes(description.run_bytes)))),
        (
            "buffers",
            Some(format!(
                "{} in each thread, {} in all",
                bytes(description.buffer_bytes_per_worker),
                bytes(description.buffer_bytes)
            )),
        ),
        (
            "estimate",
            Some(format!(
                "{} with one thread, {} as planned",
                output::duration(description.estimated_serial_seconds),
                output::duration(description.estimated_seconds)
            )),
        ),
    ];
    let reasons = description.reasons.iter().enumerate();
    let reasons =
        reasons.map(|(position, reason)| (if position == 0 { "because" } else { "" }, reason.clone()));
    let rows = rows.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let mut text = String::new();
    for (name, value) in rows.chain(reasons) {
        let _ = writeln!(text, "{name:<10}{value}");
    }
    for choice in description.devices {
        text.push_str(&device(choice, &description));
    }
    text
}

/// What is said of a device: the verdict, both times, and what they are made of.
fn device(choice: &DeviceChoice, plan: &Description<'_>) -> String {
    let mut text = format!("{:<10}{}\n", choice.backend, choice.name);
    let mut line = |words: &str| {
        let _ = writeln!(text, "{:<10}{words}", "");
    };
    if let Some(driver) = &choice.driver {
        line(&format!("driver {driver}"));
    }
    let verdict = match choice.verdict {
        DeviceVerdict::Works => "ends first and does the cipher's work",
        DeviceVerdict::WorksAsAsked => "does the cipher's work as asked",
        DeviceVerdict::Idle => "leaves the work to the CPU",
        DeviceVerdict::WouldPay => "as calibrated, would end first (--backend auto)",
        DeviceVerdict::WouldNotPay => "as calibrated, would not pay",
        DeviceVerdict::NotForGcm => "has nothing to do: AES-GCM is done by the CPU",
        DeviceVerdict::NotForChains => "has nothing to do: CBC encryption is a chain within a file",
        DeviceVerdict::NoCipher => "has nothing to do: there is no cipher",
    };
    let Some(times) = choice.times else {
        line(verdict);
        return text;
    };
    let [device, cpu, call] =
        [times.device_seconds, times.cpu_seconds, times.call_seconds].map(output::duration);
    line(&format!("{verdict}: {device} against {cpu} of the CPU"));
    let calls = match times.calls {
        1 => format!("{call} for its one call"),
        calls => format!("{call} for each of {calls} calls"),
    };
    let staging = format!("{} of memory for staging", output::size(times.staging_bytes as u64));
    let cpu = format!("{} on {}", plan.backend, output::count(plan.threads as u64, "thread"));
    for (what, rate, more) in [
        ("there and back", times.end_to_end_bytes_per_second, calls),
        ("moving alone", times.transfer_bytes_per_second, staging),
        ("kernel alone", times.kernel_bytes_per_second, "AES-128-CTR".to_owned()),
        ("the CPU", times.cpu_bytes_per_second, cpu),
    ] {
        line(&format!("  {what:<16}{:>10}, {more}", output::rate(rate)));
    }
    text
}
