//! Files and folders below a root: reached through no link, read as they were listed, and given their names when they are
//! complete. It knows neither formats nor jobs.

mod draft;
mod existing;
mod folders;
mod input;
mod opened_root;
mod output;
mod published;
mod stable;

pub use draft::Draft;
pub(crate) use existing::Existing;
pub use existing::IfExists;
pub(crate) use folders::{
    Ending, Folders, Granted, Hidden, Identity, Looked, MadeFolder, Opened, Output, Source, Target,
    is_refused_by_kind, make_folder, names_in_turns,
};
pub(crate) use input::{Input, has_extended_attributes, read_listed};
pub use input::{SourceFile, open_file, open_file_below, read_up_to};
pub(crate) use opened_root::{OpenedRoot, remove_file_below, remove_leftovers_below};
#[cfg(unix)]
pub use output::accept_writes;
pub use published::Published;
pub(crate) use stable::first_existing;
pub use stable::{make_folders, sync_folders, sync_parents};
