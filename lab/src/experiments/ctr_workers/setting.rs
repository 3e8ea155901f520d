//! What is varied in ctr-workers.

use crate::record::Factors;

/// How host and workers wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Asleep, woken by the system.
    Park,
    /// Awake, looking again and again; asleep only after a third of a millisecond.
    Spin,
}

/// One level of each factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) workers: usize,
    /// Bytes of a worker's private memory.
    pub(super) tile: usize,
    /// Bytes encrypted by one call.
    pub(super) chunk: usize,
    pub(super) wait: Wait,
    /// Whether the tile is filled from the message and written out; otherwise it is encrypted where it is.
    pub(super) copies: bool,
    /// Whether all meet after copying in and before copying out, as published; then a part must fit into a tile.
    pub(super) meets: bool,
}

impl Setting {
    /// As a record has them; `bytes` is the message's length.
    pub(super) fn factors(&self, bytes: usize, part: &str) -> Factors {
        super::super::factors([
            ("workers", self.workers.into()),
            ("tile", self.tile.into()),
            ("chunk", self.chunk.into()),
            ("wait", if self.wait == Wait::Park { "park" } else { "spin" }.into()),
            ("bytes", bytes.into()),
            ("part", part.into()),
        ])
    }
}
