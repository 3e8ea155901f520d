//! The rules between the modules ("rooms") of the library, and for the kernels' sources.
//!
//! ```text
//! error <- key <- format ┐
//!          tree, machine ├─ <- plan <- pipeline        (an arrow points at what is imported)
//!                 report ┘
//! ```
//!
//! `report` is what a run tells: `pipeline` fills it in, so it stands before `pipeline`. A room imports only what stands before it. `plan` is pure: no files, clock, environment or threads. `format` never
//! sees a path. Only `pipeline` opens content files or runs threads. Only `key`, `format` and `pipeline` touch secrets.

use super::paths::{Named, named};
use super::{Source, Violation};

/// A room of the library and the rooms that it may import.
struct Room {
    name: &'static str,
    imports: &'static [&'static str],
}

const ROOMS: [Room; 8] = [
    Room { name: "error", imports: &[] },
    Room { name: "key", imports: &["error"] },
    Room { name: "format", imports: &["error", "key"] },
    Room { name: "tree", imports: &["error"] },
    Room { name: "machine", imports: &["error"] },
    Room { name: "plan", imports: &["error", "format", "tree", "machine"] },
    Room { name: "pipeline", imports: &["error", "key", "format", "tree", "machine", "plan", "report"] },
    Room { name: "report", imports: &["error", "tree", "plan"] },
];

/// A set of paths that only some rooms may name.
struct Reserved {
    paths: &'static [&'static str],
    /// Named although under one of `paths`, these are harmless.
    except: &'static [&'static str],
    /// Rooms, or single modules (`machine::measure`).
    rooms: &'static [&'static str],
    rule: &'static str,
}

impl Reserved {
    fn is_open_to(&self, module: &[String]) -> bool {
        self.rooms
            .iter()
            .any(|room| room.split("::").eq(module.iter().skip(1).take(room.split("::").count())))
    }
}

const RESERVED: [Reserved; 6] = [
    Reserved {
        paths: &["std::thread", "rayon", "crossbeam_channel"],
        except: &["std::thread::available_parallelism"],
        // `machine::measure` starts a thread to learn what starting one costs.
        rooms: &["pipeline", "machine::measure"],
        rule: "only `pipeline` runs threads",
    },
    Reserved {
        paths: &[
            "std::fs::File",
            "std::fs::OpenOptions",
            "std::fs::read",
            "std::fs::write",
            "std::fs::copy",
            "File",
            "OpenOptions",
            "fs::read",
            "fs::write",
            "fs::copy",
            "tempfile",
        ],
        except: &[],
        // `key` and `machine` read files of their own (keysets, the machine's description), never content.
        rooms: &["pipeline", "key", "machine"],
        rule: "only `pipeline` opens content files",
    },
    Reserved {
        paths: &["crate::key", "zeroize", "age"],
        except: &[],
        rooms: &["key", "format", "pipeline"],
        rule: "only `key`, `format` and `pipeline` touch secrets",
    },
    Reserved {
        paths: &["std::path", "Path", "PathBuf", "camino"],
        except: &[],
        rooms: &["error", "key", "tree", "machine", "plan", "pipeline", "report"],
        rule: "`format` never sees a path",
    },
    Reserved {
        paths: &["std::fs", "std::io", "std::time", "std::env", "std::net", "std::process", "rustix"],
        except: &[],
        rooms: &["error", "key", "format", "tree", "machine", "pipeline", "report"],
        rule: "`plan` is pure: no files, clock, environment or processes",
    },
    Reserved {
        paths: &["std::fs", "std::net", "std::process", "rustix", "std::time"],
        except: &[],
        rooms: &["error", "key", "tree", "machine", "plan", "pipeline", "report"],
        rule: "`format` turns bytes into bytes: no files, no clock",
    },
];

/// What no source of the kernels may name.
const NOT_IN_KERNELS: [&str; 8] =
    ["std::fs", "std::io", "std::path", "std::thread", "std::time", "std::net", "std::process", "cipherloom"];

/// What no source of the long integers may name: their threads are what is measured, so those they have.
const NOT_IN_BIGNUM: [&str; 7] =
    ["std::fs", "std::io", "std::path", "std::time", "std::net", "std::process", "cipherloom"];

const LIBRARY: &str = "crates/cipherloom/src/";
const KERNELS: &str = "crates/kernels/src/";
const BIGNUM: &str = "crates/bignum/src/";

/// Checks every source of the library and of the kernels.
pub(crate) fn check(sources: &[Source]) -> Vec<Violation> {
    let root = sources.iter().find(|source| source.path == format!("{LIBRARY}lib.rs"));
    let doors = root.map(|root| named(&root.text, &["crate".into()])).unwrap_or_default();
    let mut violations = Vec::new();
    for source in sources {
        if let Some(path) = source.path.strip_prefix(LIBRARY) {
            violations.extend(in_library(source, path, &doors));
        } else if source.path.starts_with(KERNELS) {
            violations.extend(without(source, "kernels", &NOT_IN_KERNELS));
        } else if source.path.starts_with(BIGNUM) {
            violations.extend(without(source, "bignum", &NOT_IN_BIGNUM));
        }
    }
    violations
}

fn in_library(source: &Source, path: &str, doors: &[Named]) -> Vec<Violation> {
    let module = module_path(path);
    let Some(name) = module.get(1) else { return Vec::new() };
    if path.ends_with("tests.rs") || path.contains("/tests/") {
        return Vec::new();
    }
    let Some(room) = ROOMS.iter().find(|room| room.name == name) else {
        let words =
            format!("`{name}` is not a room of the library; decide who may import it in xtask's rooms.rs");
        return vec![Violation::new(&source.path, words)];
    };
    let mut violations = Vec::new();
    for path in named(&source.text, &module) {
        let path = through_door(path, doors);
        let place = format!("{}:{}", source.path, path.line);
        if let Some(other) = room_named(&path)
            && other != room.name
            && !room.imports.contains(&other)
        {
            let words = format!("`{}` may not import `{other}` (here {})", room.name, path.text());
            violations.push(Violation::new(&place, words));
        }
        for reserved in RESERVED.iter().filter(|reserved| !reserved.is_open_to(&module)) {
            let is_reserved = reserved.paths.iter().any(|prefix| is_named(&path, prefix));
            if is_reserved && !reserved.except.iter().any(|exception| path.is_under(exception)) {
                violations.push(Violation::new(&place, format!("{} (here {})", reserved.rule, path.text())));
            }
        }
    }
    violations
}

/// For a crate that computes and does nothing else.
fn without(source: &Source, name: &str, banned: &[&str]) -> Vec<Violation> {
    named(&source.text, &["crate".into()])
        .into_iter()
        .filter(|path| banned.iter().any(|banned| path.is_under(banned)))
        .map(|path| {
            let place = format!("{}:{}", source.path, path.line);
            Violation::new(place, format!("`{name}` only computes; it may not name {}", path.text()))
        })
        .collect()
}

/// `crate::Entry`, re-exported by `lib.rs` from a room, becomes the path in that room.
fn through_door(path: Named, doors: &[Named]) -> Named {
    if path.segments.len() < 2 || path.segments[0] != "crate" || room_named(&path).is_some() {
        return path;
    }
    let door =
        doors.iter().find(|door| door.segments.len() > 1 && door.segments.last() == path.segments.get(1));
    let Some(door) = door else { return path };
    let mut segments = door.segments.clone();
    if segments[0] != "crate" {
        segments.insert(0, "crate".into());
    }
    segments.extend(path.segments[2..].iter().cloned());
    Named { segments, line: path.line }
}

fn room_named(path: &Named) -> Option<&'static str> {
    let (first, second) = (path.segments.first()?, path.segments.get(1)?);
    if first != "crate" {
        return None;
    }
    ROOMS.iter().map(|room| room.name).find(|name| name == second)
}

/// A prefix of one word with a capital (`File`) is a type's name and stands for the type wherever it is named.
fn is_named(path: &Named, prefix: &str) -> bool {
    let is_type = !prefix.contains("::") && prefix.starts_with(char::is_uppercase);
    if is_type { path.segments.iter().any(|segment| segment == prefix) } else { path.is_under(prefix) }
}

/// `plan/queue.rs` is the module `crate::plan::queue`; `lib.rs` is `crate`.
fn module_path(path: &str) -> Vec<String> {
    let mut module = vec!["crate".to_owned()];
    module.extend(path.trim_end_matches(".rs").split('/').map(String::from));
    if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
        module.pop();
    }
    module
}

#[cfg(test)]
#[path = "rooms_tests.rs"]
mod tests;
