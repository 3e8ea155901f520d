//! `cipherloom devices`: what this machine has to encrypt with.

use crate::arguments::DevicesArguments;
use crate::device::Listing;
use crate::exit_code::ExitCode;
use crate::output;
use cipherloom::machine::{BackendState, Processor};
use std::fmt::Write;

pub fn run(arguments: &DevicesArguments) -> anyhow::Result<ExitCode> {
    let processor = Processor::detect();
    if arguments.json {
        #[derive(serde::Serialize)]
        struct Devices {
            cpu: Processor,
            gpu: Listing,
        }
        output::print_json(&Devices { cpu: processor, gpu: Listing::look(arguments.validate) })?;
        return Ok(ExitCode::Success);
    }
    let listing = Listing::look(arguments.validate);
    output::print(&format!("{}\n{}", table(&processor)?, listing.table()))?;
    Ok(ExitCode::Success)
}

fn table(processor: &Processor) -> Result<String, std::fmt::Error> {
    let caches: Vec<String> = processor
        .caches
        .iter()
        .map(|cache| format!("L{} {} {}", cache.level, cache.kind.to_lowercase(), output::size(cache.bytes)))
        .collect();
    let known = |list: &[String]| if list.is_empty() { "unknown".to_owned() } else { list.join(", ") };
    let mut text = String::new();
    let model = processor.model.as_deref().unwrap_or("unknown");
    writeln!(text, "CPU       {model} ({})", processor.architecture)?;
    writeln!(text, "cores     {}", processor.cores)?;
    writeln!(text, "features  {}", processor.features.join(" "))?;
    writeln!(text, "caches    {}", known(&caches))?;
    writeln!(text)?;
    writeln!(text, "{:<10}{:>5}  runs here", "backend", "lanes")?;
    for backend in &processor.backends {
        writeln!(text, "{:<10}{:>5}  {}", backend.name, backend.lanes, standing(backend))?;
    }
    Ok(text)
}

fn standing(backend: &BackendState) -> String {
    let made_for = match backend.name {
        "armv8" => "aarch64",
        "aesni" | "vaes256" | "vaes512" => "x86_64",
        _ => std::env::consts::ARCH,
    };
    match backend {
        BackendState { chosen: true, .. } => "yes, chosen unless --backend names another".to_owned(),
        BackendState { available: true, .. } => "yes".to_owned(),
        _ if made_for == std::env::consts::ARCH => "no, this CPU lacks the instructions".to_owned(),
        _ => format!("no, it is for {made_for} CPUs"),
    }
}
