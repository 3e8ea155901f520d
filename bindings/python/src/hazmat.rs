//! AES-CBC and AES-CTR without authentication (NIST SP 800-38A): building blocks for those who know what is missing.

use crate::buffer::Lent;
use crate::errors::InvalidRequest;
use cipherloom::format::pad;
use cipherloom_kernels::{Aes, Backend, CbcStream};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

const BLOCK: usize = 16;

/// Encrypts many buffers with one key, each with its own IV, interleaved in this core's AES unit.
#[pyfunction]
#[pyo3(signature = (buffers, key, ivs, *, padding))]
pub(crate) fn aes_cbc_encrypt_many<'py>(
    py: Python<'py>,
    buffers: Vec<Bound<'py, PyAny>>,
    key: &Bound<'py, PyAny>,
    ivs: Vec<Bound<'py, PyAny>>,
    padding: bool,
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
    let texts = py.detach(|| {
        let mut texts: Vec<Vec<u8>> = lent.iter().map(|buffer| padded(buffer, padding)).collect();
        let streams = texts.iter_mut().zip(chains).map(|(buffer, chain)| CbcStream { chain, buffer });
        aes.cbc_encrypt_lanes(&mut streams.collect::<Vec<_>>());
        texts
    });
    Ok(texts.iter().map(|text| PyBytes::new(py, text)).collect())
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

/// The text to encrypt, with PKCS#7's padding behind it if that is wanted.
fn padded(buffer: &Lent, padding: bool) -> Vec<u8> {
    let len = buffer.len();
    let mut text = vec![0; if padding { (len / BLOCK + 1) * BLOCK } else { len }];
    buffer.copy_to(0, &mut text[..len]);
    if padding {
        pad(&mut text, len);
    }
    text
}
