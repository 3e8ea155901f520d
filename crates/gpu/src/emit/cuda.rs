//! Kernels in CUDA C. A C compiler accepts the text too, after a few definitions (`tests/processor/kernels.h`), which
//! makes it testable without a device.
//!
//! The masks of all rounds are a kernel parameter. It is in constant memory and belongs to one launch, so no other
//! thread's key can replace it.

use super::{Language, body, counter, function};
use crate::circuit::{Circuit, Function, GROUP_THREADS, Gates, Mode, Wire};
use crate::keys::MOST_MASKS;

/// CUDA C.
#[derive(Debug)]
pub struct Cuda;

/// The parameters of every kernel.
pub const ARGUMENTS: &str = "(const uint4 *__restrict__ source, uint4 *__restrict__ sink,
const __grid_constant__ Keys keys, u32 high, u32 upper, u32 lower, u32 low, u32 blocks, u32 skip, u32 rounds)";

/// Groups of 64 threads in a block of threads.
pub(crate) const GROUPS_A_BLOCK: u32 = 2;

/// Both kernels in CUDA C (`ctr` and `cbc_decrypt`), for any compiler.
#[must_use]
pub fn source() -> String {
    let kernels =
        [("ctr", Mode::Ctr), ("cbc_decrypt", Mode::CbcDecrypt)].map(|(name, mode)| kernel(name, mode));
    head() + &kernels.concat()
}

/// What stands in front of every kernel.
pub fn head() -> String {
    format!(
        "typedef unsigned int u32;
typedef struct {{ u32 masks[{MOST_MASKS}]; }} Keys;
#ifdef __CUDACC__
#define KERNEL(threads, blocks) extern \"C\" __global__ void __launch_bounds__(threads, blocks)
#define SHARED(type, name, count) extern __shared__ type name[]
#define LOOKUP(r, t, a, b, c) asm(\"lop3.b32 %0, %1, %2, %3, \" #t \";\" : \"=r\"(r) : \"r\"(a), \"r\"(b), \"r\"(c))
#endif
"
    )
}

fn kernel(name: &str, mode: Mode) -> String {
    let circuit = Circuit::new(mode, Gates::Three);
    let threads = GROUPS_A_BLOCK * GROUP_THREADS;
    let resident = resident(mode, threads);
    let (counter, body) = (counter(&Cuda), body(&Cuda, &circuit));
    let body = body.replace("substitute(", &format!("substitute_{name}("));
    format!(
        "{}KERNEL({threads}, {resident}) {name}{ARGUMENTS} {{
const u32 group = blockIdx.x * {GROUPS_A_BLOCK}u + threadIdx.x / {GROUP_THREADS}u;
const u32 thread_of_group = threadIdx.x % {GROUP_THREADS}u;
{counter}(void)c3;
u32 k;
{body}}}
",
        substitution(name, &circuit.substitution)
    )
}

/// Blocks of so many threads that a processor is to have room for. CTR's kernel takes 174 registers a thread if the compiler
/// may choose, which leaves room for 256 threads in the 65,536 of compute capabilities 8.0 and 9.0; 384 threads, of 168, spill
/// nothing (`ptxas -v` of CUDA 12.8). CBC's would. A warp's registers are taken whole.
pub fn resident(mode: Mode, threads: u32) -> u32 {
    let all = match mode {
        Mode::Ctr => 384,
        Mode::CbcDecrypt => 256,
    };
    (all / threads.max(32)).max(1)
}

/// The function that a kernel's body calls for a byte's eight wires.
pub fn substitution(name: &str, circuit: &Function) -> String {
    let (steps, outputs) = function(&Cuda, circuit);
    let parameters = (0..8).map(|bit| format!("u32 *v{bit}")).collect::<Vec<_>>().join(", ");
    let inputs: String = (0..8).map(|bit| format!("const u32 w{bit} = *v{bit};\n")).collect();
    let results: String =
        outputs.iter().enumerate().map(|(bit, output)| format!("*v{bit} = {output};\n")).collect();
    format!(
        "__device__ static __forceinline__ void substitute_{name}({parameters}) {{
{inputs}{steps}{results}}}
"
    )
}

impl Language for Cuda {
    fn declare(&self, name: &str, value: &str) -> String {
        format!("const u32 {name} = {value};\n")
    }

    fn variable(&self, name: &str) -> String {
        format!("u32 {name} = 0u;\n")
    }

    fn lookup(&self, name: &str, table: u8, [a, b, c]: [String; 3]) -> String {
        format!("u32 {name}; LOOKUP({name}, {table:#04x}, {a}, {b}, {c});\n")
    }

    fn substitute(&self, w: [String; 8]) -> String {
        format!("substitute({});\n", w.map(|variable| format!("&{variable}")).join(", "))
    }

    fn key(&self, place: Wire) -> String {
        format!("keys.masks[k + {place}u]")
    }

    fn rounds(&self, first: u32, key: &str, body: &str) -> String {
        // Looped: unrolled rounds would not fit an instruction cache.
        format!(
            "#pragma unroll 1\nfor (u32 round = {first}u; round < rounds; round++) {{\nk = 128u * {key};\n{body}}}\n"
        )
    }

    fn load(&self, q: &str, [x, y, z, w]: [String; 4]) -> String {
        format!("const uint4 s = source[{q}]; {x} = s.x; {y} = s.y; {z} = s.z; {w} = s.w;")
    }

    fn store(&self, q: &str, [x, y, z, w]: [String; 4]) -> String {
        format!("uint4 s = source[{q}]; s.x ^= {x}; s.y ^= {y}; s.z ^= {z}; s.w ^= {w}; sink[{q}] = s;")
    }
}
