//! A part of an index: a range of its entries, in the index's order.
//!
//! ```text
//! part   | format (1): 1 for tink, 2 for tink where names are hidden | key's identifier (4) | suffix's length | suffix
//!        | records | zeros |
//! ```
//!
//! A part ends behind an entry whose path says so (the first ten bits of its SHA-256 are zero), so that a change in one place
//! leaves the other parts as they are; or where it would become too long.

use super::entry::{Defaults, IndexEntry, Malformed, put_bytes, take_array, take_bytes};
use super::sealed::digest;

/// The most bytes of a part, so that readers and writers need little memory.
pub(super) const PART_LIMIT: usize = 1 << 20;

const TINK: u8 = 1;
const TINK_HIDDEN: u8 = 2;

/// A part that is being made.
#[derive(Debug)]
pub(super) struct PartBuilder {
    defaults: Defaults,
    bytes: Vec<u8>,
    last: Vec<u8>,
    entries: u32,
}

impl PartBuilder {
    pub(super) fn new(defaults: Defaults) -> PartBuilder {
        let mut builder = PartBuilder { defaults, bytes: Vec::new(), last: Vec::new(), entries: 0 };
        builder.begin();
        builder
    }

    fn begin(&mut self) {
        self.bytes.clear();
        self.last.clear();
        self.entries = 0;
        self.bytes.push(if self.defaults.hides_names { TINK_HIDDEN } else { TINK });
        self.bytes.extend_from_slice(&self.defaults.key_id.to_be_bytes());
        put_bytes(&mut self.bytes, &self.defaults.suffix);
    }

    /// Adds an entry, and passes the parts that are complete to `end`, with the number of their entries.
    pub(super) fn push<E>(
        &mut self,
        entry: &IndexEntry,
        mut end: impl FnMut(&mut Vec<u8>, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        self.add(entry, &mut end)?;
        let [first, second, ..] = digest(&entry.path);
        if first == 0 && second < 0x40 { self.end(&mut end) } else { Ok(()) }
    }

    /// The same for parts that are to have as many entries as they can.
    pub(super) fn add<E>(
        &mut self,
        entry: &IndexEntry,
        mut end: impl FnMut(&mut Vec<u8>, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let len = self.bytes.len();
        entry.write(&self.last, &self.defaults, &mut self.bytes);
        if self.bytes.len() > PART_LIMIT && self.entries > 0 {
            self.bytes.truncate(len);
            self.end(&mut end)?;
            entry.write(&self.last, &self.defaults, &mut self.bytes);
        }
        self.entries += 1;
        self.last.clone_from(&entry.path);
        Ok(())
    }

    /// Passes the last part to `end`, if there is one.
    pub(super) fn end<E>(
        &mut self,
        mut end: impl FnMut(&mut Vec<u8>, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.entries > 0 {
            end(&mut self.bytes, self.entries)?;
            self.begin();
        }
        Ok(())
    }
}

/// Writes what a part's plaintext lists again, in one part; `None` if no writer makes such a plaintext.
#[must_use]
pub fn rewrite_part(plaintext: &[u8]) -> Option<Vec<u8>> {
    let mut records = PartRecords::new(plaintext).ok()?;
    let mut builder = PartBuilder::new(records.defaults.clone());
    while let Some(entry) = records.next().ok()? {
        entry.write(&builder.last, &builder.defaults, &mut builder.bytes);
        builder.last = entry.path;
    }
    Some(builder.bytes)
}

/// The entries of a part that was opened.
#[derive(Debug)]
pub(super) struct PartRecords<B> {
    bytes: B,
    at: usize,
    defaults: Defaults,
    last: Vec<u8>,
}

impl<B: AsRef<[u8]>> PartRecords<B> {
    pub(super) fn new(bytes: B) -> Result<PartRecords<B>, Malformed> {
        let mut rest = bytes.as_ref();
        let &[format] = take_array(&mut rest)?;
        let key_id = u32::from_be_bytes(*take_array(&mut rest)?);
        let suffix = take_bytes(&mut rest)?.to_vec();
        let hides_names = match format {
            TINK => false,
            TINK_HIDDEN => true,
            _ => return Err(Malformed),
        };
        let at = bytes.as_ref().len() - rest.len();
        Ok(PartRecords { bytes, at, defaults: Defaults { suffix, key_id, hides_names }, last: Vec::new() })
    }

    /// The next entry.
    pub(super) fn next(&mut self) -> Result<Option<IndexEntry>, Malformed> {
        let bytes = self.bytes.as_ref();
        let mut rest = &bytes[self.at..];
        let entry = IndexEntry::read(&mut rest, &self.last, &self.defaults)?;
        self.at = bytes.len() - rest.len();
        if let Some(entry) = &entry {
            self.last.clone_from(&entry.path);
        }
        Ok(entry)
    }
}
