//! `cipherloom sync`: brings an encrypted folder, or one in a store, up to date with its source.

use super::Run;
use crate::arguments::{IfExistsArguments, OutputArguments, SyncArguments, TreeArguments};
use crate::commands::key_places::Secrets;
use crate::commands::sources::{self, Source};
use crate::commands::stores;
use crate::exit_code::{self, ExitCode, usage};
use crate::output::at;
use crate::report::{Printer, RunSummary, Style};
use crate::{device, keys};
use cipherloom::internal::location::Location;
use cipherloom::internal::{IndexMode, SyncOptions, Work};
use cipherloom::{IfExists, Links};

pub fn sync(arguments: &SyncArguments) -> anyhow::Result<ExitCode> {
    let SyncArguments { source, destination, include, exclude, anchor, format: options, common, .. } =
        arguments;
    let SyncArguments { delete, checksum, dry_run, .. } = *arguments;
    if sources::is_store(source) {
        return Err(usage(at(source, "sync needs a folder"), "`cipherloom encrypt` reads from stores"));
    }
    let tree = TreeArguments {
        sources: vec![source.clone()],
        include: include.clone(),
        exclude: exclude.clone(),
        ..TreeArguments::default()
    };
    let output = OutputArguments {
        destination: destination.clone(),
        if_exists: IfExistsArguments { if_exists: IfExists::Overwrite },
        links: arguments.links,
        preserve: arguments.preserve.clone(),
        suffix: arguments.suffix.clone(),
        durable: arguments.durable,
        non_atomic: false,
        dry_run,
    };
    let mut run = Run::new(&tree, Some(&output), common)?;
    if !matches!(&run.source, Source::Tree(tree) if !tree.is_single_file) {
        return Err(usage(at(source, "sync needs a folder"), "`cipherloom encrypt` takes single files"));
    }
    if sources::is_store(destination) && arguments.links != Links::Skip {
        return Err(usage("a store has no links", "leave --links copy out"));
    }
    let format = keys::format(options, device::engine(&run.machine))?;
    let secrets = Secrets::of(options, &[]);
    secrets.warn_of_places(&tree, &output);
    run.set_job(Work::Encrypt(format), Some(options))?;
    secrets.refuse_replacing(run.source.tree(), &run.job)?;
    run.job.allow_mixed_keys = arguments.allow_mixed_keys;
    run.use_index(IndexMode::Sync(SyncOptions { delete, checksum, dry_run }), anchor.as_deref(), &tree)?;
    run.hide_names(arguments.hide_names)?;
    run.synchronize()
}

impl Run<'_> {
    fn synchronize(self) -> anyhow::Result<ExitCode> {
        let about = self.output_path();
        let Source::Tree(tree) = &self.source else { return Err(super::not_a_folder()) };
        let (job, threads) = (&self.job, self.common.machine.threads);
        // With --delete, there is another error for a source that is empty as a whole.
        let deletes = job.sync_options().is_some_and(|options| options.delete);
        let is_refused_later = deletes && tree.passed_over.excluded == 0 && tree.directories.len() == 1;
        if super::is_empty(tree, job) && !is_refused_later {
            self.refuse_nothing(&tree.root, tree.passed_over.excluded)?;
        }
        let is_in_store = self.folder.as_ref().is_some_and(Location::is_store);
        let stored = is_in_store.then(|| stores::open(&self, job.clone())).transpose()?;
        if stored.is_none() {
            cipherloom::internal::check(tree, job).map_err(|error| error.at(&about))?;
        }
        let printer = match self.dry_run {
            true => Printer::for_dry_run(self.style(), self.style() != Style::Plain),
            false => Printer::new(self.style(), false),
        };
        let report = self.carry_out(
            &printer,
            &|| (tree.entries.len() as u64, tree.total_bytes(), true),
            String::new,
            |observer| {
                let report = match &stored {
                    Some(stored) => stored.sync(tree, observer),
                    None => cipherloom::internal::sync(tree, job, &self.machine, threads, observer),
                };
                report.map_err(|error| error.at(&about))
            },
            |report| RunSummary::of_tree(report, tree, job),
        )?;
        Ok(exit_code::of_report(&report))
    }
}
