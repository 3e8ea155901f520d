//! Runs that find nothing to do: an unmounted disk or a glob with a typo looks like that, and whoever relies on a
//! verification must hear of it.

use crate::arguments::{CommonArguments, TreeArguments};
use crate::output;
use cipherloom::{Job, Links, Tree};

/// What a run is to do if there is nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nothing {
    /// Ends with an error: a typo in a glob or an unmounted disk looks like this.
    Fails,
    /// Is as good as something: --allow-empty says so, and a small tree has empty shards.
    Passes,
}

impl Nothing {
    /// As the arguments say.
    pub fn new(tree: &TreeArguments, common: &CommonArguments) -> Nothing {
        if tree.shard.is_some() || common.allow_empty { Nothing::Passes } else { Nothing::Fails }
    }

    /// Of a tree, before its run. `verb`: what would have been done, "verified".
    pub fn of_tree(self, tree: &Tree, job: &Job<'_>, verb: &str) -> anyhow::Result<()> {
        let has_links = job.links != Links::Skip && !tree.links.is_empty();
        if has_links || !tree.entries.is_empty() || !tree.unlisted.is_empty() {
            return Ok(());
        }
        self.tell(&output::printable(&tree.root), verb, tree.passed_over.excluded)
    }

    /// Of a store, after its run, which listed it.
    #[cfg(feature = "stores")]
    pub fn of_run(
        self,
        summary: &cipherloom::Summary,
        place: &str,
        verb: &str,
        excluded: u64,
    ) -> anyhow::Result<()> {
        if summary.files + summary.skipped + summary.failed > 0 {
            return Ok(());
        }
        self.tell(place, verb, excluded)
    }

    fn tell(self, place: &str, verb: &str, excluded: u64) -> anyhow::Result<()> {
        let globs = match excluded {
            0 => String::new(),
            _ => format!(" ({excluded} left out by --include or --exclude)"),
        };
        match self {
            Nothing::Passes => Ok(()),
            Nothing::Fails => Err(anyhow::anyhow!(
                "{place}: there is nothing to be {verb}{globs}; --allow-empty lets that pass"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cipherloom::{Selection, Work};

    #[test]
    fn an_empty_tree_is_nothing_and_links_are_something_where_they_are_copied() {
        let folder = tempfile::tempdir().unwrap();
        let look = || Tree::list(folder.path(), &Selection::default()).unwrap();
        let mut job = Job::new(Work::Copy, None);
        assert!(Nothing::Fails.of_tree(&look(), &job, "copied").is_err());
        assert!(Nothing::Passes.of_tree(&look(), &job, "copied").is_ok());
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
        assert!(Nothing::Fails.of_tree(&look(), &job, "copied").is_err());
        job.links = Links::Copy;
        assert_eq!(Nothing::Fails.of_tree(&look(), &job, "copied").is_ok(), cfg!(unix));
        std::fs::write(folder.path().join("file"), b"").unwrap();
        assert!(Nothing::Fails.of_tree(&look(), &Job::new(Work::Copy, None), "copied").is_ok());
    }
}
