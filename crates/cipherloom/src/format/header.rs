//! The bytes in front of a stream's first segment.

/// The longest header of a format whose headers all have one length. Such a header is held without an allocation, because
/// there is one for every small file.
pub(crate) const SHORT_HEADER: usize = 64;

/// A header of any length.
pub(crate) struct StreamHeader {
    short: [u8; SHORT_HEADER],
    len: usize,
    /// Not empty instead of `short`: age's.
    long: Vec<u8>,
}

impl StreamHeader {
    pub(crate) fn new() -> Self {
        Self { short: [0; SHORT_HEADER], len: 0, long: Vec::new() }
    }

    /// Room for a header of this length.
    pub(super) fn room(&mut self, len: u32) -> &mut [u8] {
        self.len = len as usize;
        &mut self.short[..self.len]
    }

    /// Takes a header over.
    pub(super) fn set(&mut self, header: Vec<u8>) {
        self.long = header;
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        if self.long.is_empty() { &self.short[..self.len] } else { &self.long }
    }
}
