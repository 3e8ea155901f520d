//! Divides a tree into tasks: entries so large that one worker would be left alone with them are cut into parts that
//! all workers share; large ones go one by one, the largest first; small ones go in batches, folder by folder.

use super::{Operation, Request};
use std::ops::Range;

/// What a worker takes from the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// These places of the plan's order, each entry whole.
    Entries(Range<u32>),
    /// Part `part` of `parts` equal parts of the shared entry `shared` (an index into the plan's shared entries).
    Part {
        /// Index into the plan's shared entries.
        shared: u32,
        /// Which part, from 0.
        part: u32,
        /// Of how many.
        parts: u32,
    },
}

pub(super) struct Division {
    pub(super) tasks: Vec<Task>,
    pub(super) order: Vec<u32>,
    pub(super) shared: Vec<u32>,
}

/// Below this a part is not worth the hand-over (the state behind a lock, another worker's cold cache).
const SMALLEST_PART: u64 = 4 << 20;

/// Where two layouts meet, a part's first source segment is opened by the worker in front of it, too: parts hold at least
/// so many segments, so that this does not count.
const SEGMENTS_PER_PART: u64 = 16;

/// From this size on entries are taken singly and by size; below, in batches in the order of listing.
const LARGE: u64 = 256 << 10;

/// A batch holds at most so many entries and so many bytes, so that no worker is left alone with the last one.
const BATCH_ENTRIES: usize = 64;
const BATCH_BYTES: u64 = 1 << 20;

/// At least so many tasks for each worker, if there are entries enough, so that they end together.
const TASKS_PER_THREAD: usize = 8;

pub(super) fn divide(
    sizes: &[u64],
    total: u64,
    threads: usize,
    request: &Request,
    reasons: &mut Vec<String>,
) -> Division {
    let smallest_part = match request.operation {
        Operation::Rekey => SMALLEST_PART.max(SEGMENTS_PER_PART * request.largest_segment as u64),
        _ => SMALLEST_PART,
    };
    let split_from = if request.is_chained() || threads == 1 {
        u64::MAX
    } else {
        (total / (4 * threads as u64)).max(2 * smallest_part)
    };
    let part_len = |size: u64| (size / (32 * threads as u64)).max(smallest_part);
    let index = |i: usize| u32::try_from(i).expect("a tree holds fewer than 2^32 entries");
    let mut shared: Vec<u32> = Vec::new();
    let mut large: Vec<u32> = Vec::new();
    let mut small: Vec<u32> = Vec::new();
    for (i, &size) in sizes.iter().enumerate() {
        let class = if size >= split_from {
            &mut shared
        } else if size >= LARGE {
            &mut large
        } else {
            &mut small
        };
        class.push(index(i));
    }
    let largest_first = |list: &mut Vec<u32>| list.sort_by_key(|&i| std::cmp::Reverse(sizes[i as usize]));
    largest_first(&mut shared);
    largest_first(&mut large);

    let mut tasks = Vec::new();
    for (position, &entry) in shared.iter().enumerate() {
        let size = sizes[entry as usize];
        let parts = u32::try_from(size.div_ceil(part_len(size))).expect("at most 32 parts a thread");
        tasks.extend((0..parts).map(|part| Task::Part { shared: index(position), part, parts }));
    }
    let first_small = large.len();
    tasks.extend((0..first_small).map(|i| Task::Entries(index(i)..index(i + 1))));
    let mut order = large;
    order.append(&mut small);
    batch(&order, first_small, sizes, threads, &mut tasks);

    if !shared.is_empty() {
        reasons.push(format!(
            "large entries ({} of {}) are cut into parts of about {} MiB that all workers share: one worker alone would end after the others",
            shared.len(),
            sizes.len(),
            part_len(sizes[shared[0] as usize]) >> 20
        ));
    }
    let batched = order.len() - first_small;
    if batched > 0 {
        reasons
            .push(format!("entries below {} KiB ({batched}) go in batches, folder by folder", LARGE >> 10));
    }
    if first_small > 0 {
        reasons.push(format!(
            "entries of {} KiB and more ({first_small}) go singly, the largest first",
            LARGE >> 10
        ));
    }
    Division { tasks, order, shared }
}

fn batch(order: &[u32], first: usize, sizes: &[u64], threads: usize, tasks: &mut Vec<Task>) {
    let most = ((order.len() - first) / (threads * TASKS_PER_THREAD)).clamp(1, BATCH_ENTRIES);
    let mut start = first;
    while start < order.len() {
        let (mut end, mut bytes) = (start, 0);
        while end < order.len() && end - start < most && (end == start || bytes < BATCH_BYTES) {
            bytes += sizes[order[end] as usize];
            end += 1;
        }
        let position = |i: usize| u32::try_from(i).expect("a tree holds fewer than 2^32 entries");
        tasks.push(Task::Entries(position(start)..position(end)));
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::CipherCost;
    use proptest::prelude::*;

    proptest! {
        /// Every entry is in exactly one place: whole in one batch, or shared with all its parts.
        #[test]
        fn covers_every_entry_once(
            sizes in proptest::collection::vec(prop_oneof![0u64..5000, 0u64..1 << 22, 1u64 << 22..1 << 34], 0..300),
            threads in 1usize..9,
            chained: bool,
        ) {
            let total = sizes.iter().sum();
            let cipher = if chained { CipherCost::CbcChain } else { CipherCost::Gcm };
            let division = divide(&sizes, total, threads, &request(Operation::Encrypt, cipher, 0), &mut Vec::new());
            let mut seen = vec![0u32; sizes.len()];
            let mut parts_seen = vec![0u32; division.shared.len()];
            for task in &division.tasks {
                match task {
                    Task::Entries(range) => for i in range.clone() { seen[division.order[i as usize] as usize] += 1; },
                    Task::Part { shared, part, parts } => {
                        prop_assert_eq!(parts_seen[*shared as usize], *part, "parts stand in order");
                        prop_assert!(part < parts);
                        parts_seen[*shared as usize] += 1;
                        if part + 1 == *parts { seen[division.shared[*shared as usize] as usize] += 1; }
                    }
                }
            }
            prop_assert!(seen.iter().all(|&count| count == 1));
            prop_assert!(division.shared.is_empty() || (threads > 1 && !chained));
        }
    }

    #[test]
    fn one_huge_entry_is_shared_and_many_equal_ones_are_not() {
        let gcm = request(Operation::Encrypt, CipherCost::Gcm, 1 << 20);
        let shared =
            |sizes: &[u64], threads| divide(sizes, sizes.iter().sum(), threads, &gcm, &mut Vec::new()).shared;
        assert_eq!(shared(&[2 << 30], 2), [0]);
        assert!(shared(&[2 << 30], 1).is_empty());
        assert!(shared(&[4 << 20; 100], 2).is_empty());
    }

    #[test]
    fn parts_hold_several_segments_of_what_is_re_keyed() {
        let parts = |largest_segment| {
            let request = request(Operation::Rekey, CipherCost::Gcm, largest_segment);
            divide(&[256 << 20], 256 << 20, 2, &request, &mut Vec::new()).tasks.len()
        };
        assert_eq!([parts(4096), parts(1 << 20), parts(16 << 20)], [64, 16, 1]);
    }

    fn request(operation: Operation, cipher: CipherCost, largest_segment: usize) -> Request {
        Request {
            operation,
            threads: None,
            cipher,
            key_iterations: 0,
            largest_segment,
            names_in_turns: false,
        }
    }
}
