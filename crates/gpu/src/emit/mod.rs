//! Prints a circuit as a kernel: what WGSL and CUDA C have in common, which is almost every line.

pub mod cuda;
pub mod wgsl;

use crate::circuit::{Circuit, Function, GROUP_BLOCKS, GROUP_THREADS, LANES, Mode, STATE, Step, Wire};
use std::fmt::Write as _;

/// Where the two languages part.
pub trait Language {
    /// Declares a temporary and gives it a value.
    fn declare(&self, name: &str, value: &str) -> String;
    /// A variable without a value yet.
    fn variable(&self, name: &str) -> String;
    /// Declares a temporary as a table's value at three wires.
    fn lookup(&self, name: &str, table: u8, inputs: [String; 3]) -> String;
    /// Calls the substitution on eight variables.
    fn substitute(&self, variables: [String; 8]) -> String;
    /// The mask at this index of the round whose masks begin at `k`.
    fn key(&self, place: Wire) -> String;
    /// The loop over the rounds from `first` on, which sets `k` to the masks of the round `key` before `body`.
    fn rounds(&self, first: u32, key: &str, body: &str) -> String;
    /// Reads the block at `q` of the source into four variables.
    fn load(&self, q: &str, variables: [String; 4]) -> String;
    /// Writes four variables, with the source's block at `q` added, to the sink at `q`.
    fn store(&self, q: &str, variables: [String; 4]) -> String;
}

fn name(wire: Wire) -> String {
    format!("w{wire}")
}

/// The lines of `steps`; wires below `variables` are already declared.
fn lines(language: &dyn Language, steps: &[Step], variables: Wire) -> String {
    let mut text = String::new();
    for step in steps {
        let (target, value) = match step {
            Step::Sum { target, wires, key } => {
                let terms = wires.iter().map(|wire| name(*wire)).chain(key.map(|key| language.key(key)));
                (*target, terms.collect::<Vec<_>>().join(" ^ "))
            }
            Step::Product { target, factors: [a, b] } => (*target, format!("{} & {}", name(*a), name(*b))),
            Step::CounterBit { target, bit } => (*target, format!("0u - ((c3 >> {bit}u) & 1u)")),
            Step::Constant { target, value } => (*target, format!("{value:#010x}u")),
            Step::Lookup { target, table, inputs } => {
                text.push_str(&language.lookup(&name(*target), *table, inputs.map(name)));
                continue;
            }
            Step::Exchange { low, high, shift, mask } => {
                let (a, b, other) = (name(*low), name(*high), !mask);
                let kept = language
                    .declare("p", &format!("({a} & {mask:#010x}u) | (({b} << {shift}u) & {other:#010x}u)"));
                let _ = writeln!(
                    text,
                    "{{ {} {b} = (({a} >> {shift}u) & {mask:#010x}u) | ({b} & {other:#010x}u); {a} = p; }}",
                    kept.trim_end()
                );
                continue;
            }
            Step::Substitute { byte } => {
                text.push_str(&language.substitute(std::array::from_fn(|bit| name(8 * byte + bit as Wire))));
                continue;
            }
        };
        if target < variables {
            let _ = writeln!(text, "{} = {value};", name(target));
        } else {
            text.push_str(&language.declare(&name(target), &value));
        }
    }
    text
}

/// The substitution's body: from the variables w0 … w7 to temporaries; the names of the outputs.
fn function(language: &dyn Language, function: &Function) -> (String, [String; 8]) {
    (lines(language, &function.steps, 8), function.outputs.map(name))
}

/// A kernel's body. It uses `thread` (the number of this thread's first block in the dispatch, `skip` included), `c3` (its
/// counter's lowest word), `skip`, `blocks` and `rounds`, which are declared before it.
fn body(language: &dyn Language, circuit: &Circuit) -> String {
    let mut text = variables(language);
    let place = |lane: u32| format!("thread + {}u - skip", GROUP_THREADS * lane);
    if circuit.mode == Mode::CbcDecrypt {
        for lane in 0..LANES {
            let q = language.declare("q", &place(lane));
            let load = language.load("q + 1u", lane_words(lane));
            let _ = writeln!(text, "{{ {} if (q < blocks) {{ {load} }} }}", q.trim_end());
        }
    }
    text.push_str(&phases(language, circuit));
    for lane in 0..LANES {
        let q = language.declare("q", &place(lane));
        let store = language.store("q", lane_words(lane));
        let _ = writeln!(text, "{{ {} if (q < blocks) {{ {store} }} }}", q.trim_end());
    }
    text
}

/// The state's variables.
pub fn variables(language: &dyn Language) -> String {
    (0..STATE).map(|wire| language.variable(&name(wire))).collect()
}

/// The four words of a lane's block, when the state is in blocks.
pub fn lane_words(lane: u32) -> [String; 4] {
    std::array::from_fn(|word| name((32 * word as u32 + lane) as Wire))
}

/// From the state's variables to the state's variables: everything between loading and storing.
pub fn phases(language: &dyn Language, circuit: &Circuit) -> String {
    // Where the masks of the first round, of those in the loop and of the last begin.
    let (first, key, last) = match circuit.mode {
        Mode::Ctr => ("0u", "round", "128u * rounds"),
        Mode::CbcDecrypt => ("128u * rounds", "(rounds - round)", "0u"),
    };
    let lines = |steps: &[Step]| lines(language, steps, STATE);
    let rounds = language.rounds(circuit.looped_from, key, &lines(&circuit.round));
    let (begin, end) = (lines(&circuit.begin), lines(&circuit.end));
    format!("k = {first};\n{{\n{begin}}}\n{rounds}k = {last};\n{{\n{end}}}\n")
}

/// The lines that set `thread` and the counter from `group` and `thread_of_group`. No carry crosses the end of a stretch.
fn counter(language: &dyn Language) -> String {
    [
        language.declare("start", &format!("group * {GROUP_BLOCKS}u")),
        language.declare("thread", "start + thread_of_group"),
        language.declare("c3", "low + start + thread_of_group"),
    ]
    .concat()
}
