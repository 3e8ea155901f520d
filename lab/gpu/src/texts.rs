//! Workers' kernels as WGSL and as CUDA C.

use super::material::TABLE;
use super::{BANKS, Worker};
use cipherloom_gpu::internal::{
    Circuit, Gates, LANES, Language, Mode, cuda, lane_words, phases, variables, wgsl,
};
use std::fmt::Write as _;

/// WGSL whose entry is `main`; bindings as the product's kernels have them.
pub(super) fn wgsl(worker: Worker) -> String {
    let language = &wgsl::Wgsl;
    let words = worker.private_bytes() / 4;
    let private = match worker {
        Worker::Tile(_) => format!("var<workgroup> tile: array<vec4<u32>, {}>;\n", words / 4),
        Worker::Direct => String::new(),
        Worker::Tables(_) => format!("var<workgroup> tables: array<u32, {words}>;\n"),
    };
    let circuit = circuit(worker, Gates::Two);
    let substitution =
        circuit.as_ref().map_or_else(String::new, |circuit| wgsl::substitution(&circuit.substitution));
    let threads = worker.threads();
    format!(
        "{}{substitution}{private}@compute @workgroup_size({threads})
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(num_workgroups) all: vec3<u32>,
@builtin(local_invocation_index) t: u32) {{
let worker = id.x;
let workers = all.x;
let high = parameters.counter.x;
let upper = parameters.counter.y;
let lower = parameters.counter.z;
let low = parameters.counter.w;
let blocks = parameters.blocks;
let skip = parameters.skip;
let rounds = parameters.rounds;
var k: u32;
{}}}
",
        wgsl::BINDINGS,
        body(worker, circuit.as_ref(), language, &Words::WGSL)
    )
}

/// CUDA C whose kernel has the worker's name; arguments as the product's kernels have them.
pub(super) fn cuda(worker: Worker) -> String {
    let name = worker.name();
    let (threads, words) = (worker.threads(), worker.private_bytes() / 4);
    let private = match worker {
        Worker::Tile(_) => format!("SHARED(uint4, tile, {});\n", words / 4),
        Worker::Direct => String::new(),
        Worker::Tables(_) => format!("SHARED(u32, tables, {words});\n"),
    };
    let resident = if matches!(worker, Worker::Tables(_)) { 1 } else { cuda::resident(Mode::Ctr, threads) };
    let circuit = circuit(worker, Gates::Three);
    let substitution =
        circuit.as_ref().map_or_else(String::new, |circuit| cuda::substitution(&name, &circuit.substitution));
    let body = body(worker, circuit.as_ref(), &cuda::Cuda, &Words::CUDA)
        .replace("substitute(", &format!("substitute_{name}("));
    format!(
        "{substitution}KERNEL({threads}, {resident}) {name}{} {{
{private}const u32 worker = blockIdx.x;
const u32 workers = gridDim.x;
const u32 t = threadIdx.x;
u32 k = 0u; (void)k;
{body}}}
",
        cuda::ARGUMENTS
    )
}

fn circuit(worker: Worker, gates: Gates) -> Option<Circuit> {
    match worker {
        Worker::Tile(_) | Worker::Direct => Some(Circuit::for_groups_of(worker.threads(), Mode::Ctr, gates)),
        Worker::Tables(_) => None,
    }
}

/// Words in which the two languages differ, beside those of [`Language`].
struct Words {
    /// Opens the declaration of a variable that a loop counts.
    count: &'static str,
    barrier: &'static str,
    key: &'static str,
}

impl Words {
    const WGSL: Words = Words { count: "var", barrier: "workgroupBarrier();\n", key: "keys" };
    const CUDA: Words = Words { count: "u32", barrier: "__syncthreads();\n", key: "keys.masks" };
}

fn body(worker: Worker, circuit: Option<&Circuit>, language: &dyn Language, words: &Words) -> String {
    let (turn_blocks, threads) = (worker.turn_blocks(), worker.threads());
    let Words { count, barrier, key, .. } = words;
    let mut text = String::new();
    if let Worker::Tables(tables) = worker {
        // Each copy of an entry stands in a bank of its own: word 32 i + b.
        let _ = writeln!(text, "for ({count} i = t; i < {}u; i += {threads}u) {{", 256 * BANKS);
        text.push_str(&language.declare("entry", &format!("{key}[{TABLE}u + (i >> 5u)]")));
        for number in 0..tables {
            let _ =
                writeln!(text, "tables[{}u + i] = {};", number * 256 * BANKS, turned("entry", 8 * number));
        }
        let _ = write!(text, "}}\n{barrier}");
        text.push_str(&language.declare("bank", &format!("t & {}u", BANKS - 1)));
    }
    let turns = format!("(blocks + skip + {}u) / {turn_blocks}u", turn_blocks - 1);
    text.push_str(&language.declare("turns", &turns));
    let end = language.declare("end", "(worker + 1u) * turns / workers");
    let _ =
        writeln!(text, "{end}for ({count} turn = worker * turns / workers; turn < end; turn = turn + 1u) {{");
    text.push_str(&language.declare("start", &format!("turn * {turn_blocks}u")));
    text.push_str(&counter(language));
    match (worker, circuit) {
        (Worker::Tables(tables), _) => text.push_str(&lookups(tables, language, words)),
        (_, None) => unreachable!("bit planes have a circuit"),
        (Worker::Direct, Some(circuit)) => {
            text.push_str(&variables(language));
            text.push_str(&phases(language, circuit));
            for lane in 0..LANES {
                let q = language.declare("q", &format!("start + t + {}u - skip", threads * lane));
                let store = language.store("q", lane_words(lane));
                let _ = writeln!(text, "{{ {} if (q < blocks) {{ {store} }} }}", q.trim_end());
            }
        }
        (Worker::Tile(_), Some(circuit)) => {
            let q = language.declare("q", "start + i - skip");
            let copy = |line: &str| {
                format!(
                    "for ({count} i = t; i < {turn_blocks}u; i += {threads}u) {{ {} if (q < blocks) {{ {line} }} }}\n",
                    q.trim_end()
                )
            };
            text.push_str(&copy("tile[i] = source[q];"));
            text.push_str(barrier);
            text.push_str(&variables(language));
            text.push_str(&phases(language, circuit));
            for lane in 0..LANES {
                let [x, y, z, w] = lane_words(lane);
                let place = format!("t + {}u", threads * lane);
                let _ = writeln!(
                    text,
                    "tile[{place}].x ^= {x}; tile[{place}].y ^= {y}; tile[{place}].z ^= {z}; tile[{place}].w ^= {w};"
                );
            }
            text.push_str(barrier);
            text.push_str(&copy("sink[q] = tile[i];"));
            text.push_str(barrier);
        }
    }
    text.push_str("}\n");
    text
}

/// The lowest word of the thread's counter. A launch stays in a stretch, so no carry leaves it.
fn counter(language: &dyn Language) -> String {
    language.declare("c3", "low + start + t")
}

/// One block by look-ups. A column's byte r comes from row r of column j + r (ShiftRows), the lowest byte first.
fn lookups(tables: u32, language: &dyn Language, words: &Words) -> String {
    let Words { count, key, .. } = words;
    let index = |row: u32, column: u32| {
        let byte = match row {
            0 => format!("(s{column} & 255u)"),
            3 => format!("(s{column} >> 24u)"),
            _ => format!("((s{column} >> {}u) & 255u)", 8 * row),
        };
        format!("{byte} * {BANKS}u + bank")
    };
    let entry = |row: u32, column: u32| {
        let index = index(row, (column + row) % 4);
        if tables == 4 {
            format!("tables[{}u + {index}]", row * 256 * BANKS)
        } else {
            format!("tables[{index}]")
        }
    };
    let mut text = String::new();
    for (word, c) in ["high", "upper", "lower", "c3"].into_iter().enumerate() {
        text.push_str(&language.variable(&format!("s{word}")));
        let swapped =
            format!("({c} >> 24u) | (({c} >> 8u) & 0xff00u) | (({c} << 8u) & 0xff0000u) | ({c} << 24u)");
        let _ = writeln!(text, "s{word} = ({swapped}) ^ {key}[{word}];");
    }
    let _ = writeln!(text, "for ({count} r = 4u; r < 4u * rounds; r += 4u) {{");
    for column in 0..4 {
        let terms: Vec<String> = (0..4)
            .map(|row| {
                let name = format!("n{column}{row}");
                text.push_str(&language.declare(&name, &entry(row, column)));
                if tables == 4 { name } else { turned(&name, 8 * row) }
            })
            .collect();
        let sum = format!("{} ^ {key}[r + {column}u]", terms.join(" ^ "));
        text.push_str(&language.declare(&format!("n{column}"), &sum));
    }
    text.push_str("s0 = n0; s1 = n1; s2 = n2; s3 = n3;\n}\n");
    for column in 0..4 {
        // The second byte of an entry is the S-box's value alone.
        let bytes: Vec<String> = (0..4)
            .map(|row| {
                let entry = format!("tables[{}]", index(row, (column + row) % 4));
                match row {
                    0 => format!("(({entry} >> 8u) & 255u)"),
                    row => format!("((({entry} >> 8u) & 255u) << {}u)", 8 * row),
                }
            })
            .collect();
        let word = format!("({}) ^ {key}[4u * rounds + {column}u]", bytes.join(" | "));
        text.push_str(&language.declare(&format!("o{column}"), &word));
    }
    let q = language.declare("q", "start + t - skip");
    let store = language.store("q", std::array::from_fn(|column| format!("o{column}")));
    let _ = writeln!(text, "{{ {} if (q < blocks) {{ {store} }} }}", q.trim_end());
    text
}

/// A word turned left by so many bits.
fn turned(name: &str, bits: u32) -> String {
    if bits == 0 { name.to_owned() } else { format!("(({name} << {bits}u) | ({name} >> {}u))", 32 - bits) }
}
