//! `cipherloom list`: what the index of an encrypted tree lists.

use super::{stores, transform::not_a_folder};
use crate::arguments::ListArguments;
use crate::escape::{self, JsonPath};
use crate::exit_code::{ExitCode, usage};
use crate::output::{self, print, print_line, utc};
use crate::{device, keys};
use cipherloom::internal::location::Location;
use cipherloom::internal::{IndexPlace, Selection, find_damaged_copies, list_index};
use cipherloom::machine::{Calibration, Machine};
use cipherloom::report::{IndexReport, ListedEntry, ListedKind};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// How many bytes are collected before they are printed.
const PRINTED_AT_ONCE: usize = 64 << 10;

pub fn list(arguments: &ListArguments) -> anyhow::Result<ExitCode> {
    let ListArguments { tree, globs, json, anchor, format } = arguments;
    let (tree, store) = match Location::parse(tree)? {
        Location::Path(tree) => (tree, None),
        Location::Store(_) => (tree.clone(), Some(stores::index(tree)?)),
        Location::StandardStream => return Err(not_a_folder()),
    };
    let place = store.as_ref().map_or(IndexPlace::Folder(&tree), IndexPlace::Store);
    let machine = Machine::detect(Calibration::default());
    let format = keys::format(format, device::engine(&machine))?;
    if format.key_id().is_none() {
        return Err(usage("an index is sealed with a keyset", "use --format tink"));
    }
    let selection = Selection::new(globs, &[])?;
    let listed = list_index(place, &format, anchor.as_deref()).map_err(|error| error.at(&tree));
    let (index, entries) = listed?;
    if store.is_none() {
        for error in find_damaged_copies(&tree, &format)? {
            output::warn(error);
        }
    }
    let (mut listed, mut bytes) = (0, 0);
    let mut text = String::new();
    for entry in entries {
        let entry = entry.map_err(|error| error.at(&tree))?;
        if !selection.takes(&entry.path) {
            continue;
        }
        listed += 1;
        bytes += entry.size;
        if *json {
            text.push_str(&escape::json(&serde_json::to_string(&EntryLine::new(&entry))?));
            text.push('\n');
        } else {
            write_line(&mut text, &entry);
        }
        if text.len() >= PRINTED_AT_ONCE {
            print(&text)?;
            text.clear();
        }
    }
    print(&text)?;
    if *json {
        output::print_json(&Summary { event: "summary", listed, bytes, index })?;
    } else {
        let IndexReport { generation, time, .. } = index;
        let entries = if listed == 1 { "1 entry".to_owned() } else { format!("{listed} entries") };
        print_line(format_args!(
            "{entries}, {}; index generation {generation} of {}",
            output::size(bytes),
            utc(time)
        ));
    }
    Ok(ExitCode::Success)
}

/// As `ls -l` has it, with the time in UTC.
fn write_line(text: &mut String, entry: &ListedEntry) {
    let kind = match entry.kind {
        ListedKind::Folder => 'd',
        ListedKind::File => '-',
        ListedKind::Link => 'l',
    };
    let mode = entry.mode.unwrap_or(0o777);
    let permissions: String =
        (0..9).map(|bit| if mode & (0o400 >> bit) != 0 { ['r', 'w', 'x'][bit % 3] } else { '-' }).collect();
    let time = entry.modified.map_or_else(|| "-".to_owned(), |(seconds, _)| utc(seconds));
    let path = escape::path(&entry.path);
    let _ = write!(text, "{kind}{permissions} {:>12} {time:>20} {path}", entry.size);
    if let Some(target) = &entry.target {
        let _ = write!(text, " -> {}", escape::path(target));
    }
    text.push('\n');
}

/// An entry in JSON.
#[derive(Serialize)]
struct EntryLine<'e> {
    event: &'static str,
    path: JsonPath<&'e PathBuf>,
    kind: ListedKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<JsonPath<&'e PathBuf>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted_path: Option<JsonPath<&'e PathBuf>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<u32>,
}

impl EntryLine<'_> {
    fn new(entry: &ListedEntry) -> EntryLine<'_> {
        let is_file = entry.kind == ListedKind::File;
        let time = |(seconds, nanoseconds): (i64, u32)| {
            format!("{}.{nanoseconds:09}Z", utc(seconds).trim_end_matches('Z'))
        };
        EntryLine {
            event: "entry",
            path: JsonPath(&entry.path),
            kind: entry.kind,
            size: is_file.then_some(entry.size),
            mode: entry.mode.map(|mode| format!("{mode:04o}")),
            modified: entry.modified.map(time),
            target: entry.target.as_ref().map(JsonPath),
            // A tree with hidden names has no such folder.
            encrypted_path: (entry.kind != ListedKind::Folder).then_some(JsonPath(&entry.encrypted_path)),
            encrypted_size: is_file.then_some(entry.encrypted_size),
            key_id: entry.key_id,
        }
    }
}

/// What ends a listing in JSON.
#[derive(Serialize)]
struct Summary {
    event: &'static str,
    listed: u64,
    bytes: u64,
    index: IndexReport,
}
