//! Divides a tree's folders among threads: those far up, which one thread makes first and finishes last, and branches, of which
//! each is one thread's.
//!
//! ```text
//! top ──┬─ head ─── below ─── below      a branch
//!       ├─ head ─── below                another one
//!       └─ head                          another one
//! ```
//!
//! All heads have the same depth. One thread makes the heads, so folders that are in the same folder are made by one thread: it
//! notices if the file system takes two names for one.

use crate::Error;
use crate::engine::Workers;
use crate::report::Observer;
use crate::tree::Directory;
use std::collections::HashMap;
use std::ops::Range;
use std::path::is_separator;

/// To make or finish a folder takes 4 to 6 microseconds, to start a thread about 30.
const FOLDERS_A_THREAD: usize = 128;

/// Heads are as far down as there are this many, so that no thread is left with the last large branch for long.
const HEADS: usize = 64;

/// More threads than these wait for each other in the kernel.
const MOST_THREADS: usize = 8;

/// The division of a tree's folders.
#[derive(Debug)]
pub(super) struct Branches {
    /// The folders' indices, the root's not: those at the top, and then branch by branch. Parents precede their children.
    order: Vec<u32>,
    /// Where the branches begin in `order`, and where the last one ends.
    bounds: Vec<usize>,
    most_threads: usize,
}

impl Branches {
    /// For folders of which parents precede their children, and up to `threads` threads.
    pub(super) fn of(directories: &[Directory], threads: usize) -> Branches {
        let all = || (1..directories.len()).map(|index| index as u32);
        if directories.len() < 2 * FOLDERS_A_THREAD {
            return Branches { order: all().collect(), bounds: vec![directories.len() - 1], most_threads: 1 };
        }
        let separators = |directory: &Directory| {
            directory
                .path
                .as_os_str()
                .as_encoded_bytes()
                .iter()
                .filter(|byte| is_separator(**byte as char))
                .count()
        };
        let mut at_depth: Vec<usize> = Vec::new();
        for directory in &directories[1..] {
            let depth = separators(directory);
            at_depth.resize(at_depth.len().max(depth + 1), 0);
            at_depth[depth] += 1;
        }
        let most = at_depth.iter().copied().max().unwrap_or(0).min(HEADS);
        let depth = at_depth.iter().position(|folders| *folders >= most).unwrap_or(0);

        let mut numbers: HashMap<&[u8], usize> = HashMap::new();
        // By folder, the number of its branch; 0 at the top.
        let branch_of: Vec<usize> = directories
            .iter()
            .map(|directory| {
                let path = directory.path.as_os_str().as_encoded_bytes();
                let head = path_of_head(path, depth)?;
                let next = numbers.len() + 1;
                Some(*numbers.entry(head).or_insert(next))
            })
            .map(|branch| branch.unwrap_or(0))
            .collect();
        let mut bounds = vec![0; numbers.len() + 1];
        branch_of[1..].iter().for_each(|branch| bounds[*branch] += 1);
        let mut ends = 0;
        for bound in &mut bounds {
            ends += std::mem::replace(bound, ends);
        }
        // Where the next folder of each branch goes.
        let mut next = bounds.clone();
        bounds.remove(0);
        bounds.push(ends);
        let mut order = vec![0; ends];
        for index in all() {
            let place = &mut next[branch_of[index as usize]];
            order[*place] = index;
            *place += 1;
        }
        Branches { order, bounds, most_threads: threads.min(MOST_THREADS).min(numbers.len()) }
    }

    /// How many threads are to make what is below the heads.
    pub(super) fn threads_below(&self) -> usize {
        self.threads_for(self.order.len() - self.top().len() - self.heads().count())
    }

    /// How many threads are to finish the branches.
    pub(super) fn threads(&self) -> usize {
        self.threads_for(self.order.len() - self.top().len())
    }

    fn threads_for(&self, folders: usize) -> usize {
        self.most_threads.min(folders / FOLDERS_A_THREAD).max(1)
    }

    /// The folders at the top.
    pub(super) fn top(&self) -> &[u32] {
        &self.order[..self.bounds[0]]
    }

    /// The heads of all branches.
    pub(super) fn heads(&self) -> impl Iterator<Item = u32> {
        self.ranges().map(|range| self.order[range.start])
    }

    /// Calls `work` for each branch, its head first, on whichever of `threads` threads is free, until the observer stops
    /// it. Every thread makes itself a `state` first.
    ///
    /// # Errors
    /// [`Error::Internal`] if `work` panicked.
    pub(super) fn work_on_each<S>(
        &self,
        threads: usize,
        observer: &dyn Observer,
        state: impl Fn() -> S + Sync,
        work: impl Fn(&[u32], &mut S) + Sync,
    ) -> Result<(), Error> {
        let branch = |number: usize, state: &mut S| {
            work(&self.order[self.bounds[number]..self.bounds[number + 1]], state);
        };
        Workers::new(threads, observer).run_each(self.bounds.len() - 1, state, branch)
    }

    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.bounds.windows(2).map(|bounds| bounds[0]..bounds[1])
    }
}

/// The path of the folder above, or this one, in which there are `depth` separators; `None` if there are fewer.
fn path_of_head(path: &[u8], depth: usize) -> Option<&[u8]> {
    let mut separators = path.iter().enumerate().filter(|(_, byte)| is_separator(**byte as char));
    if let Some(above) = depth.checked_sub(1) {
        separators.nth(above)?;
    } else if path.is_empty() {
        return None;
    }
    Some(separators.next().map_or(path, |(end, _)| &path[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Unobserved;
    use crate::tree::Attributes;
    use std::collections::HashSet;
    use std::path::{Path, PathBuf};
    use std::sync::Mutex;

    fn directories(paths: impl IntoIterator<Item = PathBuf>) -> Vec<Directory> {
        let attributes = Attributes::with_mode(0o700).unwrap();
        let all = std::iter::once(PathBuf::new()).chain(paths);
        all.map(|path| Directory { path, attributes: attributes.clone() }).collect()
    }

    /// Every folder but the root is made once, after its parent, and finished once, before it; folders in the same folder are one
    /// thread's.
    fn assert_divided(directories: &[Directory], heads: usize) {
        let branches = Branches::of(directories, 2);
        let path = |index: &u32| directories[*index as usize].path.as_path();
        assert_eq!(branches.heads().count(), heads);
        assert_eq!(branches.threads(), if heads > 1 { 2 } else { 1 });
        let has_more = directories.len() - 1 > branches.top().len() + heads;
        assert_eq!(branches.threads_below(), if heads > 1 && has_more { 2 } else { 1 });
        let mut made: HashSet<&Path> = HashSet::from([Path::new("")]);
        for index in branches.top().iter().copied().chain(branches.heads()) {
            assert!(made.contains(path(&index).parent().unwrap()) && made.insert(path(&index)));
        }
        let seen: Mutex<Vec<Vec<u32>>> = Mutex::default();
        let note = |branch: &[u32], (): &mut ()| seen.lock().unwrap().push(branch.to_vec());
        branches.work_on_each(branches.threads(), &Unobserved, || (), note).unwrap();
        for branch in seen.into_inner().unwrap() {
            let mut own = HashSet::from([path(&branch[0])]);
            for index in &branch[1..] {
                assert!(own.contains(path(index).parent().unwrap()) && own.insert(path(index)));
            }
            made.extend(own);
        }
        assert_eq!(made.len(), directories.len());
    }

    #[test]
    fn branches_have_all_folders_and_each_has_its_own() {
        let numbers = |many: usize| (0..many).map(|number| PathBuf::from(number.to_string()));
        let chains = |many: usize, depth: usize| {
            (0..depth).flat_map(move |level| {
                numbers(many).map(move |mut path| {
                    (0..level).for_each(|level| path.push(level.to_string()));
                    path
                })
            })
        };
        assert_divided(&directories([]), 0);
        assert_divided(&directories(numbers(100)), 0);
        assert_divided(&directories(numbers(1000)), 1000);
        assert_divided(&directories(chains(1, 400)), 1);
        assert_divided(&directories(chains(10, 40)), 10);
        assert_divided(&directories(chains(100, 40)), 100);
        let below_others = (0..400).map(|number| Path::new("a/b").join(number.to_string()).join("c"));
        let above = below_others.clone().map(|path| path.parent().unwrap().to_owned());
        let first = ["a", "b", "a/b", "b/a"].map(PathBuf::from);
        assert_divided(&directories(first.into_iter().chain(above).chain(below_others)), 400);
    }
}
