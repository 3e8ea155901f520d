//! What is measured: a mode, a key size, and a set of entries with the same bytes and places as in `lab/peers/ciphers.c`.

use crate::measure::Random;

/// What is done to every entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Ecb,
    Ctr,
    CbcDecrypt,
    /// One entry after the other.
    CbcEncryptOne,
    /// All entries in one call.
    CbcEncryptLanes,
    /// The same with lengths between half and one and a half of the size.
    CbcEncryptUneven,
    /// With a tag of 16 bytes behind each text.
    Gcm,
}

impl Mode {
    pub(super) const ALL: [Mode; 7] = [
        Mode::Ecb,
        Mode::Ctr,
        Mode::CbcDecrypt,
        Mode::CbcEncryptOne,
        Mode::CbcEncryptLanes,
        Mode::CbcEncryptUneven,
        Mode::Gcm,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Mode::Ecb => "ECB",
            Mode::Ctr => "CTR",
            Mode::CbcDecrypt => "CBC decrypt",
            Mode::CbcEncryptOne => "CBC encrypt, one lane",
            Mode::CbcEncryptLanes => "CBC encrypt, even lanes",
            Mode::CbcEncryptUneven => "CBC encrypt, uneven lanes",
            Mode::Gcm => "GCM",
        }
    }

    pub(super) fn is_in_lanes(self) -> bool {
        matches!(self, Mode::CbcEncryptLanes | Mode::CbcEncryptUneven)
    }

    pub(super) fn is_uneven(self) -> bool {
        self == Mode::CbcEncryptUneven
    }

    pub(super) fn tag_len(self) -> usize {
        if self == Mode::Gcm { 16 } else { 0 }
    }
}

/// One cell of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) mode: Mode,
    pub(super) key_bits: usize,
    /// Bytes of an entry, or their mean.
    pub(super) size: usize,
}

impl Cell {
    /// Small entries fill a quarter of a megabyte, so that start and end of a call do not count; in lanes there are
    /// always enough to fill them twice.
    pub(super) fn entries(&self) -> usize {
        (256 * 1024 / self.size).clamp(if self.mode.is_in_lanes() { 32 } else { 1 }, 1024)
    }

    pub(super) fn key(&self) -> Vec<u8> {
        let mut key = Random::bytes(77, 32);
        key.truncate(self.key_bits / 8);
        key
    }
}

/// An entry: text with room for a tag behind it where the mode has one, and IV (GCM takes its first 12 bytes).
pub(super) type Text<'a> = (&'a mut [u8], [u8; 16]);

/// The entries in one allocation, each followed by room for its padding and then a full cache line.
#[derive(Debug)]
pub(super) struct Entries {
    arena: Vec<u8>,
    /// First byte and length of each entry in the arena, tag included.
    places: Vec<(usize, usize)>,
    ivs: Vec<[u8; 16]>,
    tag_len: usize,
}

impl Entries {
    pub(super) fn new(cell: Cell) -> Entries {
        let mut random = Random::new(99);
        let mut lengths = Vec::new();
        for _ in 0..cell.entries() {
            let blocks = cell.size as u64 / 16;
            let blocks =
                if cell.mode.is_uneven() { blocks / 2 + random.next_word() % (blocks + 1) } else { blocks };
            lengths.push(16 * blocks as usize);
        }
        let total: usize = lengths.iter().sum();
        let mut arena = vec![0; total + 128 * lengths.len() + 4096];
        let mut at = arena.as_ptr().align_offset(4096);
        let mut places = Vec::new();
        let mut ivs = Vec::new();
        let tag_len = cell.mode.tag_len();
        for (index, length) in lengths.into_iter().enumerate() {
            Random::new(1000 + index as u64).fill(&mut arena[at..at + length]);
            let mut iv = [0; 16];
            Random::new(5000 + index as u64).fill(&mut iv);
            places.push((at, length + tag_len));
            ivs.push(iv);
            at += (length + 16).next_multiple_of(64);
        }
        Entries { arena, places, ivs, tag_len }
    }

    /// Bytes of text, without tags.
    pub(super) fn bytes(&self) -> usize {
        self.places.iter().map(|(_, length)| length - self.tag_len).sum()
    }

    /// All entries one after the other.
    pub(super) fn content(&self) -> Vec<u8> {
        self.places.iter().flat_map(|&(at, length)| &self.arena[at..at + length]).copied().collect()
    }

    /// Every entry with its IV.
    pub(super) fn texts_mut(&mut self) -> Vec<Text<'_>> {
        let mut texts = Vec::with_capacity(self.places.len());
        let (mut rest, mut start) = (&mut self.arena[..], 0);
        for (&(at, length), &iv) in self.places.iter().zip(&self.ivs) {
            let (text, after) = std::mem::take(&mut rest)[at - start..].split_at_mut(length);
            texts.push((text, iv));
            rest = after;
            start = at + length;
        }
        texts
    }
}
