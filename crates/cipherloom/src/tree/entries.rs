//! The regular files of a tree. There may be millions, so each takes 36 bytes and its name:
//!
//! ```text
//! record | modified (8) | changed (8) | inode (4) | size (4) | permissions (4) | device and more of the inode, flags (4) |
//! names  | all of 4096 files, one behind the other | where each one ends (4) |
//! ```
//!
//! Files of one folder follow each other, so their folder is noted once. Those of one device have few different high halves of
//! their inodes' numbers. What does not fit into a record (a file of 4 GiB, a time before 1970) is kept beside it.

use super::{Attributes, Inode};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

/// How many entries are allocated at once.
const CHUNK: usize = 4096;

/// The regular files of a tree, in the order of listing.
#[derive(Debug, Default)]
pub struct EntryList {
    chunks: Vec<Chunk>,
    runs: Vec<Run>,
    /// The devices that files are on, with the high halves of inodes' numbers there.
    devices: Vec<(u64, u32)>,
    /// By entry, inodes on others, where these are too many.
    inodes: BTreeMap<u32, Inode>,
    /// By entry, size and attributes of those that do not fit into a record.
    unusual: BTreeMap<u32, (u64, Attributes)>,
}

/// A regular file of a tree.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'t> {
    entries: &'t EntryList,
    index: u32,
}

/// Entries that follow each other and are in one folder.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u32,
    directory: u32,
}

/// Which entries are in each folder.
pub(crate) struct ByFolder(Vec<(Range<u32>, u32)>);

impl ByFolder {
    /// The entries of a folder, in the order of listing.
    pub(crate) fn of(&self, directory: u32) -> impl Iterator<Item = u32> + Clone {
        let first = self.0.partition_point(|(_, folder)| *folder < directory);
        let those = self.0[first..].iter().take_while(move |(_, folder)| *folder == directory);
        those.flat_map(|(entries, _)| entries.clone())
    }
}

#[derive(Debug, Default)]
struct Chunk {
    records: Vec<Record>,
    names: Names,
}

/// What is known of a file.
#[derive(Debug, Clone)]
struct Record {
    modified: Time,
    changed: Time,
    /// The low half of the inode's number.
    inode: u32,
    size: u32,
    permissions: Permissions,
    /// Which of the devices; or [`OTHER_DEVICE`]; or [`NO_DEVICE`] if the file has no inode.
    device: u8,
    has_other_names: bool,
    /// Whether all but the permissions is in [`EntryList::unusual`].
    is_unusual: bool,
}

const NO_DEVICE: u8 = u8::MAX;
const OTHER_DEVICE: u8 = NO_DEVICE - 1;

/// Seconds since 1970, and nanoseconds; [`NO_TIME`] in place of these if there is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Time {
    seconds: u32,
    nanoseconds: u32,
}

const NO_TIME: u32 = u32::MAX;

impl Time {
    const NONE: Time = Time { seconds: 0, nanoseconds: NO_TIME };

    /// `None` if the time does not fit.
    fn of<S: TryInto<u32>, N: TryInto<u32>>(time: Option<(S, N)>) -> Option<Time> {
        let Some((seconds, nanoseconds)) = time else { return Some(Time::NONE) };
        let (seconds, nanoseconds) = (seconds.try_into().ok()?, nanoseconds.try_into().ok()?);
        (nanoseconds < 1_000_000_000).then_some(Time { seconds, nanoseconds })
    }

    fn parts(self) -> Option<(u32, u32)> {
        (self.nanoseconds != NO_TIME).then_some((self.seconds, self.nanoseconds))
    }
}

impl EntryList {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.records.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The entry of this index.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn get(&self, index: u32) -> Entry<'_> {
        assert!((index as usize) < self.len(), "an entry of another tree");
        Entry { entries: self, index }
    }

    /// The first entry.
    #[must_use]
    pub fn first(&self) -> Option<Entry<'_>> {
        self.iter().next()
    }

    /// All entries.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entry<'_>> + Clone {
        (0..self.count()).map(|index| Entry { entries: self, index })
    }

    /// As [`EntryList::len`].
    fn count(&self) -> u32 {
        u32::try_from(self.len()).expect("fewer than 2^32 entries fit into memory")
    }

    /// Ranges of entries that are in one folder each, with its index in [`super::Tree::directories`]; all entries are in one of them.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Range<u32>, u32)> {
        let ends = self.runs.iter().skip(1).map(|next| next.first).chain([self.count()]);
        self.runs.iter().zip(ends).map(|(run, end)| (run.first..end, run.directory))
    }

    /// The same by folder: a listing does not come to folders in the order of their indices, and may come to one twice.
    pub(crate) fn by_folder(&self) -> ByFolder {
        let mut runs: Vec<_> = self.runs().collect();
        runs.sort_by_key(|(_, directory)| *directory);
        ByFolder(runs)
    }

    /// Adds a file of this folder.
    pub fn push(&mut self, directory: u32, name: &OsStr, size: u64, attributes: &Attributes) {
        let index = self.count();
        if self.runs.last().is_none_or(|run| run.directory != directory) {
            self.runs.push(Run { first: index, directory });
        }
        let record = self.record(index, size, attributes).unwrap_or_else(|| {
            self.unusual.insert(index, (size, attributes.clone()));
            Record {
                modified: Time::NONE,
                changed: Time::NONE,
                inode: 0,
                size: 0,
                permissions: attributes.permissions.clone(),
                device: NO_DEVICE,
                has_other_names: false,
                is_unusual: true,
            }
        });
        if self.chunks.last().is_none_or(|last| last.records.len() == CHUNK) {
            let mut chunk = Chunk::default();
            if let Some(full) = self.chunks.last_mut() {
                full.names.shrink();
                chunk.records.reserve_exact(CHUNK);
            }
            self.chunks.push(chunk);
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.records.push(record);
            chunk.names.push(name);
        }
    }

    /// `None` if these do not fit into a record.
    fn record(&mut self, index: u32, size: u64, attributes: &Attributes) -> Option<Record> {
        let Attributes { permissions, modified, changed, inode, has_other_names } = attributes.clone();
        let since = modified.map(|time| time.duration_since(UNIX_EPOCH)).transpose().ok()?;
        let modified = Time::of(since.map(|since| (since.as_secs(), since.subsec_nanos())))?;
        let (changed, size) = (Time::of(changed)?, u32::try_from(size).ok()?);
        let device = inode.map_or(NO_DEVICE, |inode| self.device(index, inode));
        let inode = inode.map_or(0, |inode| inode.number as u32);
        Some(Record {
            modified,
            changed,
            inode,
            size,
            permissions,
            device,
            has_other_names,
            is_unusual: false,
        })
    }

    /// Which of the devices the one of this entry's inode is.
    fn device(&mut self, index: u32, inode: Inode) -> u8 {
        let device = (inode.device, (inode.number >> 32) as u32);
        let known = self.devices.iter().position(|known| *known == device);
        match u8::try_from(known.unwrap_or(self.devices.len())) {
            Ok(place @ ..OTHER_DEVICE) => {
                if known.is_none() {
                    self.devices.push(device);
                }
                place
            }
            _ => {
                self.inodes.insert(index, inode);
                OTHER_DEVICE
            }
        }
    }
}

impl<'t> Entry<'t> {
    /// The index of its folder in [`super::Tree::directories`].
    #[must_use]
    pub fn directory(self) -> u32 {
        let runs = &self.entries.runs;
        runs[runs.partition_point(|run| run.first <= self.index) - 1].directory
    }

    /// Its name within that folder.
    #[must_use]
    pub fn name(self) -> &'t OsStr {
        self.chunk().names.get(self.index as usize % CHUNK)
    }

    /// Its size in bytes when listed.
    #[must_use]
    pub fn size(self) -> u64 {
        let record = self.record();
        if record.is_unusual { self.entries.unusual[&self.index].0 } else { u64::from(record.size) }
    }

    /// Permissions and time, to be given to its output.
    #[must_use]
    pub fn attributes(self) -> Attributes {
        let record = self.record();
        if record.is_unusual {
            return self.entries.unusual[&self.index].1.clone();
        }
        let inode = match record.device {
            NO_DEVICE => None,
            OTHER_DEVICE => self.entries.inodes.get(&self.index).copied(),
            known => {
                let (device, high) = self.entries.devices[usize::from(known)];
                Some(Inode { device, number: u64::from(high) << 32 | u64::from(record.inode) })
            }
        };
        let time =
            |(seconds, nanoseconds): (u32, u32)| UNIX_EPOCH + Duration::new(u64::from(seconds), nanoseconds);
        Attributes {
            permissions: record.permissions.clone(),
            modified: record.modified.parts().map(time),
            changed: record
                .changed
                .parts()
                .map(|(seconds, nanoseconds)| (seconds.into(), nanoseconds.into())),
            inode,
            has_other_names: record.has_other_names,
        }
    }

    fn chunk(self) -> &'t Chunk {
        &self.entries.chunks[self.index as usize / CHUNK]
    }

    fn record(self) -> &'t Record {
        &self.chunk().records[self.index as usize % CHUNK]
    }
}

/// The names of a chunk.
#[cfg(unix)]
#[derive(Debug, Default)]
struct Names {
    bytes: Vec<u8>,
    /// Where each one ends.
    ends: Vec<u32>,
}

#[cfg(unix)]
impl Names {
    fn push(&mut self, name: &OsStr) {
        self.bytes.extend_from_slice(name.as_encoded_bytes());
        self.ends.push(u32::try_from(self.bytes.len()).expect("names are short"));
    }

    fn get(&self, place: usize) -> &OsStr {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        let name = &self.bytes[start as usize..self.ends[place] as usize];
        std::os::unix::ffi::OsStrExt::from_bytes(name)
    }

    fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }
}

/// Where names are not bytes, none can be made of a part of others.
#[cfg(not(unix))]
#[derive(Debug, Default)]
struct Names(Vec<Box<OsStr>>);

#[cfg(not(unix))]
impl Names {
    fn push(&mut self, name: &OsStr) {
        self.0.push(name.into());
    }

    fn get(&self, place: usize) -> &OsStr {
        &self.0[place]
    }

    fn shrink(&mut self) {}
}

#[cfg(all(test, unix))]
mod tests;
