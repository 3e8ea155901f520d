//! A stream translated piece by piece in memory, for those who fetch and send its bytes themselves (object stores).
//!
//! ```text
//! head ─> Pieces::begin ─┬─> source_range(segments) ─> (fetched by the caller) ─> translate ─> (sent by the caller)
//!                        └─> any thread, any range of segments, in any order
//! ```

use super::job::Work;
use super::translation::{Buffers, Ends, Translation};
use crate::Error;
use crate::plan::{Operation, RUN_LEN};
use crate::report::Unobserved;
use crate::segments::no_memory;
use std::cell::RefCell;
use std::ops::Range;
use zeroize::Zeroizing;

/// A worker's buffers for [`Pieces`], small until they are used, for any number of streams, wiped when dropped.
#[derive(Debug, Default)]
pub struct Workspace(Buffers);

/// One stream's derived keys and lengths.
///
/// ```
/// use cipherloom::key::{Keyset, Template};
/// use cipherloom::internal::{Pieces, Work, Workspace};
/// use cipherloom::{Format, machine::Backend};
///
/// # fn main() -> Result<(), cipherloom::Error> {
/// let format = Format::tink(Keyset::generate(Template::default())?, Backend::best())?;
/// let mut workspace = Workspace::default();
/// let through = |work: &Work, source: &[u8], workspace: &mut Workspace| {
///     let pieces = Pieces::begin(work, b"", source.len() as u64, source, workspace)?;
///     pieces.translate(0..pieces.segments(), source, workspace)
/// };
/// let sealed = through(&Work::Encrypt(format.clone()), b"a bright cold day", &mut workspace)?;
/// assert_eq!(**through(&Work::Decrypt(format.clone()), &sealed, &mut workspace)?, *b"a bright cold day");
/// # Ok(())
/// # }
/// ```
pub struct Pieces {
    translation: Translation,
}

impl Pieces {
    /// How many bytes of a source [`Pieces::begin`] wants to see, as far as the first of them (`begin`) tell: 0 if it is not
    /// encrypted. Once they are there, they may show that more are wanted.
    #[must_use]
    pub fn head_len(work: &Work, begin: &[u8]) -> usize {
        work.opening().map_or(0, |format| format.head_len(begin))
    }

    /// Derives the keys of a stream whose source has `source_len` bytes. `head`: the first [`Pieces::head_len`] of them
    /// or more, or all.
    ///
    /// # Errors
    /// If the source is not in its format, no key opens it, or no stream has its length ([`Error::ImpossibleLength`]);
    /// [`Error::Chained`] for encryption in a format without independent segments (CBC).
    pub fn begin(
        work: &Work,
        associated_data: &[u8],
        source_len: u64,
        head: &[u8],
        workspace: &mut Workspace,
    ) -> Result<Pieces, Error> {
        Pieces::begin_marked(work, associated_data, source_len, head, None, workspace)
    }

    /// The same; the header of an encrypted output shows to those who have its key that it has this mark, if there is one.
    ///
    /// # Errors
    /// As [`Pieces::begin`].
    pub fn begin_marked(
        work: &Work,
        associated_data: &[u8],
        source_len: u64,
        head: &[u8],
        mark: Option<&[u8; 32]>,
        workspace: &mut Workspace,
    ) -> Result<Pieces, Error> {
        if work.sealing().is_some_and(|format| format.is_chained()) {
            return Err(Error::Chained);
        }
        // Keys are tried on a copy of the first segment, of which no more than this is there.
        let scratch_len = if work.opening().is_some() { head.len() } else { 0 };
        let scratch = workspace.0.second.first(scratch_len)?;
        let translation =
            Translation::begin(work, RUN_LEN, source_len, associated_data, mark, head, scratch)?;
        Ok(Pieces { translation })
    }

    /// How many segments there are: the output's if it is encrypted, else the source's.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.translation.segments
    }

    /// Bytes of the plaintext (of a padded one: the most that it can have).
    #[must_use]
    pub fn plaintext_len(&self) -> u64 {
        self.translation.plaintext_len
    }

    /// Which bytes of the source the segments in `range` (not empty) are made of.
    #[must_use]
    pub fn source_range(&self, range: &Range<u64>) -> Range<u64> {
        self.translation.source_range(range)
    }

    /// Translates the segments in `range` (not empty); `source` holds the bytes of [`Pieces::source_range`]. Gives their
    /// part of the output, which is empty when verifying. Pieces of consecutive ranges make the whole output.
    ///
    /// # Errors
    /// If a segment of the source is not authentic; [`Error::SourceShrank`] if `source` is too short.
    pub fn translate(
        &self,
        range: Range<u64>,
        source: &[u8],
        workspace: &mut Workspace,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let start = self.source_range(&range).start;
        let discards = self.translation.operation == Operation::Verify;
        // Overhead is small; what an output needs beyond this room is copied once more.
        let room = if discards { 0 } else { source.len() + source.len() / 64 + RUN_LEN / 64 };
        let mut output = Vec::new();
        output.try_reserve_exact(room).map_err(no_memory)?;
        let output = RefCell::new(Zeroizing::new(output));
        let memory = Memory { source, start, output: &output };
        self.translation.advance(&memory, range, &mut workspace.0, 0, &Unobserved)?;
        Ok(output.into_inner())
    }
}

/// Both ends of a piece. Runs come in order, so each output follows the one before.
struct Memory<'m> {
    source: &'m [u8],
    start: u64,
    output: &'m RefCell<Zeroizing<Vec<u8>>>,
}

impl Ends for Memory<'_> {
    fn read(&self, buffer: &mut [u8], len: usize, offset: u64) -> Result<(), Error> {
        let from = offset.checked_sub(self.start).and_then(|from| usize::try_from(from).ok());
        let bytes = from.and_then(|from| self.source.get(from..from.checked_add(len)?));
        buffer[..len].copy_from_slice(bytes.ok_or(Error::SourceShrank)?);
        Ok(())
    }

    fn write(&self, bytes: &[u8], _offset: u64) -> Result<(), Error> {
        self.output.borrow_mut().extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::key::{Keyset, RawKey, Template};
    use cipherloom_kernels::Backend;

    fn tink(template: &str) -> Format {
        let template: Template = template.parse().unwrap();
        Format::tink(Keyset::generate(template).unwrap(), Backend::Soft).unwrap()
    }

    /// In pieces of `step` segments, each from exactly the bytes that it asks for.
    fn translate(work: &Work, source: &[u8], step: u64) -> Result<Vec<u8>, Error> {
        let mut workspace = Workspace::default();
        let head = &source[..Pieces::head_len(work, source).min(source.len())];
        let pieces = Pieces::begin(work, b"path", source.len() as u64, head, &mut workspace)?;
        let mut output = Vec::new();
        for start in (0..pieces.segments()).step_by(usize::try_from(step).unwrap()) {
            let range = start..pieces.segments().min(start + step);
            let wanted = pieces.source_range(&range);
            let bytes = &source[wanted.start as usize..wanted.end as usize];
            output.extend_from_slice(&pieces.translate(range, bytes, &mut workspace)?);
        }
        Ok(output)
    }

    #[test]
    fn pieces_of_any_length_make_the_whole() {
        let formats = [
            (tink("AES256_GCM_HKDF_4KB"), tink("AES128_CTR_HMAC_SHA256_4KB")),
            (
                tink("AES128_CTR_HMAC_SHA256_4KB"),
                Format::cobblestone(&RawKey::parse(&[b'7'; 64]).unwrap(), b"").unwrap(),
            ),
        ];
        for (first, second) in &formats {
            for len in [0, 1, 4000, 4096, 16_384, 70_000] {
                let plaintext: Vec<u8> = (0..len).map(|index| (index % 251) as u8).collect();
                for step in [1, 3, 1000] {
                    let sealed = translate(&Work::Encrypt(first.clone()), &plaintext, step).unwrap();
                    let resealed =
                        translate(&Work::Rekey { from: first.clone(), to: second.clone() }, &sealed, step)
                            .unwrap();
                    assert_eq!(
                        translate(&Work::Decrypt(second.clone()), &resealed, step).unwrap(),
                        plaintext
                    );
                    assert_eq!(translate(&Work::Verify(second.clone()), &resealed, step).unwrap(), b"");
                    assert_eq!(translate(&Work::Copy, &plaintext, step).unwrap(), plaintext);
                    let mut damaged = sealed.clone();
                    *damaged.last_mut().unwrap() ^= 1;
                    assert!(
                        translate(&Work::Verify(first.clone()), &damaged, step)
                            .unwrap_err()
                            .is_authentication()
                    );
                }
            }
        }
    }

    #[test]
    fn a_chain_is_refused() {
        let key = RawKey::parse(&[7; 16]).unwrap();
        let policy = crate::format::IvPolicy::Prefixed;
        let format = Format::raw(crate::format::Cipher::Aes128Cbc, &key, policy, Backend::Soft).unwrap();
        let begun = Pieces::begin(&Work::Encrypt(format.clone()), b"", 4, b"text", &mut Workspace::default());
        assert!(matches!(begun, Err(Error::Chained)));
    }
}
