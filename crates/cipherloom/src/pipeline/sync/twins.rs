//! Names that differ in case only, where the encrypted tree is on a disk that ignores case. A round knows its own files alone, so
//! it would not see that their outputs are one.

use super::{Sync, output_path};
use crate::files::Target;
use crate::index::FOLDER;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsStr;
use std::path::Path;

/// The entries of which the destination cannot tell the outputs apart, each with another one of these.
pub(super) fn twins(sync: &Sync<'_>) -> HashMap<u32, u32> {
    let Sync { tree, job, root, .. } = *sync;
    let mut twins = HashMap::new();
    // Hidden names have no letters of both cases.
    if sync.store().is_none() && !job.hides_names() && ignores_case(root) {
        let mut known: HashMap<String, u32> = HashMap::new();
        for entry in (0..).take(tree.entries.len()) {
            let path = output_path(tree, job, entry);
            match known.entry(lower_case(&path)) {
                Entry::Occupied(first) => {
                    twins.insert(entry, *first.get());
                    twins.insert(*first.get(), entry);
                }
                Entry::Vacant(slot) => {
                    slot.insert(entry);
                }
            }
        }
    }
    twins
}

/// Whether an encrypted tree is on a disk that ignores case, where it has an index.
pub(super) fn ignores_case(root: &Path) -> bool {
    let other_case = FOLDER.to_uppercase();
    let other_case = OsStr::new(&other_case);
    Target::root(root).is_ok_and(|root| root.identity(other_case).is_some() && !root.lists(other_case))
}

/// What paths have in common that such a disk does not tell apart.
pub(super) fn lower_case(path: &[u8]) -> String {
    String::from_utf8_lossy(path).to_lowercase()
}
