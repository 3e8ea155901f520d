//! What a share of a run over several machines adds to an index: a journal, and in each output a mark that says of which version of
//! a source it was made. A share that is repeated finds outputs that no journal lists; the mark tells its own from what anybody else
//! has put there.

use super::items::bytes_of;
use super::streams::{StreamEnds, read_exactly};
use super::{Indexing, Seen};
use crate::Error;
use crate::files::Input;
use crate::format::Predecessor;
use crate::index::digest;
use crate::pipeline::translation::Buffers;

impl Indexing<'_> {
    /// Stands for the version of an entry of the source.
    pub(super) fn version_of(&self, entry: u32) -> Predecessor {
        let entry = self.tree.entries.get(entry);
        let time = entry
            .attributes()
            .moment()
            .map(|(seconds, nanoseconds)| [&seconds.to_be_bytes()[..], &nanoseconds.to_be_bytes()].concat());
        version_mark(&bytes_of(&self.tree.relative_path(entry)), entry.size(), &time.unwrap_or_default())
    }

    /// The stream of an output that a run has made of this version of the source.
    pub(super) fn recognise(&self, entry: u32, input: &Input, buffers: &mut Buffers) -> Result<Seen, Error> {
        let format = self.job.work.sealing();
        let format = format.ok_or_else(|| Error::internal("a journal without a format"))?;
        let (file, len) = (input.file(), input.len());
        let wanted = u64::from(format.largest_segment()).min(len);
        let begin = buffers.main.first(usize::try_from(wanted).expect("a segment fits into memory"))?;
        read_exactly(file, begin, 0)?;
        let ends = StreamEnds::read(file, len)?;
        let size = self.tree.entries.get(entry).size();
        let mark = self.version_of(entry);
        Seen::marked(format, &mark, &buffers.associated_data, begin, &ends, size)?.ok_or_else(|| {
            let reason = "nothing shows that it was made of this version of the source".to_owned();
            Error::OutputConflict { reason }
        })
    }
}

/// Stands for a version of a source in the header of what was encrypted of it: whoever finds a stream with this mark knows that a
/// holder of the key made it of this version.
#[must_use]
pub fn version_mark(path: &[u8], size: u64, version: &[u8]) -> Predecessor {
    let len = path.len() as u64;
    let label = &b"\0cipherloom version of a source 1"[..];
    digest(&[label, &len.to_be_bytes(), path, &size.to_be_bytes(), version].concat())
}
