//! Bytes that Python lends: anything with the buffer protocol (bytes, bytearray, memoryview, numpy arrays, mmap).
//!
//! The bytes are copied out, piece by piece, into memory of ours and never borrowed as a slice: the interpreter's lock
//! is not held meanwhile, so another thread may write to a bytearray that is being read. Rust gives a slice no meaning
//! then; a copy just holds old bytes or new ones.

use cipherloom::internal::memory::Source;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use std::mem::MaybeUninit;
use std::ptr;

/// A buffer of Python's, held open (its object can neither be resized nor freed) until this is dropped.
pub(crate) struct Lent {
    buffer: PyUntypedBuffer,
}

impl Lent {
    /// Borrows the object's buffer.
    ///
    /// # Errors
    /// `TypeError` if it has none; `BufferError` if its bytes do not lie side by side.
    pub(crate) fn get(object: &Bound<'_, PyAny>) -> PyResult<Lent> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err(
                "the buffer's bytes do not lie side by side; make a contiguous copy first (numpy.ascontiguousarray)",
            ));
        }
        Ok(Lent { buffer })
    }

    /// Length in bytes, whatever the items are.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len_bytes()
    }

    /// Copies the bytes from `offset` on into all of `target`.
    ///
    /// # Panics
    /// If the buffer has fewer bytes.
    #[expect(unsafe_code, reason = "bytes with a value are lent as bytes that may have none")]
    pub(crate) fn copy_to(&self, offset: usize, target: &mut [u8]) {
        // SAFETY: the two have one layout, and only bytes with a value are written to them.
        self.copy_into(offset, unsafe { &mut *(ptr::from_mut(target) as *mut [MaybeUninit<u8>]) });
    }

    /// As [`Lent::copy_to`], for bytes that have no value yet; when this returns, all of them have one.
    ///
    /// # Panics
    /// If the buffer has fewer bytes.
    #[expect(unsafe_code, reason = "the buffer protocol gives a pointer")]
    fn copy_into(&self, offset: usize, target: &mut [MaybeUninit<u8>]) {
        let end = offset.checked_add(target.len());
        assert!(end.is_some_and(|end| end <= self.len()), "a piece lies within its buffer");
        if target.is_empty() {
            return;
        }
        // SAFETY: the pointer is to `len` bytes side by side (`get` checked), which the object may neither move nor
        // free while `buffer` holds it; the piece lies within them (checked above). `target` is Rust's alone, so the
        // two do not overlap. No reference to Python's memory is made, only bytes of any value are read.
        unsafe {
            let source = self.buffer.buf_ptr().cast::<u8>().cast_const().add(offset);
            ptr::copy_nonoverlapping(source, target.as_mut_ptr().cast::<u8>(), target.len());
        }
    }

    /// All bytes.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len()];
        self.copy_to(0, &mut bytes);
        bytes
    }
}

/// Into memory that has no value yet.
impl Source for Lent {
    type Byte = MaybeUninit<u8>;

    fn len(&self) -> usize {
        self.len()
    }

    fn copy(&self, offset: usize, target: &mut [u8]) {
        self.copy_to(offset, target);
    }

    #[expect(unsafe_code, reason = "all bytes have a value when it returns")]
    fn copy_to_output<'o>(
        &self,
        offset: usize,
        len: usize,
        output: &'o mut [MaybeUninit<u8>],
    ) -> &'o mut [u8] {
        let (front, rest) = output.split_at_mut(len);
        self.copy_into(offset, front);
        rest.fill(MaybeUninit::new(0));
        // SAFETY: `copy_into` has written all of the first `len` bytes, `fill` all others.
        unsafe { output.assume_init_mut() }
    }

    fn put(output: &mut [MaybeUninit<u8>], bytes: &[u8]) {
        output.write_copy_of_slice(bytes);
    }
}
