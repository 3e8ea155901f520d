//! How a run uses the index of an encrypted tree.

use super::{Run, formats_of};
use crate::arguments::{
    DecryptArguments, EncryptArguments, IndexArguments, RekeyArguments, TreeArguments, VerifyArguments,
};
use crate::commands::sources::Source;
use crate::commands::stores;
use crate::exit_code::{ExitCode, usage};
use crate::output::{self, at};
use crate::{device, keys};
use cipherloom::Format;
use cipherloom::internal::location::{Location, SourceKind};
use cipherloom::internal::{
    IndexMode, IndexUse, Selection, Tree, Work, find_damaged_copies, has_index, list_indexed_files,
    refuse_other_names, reveal,
};
use std::ffi::OsString;
use std::path::Path;

/// `cipherloom index`.
pub fn index(arguments: &IndexArguments) -> anyhow::Result<ExitCode> {
    let IndexArguments { tree, suffix, exclude, anchor, format: options, common, .. } = arguments;
    let (sources, exclude) = (vec![tree.clone()], exclude.clone());
    let tree = TreeArguments { sources, exclude, ..TreeArguments::default() };
    let mut run = Run::new(&tree, None, common)?;
    let format = keys::format(options, device::engine(&run.machine))?;
    run.set_job(Work::Verify(format), Some(options))?;
    run.job.suffix.clone_from(suffix);
    let mode = IndexMode::Rebuild { replace: arguments.replace, partial: arguments.skip_unopened };
    run.use_index(mode, anchor.as_deref(), &tree)?;
    run.reveal_names(&tree)?;
    run.start()
}

/// The error for what has no index.
pub fn not_a_folder() -> anyhow::Error {
    usage("an index is of an encrypted folder or prefix", "pipes, single files and single objects have none")
}

/// What to warn of where an index is left as it is.
pub const NOT_LISTED: &str = "it has an index, which will not list what this run writes; --index updates it";

impl Run<'_> {
    /// With --index: has the run update the index of DST. Else warns of one that will not list what the run writes.
    pub(super) fn update_index(&mut self, arguments: &EncryptArguments) -> anyhow::Result<()> {
        if arguments.index {
            self.use_index(IndexMode::Update, arguments.anchor.as_deref(), &arguments.tree)?;
            return self.hide_names(arguments.hide_names);
        }
        self.warn_of_index(NOT_LISTED);
        Ok(())
    }

    /// With --hide-names: has the run hide the names of its outputs, which the index then knows.
    pub(super) fn hide_names(&mut self, hides_names: bool) -> anyhow::Result<()> {
        if hides_names && self.folder.as_ref().is_some_and(Location::is_store) {
            return Err(usage(
                "names are hidden in folders alone",
                "leave --hide-names out, or encrypt to a folder",
            ));
        }
        if let Some(index) = &mut self.job.index {
            index.hides_names = hides_names;
        }
        Ok(())
    }

    /// Warns of an index of DST that the run leaves as it is.
    fn warn_of_index(&self, words: &str) {
        if let Some(Location::Path(folder)) = &self.folder
            && has_index(folder)
            // A run that is refused writes nothing there.
            && refuse_other_names(&self.job).is_ok()
        {
            output::warn(at(folder, words));
        }
    }

    /// If the source has an index: has the run compare the files with it, and list them in that of DST. Else warns of one that
    /// will not list what the run writes.
    pub(super) fn carry_index(&mut self, arguments: &RekeyArguments) -> anyhow::Result<()> {
        let RekeyArguments { tree, anchor, .. } = arguments;
        let has_own = |listed: &Tree| {
            let is_listed = listed.passed_over.index > 0 || tree.names_files();
            is_listed && !listed.is_single_file && has_index(&listed.root)
        };
        let is_carried = match (&self.source, &self.folder) {
            (Source::Tree(tree), Some(Location::Path(_))) => has_own(tree),
            (Source::Listing(found), Some(Location::Store(_))) => stores::has_index(found)?,
            _ => false,
        };
        if anchor.is_some() || is_carried {
            self.use_index(IndexMode::Carry, anchor.as_deref(), tree)?;
        } else {
            self.warn_of_index("it has an index, which will not list what this run writes");
        }
        self.reveal_names(tree)
    }

    /// If names are hidden in the source: takes the files that its index lists, under their plaintexts' paths. `tree`: which of them.
    pub(super) fn reveal_names(&mut self, tree: &TreeArguments) -> anyhow::Result<()> {
        let selection = match &self.job.index {
            Some(index) if !matches!(index.mode, IndexMode::Rebuild { .. }) => index.selection.clone(),
            _ => tree.selection()?,
        };
        let Source::Tree(found) = &self.source else { return Ok(()) };
        if found.is_single_file || found.is_several {
            return Ok(());
        }
        let root = found.root.clone();
        let revealed = reveal(&root, &self.job.work, &selection, &mut self.job.index);
        if let Some(revealed) = revealed.map_err(|error| error.at(&root))? {
            if tree.names_files() {
                return Err(usage(
                    at(&root, "its names are hidden, so no list of files can name them"),
                    "--include and --only select files by their plaintexts' paths",
                ));
            }
            if self.folder.as_ref().is_some_and(Location::is_store) {
                return Err(usage(
                    at(&root, "its names are hidden, and outputs of such a tree go to folders alone"),
                    "choose a folder, and copy it to the store; or name single files",
                ));
            }
            self.source = Source::Tree(revealed);
            // Verification reports them as errors.
            let format = self.job.work.opening().filter(|_| !matches!(self.job.work, Work::Verify(_)));
            let damaged = format.and_then(|format| find_damaged_copies(&root, format).ok());
            damaged.into_iter().flatten().for_each(output::warn);
        }
        Ok(())
    }

    /// Has the run use the index of the encrypted tree.
    pub(super) fn use_index(
        &mut self,
        mode: IndexMode,
        anchor: Option<&Path>,
        tree: &TreeArguments,
    ) -> anyhow::Result<()> {
        let has_place = match (&self.source, &self.folder, mode) {
            (Source::StandardInput, ..) | (_, Some(Location::StandardStream), _) => false,
            (Source::Tree(_), None | Some(Location::Path(_)), _) => true,
            // The outputs make the encrypted tree.
            (_, Some(Location::Store(_)), IndexMode::Update) => true,
            (Source::Listing(_), Some(Location::Store(_)), IndexMode::Carry) => true,
            (Source::Tree(_), Some(Location::Store(_)), IndexMode::Sync(_)) => true,
            (Source::Tree(_), Some(Location::Store(_)), _) => false,
            (Source::Listing(_), _, IndexMode::Update | IndexMode::Carry | IndexMode::Sync(_)) => false,
            (Source::Listing(_), ..) => true,
        };
        if !(has_place && matches!(self.source.kind(), SourceKind::Folder | SourceKind::Several)) {
            return Err(not_a_folder());
        }
        if !formats_of(&self.job).all(|format| format.key_id().is_some()) {
            return Err(usage("an index is sealed with a keyset", "use --format tink"));
        }
        let selects = matches!(mode, IndexMode::Check { .. } | IndexMode::Carry | IndexMode::Sync(_));
        if selects && (tree.names_files() || self.source.kind() == SourceKind::Several) {
            return Err(usage(
                "an index is compared with a whole folder",
                "leave --files-from out, and give one SRC",
            ));
        }
        let selection = if selects { tree.selection()? } else { Selection::default() };
        let anchor = anchor.map(Path::to_owned);
        self.job.index = Some(IndexUse { selection, anchor, ..IndexUse::new(mode) });
        Ok(())
    }

    /// With --only: takes those files as the source that the tree's index lists under such names. Returns how many it lists, and
    /// the suffix of their names.
    pub(super) fn list_indexed_files(
        &mut self,
        format: &Format,
        arguments: &DecryptArguments,
    ) -> anyhow::Result<Option<(usize, OsString)>> {
        if arguments.only.is_empty() {
            return Ok(None);
        }
        if self.source.kind() != SourceKind::Folder {
            return Err(usage("--only is for a tree with an index", "use --include"));
        }
        if format.key_id().is_none() {
            return Err(usage("an index is sealed with a keyset", "use --format tink"));
        }
        let selection = Selection::new(&arguments.only, &[])?;
        let (suffix, anchor) = (&arguments.output.suffix, arguments.anchor.as_deref());
        let listed = match &self.source {
            Source::Listing(found) => stores::list_indexed_files(found, format, &selection, suffix, anchor)
                .map(|(found, count, suffix)| (Source::Listing(found), count, suffix)),
            Source::Tree(tree) => list_indexed_files(&tree.root, format, &selection, suffix, anchor)
                .map(|(tree, count, suffix)| (Source::Tree(tree), count, suffix)),
            Source::StandardInput => return Err(not_a_folder()),
        };
        let (source, count, suffix) = listed.map_err(|error| error.at(arguments.tree.source()))?;
        self.source = source;
        Ok(Some((count, suffix)))
    }

    /// Has the run decrypt only what [`Run::list_indexed_files`] found, or find the names of a tree that hides them.
    pub(super) fn restrict_to_index(
        &mut self,
        listed: Option<(usize, OsString)>,
        arguments: &DecryptArguments,
    ) -> anyhow::Result<()> {
        let Some((count, suffix)) = listed else { return self.reveal_names(&arguments.tree) };
        if count == 0 {
            self.refuse_nothing(arguments.tree.source(), 0)?;
        }
        if self.job.suffix.is_empty() {
            self.job.suffix = suffix;
        }
        self.use_index(IndexMode::Check { quick: false }, arguments.anchor.as_deref(), &arguments.tree)?;
        if let Some(index) = &mut self.job.index {
            index.selection = Selection::new(&arguments.only, &[])?;
        }
        self.reveal_names(&arguments.tree)
    }

    /// Has the run compare a whole folder with its index, if it has one, by which it finds hidden names.
    pub(super) fn compare_with_index(&mut self, arguments: &VerifyArguments) -> anyhow::Result<()> {
        let VerifyArguments { quick, anchor, tree, .. } = arguments;
        let has_keyset = formats_of(&self.job).all(|format| format.key_id().is_some());
        let is_whole = self.source.kind() == SourceKind::Folder && !tree.names_files();
        if *quick || anchor.is_some() || (has_keyset && is_whole) {
            self.use_index(IndexMode::Check { quick: *quick }, anchor.as_deref(), tree)?;
        }
        self.reveal_names(tree)
    }

    /// Whether the run compares the tree with an index, which may list what is not there.
    pub(super) fn compares(&self, tree: &Tree) -> bool {
        let mode = self.job.index.as_ref().map(|index| index.mode);
        let has_index = tree.passed_over.index > 0 || self.folder.is_some();
        matches!(mode, Some(IndexMode::Check { .. } | IndexMode::Carry)) && has_index
    }

    /// What a run did that read only the beginnings and ends of files, as a participle.
    pub(super) fn index_verb(&self) -> Option<&'static str> {
        match self.job.index.as_ref()?.mode {
            IndexMode::Rebuild { .. } => Some("indexed"),
            IndexMode::Check { quick: true } => Some("compared"),
            IndexMode::Check { quick: false } | IndexMode::Update | IndexMode::Carry | IndexMode::Sync(_) => {
                None
            }
        }
    }
}
