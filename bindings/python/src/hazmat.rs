//! AES-CBC and AES-CTR without authentication (NIST SP 800-38A): building blocks for those who know what is missing.

use crate::buffer::Lent;
use crate::errors::{InvalidRequest, OrRaise};
use cipherloom::format::pad;
use cipherloom::internal::engine::{Workers, lock};
use cipherloom::report::Unobserved;
use cipherloom_kernels::{Aes, Backend, CbcStream};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use zeroize::Zeroizing;

const BLOCK: usize = 16;

/// Bytes from which another thread pays.
const SHARE: usize = 256 << 10;

/// Encrypts many buffers with one key, each with its own IV, interleaved in each core's AES unit.
#[pyfunction]
#[pyo3(signature = (buffers, key, ivs, *, padding, threads = None))]
pub(crate) fn aes_cbc_encrypt_many<'py>(
    py: Python<'py>,
    buffers: Vec<Bound<'py, PyAny>>,
    key: &Bound<'py, PyAny>,
    ivs: Vec<Bound<'py, PyAny>>,
    padding: bool,
    threads: Option<NonZeroUsize>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let aes = expand(key)?;
    if buffers.len() != ivs.len() {
        let text = format!("{} buffers need as many IVs, not {}", buffers.len(), ivs.len());
        return Err(InvalidRequest::new_err(text));
    }
    let mut chains = Vec::with_capacity(ivs.len());
    for iv in &ivs {
        chains.push(block(iv, "an IV")?);
    }
    let lent: Vec<Lent> = buffers.iter().map(Lent::get).collect::<PyResult<_>>()?;
    if let Some(position) = lent.iter().position(|buffer| !padding && buffer.len() % BLOCK != 0) {
        let text = format!(
            "buffer {position} has {} bytes, no whole number of blocks of 16; pad it, or give padding=\"pkcs7\"",
            lent[position].len()
        );
        return Err(InvalidRequest::new_err(text));
    }
    let texts = py.detach(|| -> Result<_, cipherloom::Error> {
        let mut texts: Vec<Vec<u8>> =
            lent.iter().map(|buffer| Vec::with_capacity(buffer.len() + BLOCK)).collect();
        let shares = shares(&lent, &mut texts, &chains, workers(&lent, threads));
        let queue = Mutex::new(shares.into_iter());
        Workers::new(workers(&lent, threads), &Unobserved).run(&|| {
            loop {
                let share = lock(&queue).next();
                let Some(share) = share else { return };
                encrypt(&aes, share, padding);
            }
        })?;
        Ok(texts)
    });
    Ok(texts.or_raise(None)?.iter().map(|text| PyBytes::new(py, text)).collect())
}

/// Decrypts one buffer of whole blocks; padding is left where it is.
#[pyfunction]
pub(crate) fn aes_cbc_decrypt<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    iv: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (aes, mut chain, data) = (expand(key)?, block(iv, "an IV")?, Lent::get(data)?);
    if data.len() % BLOCK != 0 {
        let text = format!("{} bytes are no whole number of blocks of 16; the data was cut", data.len());
        return Err(InvalidRequest::new_err(text));
    }
    PyBytes::new_with(py, data.len(), |output| {
        py.detach(|| {
            data.copy_to(0, output);
            aes.cbc_decrypt(&mut chain, output);
        });
        Ok(())
    })
}

/// Encrypts or decrypts one buffer in counter mode; `nonce` is the first counter block.
#[pyfunction]
pub(crate) fn aes_ctr<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    nonce: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (aes, initial, data) = (expand(key)?, block(nonce, "a nonce")?, Lent::get(data)?);
    PyBytes::new_with(py, data.len(), |output| {
        py.detach(|| {
            data.copy_to(0, output);
            aes.ctr_xor(&initial, 0, output);
        });
        Ok(())
    })
}

fn expand(key: &Bound<'_, PyAny>) -> PyResult<Aes> {
    let key = Zeroizing::new(Lent::get(key)?.to_vec());
    Aes::new(&key, Backend::best()).map_err(|error| InvalidRequest::new_err(error.to_string()))
}

fn block(bytes: &Bound<'_, PyAny>, what: &str) -> PyResult<[u8; BLOCK]> {
    let bytes = Lent::get(bytes)?.to_vec();
    let found = bytes.len();
    bytes.try_into().map_err(|_| InvalidRequest::new_err(format!("{what} has 16 bytes, not {found}")))
}

/// A buffer, the place for its ciphertext, and its IV.
type Chain<'t> = (&'t Lent, &'t mut Vec<u8>, [u8; BLOCK]);

/// How many threads pay: a share of less than [`SHARE`] bytes is done sooner than a thread has started.
fn workers(lent: &[Lent], threads: Option<NonZeroUsize>) -> usize {
    let bytes: usize = lent.iter().map(Lent::len).sum();
    let most = threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    most.min(bytes / SHARE).clamp(1, lent.len().max(1))
}

/// Deals the buffers out, the longest first and each to the share with the fewest bytes, so that all end together.
fn shares<'t>(
    lent: &'t [Lent],
    texts: &'t mut [Vec<u8>],
    chains: &[[u8; BLOCK]],
    count: usize,
) -> Vec<Vec<Chain<'t>>> {
    let mut all: Vec<Chain<'t>> =
        lent.iter().zip(texts).zip(chains).map(|((lent, text), chain)| (lent, text, *chain)).collect();
    all.sort_by_key(|(lent, ..)| std::cmp::Reverse(lent.len()));
    let mut shares: Vec<(usize, Vec<Chain<'t>>)> = (0..count).map(|_| (0, Vec::new())).collect();
    for chain in all {
        let least = shares.iter_mut().min_by_key(|(bytes, _)| *bytes);
        let (bytes, share) = least.expect("there is a share for every worker, and one worker at least");
        *bytes += chain.0.len() + BLOCK;
        share.push(chain);
    }
    shares.into_iter().map(|(_, share)| share).collect()
}

/// Copies a share's texts, with PKCS#7's padding behind them if that is wanted, and encrypts them interleaved.
fn encrypt(aes: &Aes, mut share: Vec<Chain<'_>>, padding: bool) {
    for (lent, text, _) in &mut share {
        let len = lent.len();
        text.resize(if padding { (len / BLOCK + 1) * BLOCK } else { len }, 0);
        lent.copy_to(0, &mut text[..len]);
        if padding {
            pad(text, len);
        }
    }
    let streams = share.into_iter().map(|(_, buffer, chain)| CbcStream { chain, buffer });
    aes.cbc_encrypt_lanes(&mut streams.collect::<Vec<_>>());
}
