//! Throughput of every backend and mode on this machine, beside the `aes` crate, intel-ipsec-mb and OpenSSL.
//!
//! ```text
//! cargo bench -p cipherloom-kernels --bench throughput -- [--json FILE] [--quick] [--only TEXT] [--no-peers]
//! ```
//!
//! Every result is checked before it is timed, against `soft`. Contestants take turns of a few milliseconds (A B C A B C …), so
//! that noise of the machine meets all alike; processor time counts, and the median turn. The bound is the backend's AES unit on
//! registers alone, measured in the same turns.

mod closure;
mod contestants;
mod peers;
mod workload;

use contestants::Contestant;
use peers::Peers;
use std::io::Write;
use workload::{Cell, Entries, Mode};

const SIZES: [usize; 6] = [256, 1024, 4096, 16 * 1024, 64 * 1024, 1024 * 1024];

struct Options {
    json: Option<String>,
    only: Option<String>,
    turns: usize,
    peers: bool,
}

struct Record {
    contestant: &'static str,
    cell: Cell,
    nanoseconds_per_byte: f64,
    /// Of the backend's own unit, in percent.
    of_bound: Option<f64>,
}

fn main() {
    let options = options();
    let mut peers = if options.peers { Peers::start() } else { Err("left out with --no-peers".to_owned()) };
    if let Err(reason) = &peers {
        println!("without intel-ipsec-mb and OpenSSL: {reason}");
    }
    let mut records = Vec::new();
    for key_bits in [128, 256] {
        for mode in Mode::ALL {
            let title = format!("AES-{key_bits} {}", mode.name());
            if options.only.as_ref().is_some_and(|only| !title.contains(only.as_str())) {
                continue;
            }
            println!("\n{title}: GB/s (ns per entry, % of the unit's bound)");
            for size in SIZES {
                let cell = Cell { mode, key_bits, size };
                let done = measure(cell, peers.as_mut().ok(), options.turns);
                print_row(&done);
                records.extend(done);
            }
        }
    }
    if let Some(path) = options.json {
        write_json(&path, &records, options.turns)
            .unwrap_or_else(|error| panic!("cannot write {path}: {error}"));
    }
}

fn options() -> Options {
    let mut options = Options { json: None, only: None, turns: 15, peers: true };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => options.json = Some(arguments.next().expect("--json FILE")),
            "--only" => options.only = Some(arguments.next().expect("--only TEXT")),
            "--quick" => options.turns = 5,
            "--no-peers" => options.peers = false,
            "--bench" => {}
            other => panic!("no option {other}: use --json FILE, --only TEXT, --quick, --no-peers"),
        }
    }
    options
}

fn measure(cell: Cell, peers: Option<&mut Peers>, turns: usize) -> Vec<Record> {
    let expected = contestants::expected(cell);
    let mut ours = contestants::ours(cell);
    let mut peers = peers.map(|peers| {
        let libraries = peers.libraries(cell);
        (peers, libraries)
    });
    for contestant in &mut ours {
        let actual = contestants::actual(contestant, cell);
        assert_eq!(actual, expected, "{} computes {}", contestants::name(contestant), cell.mode.name());
    }
    if let Some((peers, libraries)) = &mut peers {
        for library in libraries {
            let actual = contestants::actual(&mut Contestant::Peer(peers, library), cell);
            assert_eq!(actual, expected, "{library} computes {}", cell.mode.name());
        }
    }
    let mut entries = Entries::new(cell);
    let mut times = vec![Vec::new(); ours.len()];
    let mut bounds = vec![Vec::new(); ours.len()];
    let mut peer_times = vec![Vec::new(); peers.as_ref().map_or(0, |(_, libraries)| libraries.len())];
    for _ in 0..turns {
        for (index, contestant) in ours.iter_mut().enumerate() {
            if let Contestant::Backend(aes) = contestant {
                bounds[index].push(contestants::bound_turn(aes));
            }
            times[index].push(contestants::turn(contestant, cell, &mut entries));
        }
        if let Some((peers, libraries)) = &mut peers {
            for (library, times) in libraries.iter().zip(&mut peer_times) {
                times.push(contestants::turn(&mut Contestant::Peer(peers, library), cell, &mut entries));
            }
        }
    }
    let mut records = Vec::new();
    for ((contestant, times), bounds) in ours.iter().zip(times).zip(bounds) {
        let time = median(times);
        let of_bound = (!bounds.is_empty()).then(|| 100.0 * median(bounds) / time);
        records.push(Record {
            contestant: contestants::name(contestant),
            cell,
            nanoseconds_per_byte: time,
            of_bound,
        });
    }
    if let Some((_, libraries)) = peers {
        for (contestant, times) in libraries.into_iter().zip(peer_times) {
            records.push(Record { contestant, cell, nanoseconds_per_byte: median(times), of_bound: None });
        }
    }
    records
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn print_row(records: &[Record]) {
    print!("{:>8}", records[0].cell.size);
    for record in records {
        let speed = 1.0 / record.nanoseconds_per_byte;
        let entry = record.nanoseconds_per_byte * record.cell.size as f64;
        match record.of_bound {
            Some(percent) => print!("  {} {speed:.2} ({entry:.0} ns, {percent:.0}%)", record.contestant),
            None => print!("  {} {speed:.2} ({entry:.0} ns)", record.contestant),
        }
    }
    println!();
}

/// A line with the machine, then a line per record.
fn write_json(path: &str, records: &[Record], turns: usize) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    let model = model.trim_start_matches([' ', '\t', ':']).replace(['"', '\\'], "");
    writeln!(out, r#"{{"cpu":"{model}","turns":{turns}}}"#)?;
    for record in records {
        let Record { contestant, cell, nanoseconds_per_byte, of_bound } = record;
        let percent = of_bound.map_or("null".to_owned(), |percent| format!("{percent:.1}"));
        writeln!(
            out,
            r#"{{"contestant":"{contestant}","mode":"{}","key_bits":{},"size":{},"entries":{},"gigabytes_per_second":{:.3},"nanoseconds_per_entry":{:.1},"percent_of_bound":{percent}}}"#,
            cell.mode.name(),
            cell.key_bits,
            cell.size,
            cell.entries(),
            1.0 / nanoseconds_per_byte,
            nanoseconds_per_byte * cell.size as f64,
        )?;
    }
    out.flush()
}
