//! Kernels in WGSL, for every device that wgpu or a browser supports.
//!
//! ```text
//! binding 0  source      CTR: the text; CBC: the chain's block, then the ciphertext
//! binding 1  sink        the result
//! binding 2  keys        masks of every round
//! binding 3  parameters  counter (highest word first), blocks, skip, rounds
//! ```

use super::{Language, body, counter, function};
use crate::circuit::{Circuit, Function, GROUP_THREADS, Gates, Mode, Wire};

/// WGSL.
#[derive(Debug)]
pub struct Wgsl;

/// The declarations of what a kernel is given.
pub const BINDINGS: &str =
    "struct Parameters { counter: vec4<u32>, blocks: u32, skip: u32, rounds: u32, unused: u32 }
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> sink: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<uniform> parameters: Parameters;
";

/// The source of a kernel whose entry is `main`, in workgroups of 64 threads.
pub(crate) fn source(mode: Mode) -> String {
    let circuit = Circuit::new(mode, Gates::Two);
    let (counter, body) = (counter(&Wgsl), body(&Wgsl, &circuit));
    format!(
        "{BINDINGS}{}@compute @workgroup_size({GROUP_THREADS})
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) thread_of_group: u32) {{
let group = id.x;
let low = parameters.counter.w;
let blocks = parameters.blocks;
let skip = parameters.skip;
let rounds = parameters.rounds;
{counter}var k: u32;
{body}}}
",
        substitution(&circuit.substitution)
    )
}

/// The functions that a kernel's body calls for a byte's eight wires.
pub fn substitution(circuit: &Function) -> String {
    let (steps, outputs) = function(&Wgsl, circuit);
    let inputs = (0..8).map(|bit| format!("w{bit}: u32")).collect::<Vec<_>>().join(", ");
    let outputs = outputs.join(", ");
    format!(
        "struct Byte {{ a: vec4<u32>, b: vec4<u32> }}
fn substitute({inputs}) -> Byte {{
{steps}return byte({outputs});
}}
fn byte(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32, h: u32) -> Byte {{
return Byte(vec4<u32>(a, b, c, d), vec4<u32>(e, f, g, h));
}}
"
    )
}

impl Language for Wgsl {
    fn declare(&self, name: &str, value: &str) -> String {
        format!("let {name} = {value};\n")
    }

    fn variable(&self, name: &str) -> String {
        format!("var {name}: u32;\n")
    }

    fn lookup(&self, _name: &str, _table: u8, _inputs: [String; 3]) -> String {
        unreachable!("WGSL has no instruction for tables: its circuits are of sums and products")
    }

    fn substitute(&self, w: [String; 8]) -> String {
        let set: Vec<String> = w
            .iter()
            .zip(["a.x", "a.y", "a.z", "a.w", "b.x", "b.y", "b.z", "b.w"])
            .map(|(variable, field)| format!("{variable} = s.{field};"))
            .collect();
        format!("{{ let s = substitute({}); {} }}\n", w.join(", "), set.join(" "))
    }

    fn key(&self, place: Wire) -> String {
        format!("keys[k + {place}u]")
    }

    fn rounds(&self, first: u32, key: &str, body: &str) -> String {
        format!("for (var round = {first}u; round < rounds; round++) {{\nk = 128u * {key};\n{body}}}\n")
    }

    fn load(&self, q: &str, [x, y, z, w]: [String; 4]) -> String {
        format!("let s = source[{q}]; {x} = s.x; {y} = s.y; {z} = s.z; {w} = s.w;")
    }

    fn store(&self, q: &str, variables: [String; 4]) -> String {
        format!("sink[{q}] = source[{q}] ^ vec4<u32>({});", variables.join(", "))
    }
}
