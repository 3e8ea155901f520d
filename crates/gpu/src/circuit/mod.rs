//! AES (FIPS 197) as a Boolean circuit on bit planes. An emitter prints its steps, and the interpreter runs them.
//!
//! A thread works on 32 blocks at once. The state is 128 wires of 32 bits; bit k of wire 8 i + b is bit b of byte i of
//! the thread's block k:
//!
//! ```text
//!   wire 8 i + b │ bit b of byte i of block 31 … block 1, block 0 │
//! ```
//!
//! The S-box's constant 0x63 is not in the circuit: it is folded into the round keys ([`crate::keys`]). MixColumns and
//! its inverse map a state of equal bytes to itself, so the constant passes through them.
//!
//! ```text
//! CTR     counter bits ^ key 0, and round 1 of the bytes that differ (`counter`)
//!         │ rounds 2 … n-1: S, ShiftRows, MixColumns, key r │ S, ShiftRows, key n │ transpose
//! CBC     transpose, key n │ rounds n-1 … 1: InvShiftRows, InvS, InvMixColumns, key r │ InvShiftRows, InvS, key 0 │ transpose
//! ```

pub(crate) mod counter;
mod evaluation;
pub(crate) mod linear;
pub(crate) mod substitution;
mod transposition;

pub(crate) use evaluation::evaluate;
pub use substitution::Gates;

/// A place for 32 bits. The state's are 0 … 127; those above are temporary, and assigned once in a phase.
pub type Wire = u16;

/// Wires of the state.
pub const STATE: Wire = 128;

/// One step of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant tells its fields")]
pub enum Step {
    /// The sum (exclusive or) of wires, and of a round key's mask if there is one; of one wire alone, a copy.
    Sum { target: Wire, wires: Vec<Wire>, key: Option<Wire> },
    /// The product (and) of two wires.
    Product { target: Wire, factors: [Wire; 2] },
    /// A function of three wires by its table: the bits of the first, second and third wire make the index 4 a + 2 b + c.
    Lookup { target: Wire, table: u8, inputs: [Wire; 3] },
    /// Exchanges the bits of `low` above `shift` in each pair of groups with those of `high` below: half a transposition.
    Exchange { low: Wire, high: Wire, shift: u32, mask: u32 },
    /// A bit of the lowest word of the thread's counter, for all its blocks.
    CounterBit { target: Wire, bit: u32 },
    /// A value that is the same for every thread.
    Constant { target: Wire, value: u32 },
    /// The S-box, or its inverse, on the eight wires of a byte.
    Substitute { byte: Wire },
}

/// A function of eight wires: inputs 0 … 7 (lowest bit first), temporaries from 8 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// What computes them.
    pub steps: Vec<Step>,
    /// The wires that bear them.
    pub outputs: [Wire; 8],
}

/// Which mode a kernel does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// CTR, either way.
    Ctr,
    /// Decryption of CBC.
    CbcDecrypt,
}

/// The steps of a kernel. The rounds are between `begin` and `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circuit {
    /// What it does.
    pub mode: Mode,
    /// What [`Step::Substitute`] does.
    pub substitution: Function,
    /// In front of the rounds.
    pub begin: Vec<Step>,
    /// Each round.
    pub round: Vec<Step>,
    /// Behind the rounds.
    pub end: Vec<Step>,
    /// The first of the rounds that are not in `begin`, counted from 1.
    pub looped_from: u32,
}

impl Circuit {
    /// For groups of [`GROUP_THREADS`].
    pub fn new(mode: Mode, gates: Gates) -> Circuit {
        Circuit::for_groups_of(GROUP_THREADS, mode, gates)
    }

    /// The same for groups of another number of threads (a power of two, at most 2^27): lane k of thread t takes block
    /// `threads` k + t of its group.
    pub fn for_groups_of(threads: u32, mode: Mode, gates: Gates) -> Circuit {
        match mode {
            Mode::Ctr => Circuit {
                mode,
                substitution: substitution::forward(gates),
                begin: counter::first_round(threads.trailing_zeros()),
                round: substituted(linear::mix_columns_of_shifted()).collect(),
                end: substituted(linear::shift_rows()).chain(transposition::steps()).collect(),
                looped_from: 2,
            },
            Mode::CbcDecrypt => Circuit {
                mode,
                substitution: substitution::inverse(gates),
                begin: transposition::steps().chain(linear::add_key()).collect(),
                round: linear::unshift_rows_unsubstituted()
                    .into_iter()
                    .chain(all_bytes())
                    .chain(linear::unmix_columns())
                    .collect(),
                end: linear::unshift_rows_unsubstituted()
                    .into_iter()
                    .chain(all_bytes())
                    .chain(linear::add_key())
                    .chain(transposition::steps())
                    .collect(),
                looped_from: 1,
            },
        }
    }
}

fn all_bytes() -> impl Iterator<Item = Step> {
    (0..16).map(|byte| Step::Substitute { byte })
}

fn substituted(linear: Vec<Step>) -> impl Iterator<Item = Step> {
    all_bytes().chain(linear)
}

/// Blocks of one group of threads, whose first counter is a multiple of it: lane k of thread t takes block 64 k + t, so
/// that neighbouring threads access neighbouring blocks, and the counter's low bits are the same for every group.
pub(crate) const GROUP_BLOCKS: u32 = GROUP_THREADS * LANES;
/// Threads of a group.
pub const GROUP_THREADS: u32 = 64;
/// Blocks of a thread.
pub const LANES: u32 = 32;
