//! What can be wrong with a tree's index, and what an index finds wrong with its tree.

use std::path::PathBuf;

/// What is wrong with the index of an encrypted tree, or with a file as the index describes it.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(scratch.path()).unwrap();
/// # std::fs::create_dir("books").unwrap();
/// # std::fs::write("books/one.txt", "It was a bright cold day in April.").unwrap();
/// use cipherloom::error::{Error, IndexFault};
/// use cipherloom::key::{Keyset, Template};
///
/// let (keyset, other) = (Keyset::generate(Template::default())?, Keyset::generate(Template::default())?);
/// cipherloom::encrypt("books", "sealed").key(&keyset).index(true).run()?;
/// let error = cipherloom::encrypt("books", "sealed").key(&other).allow_mixed_keys(true).index(true).run().unwrap_err();
/// assert!(matches!(error.without_path(), Error::Index(IndexFault::NotOpened)));
/// # Ok::<(), cipherloom::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexFault {
    /// There is no index, and one is needed.
    #[error("the tree has no index")]
    Absent,
    /// There is no index that could follow the generation that the anchor knows.
    #[error("the tree's index was removed: the anchor knows generation {0}")]
    Removed(u64),
    /// No key opens the index's root: the key is another one, or the root was changed.
    #[error("no key opens the tree's index: the key is another one, or the index is damaged")]
    NotOpened,
    /// A file of the index is missing or is not the one that belongs to it.
    #[error("the tree's index is damaged: {0}")]
    Damaged(&'static str),
    /// A journal, which a task on a cluster has left, is damaged, under another key, or not one that follows the index.
    #[error("this journal of a run on a cluster cannot be used: {0}")]
    Journal(&'static str),
    /// Something else is where a file or folder of the index should be.
    #[error("a symbolic link or special file in place of the tree's index; it is not followed")]
    NotAFile,
    /// Another process has the index open for writing, or has it open at all and this one wants to write.
    #[error("another process is using the tree's index")]
    InUse,
    /// Another run has replaced the index, or is about to, since this one read it: in a store, or where files cannot be locked.
    #[error("another run has written the tree's index meanwhile")]
    Overtaken,
    /// A source has an entry under the name of indexes, or an output would have it.
    #[error("the name {name} is reserved for indexes")]
    Reserved {
        /// The name, `.cipherloom`.
        name: &'static str,
    },
    /// An index is to be made of the files, and there is one.
    #[error("the tree has an index already")]
    Present,
    /// An index that is to be made of the files would lack some that failed.
    #[error("not written: it would not list the files that failed")]
    FilesFailed,
    /// There is a folder for an index, and no index in it.
    #[error("the tree's index was begun and not written, or was removed")]
    Unwritten,
    /// A job re-keys a tree and would leave an index behind: that of a tree inside it, or one that goes from a folder into an object
    /// store, or the other way round.
    #[error("there is an index, which this run would not carry over")]
    NotCarried,
    /// A run that was stopped or killed has re-keyed a file, and another key is the primary one now.
    #[error("an earlier run re-keyed it to a key that is no longer the primary one; the index lists it now")]
    NotPrimary,
    /// An earlier run that re-keyed the tree in place was stopped or killed, and another pair of keys is given now. The one before
    /// shows which files it has re-keyed.
    #[error("an earlier run has re-keyed only part of the tree, and to other keys than this run's")]
    RekeyingUnfinished,
    /// An output of re-keying is there already, and does not show that it was made of the file that the index lists.
    #[error("it exists, and nothing shows that it was made of the file that the index lists")]
    Unproven,
    /// A run is to hide the names of a tree whose names are not hidden, or the other way round.
    #[error("the tree's names are {}hidden, unlike those that this run would give", if *are_hidden { "" } else { "not " })]
    OtherNames {
        /// Whether those of the tree are hidden.
        are_hidden: bool,
    },
    /// Names are hidden, and no copy of the index that knows them can be read.
    #[error("the tree's names are hidden, and both copies of its index are lost")]
    NamesLost,
    /// One of both copies of an index is not as it should be.
    #[error("a copy of the tree's index is damaged: {0}")]
    Copy(&'static str),
    /// The first copy of an index is under another key, damaged or missing, and was newer than the second one, or may be.
    #[error("this copy of the tree's index cannot be opened, and it may be newer than the other one")]
    CopyNotOpened,
    /// The two copies of an index are of different trees, both under the key: somebody has put one of them there.
    #[error("the two copies of the tree's index are of different trees")]
    CopiesOfTwoTrees,
    /// A list of hidden names is not the one that the index needs.
    #[error("this list of hidden names is missing, damaged, or not the newest one")]
    NameList,
    /// No list names a file whose name is hidden.
    #[error("its name is lost: the index lists it as {}", super::escape::path(as_path))]
    NameLost {
        /// The path that it has in the index instead.
        as_path: PathBuf,
    },
    /// The format or the shape of the job has no index.
    #[error("an index needs {0}")]
    Unsupported(&'static str),
    /// The anchor knows a later generation of the tree.
    #[error(
        "the tree was rolled back: its index is of generation {found}, and the anchor knows generation {known}"
    )]
    RolledBack {
        /// The generation of the index.
        found: u64,
        /// The one that the anchor recorded.
        known: u64,
    },
    /// The index has the anchor's generation, or the next one, and another history.
    #[error("the tree has another history than the anchor recorded, from generation {0} on")]
    Forked(u64),
    /// The anchor is of another tree.
    #[error("the tree is another one than the anchor recorded")]
    OtherTree,
    /// The anchor file is none.
    #[error("this is not an anchor file")]
    NotAnAnchor,
    /// A synchronization that removes what is gone from the source would remove every file.
    #[error(
        "the source is empty, or another one: it has no file that the index lists, so all would be removed from the encrypted tree"
    )]
    EmptySource,
    /// A file that is not under a key of the keyset, or no file, has an output's name, and the index does not list it.
    #[error("not replaced: the index does not list it, and no key opens it")]
    Foreign,
    /// In a store, an object that a run was to create, replace or remove is not the one that it listed any more.
    #[error("left as it is: another run has written or removed it since this one listed the store")]
    WrittenMeanwhile,
    /// The index lists a file where an output would need a folder, or the other way round.
    #[error("not written: the index lists something else in its place")]
    InTheWay,
    /// The index lists a file, folder or link that is not there.
    #[error("missing: the index lists it")]
    Missing,
    /// Something is there that the index does not list.
    #[error("{}", describe_extra(of.as_ref()))]
    Extra {
        /// Where the index lists a file with this very content.
        of: Option<PathBuf>,
    },
    /// Another file, folder or link is there than the index lists.
    #[error("{}", describe_replaced(by.as_ref()))]
    Replaced {
        /// Where the index lists a file with this very content.
        by: Option<PathBuf>,
    },
}

fn describe_extra(of: Option<&PathBuf>) -> String {
    match of {
        Some(path) => format!("moved or copied: the index lists this file as {}", super::escape::path(path)),
        None => "extra: the index does not list it".to_owned(),
    }
}

fn describe_replaced(by: Option<&PathBuf>) -> String {
    match by {
        Some(path) => format!("swapped: the index lists this file as {}", super::escape::path(path)),
        None => "replaced: it is not what the index lists".to_owned(),
    }
}

impl IndexFault {
    /// True if it shows that something was changed or damaged, and not only that the tree and its index list different files.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            IndexFault::NotOpened
            | IndexFault::Damaged(_)
            | IndexFault::Journal(_)
            | IndexFault::Removed(_)
            | IndexFault::RolledBack { .. }
            | IndexFault::Forked(_)
            | IndexFault::OtherTree
            | IndexFault::NamesLost
            | IndexFault::Copy(_)
            | IndexFault::CopyNotOpened
            | IndexFault::CopiesOfTwoTrees
            | IndexFault::NameList
            | IndexFault::Extra { of: Some(_) }
            | IndexFault::Replaced { .. } => true,
            IndexFault::Absent
            | IndexFault::NotAFile
            | IndexFault::InUse
            | IndexFault::Overtaken
            | IndexFault::Reserved { .. }
            | IndexFault::Present
            | IndexFault::FilesFailed
            | IndexFault::Unwritten
            | IndexFault::NotCarried
            | IndexFault::NotPrimary
            | IndexFault::RekeyingUnfinished
            | IndexFault::Unproven
            | IndexFault::OtherNames { .. }
            | IndexFault::NameLost { .. }
            | IndexFault::Unsupported(_)
            | IndexFault::NotAnAnchor
            | IndexFault::EmptySource
            | IndexFault::Foreign
            | IndexFault::WrittenMeanwhile
            | IndexFault::InTheWay
            | IndexFault::Missing
            | IndexFault::Extra { of: None } => false,
        }
    }
}
