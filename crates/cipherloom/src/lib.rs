//! Encrypt, verify, decrypt and re-key trees of files on every core, in formats that others can open.
//!
//! ```
//! # let scratch = tempfile::tempdir().unwrap();
//! # std::env::set_current_dir(scratch.path()).unwrap();
//! # std::fs::create_dir("books").unwrap();
//! # std::fs::write("books/one.txt", "It was a bright cold day in April.").unwrap();
//! use cipherloom::key::{Keyset, Template};
//!
//! let keyset = Keyset::generate(Template::default())?;
//! let report = cipherloom::encrypt("books", "sealed").key(&keyset).run()?;
//! println!("{} files, {} bytes", report.files, report.bytes);
//! assert_eq!(cipherloom::verify("sealed").key(&keyset).run()?.failed, 0);
//! # Ok::<(), cipherloom::Error>(())
//! ```
//!
//! - [`encrypt`], [`decrypt`], [`verify`], [`rekey`]: files and folders.
//! - [`stream`]: a writer that encrypts, a reader that decrypts and seeks, and bytes in memory.
//! - [`key`]: Tink keysets, in clear or wrapped; raw keys; passphrases.
//! - [`age`]: recipients and identities of age files, and their armor.
//! - [`format`](mod@format): the bytes that a stream consists of.
//! - [`machine`] and [`plan`]: how many threads, which backend, and why.
//! - [`report`]: progress, events and counts of a run.
//! - [`Error`]: what failed and why; [`error`] has its details.
#![forbid(unsafe_code)]

// Pure modules: no files, threads, clock or environment (clippy.toml).
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod error;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod format;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod plan;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod report;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
mod segments;

pub mod age;
mod builder;
mod engine;
mod files;
mod index;
pub mod key;
mod location;
pub mod machine;
mod pipeline;
pub mod stream;
mod tree;

pub use builder::{JobBuilder, decrypt, encrypt, rekey, verify};
pub use error::{Error, ErrorKind};
pub use files::IfExists;
pub use format::Format;
pub use pipeline::Links;
pub use report::{Observer, Report};

/// What the other crates of this workspace share. It is not part of the public API and may change in any release.
#[doc(hidden)]
pub mod internal {
    // For the command, whose standard output must not lose anything either.
    pub use crate::age::hear_plugin;
    pub use crate::error::hint::common_hint;
    #[cfg(unix)]
    pub use crate::files::accept_writes;
    pub use crate::files::{
        Draft, Published, SourceFile, make_folders, open_file, open_file_below, read_up_to, sync_folders,
        sync_parents,
    };
    // The last two for whoever tests them with damaged bytes.
    pub use crate::index::{
        IndexPlace, IndexStore, ObjectVersion, StreamIdentity, has_index, is_reserved, rewrite_part,
        rewrite_root,
    };
    pub use crate::pipeline::{
        Ended, Entries, Expectations, Gathering, IndexMode, IndexUse, Indexing, Job, ListedStream, Pieces,
        RecordedFile, RecordedFiles, Seen, StoredItem, StreamEnds, SyncOptions, SyncStore, Tally, Work,
        Workspace, check, find_damaged_copies, find_other_key_by, is_in_place, list_index,
        list_index_to_replace, list_indexed_files, list_recorded_files, refuse_other_names, replace_key_file,
        reveal, run, select_indexed_files, state_mark, sync, sync_to_store, translate_stream,
        translate_to_file, version_mark, write_key_file,
    };
    pub use crate::tree::{
        Attributes, Directory, Dropped, Entry, EntryList, Link, PassedOver, Selection, Shard, Tree, Unlisted,
    };

    /// Untrusted text for a terminal.
    pub mod escape {
        pub use crate::error::escape::*;
    }

    /// Threads, queues and lanes.
    pub mod engine {
        pub use crate::engine::*;
    }

    /// Bytes in memory, where a front end owns input and output.
    pub mod memory {
        pub use crate::stream::memory::*;
    }

    /// What a source or destination means.
    pub mod location {
        pub use crate::location::*;
    }
}
