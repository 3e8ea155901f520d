//! What a synchronization did, in words.

use cipherloom::report::{Action, SyncReport};
use std::fmt::Write as _;

/// What a synchronization did.
pub(super) fn sentence(sync: &SyncReport) -> String {
    let mut text = String::new();
    for (number, what) in [
        (sync.new, "new"),
        (sync.changed, "changed"),
        (sync.restored, "restored (missing or another file)"),
        (sync.renamed, "renamed"),
        (sync.mode, "with other permissions"),
        (sync.removed, "removed"),
        (sync.unchanged, "unchanged"),
        (sync.gone, "gone from the source and kept"),
    ] {
        if number > 0 {
            let _ = write!(text, "; {number} {what}");
        }
    }
    text
}

/// An action as it is printed behind a path.
pub(super) fn words(action: Option<Action>) -> &'static str {
    match action {
        Some(Action::New) => " (new)",
        Some(Action::Changed) => " (changed)",
        Some(Action::Restored) => " (restored)",
        Some(Action::Renamed) => " (renamed)",
        Some(Action::Mode) => " (permissions)",
        Some(Action::Removed) => " (removed)",
        _ => "",
    }
}
