//! The digest of a source file's content.

use super::Sync;
use crate::Error;
use crate::files::Source;
use crate::files::{Input, read_up_to};
use crate::index::ContentDigest;
use zeroize::Zeroizing;

/// How much is read at once.
const PIECE: usize = 256 << 10;

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
