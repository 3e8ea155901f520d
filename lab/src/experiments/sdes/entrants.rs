//! The ways to encrypt that take part.

use super::cipher::Key;
use crate::experiments::factors;
use crate::measure::{Entrant, Repeated};
use crate::record::{Clock, Oracle, Work};
use rayon::prelude::*;
use std::hint::black_box;
use std::rc::Rc;

const TEXTBOOK: Oracle = Oracle("S-DES word for word, bit by bit");
const COPY: Oracle = Oracle("the input");

/// What a thread takes at once where the work on a block is short.
const CHUNK: usize = 16 << 10;

/// An input with its name and what it must become.
pub(super) struct Input {
    pub(super) name: String,
    pub(super) clear: Rc<[u8]>,
    pub(super) expected: Rc<[u8]>,
}

/// Encrypts from the first slice to the second, of the same length.
type Encrypt<'a> = Box<dyn Fn(&[u8], &mut [u8]) + 'a>;

/// Every form, on one thread and on those of `pool`.
pub(super) fn all<'a>(
    input: &Input,
    key: Key,
    pool: &'a rayon::ThreadPool,
    turn_ns: u64,
) -> Vec<Entrant<'a>> {
    let (table, shuffles) = (key.table(), key.shuffles());
    let threads = pool.current_num_threads();
    let in_chunks = move |chunk: &(dyn Fn(&[u8], &mut [u8]) + Sync), from: &[u8], to: &mut [u8]| {
        pool.install(|| {
            to.par_chunks_mut(CHUNK).zip(from.par_chunks(CHUNK)).for_each(|(to, from)| chunk(from, to))
        });
    };
    let by_table = move |from: &[u8], to: &mut [u8]| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = table[usize::from(*from)]);
    };
    let by_shuffles = move |from: &[u8], to: &mut [u8]| {
        // In pieces that stay in the first cache between copy and encryption.
        for (to, from) in to.chunks_mut(CHUNK).zip(from.chunks(CHUNK)) {
            to.copy_from_slice(from);
            shuffles.encrypt(to);
        }
    };
    let forms: [(&str, usize, Encrypt<'a>); 7] = [
        (
            "per block",
            1,
            Box::new(move |from, to| to.iter_mut().zip(from).for_each(|(to, from)| *to = key.block(*from))),
        ),
        (
            "per block, rayon",
            threads,
            Box::new(move |from, to| {
                pool.install(|| to.par_iter_mut().zip(from).for_each(|(to, from)| *to = key.block(*from)));
            }),
        ),
        ("table", 1, Box::new(by_table)),
        ("table, rayon", threads, Box::new(move |from, to| in_chunks(&by_table, from, to))),
        ("shuffles", 1, Box::new(by_shuffles)),
        ("shuffles, rayon", threads, Box::new(move |from, to| in_chunks(&by_shuffles, from, to))),
        ("copy", 1, Box::new(|from, to| to.copy_from_slice(from))),
    ];
    let enter = |(variant, threads, encrypt): (&str, usize, Encrypt<'a>)| {
        let is_copy = variant == "copy";
        let clear = Rc::clone(&input.clear);
        let state = (encrypt, vec![0u8; clear.len()]);
        let fresh = Rc::clone(&clear);
        let result = move |(encrypt, out): &mut (Encrypt<'a>, Vec<u8>)| {
            out.fill(0);
            encrypt(&fresh, out);
            out.clone()
        };
        let pass = move |(encrypt, out): &mut (Encrypt<'a>, Vec<u8>)| {
            encrypt(black_box(&clear), out);
            black_box(out);
        };
        Entrant {
            variant: variant.to_owned(),
            factors: factors([
                ("bytes", input.clear.len().into()),
                ("input", input.name.as_str().into()),
                ("threads", threads.into()),
            ]),
            work: Work { bytes: input.clear.len() as u64, operations: input.clear.len() as u64 },
            clock: Clock::Process,
            oracle: if is_copy { COPY } else { TEXTBOOK },
            expected: Rc::clone(if is_copy { &input.clear } else { &input.expected }),
            contestant: Box::new(Repeated::new(Clock::Process, turn_ns, state, result, pass)),
        }
    };
    forms.into_iter().map(enter).collect()
}
