//! What is measured: a mode, a key size, and a set of entries with the same bytes and places as in `peers.c`.

/// What is done to every entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Ctr,
    CbcDecrypt,
    /// One entry after the other.
    CbcEncryptOne,
    /// All entries in one call.
    CbcEncryptLanes,
    /// The same with lengths between half and one and a half of the size.
    CbcEncryptUneven,
}

impl Mode {
    pub(crate) const ALL: [Mode; 5] =
        [Mode::Ctr, Mode::CbcDecrypt, Mode::CbcEncryptOne, Mode::CbcEncryptLanes, Mode::CbcEncryptUneven];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Ctr => "CTR",
            Mode::CbcDecrypt => "CBC decrypt",
            Mode::CbcEncryptOne => "CBC encrypt, one lane",
            Mode::CbcEncryptLanes => "CBC encrypt, even lanes",
            Mode::CbcEncryptUneven => "CBC encrypt, uneven lanes",
        }
    }

    pub(crate) fn uneven(self) -> bool {
        self == Mode::CbcEncryptUneven
    }
}

/// One cell of the table.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) mode: Mode,
    pub(crate) key_bits: usize,
    /// Bytes of an entry, or their mean.
    pub(crate) size: usize,
}

impl Cell {
    /// Small entries fill a quarter of a megabyte, so that start and end of a call do not count; there are
    /// always enough to fill the lanes twice.
    pub(crate) fn entries(&self) -> usize {
        (256 * 1024 / self.size).clamp(32, 1024)
    }

    pub(crate) fn key(&self) -> Vec<u8> {
        let mut key = vec![0; 32];
        fill(77, &mut key);
        key.truncate(self.key_bits / 8);
        key
    }
}

/// The entries in one allocation, each followed by room for its padding and then a full cache line.
pub(crate) struct Entries {
    arena: Vec<u8>,
    /// First byte and length of each entry in the arena.
    places: Vec<(usize, usize)>,
    pub(crate) ivs: Vec<[u8; 16]>,
}

impl Entries {
    pub(crate) fn new(cell: Cell) -> Entries {
        let mut seed = 99;
        let mut lengths = Vec::new();
        for _ in 0..cell.entries() {
            let blocks = cell.size as u64 / 16;
            let blocks =
                if cell.mode.uneven() { blocks / 2 + splitmix(&mut seed) % (blocks + 1) } else { blocks };
            lengths.push(16 * blocks as usize);
        }
        let total: usize = lengths.iter().sum();
        let mut arena = vec![0; total + 128 * lengths.len() + 4096];
        let mut at = arena.as_ptr().align_offset(4096);
        let mut places = Vec::new();
        let mut ivs = Vec::new();
        for (index, length) in lengths.into_iter().enumerate() {
            fill(1000 + index as u64, &mut arena[at..at + length]);
            let mut iv = [0; 16];
            fill(5000 + index as u64, &mut iv);
            places.push((at, length));
            ivs.push(iv);
            at += (length + 16).next_multiple_of(64);
        }
        Entries { arena, places, ivs }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.places.iter().map(|(_, length)| length).sum()
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.places.iter().map(|&(at, length)| &self.arena[at..at + length])
    }

    /// Every entry with its IV.
    pub(crate) fn texts_mut(&mut self) -> Vec<(&mut [u8], [u8; 16])> {
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

    /// FNV-1a over all entries, as `peers.c` computes it.
    pub(crate) fn checksum(&self) -> u64 {
        self.texts().flatten().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn fill(mut seed: u64, out: &mut [u8]) {
    for chunk in out.chunks_mut(8) {
        chunk.copy_from_slice(&splitmix(&mut seed).to_le_bytes()[..chunk.len()]);
    }
}
