//! A fresh `bytes` object, filled by us before anybody sees it.
//!
//! Python's own way to such an object fills it with zeros first, on one thread. For a large one most of the time goes
//! there: each page of 4 KiB is fetched from the system when it is first touched. Here nothing is filled beforehand, so
//! the pages come as the threads that work on them touch them, and on Linux in pages of 2 MiB where the system has any.
#![expect(unsafe_code, reason = "the interpreter gives a pointer to bytes that have no value yet")]

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::mem::MaybeUninit;
use std::slice;

/// From so many bytes on large pages are asked for.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// A `bytes` object of `len` bytes, which `fill` writes, all of them, and says so by returning without an error; else the
/// object is thrown away.
///
/// # Errors
/// `MemoryError`, and those of `fill`.
///
/// # Safety
/// When `fill` returns `Ok`, it has written every byte.
pub(crate) unsafe fn bytes<'py>(
    py: Python<'py>,
    len: usize,
    fill: impl FnOnce(&mut [MaybeUninit<u8>]) -> PyResult<()>,
) -> PyResult<Bound<'py, PyBytes>> {
    let wanted = isize::try_from(len).unwrap_or(isize::MAX);
    // SAFETY: the interpreter's lock is held (`py`). Without a source the object's bytes have no value yet; a null
    // pointer is turned into the exception that the interpreter has set. What is returned is a new reference to a bytes
    // object.
    let object: Bound<'py, PyBytes> = unsafe {
        let object = ffi::PyBytes_FromStringAndSize(std::ptr::null(), wanted);
        Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked()
    };
    // SAFETY: the pointer is to `len` bytes that this object owns and never moves. Nobody else has the object yet, so
    // nobody else reads or writes them while the slice lives, and `MaybeUninit` asks no value of them.
    let output: &mut [MaybeUninit<u8>] = unsafe {
        slice::from_raw_parts_mut(ffi::PyBytes_AsString(object.as_ptr()).cast::<MaybeUninit<u8>>(), len)
    };
    ask_for_large_pages(output);
    fill(output)?;
    // By the contract every byte has a value now.
    Ok(object)
}

/// Only a request: the bytes are the same without.
#[cfg(target_os = "linux")]
fn ask_for_large_pages(output: &mut [MaybeUninit<u8>]) {
    use rustix::mm::{Advice, madvise};
    if output.len() < LARGE {
        return;
    }
    let page = rustix::param::page_size();
    let skipped = output.as_ptr().align_offset(page);
    let Some(inner) = output.get_mut(skipped..) else { return };
    let len = inner.len() / page * page;
    // SAFETY: the range is whole pages within `output`, and this advice changes no byte and no right of access.
    let _ = unsafe { madvise(inner.as_mut_ptr().cast(), len, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: &mut [MaybeUninit<u8>]) {}
