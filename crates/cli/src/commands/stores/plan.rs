//! `--dry-run` over stores: what would be read and written, how much at once, and on which condition.

use crate::output;
use cipherloom::IfExists;
use cipherloom_stores::{Errand, Listing};
use serde::Serialize;
use std::fmt::Write;

#[derive(Serialize)]
struct Planned {
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination: Option<String>,
    objects: u64,
    bytes: u64,
    /// Objects that are read and written in parts.
    in_parts: u64,
    part_bytes: u64,
    in_flight: usize,
    threads: usize,
    /// The most that sources and outputs take in memory.
    memory_bytes: u64,
}

impl Planned {
    fn new(listing: &Listing, errand: &Errand) -> Planned {
        let limits = errand.limits;
        let in_parts = listing.objects.iter().filter(|object| object.size > limits.part as u64).count();
        Planned {
            source: output::printable(&listing.place().address()),
            destination: errand.destination.as_ref().map(|place| output::printable(&place.address())),
            objects: listing.objects.len() as u64,
            bytes: listing.total_bytes(),
            in_parts: in_parts as u64,
            part_bytes: limits.part as u64,
            in_flight: limits.objects,
            threads: limits.threads,
            memory_bytes: limits.memory as u64,
        }
    }
}

/// Prints it for people or for programs.
///
/// # Errors
/// If standard output does not take it.
pub fn print(listing: &Listing, errand: &Errand, json: bool) -> anyhow::Result<()> {
    if json {
        return output::print_json(&Planned::new(listing, errand));
    }
    output::print(&table(listing, errand))
}

/// The plan as a table for people.
pub fn table(listing: &Listing, errand: &Errand) -> String {
    let planned = Planned::new(listing, errand);
    let parts = match planned.in_parts {
        0 => "each object in one piece".to_owned(),
        count => format!(
            "{} in parts of about {}",
            output::count(count, "object"),
            output::size(planned.part_bytes)
        ),
    };
    let outputs = match errand.if_exists {
        _ if planned.destination.is_none() => "none: every byte is authenticated".to_owned(),
        IfExists::Fail => "created; where one exists, that object fails".to_owned(),
        IfExists::Skip => {
            "created; where one exists that was made of the same source, it is skipped".to_owned()
        }
        IfExists::Overwrite => "replaced".to_owned(),
    };
    let rows = [
        ("source", Some(planned.source)),
        ("output", planned.destination),
        (
            "objects",
            Some(format!("{}, {}", output::count(planned.objects, "object"), output::size(planned.bytes))),
        ),
        ("in flight", Some(format!("up to {} at once", planned.in_flight))),
        ("parts", Some(parts)),
        ("threads", Some(format!("{} for ciphers", planned.threads))),
        ("memory", Some(format!("up to {} of sources and outputs", output::size(planned.memory_bytes)))),
        ("outputs", Some(outputs)),
    ];
    let mut text = String::new();
    for (name, value) in rows.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        let _ = writeln!(text, "{name:<10}{value}");
    }
    text
}
