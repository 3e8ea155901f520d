//! `cipherloom encrypt`, `decrypt`, `verify`, `rekey`, `index`, `sync`: a source and a job, over a tree ([`Run::over_tree`]), over
//! stores ([`super::stores`]) or as a single stream ([`super::stream`]).

pub(super) mod index;
mod sync;
pub use index::{index, not_a_folder};
pub use sync::sync;

use super::key_places::{self, NEW_KEY, Secrets};
use super::keys::NewKey;
use super::sources::Source;
use super::{plan, sources, stores, stream};
use crate::arguments::{
    CommonArguments, DecryptArguments, EncryptArguments, FloorArguments, FormatArguments, FormatName,
    KeygenArguments, OutputArguments, RekeyArguments, TreeArguments, VerifyArguments,
};
use crate::exit_code::{self, ExitCode, failure, usage};
use crate::interrupt::{self, Interrupt};
use crate::output::{self, at};
use crate::progress::Found;
use crate::report::{Printer, RunSummary, Style};
use crate::{age_keys, device, keys};
use cipherloom::internal::location::{Location, SourceKind, place_outputs};
use cipherloom::{
    Error, Format, IfExists, Links, Observer, Report,
    error::LocationFault,
    internal::{Job, Tree, Work, refuse_other_names},
    machine::Machine,
    plan::Operation,
};
use std::path::{Path, PathBuf};

pub fn encrypt(arguments: &EncryptArguments) -> anyhow::Result<ExitCode> {
    let EncryptArguments { tree, output, format: options, common, .. } = arguments;
    let mut run = Run::new(tree, Some(output), common)?;
    arguments.recipients.refuse_outside_age(options.format, arguments.new_key.is_some())?;
    let format = match &arguments.new_key {
        Some(path) if options.format == FormatName::Tink => {
            keys::refuse_beside_new_key(arguments)?;
            key_places::refuse_new_key(path, arguments)?;
            let new_key = KeygenArguments {
                output: path.clone(),
                template: arguments.template,
                format: FormatName::Tink,
                post_quantum: false,
                passphrase: options.passphrase,
                passphrase_file: options.secrets.passphrase_file.clone(),
                recipient: arguments.recipients.recipient.clone(),
            };
            let (key, keyset) = NewKey::generate(&new_key, common.report.quiet)?;
            run.new_key = Some(key);
            Format::tink(keyset, device::engine(&run.machine))?
        }
        Some(_) => return Err(usage("--new-key makes a Tink keyset", "leave it out with other formats")),
        None if options.format == FormatName::Age => {
            keys::refuse_foreign_options(options)?;
            let format = age_keys::sealing_format(&arguments.recipients, options)?;
            if arguments.recipients.armor { format.with_armor() } else { format }
        }
        None => keys::format(options, device::engine(&run.machine))?,
    };
    let new = arguments.new_key.as_deref().map(|path| (NEW_KEY, path));
    let secrets = Secrets::of(options, new.as_slice());
    secrets.warn_of_places(tree, output);
    keys::warn_of_few_iterations(options);
    refuse_keystream_reuse(options, &run.source)?;
    run.set_job(Work::Encrypt(format), Some(options))?;
    secrets.refuse_replacing(run.source.tree(), &run.job)?;
    run.job.allow_mixed_keys = arguments.allow_mixed_keys;
    run.update_index(arguments)?;
    let ended = run.start()?;
    if !(output.dry_run || common.report.json || common.report.quiet) {
        keys::print_openssl_command(options);
    }
    Ok(ended)
}

pub fn decrypt(arguments: &DecryptArguments) -> anyhow::Result<ExitCode> {
    let DecryptArguments { tree, output, format: options, common, .. } = arguments;
    let mut run = Run::new(tree, Some(output), common)?;
    keys::refuse_guessed_iterations(options)?;
    if options.format == FormatName::Raw
        && !arguments.assume_raw
        && let Some(path) = run.source.tree().and_then(key_places::looks_like_tink)
    {
        let words = "begins as a Tink stream does, which --format tink opens and raw turns into nonsense";
        return Err(usage(at(&path, words), "if it is raw all the same, insist with --assume-raw"));
    }
    let format = keys::format(options, device::engine(&run.machine))?;
    let listed = run.list_indexed_files(&format, arguments)?;
    run.set_job(Work::Decrypt(format), Some(options))?;
    run.restrict_to_index(listed, arguments)?;
    Secrets::of(options, &[]).refuse_replacing(run.source.tree(), &run.job)?;
    run.start()
}

pub fn verify(arguments: &VerifyArguments) -> anyhow::Result<ExitCode> {
    let mut run = Run::new(&arguments.tree, None, &arguments.common)?;
    let format = keys::format(&arguments.format, device::engine(&run.machine))?;
    if !format.is_authenticated() {
        let hint = "only tink, cobblestone and age are authenticated";
        return Err(usage("this format carries nothing to verify", hint));
    }
    run.set_job(Work::Verify(format), Some(&arguments.format))?;
    run.job.suffix.clone_from(&arguments.suffix);
    run.compare_with_index(arguments)?;
    run.start()
}

pub fn rekey(arguments: &RekeyArguments) -> anyhow::Result<ExitCode> {
    let RekeyArguments { tree, output, format: options, common, .. } = arguments;
    let mut run = Run::new(tree, Some(output), common)?;
    arguments.recipients.refuse_outside_age(options.format, false)?;
    let (from, to) = keys::formats(arguments, device::engine(&run.machine))?;
    let mut others = Vec::new();
    others.extend(arguments.to.as_deref().map(|path| ("the key file of --to", path)));
    others.extend(arguments.to_passphrase_file.as_deref().map(|path| ("the passphrase file", path)));
    let secrets = Secrets::of(options, &others);
    secrets.warn_of_places(tree, output);
    run.set_job(Work::Rekey { from, to }, Some(options))?;
    secrets.refuse_replacing(run.source.tree(), &run.job)?;
    run.job.allow_mixed_keys = arguments.allow_mixed_keys;
    run.carry_index(arguments)?;
    run.start()
}

pub fn floor(arguments: &FloorArguments) -> anyhow::Result<ExitCode> {
    let mut run = Run::new(&arguments.tree, Some(&arguments.output), &arguments.common)?;
    run.set_job(Work::Copy, None)?;
    run.start()
}

fn refuse_keystream_reuse(arguments: &FormatArguments, source: &Source) -> anyhow::Result<()> {
    let is_fixed = arguments.format == FormatName::Raw && arguments.iv.is_some();
    let several = match source {
        Source::Tree(tree) => tree.entries.len() > 1,
        Source::Listing(_) | Source::StandardInput => source.kind() == SourceKind::Folder,
    };
    let is_refused = keys::is_counter(arguments.cipher) && is_fixed && several;
    if is_refused && !arguments.reuse_keystream_and_reveal_plaintext {
        return Err(usage(
            "one --iv for several files in CTR mode encrypts them with the same keystream, which reveals their XOR",
            "leave --iv out for a random one in front of each file \
             (or insist with --reuse-keystream-and-reveal-plaintext)",
        ));
    }
    Ok(())
}

/// A command over a tree, a store or a stream: all that is known before its source is processed.
pub struct Run<'r> {
    pub source: Source,
    pub job: Job,
    /// The folder of the outputs; `None` where nothing is written.
    pub folder: Option<Location>,
    pub common: &'r CommonArguments,
    pub dry_run: bool,
    /// The key that the run writes first. All checks come before that, so that a mistyped source or destination leaves no
    /// key behind.
    new_key: Option<NewKey>,
    machine: Machine,
    output: Option<&'r OutputArguments>,
    /// Whether it may find nothing to do: a small tree has empty shards.
    may_be_empty: bool,
}

impl<'r> Run<'r> {
    fn new(
        tree: &TreeArguments,
        to: Option<&'r OutputArguments>,
        common: &'r CommonArguments,
    ) -> anyhow::Result<Run<'r>> {
        if common.report.quiet {
            output::suppress_warnings();
        }
        let dry_run = to.is_some_and(|output| output.dry_run);
        Ok(Run {
            machine: device::choose_machine(&common.machine, common.verbose || dry_run)?,
            source: Source::look(tree, &common.stores)?,
            job: Job::new(Work::Copy, None),
            folder: None,
            common,
            dry_run,
            new_key: None,
            output: to,
            may_be_empty: tree.shard.is_some() || common.allow_empty,
        })
    }

    /// Makes the job of the arguments, and decides where its outputs go.
    fn set_job(&mut self, work: Work, format: Option<&FormatArguments>) -> anyhow::Result<()> {
        let job = &mut self.job;
        job.work = work;
        job.bind_path = format.is_some_and(|format| format.bind_path);
        let unbound = formats_of(job).find(|format| !format.binds_associated_data()).map(Format::name);
        if let (Some(name), true) = (unbound, job.bind_path) {
            return Err(usage(format!("--format {name} cannot bind a path"), "leave --bind-path out"));
        }
        let Some(output) = self.output else { return Ok(()) };
        if output.suffix.as_encoded_bytes().iter().any(|byte| std::path::is_separator(char::from(*byte))) {
            return Err(usage("--suffix is added to a file's name, which has no /", "give one such as .enc"));
        }
        job.suffix.clone_from(&output.suffix);
        job.if_exists = output.if_exists.if_exists;
        job.links = output.links;
        job.durable = output.durable;
        job.preserve_modes = output.preserve.is_some();
        job.non_atomic = output.non_atomic;
        let placed = place_outputs(self.source.kind(), &Location::parse(&output.destination)?, job)?;
        job.destination = Some(placed.folder.to_path());
        job.single_name = placed.name;
        self.folder = Some(placed.folder);
        Ok(())
    }

    /// Runs and reports.
    fn start(mut self) -> anyhow::Result<ExitCode> {
        if let Some(format) = formats_of(&self.job).find(|format| !format.is_authenticated()) {
            output::warn(format_args!(
                "--format {} is not authenticated: changes to its files go unnoticed",
                format.name()
            ));
        }
        let to_output = self.folder == Some(Location::StandardStream);
        if self.dry_run && (to_output || matches!(self.source, Source::StandardInput)) {
            return Err(usage("a single stream has no plan to show", "leave --dry-run out"));
        }
        refuse_other_names(&self.job)?;
        match std::mem::replace(&mut self.source, Source::StandardInput) {
            Source::StandardInput => stream::from_standard_input(&self),
            source if to_output => stream::to_standard_output(&self, source),
            Source::Tree(tree) if self.is_armored(&tree)? => stream::from_armored_file(&self, &tree),
            Source::Tree(tree) if !self.folder.as_ref().is_some_and(Location::is_store) => {
                self.over_tree(tree)
            }
            source => stores::run(&self, source),
        }
    }

    /// Whether the source is one file that is armored, or is to be.
    fn is_armored(&self, tree: &Tree) -> anyhow::Result<bool> {
        let is_wanted = self.job.work.sealing().is_some_and(Format::is_armored);
        let single = match (SourceKind::from(tree), tree.entries.first()) {
            (SourceKind::Single(_), Some(entry)) => Some(tree.root.join(entry.name())),
            _ => None,
        };
        if is_wanted && single.is_none() {
            return Err(usage(
                "--armor is for single files and pipes",
                "leave it out, and all files are binary",
            ));
        }
        let is_age = self.job.work.opening().is_some_and(|format| format.name() == FormatName::Age.name());
        Ok(is_wanted || (is_age && single.is_some_and(|path| key_places::is_armored(&path))))
    }

    fn over_tree(mut self, tree: Tree) -> anyhow::Result<ExitCode> {
        let about = if self.folder.is_some() { self.output_path() } else { tree.root.clone() };
        let overwriting = Job { if_exists: IfExists::Overwrite, ..self.job.clone() };
        let in_place = cipherloom::internal::is_in_place(&tree, &overwriting);
        if in_place && self.job.if_exists != IfExists::Overwrite {
            return Err(Error::Location(LocationFault::SamePlace).into());
        }
        if in_place {
            // The links exist already, and none is passed over.
            self.job.links = Links::Copy;
        }
        if is_empty(&tree, &self.job) && !self.compares(&tree) {
            self.refuse_nothing(&tree.root, tree.passed_over.excluded)?;
        }
        if !self.common.report.quiet {
            sources::hint_at_suffix(&tree, &self.job);
        }
        cipherloom::internal::check(&tree, &self.job).map_err(|error| error.at(&about))?;
        let job = &self.job;
        let segment = formats_of(job).map(|format| format.layout().segment).max();
        if self.dry_run {
            return plan::dry_run(&self, tree, &self.machine, segment);
        }
        let plan = job.plan(&tree, &self.machine, self.common.machine.threads);
        device::settle(&plan);
        let report = self.carry_out(
            &Printer::new(self.style(), in_place).with_verb(self.index_verb()),
            &|| (tree.entries.len() as u64, tree.total_bytes(), true),
            || plan::table(&plan, segment),
            |observer| {
                cipherloom::internal::run(&tree, &plan, job, observer).map_err(|error| error.at(&about))
            },
            |report| RunSummary::of_tree(report, &tree, job),
        )?;
        Ok(exit_code::of_report(&report))
    }

    /// Writes the key, does `work`, and prints the report. `found` gives the files and bytes that there are, and whether
    /// these are all; `plan` is for verbose runs.
    pub fn carry_out(
        &self,
        printer: &Printer,
        found: &Found<'_>,
        plan: impl FnOnce() -> String,
        work: impl FnOnce(&dyn Observer) -> Result<Report, Error>,
        summarize: impl FnOnce(&Report) -> RunSummary,
    ) -> anyhow::Result<Report> {
        let interrupt = Interrupt::listen();
        self.write_key()?;
        if self.style() == Style::Verbose && self.job.sync_options().is_none() {
            output::print_lines(&plan());
        }
        let report = printer.watch(found, work).inspect_err(|error| {
            // Errors that end a run occur before its first output, except for defects, which occur at any time.
            if !matches!(error.without_path(), Error::Internal { .. }) {
                self.take_key_back();
            }
        })?;
        summarize(&report).print(self.verb(), self.style())?;
        match self.folder {
            Some(_) => {
                let hint = interrupt::resume_hint(self.job.if_exists, self.new_key.is_some());
                interrupt.check(interrupt::KEPT, hint)?;
            }
            None => interrupt.check(interrupt::NOT_READ, "")?,
        }
        Ok(report)
    }

    pub fn write_key(&self) -> anyhow::Result<()> {
        self.new_key.as_ref().map_or(Ok(()), NewKey::write)
    }

    pub fn take_key_back(&self) {
        self.new_key.as_ref().inspect(|key| key.take_back());
    }

    /// Fails a run that finds nothing to do at `place`, unless that is allowed: an unmounted disk and a glob with a typo look
    /// like this, and a verification must not pass then.
    pub fn refuse_nothing(&self, place: &Path, excluded: u64) -> anyhow::Result<()> {
        if self.may_be_empty {
            return Ok(());
        }
        let globs = match excluded {
            0 => String::new(),
            _ => format!(" ({excluded} left out by --include or --exclude)"),
        };
        let words = format_args!("there is nothing to be {}{globs}", self.verb());
        Err(failure(ExitCode::Failure, at(place, words), "--allow-empty lets that pass"))
    }

    /// The operation as a participle, "encrypted".
    pub fn verb(&self) -> &'static str {
        match self.job.work.operation() {
            Operation::Encrypt => "encrypted",
            Operation::Decrypt => "decrypted",
            Operation::Verify => self.index_verb().unwrap_or("verified"),
            Operation::Rekey => "re-keyed",
            Operation::Copy => "copied",
        }
    }

    pub fn style(&self) -> Style {
        self.common.report.style(self.common.verbose)
    }

    /// The file, folder or address that the user named as DST.
    pub fn output_path(&self) -> PathBuf {
        let mut path = self.job.destination.clone().unwrap_or_default();
        path.extend(&self.job.single_name);
        path
    }
}

/// Whether a job over this tree would do nothing.
fn is_empty(tree: &Tree, job: &Job) -> bool {
    (job.links == Links::Skip || tree.links.is_empty()) && tree.entries.is_empty() && tree.unlisted.is_empty()
}

/// The formats of a job's encrypted sides.
fn formats_of(job: &Job) -> impl Iterator<Item = &Format> {
    [job.work.opening(), job.work.sealing()].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cipherloom::internal::Selection;

    #[test]
    fn an_empty_tree_is_nothing_and_links_are_something_where_they_are_copied() {
        let folder = tempfile::tempdir().unwrap();
        let look = || Tree::list(folder.path(), &Selection::default()).unwrap();
        let mut job = Job::new(Work::Copy, None);
        assert!(is_empty(&look(), &job));
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
        assert!(is_empty(&look(), &job));
        job.links = Links::Copy;
        assert_eq!(!is_empty(&look(), &job), cfg!(unix));
        std::fs::write(folder.path().join("file"), b"").unwrap();
        assert!(!is_empty(&look(), &Job::new(Work::Copy, None)));
    }
}
