//! Re-keying an encrypted tree with its index: each file is compared with the index before it is re-keyed, and the new generation
//! lists the re-keyed streams. What failed, or was not as the index lists it, stays listed as it was in place, and is not listed
//! elsewhere.
//!
//! A run that was killed leaves the old index, some files as it lists them, and some that were re-keyed. The header of such a file
//! shows the key's holder which stream it has taken the place of, and where (`format/succession.rs`). So the next run tells it from
//! any other file that the key opens.

use super::checking::{Checking, Expectations};
use super::items::bytes_of;
use super::streams::{Seen, StreamEnds, read_exactly};
use crate::Error;
use crate::error::IndexFault;
use crate::files::Input;
use crate::format::{Format, Predecessor};
use crate::index::{Anchor, FOLDER, Index, IndexKind, IndexPlace, IndexWriter, Replacing, digest, has_index};
use crate::pipeline::in_place::is_done;
use crate::pipeline::job::{Job, Work};
use crate::pipeline::tally::Tally;
use crate::pipeline::translation::{Buffers, Passage};
use crate::report::Observer;
use crate::tree::{Attributes, Tree};
use std::path::Path;

/// The index of a tree that is being re-keyed, and the one that is being written.
pub(super) struct Rekeying<'r> {
    tree: &'r Tree,
    /// What the files are under.
    from: &'r Format,
    /// What seals.
    to: &'r Format,
    pub(super) checking: Checking,
    pub(super) writer: IndexWriter,
    /// Whether both indexes are one.
    pub(super) is_in_place: bool,
}

impl<'r> Rekeying<'r> {
    /// Opens both indexes and reports what is missing. `root`: the folder of the outputs.
    pub(super) fn begin<K: Send>(
        tree: &'r Tree,
        job: &'r Job,
        root: &Path,
        is_in_place: bool,
        tally: &Tally<'_, K>,
    ) -> Result<Rekeying<'r>, Error> {
        let (Work::Rekey { from, to }, Some(index_use)) = (&job.work, &job.index) else {
            return Err(IndexFault::Unsupported("a job that re-keys").into());
        };
        let absent = || Error::from(IndexFault::Absent).at(&tree.root);
        let (anchor, place) = (index_use.anchor.as_deref(), index_use.place(root));
        let is_in_store = index_use.store.is_some();
        let (mut writer, index, anchor) = if is_in_place {
            // Nothing is made where there is no index: not even the lock, which would look like the beginning of one.
            if !(is_in_store || has_index(root)) {
                let check = |anchor: Anchor| anchor.check(None).map_err(|error| error.at(&root.join(FOLDER)));
                anchor.map(Anchor::read).transpose()?.map_or(Ok(()), check)?;
                return Err(absent());
            }
            // A run that was stopped has sealed it with the new key.
            let writer = IndexWriter::begin(place, to, b"", Replacing::Rekeyed(from), anchor)?;
            let is_taken_over = is_in_store && !writer.follows_same_key();
            let writer = if is_taken_over { take_over(writer, root, [from, to], tally)? } else { writer };
            let index = writer.previous().cloned().ok_or_else(absent)?;
            (writer, index, None)
        } else {
            let anchor = anchor.map(Anchor::read).transpose()?;
            let source = index_use.source_store.as_ref();
            let source = source.map_or(IndexPlace::Folder(&tree.root), IndexPlace::Store);
            let index = Index::open(source, from)?;
            if let Some(anchor) = &anchor {
                anchor.check(index.as_ref()).map_err(|error| error.at(&tree.root.join(FOLDER)))?;
            }
            let index = index.ok_or_else(absent)?;
            let writer = IndexWriter::begin(place, to, b"", Replacing::Opened, None)?;
            (writer.with_hidden_names(index.root().hides_names, false)?, index, anchor)
        };
        if let Some(suffix) = find_suffix(&index)? {
            writer.set_suffix(&suffix);
        }
        let checking = Checking::compared(index, tree, job, index_use, anchor, tally)?;
        Ok(Rekeying { tree, from, to, checking, writer, is_in_place })
    }

    /// The stream that the index lists at an entry's path, with that path.
    pub(super) fn predecessor(&self, entry: u32) -> Result<Predecessor, Error> {
        self.checking.expected.predecessor(entry, &self.path(entry))
    }

    fn path(&self, entry: u32) -> Vec<u8> {
        bytes_of(&self.tree.relative_path(self.tree.entries.get(entry)))
    }

    /// What is to be noted of an output that this run did not make; nothing if the index lists it already. Fails if it is not
    /// authentic, and if no earlier run has made it of the listed file.
    pub(super) fn confirm(
        &self,
        entry: u32,
        (input, attributes): (Input, Attributes),
        run_len: usize,
        buffers: &mut Buffers,
        observer: &dyn Observer,
    ) -> Result<Option<Seen>, Error> {
        let len = input.len();
        if self.is_in_place && self.checking.compare(entry, input.file(), len).is_ok() {
            return if is_done(self.to, &input, buffers)? { Ok(None) } else { Err(Error::SourceChanged) };
        }
        let mut begin = [0; StreamEnds::BEGIN];
        let begin = &mut begin[..len.min(StreamEnds::BEGIN as u64) as usize];
        read_exactly(input.file(), begin, 0)?;
        let expected = &self.checking.expected;
        let format =
            expected.successor(entry, &self.path(entry), begin, [self.from, self.to], self.is_in_place)?;
        // Another key may open what somebody else put behind the header.
        let verify = Work::Verify(format.clone());
        let (passage, present) = Passage::begin(&verify, run_len, input, None, buffers)?;
        let translation = &passage.translation;
        passage.advance(0..translation.segments, buffers, present, observer)?;
        let plaintext_len = translation.plaintext_len;
        let ends = StreamEnds::read(passage.input().file(), len)?;
        passage.finish(self.is_in_place)?;
        Seen::rekeyed(&ends, &format, plaintext_len, Some(attributes).filter(|_| !self.is_in_place))
    }

    /// Whether this is the key that seals.
    pub(super) fn is_current(&self, key_id: Option<u32>) -> bool {
        key_id == self.to.key_id()
    }
}

impl Expectations {
    /// The stream that the index lists at an entry's path, with that path: what a re-keyed stream shows that it takes the place of.
    ///
    /// # Errors
    /// [`IndexFault::Replaced`] if the index lists no file there.
    pub fn predecessor(&self, entry: u32, path: &[u8]) -> Result<Predecessor, Error> {
        let identity = self.listed_stream(entry).ok_or(IndexFault::Replaced { by: None })?;
        Ok(digest(&[&identity[..], path].concat()))
    }

    /// The new format with that key alone with which a run has begun a stream in the place of the one that the index lists. All of
    /// the stream was made by such a run if this opens all of it. `begin`: the stream's first [`StreamEnds::BEGIN`] bytes.
    ///
    /// # Errors
    /// If nothing shows that: [`IndexFault::Replaced`], or [`IndexFault::Unproven`] of an output in another place, which must be
    /// under the primary key; [`IndexFault::RekeyingUnfinished`] if a run to the keys that it is to be re-keyed from has begun it.
    pub fn successor(
        &self,
        entry: u32,
        path: &[u8],
        begin: &[u8],
        [from, to]: [&Format; 2],
        is_in_place: bool,
    ) -> Result<Format, Error> {
        let predecessor = self.predecessor(entry, path)?;
        let format = to.of_successor(&predecessor, begin)?;
        match format.filter(|format| is_in_place || format.key_id() == to.key_id()) {
            Some(format) => Ok(format),
            None if !is_in_place => Err(IndexFault::Unproven.into()),
            None if from.of_successor(&predecessor, begin)?.is_some() => {
                Err(IndexFault::RekeyingUnfinished.into())
            }
            None => Err(IndexFault::Replaced { by: None }.into()),
        }
    }
}

/// Begins with a generation that lists all as it was, under the new key. A store has no locks: a run with another new key, which could
/// not go on where this one ends, fails before it has re-keyed anything.
///
/// # Errors
/// [`Error::Stopped`]; [`IndexFault::RekeyingUnfinished`] if the index lists files that neither key is for: it was taken over by an
/// earlier run, whose marks only its own keys show. The index is in force as it was then.
fn take_over<K: Send>(
    mut writer: IndexWriter,
    root: &Path,
    keys: [&Format; 2],
    tally: &Tally<'_, K>,
) -> Result<IndexWriter, Error> {
    let Some(index) = writer.previous().cloned() else { return Ok(writer) };
    let suffix = find_suffix(&index)?.unwrap_or_default();
    writer.set_suffix(&suffix);
    for entry in index.entries() {
        if tally.is_stopped() {
            return Err(Error::Stopped);
        }
        let entry = entry?;
        if let IndexKind::File(file) = &entry.kind
            && !keys.iter().any(|format| format.has_key(file.key_id))
        {
            return Err(Error::from(IndexFault::RekeyingUnfinished).at(&root.join(FOLDER)));
        }
        writer.push(&entry)?;
    }
    writer.go_on(&suffix)
}

/// What the index's first file has behind its plaintext's name. Most have the same.
fn find_suffix(index: &Index) -> Result<Option<Vec<u8>>, Error> {
    for entry in index.entries() {
        let entry = entry?;
        if let IndexKind::File(file) = &entry.kind {
            return Ok(entry.path.strip_prefix(&*file.plaintext).map(<[u8]>::to_vec));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Memory, Objects};
    use crate::key::{Keyset, Template};
    use crate::machine::Backend;
    use crate::pipeline::job::{IndexMode, IndexUse};
    use crate::pipeline::tally::Entries;
    use crate::report::{Event, Unobserved};
    use crate::tree::Selection;
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Paths;

    impl Entries<u32> for Paths {
        fn size(&self, _entry: &u32) -> u64 {
            1
        }
        fn paths(&self, entry: &u32) -> (PathBuf, Option<PathBuf>) {
            (entry.to_string().into(), None)
        }
    }

    /// Stops a run when it is asked for the second time.
    #[derive(Default)]
    struct Stopper(AtomicUsize);

    impl Observer for Stopper {
        fn advanced(&self, _bytes: u64) {}
        fn entry_ended(&self) {}
        fn wants_every_event(&self) -> bool {
            false
        }
        fn ended(&self, _event: &Event<'_>) {}
        fn is_stopped(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) > 0
        }
    }

    /// A tree with an index under this key, and that index as it is in a bucket.
    fn planted(folder: &Path, key: &Keyset) -> (PathBuf, Objects) {
        let [source, sealed] = ["source", "sealed"].map(|name| folder.join(name));
        fs::create_dir(&source).unwrap();
        for name in ["one", "two", "three"] {
            fs::write(source.join(name), name).unwrap();
        }
        crate::encrypt(&source, &sealed).key(key).index(true).run().unwrap();
        let (objects, index) = (Objects::default(), ".cipherloom/index");
        for below in ["", "parts/"] {
            for file in fs::read_dir(sealed.join(index).join(below)).unwrap().flatten() {
                if let Ok(bytes) = fs::read(file.path()) {
                    let path = format!("{index}/{below}{}", file.file_name().to_str().unwrap());
                    objects.lock().unwrap().insert(path, (1, bytes));
                }
            }
        }
        (sealed, objects)
    }

    #[test]
    fn a_run_that_is_stopped_while_it_takes_the_index_over_leaves_it_in_force() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = [(); 2].map(|()| Keyset::generate(Template::default()).unwrap());
        let [from, to] = [&old, &new].map(|key| Format::tink(key, Backend::best()).unwrap());
        let (sealed, objects) = planted(folder.path(), &old);
        let tree = Tree::list(&sealed, &Selection::default()).unwrap();
        let work = Work::Rekey { from: from.clone(), to: to.clone() };
        let place = Path::new("s3://bucket");
        let begin = |observer: &dyn Observer| {
            let store = Some(Memory::of(&objects));
            let index = Some(IndexUse { store, ..IndexUse::new(IndexMode::Carry) });
            let job = Job { index, ..Job::new(work.clone(), Some(place.to_owned())) };
            let tally = Tally::new(&Paths, observer);
            Rekeying::begin(&tree, &job, place, true, &tally).map(drop)
        };
        let is_under =
            |format: &Format| Index::open(IndexPlace::Store(&Memory::of(&objects)), format).is_ok();
        let stopper = Stopper::default();
        assert!(matches!(begin(&stopper), Err(Error::Stopped)));
        assert_eq!(stopper.0.into_inner(), 2, "between two entries");
        assert!(is_under(&from) && !is_under(&to));
        begin(&Unobserved).unwrap();
        assert!(is_under(&to) && !is_under(&from));
    }
}
