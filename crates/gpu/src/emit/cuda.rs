//! Kernels in CUDA C. A C compiler takes the text too, behind a few definitions ([`HOST`]): so it is checked without a
//! device.
//!
//! The masks of all rounds are a kernel parameter, which lies in constant memory and belongs to this launch alone: no
//! other thread's key can come between.

use super::{Language, body, counter, function};
use crate::circuit::{Circuit, GROUP_THREADS, Gates, Mode, Wire};
use crate::keys::MOST_MASKS;

struct Cuda;

/// Groups of 64 threads in a block of threads.
pub(crate) const GROUPS_A_BLOCK: u32 = 2;

/// Both kernels: `ctr` and `cbc_decrypt`.
pub(crate) fn source() -> String {
    let threads = GROUPS_A_BLOCK * GROUP_THREADS;
    let head = format!(
        "typedef unsigned int u32;
typedef struct {{ u32 masks[{MOST_MASKS}]; }} Keys;
#ifdef __CUDACC__
#define KERNEL extern \"C\" __global__ void __launch_bounds__({threads})
#define LOOKUP(r, t, a, b, c) asm(\"lop3.b32 %0, %1, %2, %3, \" #t \";\" : \"=r\"(r) : \"r\"(a), \"r\"(b), \"r\"(c))
#endif
"
    );
    let kernels =
        [("ctr", Mode::Ctr), ("cbc_decrypt", Mode::CbcDecrypt)].map(|(name, mode)| kernel(name, mode));
    head + &kernels.concat()
}

fn kernel(name: &str, mode: Mode) -> String {
    let circuit = Circuit::new(mode, Gates::Three);
    let (steps, outputs) = function(&Cuda, &circuit.substitution);
    let parameters = (0..8).map(|bit| format!("u32 *v{bit}")).collect::<Vec<_>>().join(", ");
    let inputs: String = (0..8).map(|bit| format!("const u32 w{bit} = *v{bit};\n")).collect();
    let results: String =
        outputs.iter().enumerate().map(|(bit, output)| format!("*v{bit} = {output};\n")).collect();
    let (counter, body) = (counter(&Cuda), body(&Cuda, &circuit));
    let body = body.replace("substitute(", &format!("substitute_{name}("));
    format!(
        "__device__ static __forceinline__ void substitute_{name}({parameters}) {{
{inputs}{steps}{results}}}
KERNEL {name}(const uint4 *__restrict__ source, uint4 *__restrict__ sink, const __grid_constant__ Keys keys,
u32 high, u32 upper, u32 lower, u32 low, u32 blocks, u32 skip, u32 rounds) {{
const u32 group = blockIdx.x * {GROUPS_A_BLOCK}u + threadIdx.x / {GROUP_THREADS}u;
const u32 thread_of_group = threadIdx.x % {GROUP_THREADS}u;
{counter}const u32 carry = low + start < low;
const u32 c2 = lower + carry;
const u32 carry2 = carry & (c2 == 0u);
const u32 c1 = upper + carry2;
const u32 c0 = high + (carry2 & (c1 == 0u));
(void)c0; (void)c1; (void)c2; (void)c3;
u32 k;
{body}}}
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

    fn rounds(&self, mode: Mode, body: &str) -> String {
        // Looped: unrolled, the rounds are more than an instruction cache holds.
        let head = match mode {
            Mode::Ctr => "for (u32 round = 1u; round < rounds; round++)",
            Mode::CbcDecrypt => "for (u32 round = rounds - 1u; round > 0u; round--)",
        };
        format!("#pragma unroll 1\n{head} {{\nk = 128u * round;\n{body}}}\n")
    }

    fn round_key(&self, is_last: bool) -> String {
        if is_last { "k = 128u * rounds;\n".to_owned() } else { "k = 0u;\n".to_owned() }
    }

    fn load(&self, q: &str, [x, y, z, w]: [String; 4]) -> String {
        format!("const uint4 s = source[{q}]; {x} = s.x; {y} = s.y; {z} = s.z; {w} = s.w;")
    }

    fn store(&self, q: &str, [x, y, z, w]: [String; 4]) -> String {
        format!("uint4 s = source[{q}]; s.x ^= {x}; s.y ^= {y}; s.z ^= {z}; s.w ^= {w}; sink[{q}] = s;")
    }
}

/// What a C compiler needs in front of [`source`], and a program around it that reads a launch from standard input and
/// writes the sink to standard output.
#[cfg(test)]
pub(crate) const HOST: (&str, &str) = (
    "#include <stdio.h>
#include <stdlib.h>
#define __device__
#define __forceinline__ inline
#define __restrict__ restrict
#define __grid_constant__
#define KERNEL static void
typedef struct { unsigned x, y, z, w; } uint4;
static struct { unsigned x; } blockIdx, threadIdx;
static unsigned look(unsigned t, unsigned a, unsigned b, unsigned c) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 8; i++)
        if (t >> i & 1) sum |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return sum;
}
#define LOOKUP(r, t, a, b, c) r = look(t, a, b, c)
",
    "int main(void) {
    u32 n[9];
    static Keys keys;
    if (fread(n, 4, 9, stdin) != 9 || fread(&keys, sizeof keys, 1, stdin) != 1) return 1;
    u32 is_cbc = n[0], blocks = n[1], skip = n[2], rounds = n[3], threads = n[8];
    uint4 *source = calloc(blocks + 1, 16), *sink = calloc(blocks, 16);
    if (fread(source, 16, blocks + is_cbc, stdin) != blocks + is_cbc) return 2;
    for (blockIdx.x = 0; blockIdx.x * threads * 32u < blocks + skip; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)
            (is_cbc ? cbc_decrypt : ctr)(source, sink, keys, n[4], n[5], n[6], n[7], blocks, skip, rounds);
    return fwrite(sink, 16, blocks, stdout) != blocks;
}
",
);
