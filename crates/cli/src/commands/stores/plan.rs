//! `cipherloom plan` and `--dry-run` over stores: what would be read and written, how much at once, on which condition, and
//! by how many requests.

use crate::commands::dry_run::LeftOut;
use crate::{escape, output};
use cipherloom::IfExists;
use cipherloom_stores::{Errand, Inventory, Limits, Survey, Work};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// List prices of S3 Standard, in US dollars for a thousand requests: PUT, POST and LIST; GET and HEAD.
const WRITING: f64 = 0.005;
const READING: f64 = 0.0004;

/// What a run over stores takes.
#[derive(Serialize)]
pub struct Planned {
    #[serde(serialize_with = "escape::json_path")]
    source: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "escape::json_paths")]
    destination: Option<PathBuf>,
    /// What there is, if it was counted.
    #[serde(flatten)]
    counted: Option<Counted>,
    part_bytes: u64,
    in_flight: usize,
    threads: usize,
    /// The most that sources and outputs take in memory.
    memory_bytes: u64,
    #[serde(skip)]
    outputs: &'static str,
}

#[derive(Serialize)]
struct Counted {
    objects: u64,
    bytes: u64,
    /// Objects that are read and written in parts, and these parts.
    in_parts: u64,
    parts: u64,
    /// Prefixes that could not be listed.
    unlisted: u64,
    requests: Requests,
}

/// Requests to stores, if none is repeated.
#[derive(Serialize, Default)]
struct Requests {
    list: u64,
    head: u64,
    get: u64,
    put: u64,
    /// In US dollars, at list prices of S3 Standard, without storage and traffic.
    cost_dollars: f64,
}

impl Requests {
    fn of(survey: &Survey, reads: bool, writes: bool, is_opened: bool, looks: bool) -> Requests {
        let small = survey.objects - survey.in_parts;
        // The beginning of a large encrypted object is read first, for its header.
        let heads = if is_opened { survey.in_parts } else { 0 };
        let mut requests = Requests { list: survey.requests, ..Requests::default() };
        if reads {
            requests.get = small + heads + survey.parts;
        }
        if writes {
            // A large one: looked for, begun, its parts, looked for again, completed.
            requests.put = small + survey.parts + 2 * survey.in_parts;
            requests.head = 2 * survey.in_parts + if looks { small } else { 0 };
        }
        requests.cost_dollars = (requests.list + requests.put) as f64 / 1e3 * WRITING
            + (requests.get + requests.head) as f64 / 1e3 * READING;
        requests
    }

    fn words(&self) -> String {
        let Requests { list, head, get, put, cost_dollars } = self;
        let counts = [(list, "LIST"), (head, "HEAD"), (get, "GET"), (put, "PUT or POST")];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(count, _)| **count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        let cost = match *cost_dollars {
            0.0 => return "none".to_owned(),
            cost if cost < 0.01 => "less than a cent".to_owned(),
            cost => format!("about ${cost:.2}"),
        };
        format!("{}: {cost} at S3's list prices, without traffic", counts.join(", "))
    }
}

impl Planned {
    /// What this errand takes; `survey`: what there is, if that is known.
    pub fn of_run(inventory: &Inventory, survey: Option<Survey>, errand: &Errand) -> Planned {
        let is_store = |place: &cipherloom_stores::Place| place.folder().is_none();
        let writes = errand.destination.as_ref().is_some_and(is_store);
        let is_opened = !matches!(errand.work, Work::Encrypt(_) | Work::Copy);
        let looks = errand.if_exists == IfExists::Skip;
        let requests =
            |survey: &Survey| Requests::of(survey, is_store(inventory.place()), writes, is_opened, looks);
        Planned {
            destination: errand.destination.as_ref().map(cipherloom_stores::Place::address),
            outputs: match errand.if_exists {
                _ if errand.destination.is_none() => "none: every byte is authenticated",
                IfExists::Fail => "created; where one exists, that object fails",
                IfExists::Skip => "created; where one exists that was made of the same source, it is skipped",
                IfExists::Overwrite => "replaced",
            },
            ..Planned::new(inventory, survey, &errand.limits, requests)
        }
    }

    /// What encryption from here to a store takes.
    pub fn of_reading(inventory: &Inventory, survey: Survey, limits: &Limits) -> Planned {
        let requests = |survey: &Survey| Requests::of(survey, true, true, false, false);
        Planned {
            outputs: "counted as if they went to a store; encrypt --dry-run knows where they go",
            ..Planned::new(inventory, Some(survey), limits, requests)
        }
    }

    fn new(
        inventory: &Inventory,
        survey: Option<Survey>,
        limits: &Limits,
        requests: impl FnOnce(&Survey) -> Requests,
    ) -> Planned {
        Planned {
            source: inventory.place().address(),
            destination: None,
            counted: survey.map(|survey| Counted {
                objects: survey.objects,
                bytes: survey.bytes,
                in_parts: survey.in_parts,
                parts: survey.parts,
                unlisted: survey.unlisted,
                requests: requests(&survey),
            }),
            part_bytes: limits.part as u64,
            in_flight: limits.objects,
            threads: limits.threads,
            memory_bytes: limits.memory as u64,
            outputs: "",
        }
    }

    /// As a table for people.
    pub fn table(&self) -> String {
        let size = output::size;
        let counted = self.counted.as_ref();
        let objects = counted.map_or_else(
            || "listed while they are processed".to_owned(),
            |counted| format!("{}, {}", output::count(counted.objects, "object"), size(counted.bytes)),
        );
        let parts = match counted.map_or(0, |counted| counted.in_parts) {
            0 if counted.is_some() => "each object in one piece".to_owned(),
            0 => format!("objects above {} in parts of about so much", size(self.part_bytes)),
            count => {
                format!("{} in parts of about {}", output::count(count, "object"), size(self.part_bytes))
            }
        };
        let unlisted = counted.map(|counted| counted.unlisted).filter(|count| *count > 0);
        let rows = [
            ("source", Some(output::printable(&self.source))),
            ("output", self.destination.as_deref().map(output::printable)),
            ("objects", Some(objects)),
            (
                "unlisted",
                unlisted
                    .map(|count| format!("{}, which count for nothing here", output::count(count, "folder"))),
            ),
            ("in flight", Some(format!("up to {} at once", self.in_flight))),
            ("parts", Some(parts)),
            ("threads", Some(format!("{} for ciphers", self.threads))),
            ("memory", Some(format!("up to {} of sources and outputs", size(self.memory_bytes)))),
            ("outputs", Some(self.outputs.to_owned())),
            ("requests", counted.map(|counted| counted.requests.words())),
        ];
        let mut text = String::new();
        for (name, value) in rows.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            let _ = writeln!(text, "{name:<10}{value}");
        }
        text
    }
}

/// Prints it for people or for programs. `left_out`: what the run would not do.
///
/// # Errors
/// If standard output does not take it.
pub fn print(planned: &Planned, left_out: Option<LeftOut>, json: bool) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Whole<'p> {
        #[serde(flatten)]
        planned: &'p Planned,
        #[serde(flatten)]
        left_out: Option<LeftOut>,
    }
    if json {
        return output::print_json(&Whole { planned, left_out });
    }
    output::print(&(planned.table() + &left_out.unwrap_or_default().rows("object")))
}
