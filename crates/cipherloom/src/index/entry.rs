//! An entry of an index, and its bytes in a part.
//!
//! ```text
//! record   | flags (1) | shared | rest's length | rest | …
//!            flags & 3: 1 folder, 2 file, 3 link; 0 in place of a record ends the part
//!            the ciphertext's path is the record's before it, cut to its first `shared` bytes, then the rest
//! folder   | mode | time |
//! link     | target's length | target |
//! file     | plaintext's path's length, path: if flags & 4, else the ciphertext's path without the part's suffix
//!          | plaintext's length | how many bytes more the ciphertext has | mode | time | identity (16)
//!          | key's identifier (4): if flags & 8, else the part's | device | inode: if flags & 32
//!          | hidden name (16): in a part that has them | digest of the plaintext (16): if flags & 64
//!          | the object's version (8): if flags & 128 |
//! time     | seconds since 1970, as 2n or -2n-1 | nanoseconds (4) |, and nothing if flags & 16
//! ```
//!
//! Numbers without a length are in base 128, the lowest seven bits first, with the high bit set in all bytes but the last.

use super::hidden::HiddenName;
use crate::tree::Inode;
use crate::tree::Moment;
use std::cmp::Ordering;

/// The longest path or link target of an entry, in bytes. Systems have shorter ones.
pub(super) const PATH_LIMIT: usize = 65_535;

/// What tells a stream from all others: the first 16 bytes of SHA-256 over its header and its last 16 bytes.
pub type StreamIdentity = [u8; 16];

/// What the plaintext of a file is recognised by under a key derived from the one that sealed it (`format::digest`).
pub(crate) type ContentDigest = [u8; 16];

/// What an object store calls the object that has a file's stream: the first 8 bytes of SHA-256 over its ETag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectVersion(pub(super) [u8; 8]);

impl ObjectVersion {
    /// Of an ETag. Some stores quote it in one answer and not in another.
    #[must_use]
    pub fn of(e_tag: &str) -> ObjectVersion {
        let mut version = [0; 8];
        version.copy_from_slice(&super::digest(e_tag.replace('"', "").as_bytes())[..8]);
        ObjectVersion(version)
    }
}

/// A file, folder or link that an index lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// Where it is, relative to the tree's root, with `/` between folders; in a tree with hidden names, where its plaintext is.
    pub(crate) path: Vec<u8>,
    pub(crate) kind: IndexKind,
}

/// What an entry is, with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexKind {
    Folder { mode: u32, modified: Option<Moment> },
    File(IndexFile),
    Link { target: Vec<u8> },
}

/// A file of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexFile {
    /// The plaintext's path.
    pub(crate) plaintext: Vec<u8>,
    /// Bytes of plaintext.
    pub(crate) size: u64,
    /// Bytes of ciphertext.
    pub(crate) ciphertext_len: u64,
    pub(crate) mode: u32,
    pub(crate) modified: Option<Moment>,
    pub(crate) identity: StreamIdentity,
    /// The key that sealed it.
    pub(crate) key_id: u32,
    /// Which file the plaintext was read from.
    pub(crate) inode: Option<Inode>,
    /// The digest of the plaintext, if a run computed it.
    pub(crate) digest: Option<ContentDigest>,
    /// Where the ciphertext is, if names are hidden.
    pub(crate) name: Option<HiddenName>,
    /// The object that is known to be this stream, if a store has it.
    pub(crate) version: Option<ObjectVersion>,
}

/// What records of a part need not repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Defaults {
    /// What ciphertexts' names have behind those of their plaintexts.
    pub(crate) suffix: Vec<u8>,
    pub(crate) key_id: u32,
    /// Whether each file has a hidden name.
    pub(crate) hides_names: bool,
}

const KIND: u8 = 3;
const FOLDER: u8 = 1;
const FILE: u8 = 2;
const LINK: u8 = 3;
const OWN_PLAINTEXT: u8 = 4;
const OWN_KEY: u8 = 8;
const NO_TIME: u8 = 16;
const HAS_INODE: u8 = 32;
const HAS_DIGEST: u8 = 64;
const HAS_VERSION: u8 = 128;

impl IndexEntry {
    /// The order of an index: by folder, then by name, byte by byte.
    pub(crate) fn order(&self, other: &IndexEntry) -> Ordering {
        split(&self.path).cmp(&split(&other.path))
    }

    /// Whether a file has a hidden name if and only if it is to have one.
    pub(super) fn has_name_if(&self, hides_names: bool) -> bool {
        match &self.kind {
            IndexKind::File(file) => file.name.is_some() == hides_names,
            IndexKind::Folder { .. } | IndexKind::Link { .. } => true,
        }
    }

    /// What the plaintext is called; what has no plaintext is called the same there.
    pub(crate) fn plaintext_path(&self) -> &[u8] {
        match &self.kind {
            IndexKind::File(file) => &file.plaintext,
            IndexKind::Folder { .. } | IndexKind::Link { .. } => &self.path,
        }
    }

    /// Appends the record that follows the one of `before`.
    pub(super) fn write(&self, before: &[u8], defaults: &Defaults, record: &mut Vec<u8>) {
        let shared = self.path.iter().zip(before).take_while(|(own, other)| own == other).count();
        let flags = record.len();
        record.push(0);
        put_number(record, shared as u64);
        put_bytes(record, &self.path[shared..]);
        record[flags] = match &self.kind {
            IndexKind::Folder { mode, modified } => {
                put_number(record, u64::from(*mode));
                FOLDER | put_time(record, *modified)
            }
            IndexKind::Link { target } => {
                put_bytes(record, target);
                LINK
            }
            IndexKind::File(file) => {
                let mut flags = FILE;
                if self.path.strip_suffix(&*defaults.suffix) != Some(&file.plaintext) {
                    put_bytes(record, &file.plaintext);
                    flags |= OWN_PLAINTEXT;
                }
                put_number(record, file.size);
                put_number(record, file.ciphertext_len - file.size);
                put_number(record, u64::from(file.mode));
                flags |= put_time(record, file.modified);
                record.extend_from_slice(&file.identity);
                if file.key_id != defaults.key_id {
                    record.extend_from_slice(&file.key_id.to_be_bytes());
                    flags |= OWN_KEY;
                }
                if let Some(Inode { device, number }) = file.inode {
                    put_number(record, device);
                    put_number(record, number);
                    flags |= HAS_INODE;
                }
                if let Some(HiddenName(name)) = file.name.filter(|_| defaults.hides_names) {
                    record.extend_from_slice(&name);
                }
                if let Some(digest) = &file.digest {
                    record.extend_from_slice(digest);
                    flags |= HAS_DIGEST;
                }
                if let Some(ObjectVersion(version)) = &file.version {
                    record.extend_from_slice(version);
                    flags |= HAS_VERSION;
                }
                flags
            }
        };
    }

    /// Takes the record that follows the one of `before` from the front; `Ok(None)` at the part's end, behind which there are
    /// only zeros.
    pub(super) fn read(
        rest: &mut &[u8],
        before: &[u8],
        defaults: &Defaults,
    ) -> Result<Option<IndexEntry>, Malformed> {
        let flags = match take_byte(rest) {
            Err(Malformed) => return Ok(None),
            Ok(0) => return if rest.iter().all(|byte| *byte == 0) { Ok(None) } else { Err(Malformed) },
            Ok(flags) => flags,
        };
        let known = match flags & KIND {
            FILE => KIND | OWN_PLAINTEXT | OWN_KEY | NO_TIME | HAS_INODE | HAS_DIGEST | HAS_VERSION,
            FOLDER => KIND | NO_TIME,
            _ => KIND,
        };
        let shared = usize::try_from(take_number(rest)?).map_err(|_| Malformed)?;
        let path = [before.get(..shared).ok_or(Malformed)?, take_bytes(rest)?].concat();
        if flags & !known != 0 || !is_path(&path) {
            return Err(Malformed);
        }
        let kind = match flags & KIND {
            FOLDER => {
                let mode = take_mode(rest)?;
                IndexKind::Folder { mode, modified: take_time(rest, flags)? }
            }
            FILE => {
                let plaintext = match flags & OWN_PLAINTEXT {
                    0 => path.strip_suffix(&*defaults.suffix).ok_or(Malformed)?,
                    _ => take_bytes(rest)?,
                };
                let plaintext = plaintext.to_vec();
                let size = take_number(rest)?;
                let ciphertext_len = size.checked_add(take_number(rest)?).ok_or(Malformed)?;
                let (mode, modified) = (take_mode(rest)?, take_time(rest, flags)?);
                let identity = *take_array(rest)?;
                let key_id = match flags & OWN_KEY {
                    0 => defaults.key_id,
                    _ => u32::from_be_bytes(*take_array(rest)?),
                };
                let inode = match flags & HAS_INODE {
                    0 => None,
                    _ => Some(Inode { device: take_number(rest)?, number: take_number(rest)? }),
                };
                let name = match defaults.hides_names {
                    false => None,
                    true => Some(HiddenName(*take_array(rest)?)),
                };
                let digest = match flags & HAS_DIGEST {
                    0 => None,
                    _ => Some(*take_array(rest)?),
                };
                let version = match flags & HAS_VERSION {
                    0 => None,
                    _ => Some(ObjectVersion(*take_array(rest)?)),
                };
                if !is_path(&plaintext) {
                    return Err(Malformed);
                }
                IndexKind::File(IndexFile {
                    plaintext,
                    size,
                    ciphertext_len,
                    mode,
                    modified,
                    identity,
                    key_id,
                    inode,
                    digest,
                    name,
                    version,
                })
            }
            _ => IndexKind::Link { target: take_bytes(rest)?.to_vec() },
        };
        Ok(Some(IndexEntry { path, kind }))
    }
}

/// Bytes that no writer makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// A path's folder and name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

/// The folders above a path, from the inmost one on, without the root.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(split(path).0), |folder| Some(split(folder).0))
        .take_while(|folder| !folder.is_empty())
}

/// Whether this leads to something below a root.
pub(super) fn is_path(path: &[u8]) -> bool {
    path.len() <= PATH_LIMIT
        && !path.contains(&0)
        && path.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
}

pub(super) fn put_number(record: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        record.push(number as u8 | 0x80);
        number >>= 7;
    }
    record.push(number as u8);
}

pub(super) fn put_bytes(record: &mut Vec<u8>, bytes: &[u8]) {
    put_number(record, bytes.len() as u64);
    record.extend_from_slice(bytes);
}

/// Returns the flag for no time.
fn put_time(record: &mut Vec<u8>, time: Option<Moment>) -> u8 {
    let Some((seconds, nanoseconds)) = time else { return NO_TIME };
    put_number(record, ((seconds << 1) ^ (seconds >> 63)) as u64);
    record.extend_from_slice(&nanoseconds.to_be_bytes());
    0
}

fn take_byte(rest: &mut &[u8]) -> Result<u8, Malformed> {
    let (first, others) = rest.split_first().ok_or(Malformed)?;
    *rest = others;
    Ok(*first)
}

pub(super) fn take_array<'r, const LEN: usize>(rest: &mut &'r [u8]) -> Result<&'r [u8; LEN], Malformed> {
    let (first, others) = rest.split_first_chunk().ok_or(Malformed)?;
    *rest = others;
    Ok(first)
}

pub(super) fn take_number(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(rest)?;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit; a last byte of zero has another, shorter form.
        if (shift == 63 && bits > 1) || (shift > 0 && byte == 0) {
            return Err(Malformed);
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Malformed)
}

pub(super) fn take_bytes<'r>(rest: &mut &'r [u8]) -> Result<&'r [u8], Malformed> {
    let len = usize::try_from(take_number(rest)?).map_err(|_| Malformed)?;
    if len > PATH_LIMIT {
        return Err(Malformed);
    }
    let (first, others) = rest.split_at_checked(len).ok_or(Malformed)?;
    *rest = others;
    Ok(first)
}

fn take_mode(rest: &mut &[u8]) -> Result<u32, Malformed> {
    let mode = take_number(rest)?;
    u32::try_from(mode).ok().filter(|mode| *mode <= 0o7777).ok_or(Malformed)
}

fn take_time(rest: &mut &[u8], flags: u8) -> Result<Option<Moment>, Malformed> {
    if flags & NO_TIME != 0 {
        return Ok(None);
    }
    let number = take_number(rest)?;
    let seconds = (number >> 1) as i64 ^ -((number & 1) as i64);
    let nanoseconds = u32::from_be_bytes(*take_array(rest)?);
    if nanoseconds < 1_000_000_000 { Ok(Some((seconds, nanoseconds))) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests;
