//! Where a symbolic link leads, judged by its text alone.

use std::path::{Component, Path};

/// Whether a link in the folder `directory` (relative to the tree's root) with this goal leads to something in the tree, as
/// far as all links do: up at the beginning only, and no further than to the root. A `..` behind a name could lead up from
/// wherever another link leads.
pub(super) fn leads_down(directory: &Path, goal: &Path) -> bool {
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
