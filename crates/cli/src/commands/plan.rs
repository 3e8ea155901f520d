//! `cipherloom plan`: what would run where, and why. Needs no key.

use super::transform::{Source, machine, usage};
use crate::arguments::{CipherName, FormatArguments, FormatName, PlanArguments};
use crate::exit_code::ExitCode;
use crate::output;
use cipherloom::plan::CipherCost;
use cipherloom::{Operation, Plan, Request};

pub fn run(arguments: &PlanArguments) -> anyhow::Result<ExitCode> {
    let machine = machine(&arguments.common)?;
    let Source::Tree(tree) = Source::look(&arguments.tree)? else {
        return Err(usage(
            "standard input is one stream of unknown length: it is processed in order by one thread",
        ));
    };
    let sizes: Vec<u64> = tree.entries.iter().map(|entry| entry.size).collect();
    let request = Request {
        operation: Operation::Encrypt,
        threads: arguments.common.threads,
        backend: machine.backend,
        cipher: cost(&arguments.format)?,
        // The segments of the default template; others are smaller.
        largest_segment: 1 << 20,
        open_files: machine.open_files,
    };
    print(&Plan::new(&sizes, &machine, &request), arguments.common.json);
    Ok(ExitCode::Success)
}

fn cost(arguments: &FormatArguments) -> anyhow::Result<CipherCost> {
    use CipherName::{Aes128Cbc, Aes128Ctr, Aes192Cbc, Aes192Ctr, Aes256Cbc, Aes256Ctr};
    match (arguments.format, arguments.cipher) {
        (FormatName::Tink | FormatName::Cobblestone, _) => Ok(CipherCost::Gcm),
        (_, Some(Aes128Cbc | Aes192Cbc | Aes256Cbc)) => Ok(CipherCost::CbcChain),
        (_, Some(Aes128Ctr | Aes192Ctr | Aes256Ctr)) => Ok(CipherCost::Ctr),
        (FormatName::Raw | FormatName::Openssl, None) => {
            Err(usage("give --cipher too: CBC and CTR are planned differently"))
        }
    }
}

/// Prints a plan for people or for programs.
pub fn print(plan: &Plan, json: bool) {
    let description = plan.describe();
    if json {
        return output::print_line(&serde_json::to_value(&description).unwrap_or_default());
    }
    let seconds = |seconds: f64| format!("{:.3} s", seconds);
    let rows = [
        (
            "entries",
            format!("{}, {}", output::files(description.entries as u64), output::size(description.bytes)),
        ),
        ("threads", description.threads.to_string()),
        ("backend", description.backend.to_owned()),
        ("lanes", format!("{} per thread", description.lanes)),
        (
            "tasks",
            format!(
                "{}, of which {} are parts of {} large files",
                description.tasks, description.parts, description.shared_entries
            ),
        ),
        ("reads", format!("up to {} at once", output::size(description.run_bytes as u64))),
        (
            "buffers",
            format!(
                "{} per thread, {} in all",
                output::size(description.buffer_bytes_per_worker as u64),
                output::size(description.buffer_bytes as u64)
            ),
        ),
        (
            "estimate",
            format!(
                "{} with one thread, {} as planned",
                seconds(description.estimated_serial_seconds),
                seconds(description.estimated_seconds)
            ),
        ),
    ];
    for (name, value) in rows {
        println!("{name:<10}{value}");
    }
    for (position, reason) in description.reasons.iter().enumerate() {
        println!("{:<10}{reason}", if position == 0 { "because" } else { "" });
    }
}
