//! What a job does with the index of the encrypted tree.

use super::JobBuilder;
use crate::Error;
use crate::error::IndexFault;
use crate::index::has_index;
use crate::pipeline::{
    IndexMode, IndexUse, Links, SyncOptions, Work, list_index, list_indexed_files, reveal,
};
use crate::plan::Operation;
use crate::report::{IndexReport, ListedEntry, Observer};
use crate::tree::{Selection, Tree};
use std::ffi::OsString;
use std::path::PathBuf;

/// How the index is used.
#[derive(Debug, Clone, Default)]
pub(super) struct Indexing {
    is_updated: bool,
    /// Whether it is made anew; then whether even one is replaced that no key opens.
    rebuilt: Option<bool>,
    is_partial: bool,
    is_quick: bool,
    only: Vec<String>,
    anchor: Option<PathBuf>,
    is_synchronized: bool,
    sync: SyncOptions,
    hides_names: bool,
}

impl JobBuilder {
    /// Encryption: whether the files are also listed in a sealed index below the destination, which is made or updated.
    /// [`verify`](crate::verify) finds it there and reports files that are missing, extra, swapped or put back. Default: no. An
    /// index needs a keyset, and folders as source and destination.
    ///
    /// ```
    /// # let scratch = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(scratch.path()).unwrap();
    /// # std::fs::create_dir("books").unwrap();
    /// # std::fs::write("books/one.txt", "It was a bright cold day in April.").unwrap();
    /// # std::fs::write("books/two.txt", "Call me Ishmael.").unwrap();
    /// use cipherloom::key::{Keyset, Template};
    ///
    /// let keyset = Keyset::generate(Template::default())?;
    /// let report = cipherloom::encrypt("books", "sealed").key(&keyset).index(true).run()?;
    /// assert_eq!(report.index.map(|index| (index.generation, index.entries)), Some((1, 2)));
    ///
    /// std::fs::remove_file("sealed/two.txt").unwrap();
    /// let report = cipherloom::verify("sealed").key(&keyset).run()?;
    /// assert_eq!((report.files, report.failed, report.index.unwrap().missing), (1, 1, 1));
    /// # Ok::<(), cipherloom::Error>(())
    /// ```
    pub fn index(mut self, index: bool) -> JobBuilder {
        self.indexing.is_updated = index;
        self
    }

    /// Encryption: whether only files are encrypted that are new or have changed since the destination's index was written, by
    /// their size and time. Implies [`JobBuilder::index`]; [`JobBuilder::if_exists`] has no effect. Outputs of renamed files are
    /// renamed, unless paths are bound. Default: no.
    ///
    /// ```
    /// # let scratch = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(scratch.path()).unwrap();
    /// # std::fs::create_dir("books").unwrap();
    /// # std::fs::write("books/one.txt", "It was a bright cold day in April.").unwrap();
    /// # std::fs::write("books/two.txt", "Call me Ishmael.").unwrap();
    /// use cipherloom::key::{Keyset, Template};
    ///
    /// let keyset = Keyset::generate(Template::default())?;
    /// let sync = cipherloom::encrypt("books", "sealed").key(&keyset).sync(true).delete(true);
    /// assert_eq!(sync.run()?.sync.map(|sync| sync.new), Some(2));
    ///
    /// std::fs::write("books/one.txt", "It was a bright cold day in April, and the clocks").unwrap();
    /// std::fs::remove_file("books/two.txt").unwrap();
    /// let sync = sync.run()?.sync.unwrap();
    /// assert_eq!((sync.changed, sync.removed, sync.unchanged), (1, 1, 0));
    /// assert!(!std::fs::exists("sealed/two.txt").unwrap());
    /// # Ok::<(), cipherloom::Error>(())
    /// ```
    pub fn sync(mut self, sync: bool) -> JobBuilder {
        self.indexing.is_synchronized = sync;
        self
    }

    /// Synchronization: whether outputs are removed whose sources are gone, if the index lists them and they are the files that it
    /// lists. An empty source is refused then, and nothing is removed if a part of the source cannot be listed. Default: no.
    pub fn delete(mut self, delete: bool) -> JobBuilder {
        self.indexing.sync.delete = delete;
        self
    }

    /// Synchronization: whether the content of files is compared too, by a keyed digest in the index. Files without one count as
    /// changed. Default: no, and a change that keeps a file's size and time is not found.
    pub fn checksum(mut self, checksum: bool) -> JobBuilder {
        self.indexing.sync.checksum = checksum;
        self
    }

    /// Synchronization: whether nothing is written, and the report says what would be done. Default: no.
    pub fn dry_run(mut self, dry_run: bool) -> JobBuilder {
        self.indexing.sync.dry_run = dry_run;
        self
    }

    /// With [`JobBuilder::index`] or [`JobBuilder::sync`]: whether the files get random names in 256 folders, which only the index
    /// knows. All runs into a destination hide names or none does. Excludes suffixes, bound paths and links. Default: no.
    ///
    /// ```
    /// # let scratch = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(scratch.path()).unwrap();
    /// # std::fs::create_dir("books").unwrap();
    /// # std::fs::write("books/one.txt", "It was a bright cold day in April.").unwrap();
    /// use cipherloom::key::{Keyset, Template};
    ///
    /// let keyset = Keyset::generate(Template::default())?;
    /// cipherloom::encrypt("books", "sealed").key(&keyset).index(true).hide_names(true).run()?;
    /// assert!(!std::fs::exists("sealed/one.txt").unwrap());
    ///
    /// assert_eq!(cipherloom::decrypt("sealed", "opened").key(&keyset).run()?.files, 1);
    /// assert_eq!(std::fs::read("opened/one.txt").unwrap(), b"It was a bright cold day in April.");
    /// # Ok::<(), cipherloom::Error>(())
    /// ```
    pub fn hide_names(mut self, hide: bool) -> JobBuilder {
        self.indexing.hides_names = hide;
        self
    }

    /// Verification: makes an index of the files of a tree, whose beginnings the key must open. Nothing shows then whether one is
    /// missing or was replaced before. `replace`: also where there is one already, whichever key it is of. Files that globs leave out
    /// are not listed, and verification without these globs reports them as extra.
    ///
    /// ```
    /// # let scratch = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(scratch.path()).unwrap();
    /// # std::fs::create_dir("books").unwrap();
    /// # std::fs::write("books/one.txt", "It was a bright cold day in April.").unwrap();
    /// use cipherloom::key::{Keyset, Template};
    ///
    /// let keyset = Keyset::generate(Template::default())?;
    /// cipherloom::encrypt("books", "sealed").key(&keyset).run()?;
    /// let report = cipherloom::verify("sealed").key(&keyset).rebuild_index(false).run()?;
    /// assert_eq!(report.index.map(|index| index.generation), Some(1));
    /// # Ok::<(), cipherloom::Error>(())
    /// ```
    pub fn rebuild_index(mut self, replace: bool) -> JobBuilder {
        self.indexing.rebuilt = Some(replace);
        self
    }

    /// With [`JobBuilder::rebuild_index`]: whether the index is also written if some files fail, and lists the others. Each failure is
    /// reported. Default: no, so that an index never lacks a file by mistake.
    pub fn skip_unopened(mut self, skip: bool) -> JobBuilder {
        self.indexing.is_partial = skip;
        self
    }

    /// Verification: whether only the length, the beginning and the end of each file are read, and compared with the index, which
    /// must be there. Default: no.
    pub fn quick(mut self, quick: bool) -> JobBuilder {
        self.indexing.is_quick = quick;
        self
    }

    /// Decryption: adds a glob. Only files are decrypted that the tree's index lists, whose plaintexts' names or paths match one
    /// of these, and that are the files that it lists. Where encryption gave them different suffixes, [`JobBuilder::suffix`] says
    /// which of them. Links are skipped.
    ///
    /// ```
    /// # let scratch = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(scratch.path()).unwrap();
    /// # std::fs::create_dir("books").unwrap();
    /// # std::fs::write("books/one.txt", "It was a bright cold day in April.").unwrap();
    /// # std::fs::write("books/two.txt", "Call me Ishmael.").unwrap();
    /// use cipherloom::key::{Keyset, Template};
    ///
    /// let keyset = Keyset::generate(Template::default())?;
    /// cipherloom::encrypt("books", "sealed").key(&keyset).suffix(".tink").index(true).run()?;
    /// let report = cipherloom::decrypt("sealed", "opened").key(&keyset).only("two.*").run()?;
    /// assert_eq!(report.files, 1);
    /// assert_eq!(std::fs::read("opened/two.txt").unwrap(), b"Call me Ishmael.");
    /// # Ok::<(), cipherloom::Error>(())
    /// ```
    pub fn only(mut self, glob: impl Into<String>) -> JobBuilder {
        self.indexing.only.push(glob.into());
        self
    }

    /// A file that remembers the index's newest generation, so that a tree is refused that was put back to an earlier state as a
    /// whole. Where the index is written or verified, the file is too: that of the source when re-keying.
    pub fn anchor(mut self, anchor: impl Into<PathBuf>) -> JobBuilder {
        self.indexing.anchor = Some(anchor.into());
        self
    }

    /// What the index of the source lists, and everything in it, in its order. An error is the last item.
    ///
    /// ```
    /// # let scratch = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(scratch.path()).unwrap();
    /// # std::fs::create_dir("books").unwrap();
    /// # std::fs::write("books/one.txt", "It was a bright cold day in April.").unwrap();
    /// use cipherloom::key::{Keyset, Template};
    /// use cipherloom::report::{IndexReport, ListedEntry, ListedKind};
    ///
    /// let keyset = Keyset::generate(Template::default())?;
    /// cipherloom::encrypt("books", "sealed").key(&keyset).index(true).run()?;
    /// let (index, entries) = cipherloom::verify("sealed").key(&keyset).list_index()?;
    /// let entries: Vec<ListedEntry> = entries.collect::<Result<_, _>>()?;
    /// assert_eq!(index, IndexReport { generation: 1, time: index.time, entries: 1, ..IndexReport::default() });
    /// assert_eq!((&*entries[0].path, entries[0].kind, entries[0].size), ("one.txt".as_ref(), ListedKind::File, 34));
    /// # Ok::<(), cipherloom::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoKey`]; [`Error::Index`] if there is no index, or it cannot be used.
    pub fn list_index(
        &self,
    ) -> Result<(IndexReport, impl Iterator<Item = Result<ListedEntry, Error>> + use<>), Error> {
        let format = self.key.as_ref().ok_or(Error::NoKey)?.format(&self.resolve_machine())?;
        list_index((&self.source).into(), &format, self.indexing.anchor.as_deref())
            .map_err(|error| error.at(&self.source))
    }

    /// Lists the source for a job with this work, and says how it uses the index. With it comes the suffix of files that the
    /// index names.
    pub(super) fn list_source(
        &self,
        work: &Work,
        observer: &dyn Observer,
    ) -> Result<(Tree, Option<IndexUse>, Option<OsString>), Error> {
        self.refuse_what_has_no_effect(work)?;
        let Indexing {
            is_updated,
            rebuilt,
            is_partial,
            is_quick,
            only,
            anchor,
            is_synchronized,
            sync,
            hides_names,
        } = &self.indexing;
        let opening = work.opening().filter(|format| format.key_id().is_some());
        if let (false, Operation::Decrypt, Some(format)) = (only.is_empty(), self.operation, opening) {
            let selection = Selection::new(only, &[])?;
            let suffix = &self.job.suffix;
            let mode = IndexMode::Check { quick: false };
            let index =
                IndexUse { anchor: anchor.clone(), selection: selection.clone(), ..IndexUse::new(mode) };
            let mut index = Some(index);
            if let Some(tree) = reveal(&self.source, work, &selection, &mut index)? {
                return Ok((tree, index, None));
            }
            let (tree, _, suffix) =
                list_indexed_files(&self.source, format, &selection, suffix, anchor.as_deref())
                    .map_err(|error| error.at(&self.source))?;
            return Ok((tree, index, Some(suffix)));
        }
        let selection = Selection::new(&self.include, &self.exclude)?;
        let tree = Tree::list_observed(&self.source, &selection, observer);
        let tree = tree.map_err(|error| error.at(&self.source))?;
        let compares = *is_quick || anchor.is_some() || (opening.is_some() && !tree.is_single_file);
        let carries = tree.passed_over.index > 0 && !tree.is_single_file && has_index(&tree.root);
        let mode = match (self.operation, rebuilt) {
            (Operation::Encrypt, _) if *is_synchronized => Some(IndexMode::Sync(*sync)),
            (Operation::Encrypt, _) if *is_updated => Some(IndexMode::Update),
            (Operation::Verify, Some(replace)) => {
                Some(IndexMode::Rebuild { replace: *replace, partial: *is_partial })
            }
            (Operation::Rekey, _) if anchor.is_some() || carries => Some(IndexMode::Carry),
            (Operation::Verify, None) if compares => Some(IndexMode::Check { quick: *is_quick }),
            _ => None,
        };
        let hides_names = *hides_names;
        let used = |mode| IndexUse {
            anchor: anchor.clone(),
            selection: selection.clone(),
            hides_names,
            ..IndexUse::new(mode)
        };
        let mut index = mode.map(used);
        if !tree.is_single_file
            && let Some(revealed) = reveal(&tree.root, work, &selection, &mut index)?
        {
            return Ok((revealed, index, None));
        }
        Ok((tree, index, None))
    }

    /// Fails if the job would ignore what was asked of the index, or what was asked beside it.
    fn refuse_what_has_no_effect(&self, work: &Work) -> Result<(), Error> {
        let Indexing {
            is_updated,
            rebuilt,
            is_partial,
            is_quick,
            only,
            anchor,
            is_synchronized,
            sync,
            hides_names,
        } = &self.indexing;
        let is_updated = *is_updated || *is_synchronized;
        let is = |operation: Operation| self.operation == operation;
        let (selects, is_rebuilt) = (!only.is_empty(), rebuilt.is_some());
        let uses_it = is_updated || is_rebuilt || *is_quick || selects || anchor.is_some();
        let has_globs = !(self.include.is_empty() && self.exclude.is_empty());
        let has_keyset =
            [work.sealing(), work.opening()].into_iter().flatten().all(|format| format.key_id().is_some());
        let needed = [
            ((is_updated || *hides_names) && !is(Operation::Encrypt), "a job that encrypts"),
            (*hides_names && !is_updated, "to be written where it hides names"),
            (*sync != SyncOptions::default() && !*is_synchronized, "a synchronization"),
            ((is_rebuilt || *is_quick) && !is(Operation::Verify), "a job that verifies"),
            (selects && !is(Operation::Decrypt), "a job that decrypts"),
            (
                anchor.is_some() && !(is_updated || selects || is(Operation::Verify) || is(Operation::Rekey)),
                "a job that writes or compares it",
            ),
            (is_rebuilt && *is_quick, "to be either rebuilt or compared"),
            (*is_partial && !is_rebuilt, "to be rebuilt where files may fail"),
            (selects && has_globs, "globs of one kind"),
            (selects && self.job.links != Links::Skip, "links to be skipped where it selects files"),
            (uses_it && !has_keyset, "a keyset"),
        ];
        match needed.iter().find(|(is_refused, _)| *is_refused) {
            Some((_, needed)) => Err(IndexFault::Unsupported(needed).into()),
            None => Ok(()),
        }
    }
}
