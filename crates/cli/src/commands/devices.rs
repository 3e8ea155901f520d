//! `cipherloom devices`: what this machine has to encrypt with.

use crate::arguments::DevicesArguments;
use crate::exit_code::ExitCode;
use crate::output;
use cipherloom::machine::Processor;

pub fn run(arguments: &DevicesArguments) -> anyhow::Result<ExitCode> {
    let processor = Processor::detect();
    if arguments.json {
        output::print_line(&serde_json::json!({ "cpu": processor }));
        return Ok(ExitCode::Success);
    }
    println!("CPU       {} ({})", processor.model.as_deref().unwrap_or("unknown"), processor.architecture);
    println!("cores     {}", processor.cores);
    println!("features  {}", processor.features.join(" "));
    let caches: Vec<String> = processor
        .caches
        .iter()
        .map(|cache| format!("L{} {} {}", cache.level, cache.kind.to_lowercase(), output::size(cache.bytes)))
        .collect();
    println!("caches    {}", if caches.is_empty() { "unknown".to_owned() } else { caches.join(", ") });
    println!();
    println!("{:<10}{:<12}{:>5}", "backend", "available", "lanes");
    for backend in &processor.backends {
        let available = if backend.available { "yes" } else { "no" };
        let chosen = if backend.chosen { "  chosen" } else { "" };
        println!("{:<10}{available:<12}{:>5}{chosen}", backend.name, backend.lanes);
    }
    Ok(ExitCode::Success)
}
