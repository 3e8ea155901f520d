//! What may happen to something that bears an output's name.

/// What to do where an output's name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IfExists {
    /// That entry fails; the file of that name stays.
    #[default]
    Fail,
    /// That entry is skipped; that file stays. Resumes a stopped run: folders below the destination that are there get
    /// their twins' time and lose permissions that their twins lack, and get none that they did not have (with
    /// `Job::preserve_modes`: exactly their twins').
    Skip,
    /// The output replaces that file, all at once.
    Overwrite,
}

/// What may happen to something that bears an output's final name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Existing {
    pub(crate) if_exists: IfExists,
    /// `Job::non_atomic`.
    #[cfg_attr(
        any(feature = "portable", not(target_os = "linux")),
        allow(dead_code, reason = "these systems can always rename without replacing")
    )]
    pub(crate) non_atomic: bool,
}

impl From<IfExists> for Existing {
    fn from(if_exists: IfExists) -> Existing {
        Existing { if_exists, non_atomic: false }
    }
}
