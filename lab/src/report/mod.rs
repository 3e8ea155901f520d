//! One page for a folder of records: questions and answers first, then plots with the published figures beside the
//! measured ones. It carries its data, its drawing code and its style, and opens from disk without a network.
//!
//! Drawing happens in the page (`lab/report/`): here records are chosen, checked, and put in as JSON.

use crate::experiments::{ALL, by_name};
use crate::record::{Extent, Record};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The six experiments of the first screen: name, title, and what one without code here asks.
const SIX: [(&str, &str, &str); 6] = [
    ("many-files", "Many files", ""),
    (
        "ctr-workers",
        "CTR workers",
        "What does preparing the data cost, and where does the speed go between one worker and many?",
    ),
    ("aes-instructions", "AES instructions", "What do AES instructions bring?"),
    ("maze", "Maze on the GPU", ""),
    ("s-des", "S-DES on threads", ""),
    ("comba", "Long integers", ""),
];

const PARTS: [(&str, &str); 6] = [
    ("/*PAGE.CSS*/", include_str!("../../report/page.css")),
    ("/*D3*/", include_str!("../../report/vendor/d3.min.js")),
    ("/*PLOT*/", include_str!("../../report/vendor/plot.umd.min.js")),
    ("/*FIGURES.JS*/", include_str!("../../report/figures.js")),
    ("/*EXPERIMENTS.JS*/", include_str!("../../report/experiments.js")),
    ("/*PAGE.JS*/", include_str!("../../report/page.js")),
];

/// The page for these records (with the name of the file of each) and for what could not be read, in words.
#[must_use]
pub fn page(records: &[Record], damaged: &[String]) -> String {
    let mut names: Vec<&str> = SIX.iter().map(|(name, ..)| *name).collect();
    names.extend(
        ALL.iter().map(|experiment| experiment.name).filter(|name| SIX.iter().all(|(six, ..)| six != name)),
    );
    let experiments: Vec<Value> = names.iter().map(|name| experiment(name, records)).collect();
    let data = json!({ "experiments": experiments, "damaged": damaged }).to_string();
    // Nothing in the data may end the element that holds it.
    let data = data.replace('<', "\\u003c");
    let mut page = include_str!("../../report/page.html").to_owned();
    for (place, part) in PARTS {
        page = page.replacen(place, part, 1);
    }
    page.replacen("/*DATA*/", &data, 1)
}

fn experiment(name: &str, records: &[Record]) -> Value {
    let code = by_name(name);
    let six = SIX.iter().find(|(six, ..)| *six == name);
    let record = chosen(name, records);
    let question = record.map(|record| record.question.as_str()).or(code.map(|code| code.question));
    let published: BTreeMap<&str, &str> = code
        .into_iter()
        .flat_map(|code| code.published)
        .map(|published| (published.file.trim_end_matches(".csv"), published.csv))
        .collect();
    json!({
        "name": name,
        "title": six.map_or(name, |(_, title, _)| title),
        "question": question.or(six.map(|(.., question)| *question)),
        "published": published,
        "record": record.map(slim),
    })
}

/// The newest full record of an experiment, or else the newest quick one.
fn chosen<'a>(name: &str, records: &'a [Record]) -> Option<&'a Record> {
    let of_it = records.iter().filter(|record| record.experiment == name);
    of_it.max_by_key(|record| (record.extent == Extent::Full, record.started.clone()))
}

/// A record as the page needs it: one number for each sample.
fn slim(record: &Record) -> Value {
    let series = record.series.iter().map(|series| {
        json!({
            "variant": series.variant,
            "factors": series.factors,
            "bytes": series.work.bytes,
            "operations": series.work.operations,
            "wall": series.wall,
            "walls": series.walls().iter().map(|wall| (wall * 10.0).round() / 10.0).collect::<Vec<_>>(),
        })
    });
    let series: Vec<Value> = series.collect();
    json!({
        "experiment": record.experiment,
        "file": record.file_name(),
        "extent": record.extent,
        "seed": record.seed,
        "started": record.started,
        "seconds": record.seconds,
        "machine": record.machine,
        "build": record.build,
        "load": record.load,
        "parameters": record.parameters,
        "series": series,
        "excluded": record.excluded,
        "notes": record.notes,
        "answers": record.answers,
        "tables": record.tables,
        "pictures": record.pictures,
        "warnings": record.warnings(),
        "published": record.published,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_records_still_asks_its_questions() {
        let page = page(&[], &["x.json: damaged </script><b>".to_owned()]);
        for (name, title, _) in SIX {
            assert!(page.contains(&format!("\"name\":\"{name}\"")) && page.contains(title), "{name}");
        }
        assert!(page.contains("damaged \\u003c/script>\\u003cb>"));
        for (place, _) in PARTS {
            assert!(!page.contains(place), "{place}");
        }
    }

    #[test]
    fn the_page_asks_nothing_of_a_network() {
        let page = page(&[], &[]);
        for loads in ["src=\"http", "href=\"http", "@import", "url(http"] {
            assert!(!page.contains(loads), "{loads}");
        }
    }
}
