//! What outputs are called whose names are hidden, and what keeps them from being made.

use super::items::{Item, Items, Place};
use crate::Error;
use crate::error::IndexFault;
use crate::format::Format;
use crate::index::{
    FOLDER, HiddenName, Index, IndexEntry, IndexKind, IndexWriter, NewNames, ancestors, folder_path,
    has_copy, has_name_lists, split,
};
use crate::pipeline::hidden_names::HiddenNames;
use crate::pipeline::job::Job;
use crate::tree::{Attributes, Directory, Tree};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Refuses to add files to a tree whose names are hidden, unlike those of the job's outputs, or the other way round.
///
/// # Errors
/// [`IndexFault::OtherNames`].
pub fn refuse_other_names(job: &Job) -> Result<(), Error> {
    let (Some(root), Some(format)) = (job.destination.as_deref(), job.work.sealing()) else { return Ok(()) };
    if job.index.as_ref().is_some_and(|index| index.store.is_some()) {
        return Ok(());
    }
    if let Some(above) = hidden_tree_around(root) {
        return Err(Error::from(IndexFault::OtherNames { are_hidden: true }).at(&above));
    }
    // Whoever writes the index reports what is wrong with it.
    let mut are_hidden = is_hidden(root).then_some(true);
    if are_hidden.is_none() && fs::symlink_metadata(root.join(FOLDER)).is_ok() {
        are_hidden = Index::hides_names(root, format);
    }
    // Both copies may be lost.
    let has_any = || [0, u8::MAX].iter().any(|number| root.join(folder_path(*number)).is_dir());
    if are_hidden.is_none() && !job.hides_outputs() && has_any() && has_name_lists(root, format) {
        are_hidden = Some(true);
    }
    match are_hidden.filter(|are_hidden| *are_hidden != job.hides_outputs()) {
        Some(are_hidden) => Err(Error::from(IndexFault::OtherNames { are_hidden }).at(root)),
        None => Ok(()),
    }
}

/// Whether a folder has the second copy of an index.
fn is_hidden(folder: &Path) -> bool {
    folder.join("00").is_dir() && has_copy(folder)
}

/// The tree with hidden names that this folder is in, or would be if it were made.
fn hidden_tree_around(folder: &Path) -> Option<PathBuf> {
    let real =
        |path: &Path| fs::canonicalize(if path.as_os_str().is_empty() { Path::new(".") } else { path });
    let (depth, there) =
        folder.ancestors().enumerate().find_map(|(depth, path)| Some((depth, real(path).ok()?)))?;
    // The folder itself is none around it.
    there.ancestors().skip(usize::from(depth == 0)).find(|above| is_hidden(above)).map(Path::to_owned)
}

/// The folders of an encrypted tree with hidden names, for those who make them: all that there can be, so that they say nothing.
pub(in crate::pipeline) fn output_folders(source: &Tree) -> Result<Tree, Error> {
    let attributes = Attributes::with_mode(0o700)?;
    let mut tree = Tree::empty(source.root.clone(), attributes.clone());
    tree.is_several = source.is_several;
    let folders = (0..=u8::MAX).map(folder_path);
    tree.directories.extend(folders.map(|path| Directory { path, attributes: attributes.clone() }));
    Ok(tree)
}

/// Files and folders of a run that it does not make, since the index lists something else at their paths, or a file above. Where
/// names are hidden, no file system is in the way.
#[derive(Default)]
pub(super) struct Blocked {
    pub(super) files: HashSet<u32>,
    pub(super) folders: HashSet<u32>,
}

/// The names of the outputs of a job: those that the index lists, and others that `draw` makes for an entry and its path. With
/// them comes what is in the way.
pub(super) fn output_names(
    tree: &Tree,
    job: &Job,
    before: &Index,
    draw: &dyn Fn(u32, &[u8]) -> Option<HiddenName>,
) -> Result<(HiddenNames, Blocked), Error> {
    let mut names = vec![None; tree.entries.len()];
    let (mut blocked, mut obstacles) = (Blocked::default(), HashSet::new());
    let mut listed = before.entries().peekable();
    for (item, path) in Items::sorted(tree, job, Place::Output) {
        let mut known = None;
        let is_due = |listed: &Result<IndexEntry, Error>| {
            listed.as_ref().map_or(true, |listed| split(&listed.path).cmp(&split(&path)) != Ordering::Greater)
        };
        while let Some(listed) = listed.next_if(is_due) {
            let listed = listed?;
            known = (listed.path == path).then_some(listed.kind);
        }
        let is_blocked = match (item, &known) {
            (Item::File(_), Some(IndexKind::Folder { .. } | IndexKind::Link { .. }))
            | (Item::Folder(_), Some(IndexKind::File(_) | IndexKind::Link { .. })) => true,
            _ => !obstacles.is_empty() && ancestors(&path).any(|folder| obstacles.contains(folder)),
        };
        match item {
            Item::File(entry) => {
                let listed = if let Some(IndexKind::File(file)) = known { file.name } else { None };
                names[entry as usize] = listed.or_else(|| draw(entry, &path));
                blocked.files.extend(is_blocked.then_some(entry));
            }
            Item::Folder(folder) => blocked.folders.extend(is_blocked.then_some(folder)),
            Item::Link(_) => {}
        }
        if is_blocked {
            obstacles.insert(path);
        }
    }
    Ok((HiddenNames(names.into()), blocked))
}

/// As [`output_names`] for a job that encrypts. `before`: the generation that its own follows.
pub(super) fn new_names(
    tree: &Tree,
    job: &Job,
    format: &Format,
    before: Option<&Index>,
) -> Result<(HiddenNames, Blocked), Error> {
    let before = before.ok_or_else(|| Error::internal("hidden names without an index"))?;
    let names = NewNames::behind(before, format)?;
    output_names(tree, job, before, &|_, path| Some(names.draw(path)))
}

/// The hidden names of the files that a job which encrypts writes; none if the index cannot be read.
pub(in crate::pipeline) fn written_names(tree: &Tree, job: &Job) -> HashSet<HiddenName> {
    let (Some(root), Some(format)) = (job.destination.as_deref(), job.work.sealing()) else {
        return HashSet::new();
    };
    let names = Index::open(root, format).and_then(|index| new_names(tree, job, format, index.as_ref()));
    let Ok((names, blocked)) = names else { return HashSet::new() };
    let is_written = |entry: &u32| !blocked.files.contains(entry);
    (0..).take(tree.entries.len()).filter(is_written).filter_map(|entry| names.of(entry)).collect()
}

/// What is in the way of a job that re-keys into another tree, whose index may list a file under another hidden name, or another
/// file under its name.
pub(super) fn blocked_by_names(
    tree: &Tree,
    job: &Job,
    names: &HiddenNames,
    writer: &IndexWriter,
) -> Result<Blocked, Error> {
    let Some(before) = writer.previous() else { return Ok(Blocked::default()) };
    let (found, mut blocked) = output_names(tree, job, before, &|entry, _| names.of(entry))?;
    blocked.files.extend((0..).take(tree.entries.len()).filter(|entry| found.of(*entry) != names.of(*entry)));
    let mut listed = HashMap::new();
    for entry in before.entries() {
        let entry = entry?;
        if let IndexKind::File(file) = entry.kind {
            listed.extend(file.name.map(|name| (name, entry.path)));
        }
    }
    for (item, path) in Items::sorted(tree, job, Place::Output) {
        if let Item::File(entry) = item
            && let Some(other) = names.of(entry).and_then(|name| listed.get(&name))
            && *other != path
        {
            blocked.files.insert(entry);
        }
    }
    Ok(blocked)
}
