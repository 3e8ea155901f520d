//! The digests of source files' contents.

use super::Sync;
use super::comparison::Due;
use crate::Error;
use crate::engine::Workers;
use crate::files::Source;
use crate::files::{Input, read_up_to};
use crate::index::ContentDigest;
use crate::report::Observer;
use std::sync::OnceLock;
use zeroize::Zeroizing;

/// How much is read at once.
const PIECE: usize = 256 << 10;

impl Sync<'_> {
    /// The digests of files that are to be encrypted, if content is compared. A file that changes between this and its encryption
    /// fails there, and so does one that cannot be read. A run that was stopped has some of them.
    pub(super) fn digest_due(&self, due: &[Due]) -> Result<Vec<Option<ContentDigest>>, Error> {
        if !self.options.checksum {
            return Ok(vec![None; due.len()]);
        }
        let key_id = self.format.key_id().ok_or(Error::NoKey)?;
        let digests: Vec<OnceLock<ContentDigest>> = due.iter().map(|_| OnceLock::new()).collect();
        let digested = self.each(digests.len(), |number| {
            if let Ok(digest) = digest_of(self, due[number].entry, key_id) {
                let _ = digests[number].set(digest);
            }
        });
        match digested {
            Ok(()) | Err(Error::Stopped) => Ok(digests.into_iter().map(OnceLock::into_inner).collect()),
            Err(error) => Err(error),
        }
    }

    /// Does this `count` times, on all threads.
    pub(super) fn each(&self, count: usize, work: impl Fn(usize) + std::marker::Sync) -> Result<(), Error> {
        let threads = self.thread_count().min(count.max(1));
        let workers = Workers::new(threads, self.observer);
        workers.run_each(count, || (), |number, ()| work(number))?;
        if workers.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// The digest of an entry's content, for a stream under the key of this identifier. Fails if the file is not the one that was
/// listed.
pub(super) fn digest_of(sync: &Sync<'_>, entry: u32, key_id: u32) -> Result<ContentDigest, Error> {
    let mut hasher = sync.format.content_hasher(key_id)?;
    let listed = sync.tree.entries.get(entry);
    let below = &sync.tree.directories[listed.directory() as usize].path;
    let file = Source::root(&sync.tree.root)?.below(below)?.input(listed.name(), false)?;
    let input = Input::new(file, listed.size(), &listed.attributes());
    let len = usize::try_from(listed.size()).unwrap_or(PIECE).clamp(1, PIECE);
    let (mut piece, mut at) = (Zeroizing::new(vec![0; len]), 0);
    loop {
        sync.check_stopped()?;
        let read =
            read_up_to(input.file(), &mut piece, at).map_err(|error| Error::io("read the file", error))?;
        hasher.update(&piece[..read]);
        at += read as u64;
        if read < piece.len() || at >= listed.size() {
            break;
        }
    }
    if at != listed.size() {
        return Err(Error::SourceChanged);
    }
    input.check_unchanged(false)?;
    Ok(hasher.finish())
}
