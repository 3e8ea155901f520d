//! Symbolic links, made again below the destination.

use super::destination::{OutputTree, fail};
use super::job::{Job, Links, Work};
use super::tally::Tally;
use crate::Error;
use crate::files::Folders;
use crate::tree::Tree;
use std::path::{Component, Path};

/// Makes the tree's links again, if the job wants that; returns how many.
pub(super) fn copy_links(
    tree: &Tree,
    job: &Job,
    outputs: Option<&OutputTree>,
    tally: &Tally<'_, u32>,
) -> u64 {
    let Some(destination) = job.destination.as_ref().filter(|_| job.links != Links::Skip) else { return 0 };
    // Whoever encrypts knows the links; what is decrypted may have been given others.
    let is_trusted = job.links == Links::CopyAll || !matches!(job.work, Work::Decrypt(_));
    let mut copied = 0;
    let mut folders = Folders::new(tree, Some(destination));
    for link in &tree.links {
        let directory = &tree.directories[link.directory as usize].path;
        let shared = outputs.and_then(|outputs| outputs.shared.get(&link.directory));
        let collision = |other: &String| Error::NameCollision { other: other.clone() };
        let is_free = shared.map_or(Ok(()), |other| Err(collision(other)));
        let made = is_free.and_then(|()| folders.open(link.directory)).and_then(|folder| {
            let goal = folder.source.read_link(&link.name)?;
            if !is_trusted && !leads_down(directory, &goal) {
                return Err(Error::LinkLeavesTree(goal));
            }
            folder.target().make_link(&goal, &link.name, job.if_exists)
        });
        match made {
            Ok(made) => copied += u64::from(made),
            Err(error) => fail(tree, destination, &directory.join(&link.name), error, tally),
        }
    }
    copied
}

/// Whether a link in the folder `directory` (relative to the tree's root) with this goal leads to something in the tree, as
/// far as all links do: up at the beginning only, and no further than to the root. A `..` behind a name could lead up from
/// wherever another link leads.
fn leads_down(directory: &Path, goal: &Path) -> bool {
    let is_up = |component: &Component<'_>| *component == Component::ParentDir;
    let components = || goal.components().filter(|component| *component != Component::CurDir);
    let up = components().take_while(is_up).count();
    let is_name = |component: Component<'_>| matches!(component, Component::Normal(_));
    up <= directory.components().count() && components().skip(up).all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_in_the_tree_is_told_from_others() {
        let judge = |directory: &str, goal: &str| leads_down(Path::new(directory), Path::new(goal));
        for (directory, goal) in
            [("", "file"), ("", "./a/b"), ("a", "../b"), ("a/b", "../../c/d"), ("a", ".."), ("", ".")]
        {
            assert!(judge(directory, goal), "{directory:?} {goal:?}");
        }
        for (directory, goal) in
            [("", "/etc"), ("", ".."), ("a", "../.."), ("a", "../../x"), ("", "b/../.."), ("a/b", "c/../d")]
        {
            assert!(!judge(directory, goal), "{directory:?} {goal:?}");
        }
    }
}
