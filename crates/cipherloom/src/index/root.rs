//! The root of an index: which tree and generation it is, and which parts belong to it.
//!
//! ```text
//! root   | tree's identifier (16) | generation (8) | seconds since 1970 (8) | SHA-256 of the root before, or zeros (32)
//!        | number of parts (4) | parts | 1 if names are hidden, else 0 | zeros |
//! part   | SHA-256 of its file, which is its name (32) | length of its file (4) | SHA-256 of its plaintext without the zeros (32)
//!        | key's identifier (4) | number of its entries (4) |
//! ```

use super::entry::{Malformed, take_array};

/// The most bytes of a root's plaintext: two hundred thousand parts.
pub(super) const ROOT_LIMIT: usize = 16 << 20;

/// SHA-256.
pub(crate) type Digest = [u8; 32];

/// A generation of a tree's index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    /// Random; the same for all generations.
    pub(crate) tree: [u8; 16],
    /// From 1 on.
    pub(crate) generation: u64,
    /// When it was written, in seconds since 1970, by the clock of the machine that did.
    pub(crate) time: i64,
    /// SHA-256 of the file of the root before.
    pub(crate) previous: Digest,
    pub(crate) parts: Vec<PartReference>,
    /// Whether the tree's files have names that only the index knows.
    pub(crate) hides_names: bool,
}

/// What a root says of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartReference {
    /// SHA-256 of the part's file, and its name.
    pub(super) name: Digest,
    /// Bytes of the part's file.
    pub(super) len: u32,
    /// SHA-256 of its plaintext, by which a part that stayed the same is known.
    pub(super) content: Digest,
    /// The key that sealed it.
    pub(super) key_id: u32,
    pub(super) entries: u32,
}

/// Writes what a root's plaintext says again; `None` if no writer makes such a plaintext.
#[must_use]
pub fn rewrite_root(plaintext: &[u8]) -> Option<Vec<u8>> {
    Root::read(plaintext).ok().map(|root| root.write())
}

impl Root {
    /// How many entries the index lists.
    pub(crate) fn entries(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.entries)).sum()
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(76 + 76 * self.parts.len());
        bytes.extend_from_slice(&self.tree);
        bytes.extend_from_slice(&self.generation.to_be_bytes());
        bytes.extend_from_slice(&self.time.to_be_bytes());
        bytes.extend_from_slice(&self.previous);
        bytes.extend_from_slice(&(self.parts.len() as u32).to_be_bytes());
        for part in &self.parts {
            bytes.extend_from_slice(&part.name);
            bytes.extend_from_slice(&part.len.to_be_bytes());
            bytes.extend_from_slice(&part.content);
            bytes.extend_from_slice(&part.key_id.to_be_bytes());
            bytes.extend_from_slice(&part.entries.to_be_bytes());
        }
        if self.hides_names {
            bytes.push(1);
        }
        bytes
    }

    pub(super) fn read(mut bytes: &[u8]) -> Result<Root, Malformed> {
        let rest = &mut bytes;
        let (tree, generation) = (*take_array(rest)?, u64::from_be_bytes(*take_array(rest)?));
        let (time, previous) = (i64::from_be_bytes(*take_array(rest)?), *take_array(rest)?);
        let count = u32::from_be_bytes(*take_array(rest)?);
        // Nothing is taken for what a number only claims.
        let mut parts = Vec::new();
        for _ in 0..count {
            parts.push(PartReference {
                name: *take_array(rest)?,
                len: u32::from_be_bytes(*take_array(rest)?),
                content: *take_array(rest)?,
                key_id: u32::from_be_bytes(*take_array(rest)?),
                entries: u32::from_be_bytes(*take_array(rest)?),
            });
        }
        let hides_names = rest.first() == Some(&1);
        let zeros = if hides_names { &rest[1..] } else { rest };
        if generation == 0 || zeros.iter().any(|byte| *byte != 0) {
            return Err(Malformed);
        }
        Ok(Root { tree, generation, time, previous, parts, hides_names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_of_a_root_are_survived() {
        let reference = PartReference { name: [1; 32], len: 5, content: [2; 32], key_id: 3, entries: 4 };
        for hides_names in [false, true] {
            let (tree, previous, parts) = ([5; 16], [8; 32], vec![reference; 2]);
            let root = Root { tree, generation: 6, time: 7, previous, parts, hides_names };
            let mut bytes = root.write();
            assert_eq!(Root::read(&bytes).unwrap(), root);
            for len in 0..bytes.len() - usize::from(hides_names) {
                assert!(Root::read(&bytes[..len]).is_err());
            }
            for damage in [&[2][..], &[0, 1], &[1, 1]] {
                let front = bytes.len() - usize::from(hides_names);
                assert!(Root::read(&[&bytes[..front], damage].concat()).is_err());
            }
            // As many parts as there can be, of which none is there.
            bytes[64..68].copy_from_slice(&[0xff; 4]);
            assert!(Root::read(&bytes).is_err());
        }
    }
}
