//! `cipherloom encrypt`, `decrypt`, `verify`, `rekey`: list the tree, make the job, plan it, run it, report.

use super::key_places::{NEW_KEY, Secrets};
use super::keygen::{FirstKey, NewKey, Wrapping};
use super::nothing::Nothing;
use super::sources::{self, Source};
use super::stores::{self, StoreRun};
use super::{dry_run, in_place, key_places, plan, raw_source, stream, suffix};
use crate::arguments::{
    CommonArguments, DecryptArguments, EncryptArguments, FloorArguments, FormatArguments, FormatName,
    IfExistsArgument, LinksArgument, MachineArguments, OutputArguments, PreserveArgument, RekeyArguments,
    VerifyArguments,
};
use crate::exit_code::{self, ExitCode, usage};
use crate::interrupt::{self, Interrupt};
use crate::progress::Progress;
use crate::report::{Printer, Report, Style};
use crate::{cache, device, keys, output};
use anyhow::Context;
use cipherloom::{Backend, Entry, Format, Job, Links, Machine, Tree, Work, address, machine::Calibration};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn encrypt(arguments: &EncryptArguments) -> anyhow::Result<ExitCode> {
    let machine = machine(&arguments.common.machine, arguments.common.verbose || arguments.output.dry_run)?;
    let source = Source::look(&arguments.tree, &arguments.common.stores)?;
    let mut new_key = None;
    let format = match &arguments.new_key {
        Some(path) if arguments.format.format == FormatName::Tink => {
            keys::refuse_foreign_options(&arguments.format)?;
            keys::refuse_identity(&arguments.format)?;
            if arguments.output.if_exists == IfExistsArgument::Skip {
                return Err(usage(
                    "--new-key with --if-exists skip would leave files under two keys; go on with the key that the outputs \
                     have: --key FILE",
                ));
            }
            let wrapping = Wrapping {
                passphrase: arguments.passphrase,
                passphrase_file: arguments.format.passphrase_file.as_deref(),
                recipients: &arguments.recipient,
            };
            key_places::refuse_new_key(path, arguments)?;
            keys::refuse_expectation(&arguments.format)?;
            let (key, keyset) = NewKey::generate(path, arguments.template, &wrapping)?;
            new_key = Some(key);
            Format::tink(keyset, device::engine(&machine))?
        }
        Some(_) => return Err(usage("--new-key makes a Tink keyset; leave it out with other formats")),
        None => keys::format(&arguments.format, device::engine(&machine))?,
    };
    let new = arguments.new_key.as_deref().map(|path| (NEW_KEY, path));
    let secrets = Secrets::of(&arguments.format, new.as_slice());
    secrets.warn_of_places(&arguments.tree, &arguments.output);
    keys::warn_of_few_iterations(&arguments.format);
    let format = Arc::new(format);
    refuse_keystream_reuse(&arguments.format, &source)?;
    let job = job(Work::Encrypt(&format), &source, &arguments.output, &arguments.format)?;
    secrets.refuse_replacing(source.tree(), &job)?;
    let new_key = FirstKey::new(new_key.as_ref(), arguments.common.quiet);
    let run = Run {
        verb: "encrypted",
        job,
        formats: [None, Some(Arc::clone(&format))],
        machine: &machine,
        common: &arguments.common,
        nothing: Nothing::new(&arguments.tree, &arguments.common),
        allow_mixed_keys: arguments.allow_mixed_keys,
    };
    let ended = run.go(source, arguments.output.dry_run, &new_key)?;
    if !(arguments.output.dry_run || arguments.common.json || arguments.common.quiet) {
        keys::tell_openssl_command(&arguments.format);
    }
    Ok(ended)
}

pub fn decrypt(arguments: &DecryptArguments) -> anyhow::Result<ExitCode> {
    let machine = machine(&arguments.common.machine, arguments.common.verbose || arguments.output.dry_run)?;
    let source = Source::look(&arguments.tree, &arguments.common.stores)?;
    keys::refuse_guessed_iterations(&arguments.format)?;
    raw_source::refuse_tink(&arguments.format, arguments.assume_raw, &source)?;
    let format = Arc::new(keys::format(&arguments.format, device::engine(&machine))?);
    let job = job(Work::Decrypt(&format), &source, &arguments.output, &arguments.format)?;
    Secrets::of(&arguments.format, &[]).refuse_replacing(source.tree(), &job)?;
    let run = Run {
        verb: "decrypted",
        job,
        formats: [Some(Arc::clone(&format)), None],
        machine: &machine,
        common: &arguments.common,
        nothing: Nothing::new(&arguments.tree, &arguments.common),
        allow_mixed_keys: true,
    };
    run.go(source, arguments.output.dry_run, &FirstKey::NONE)
}

pub fn verify(arguments: &VerifyArguments) -> anyhow::Result<ExitCode> {
    let machine = machine(&arguments.common.machine, arguments.common.verbose)?;
    let source = Source::look(&arguments.tree, &arguments.common.stores)?;
    let format = Arc::new(keys::format(&arguments.format, device::engine(&machine))?);
    if !format.is_authenticated() {
        return Err(usage(
            "this format carries nothing to verify; only tink and cobblestone are authenticated",
        ));
    }
    let mut job = Job::new(Work::Verify(&format), None);
    job.suffix.clone_from(&arguments.suffix);
    job.bind_path = binds(&arguments.format, &format)?;
    let run = Run {
        verb: "verified",
        job,
        formats: [Some(Arc::clone(&format)), None],
        machine: &machine,
        common: &arguments.common,
        nothing: Nothing::new(&arguments.tree, &arguments.common),
        allow_mixed_keys: true,
    };
    run.go(source, false, &FirstKey::NONE)
}

pub fn rekey(arguments: &RekeyArguments) -> anyhow::Result<ExitCode> {
    let machine = machine(&arguments.common.machine, arguments.common.verbose || arguments.output.dry_run)?;
    let source = Source::look(&arguments.tree, &arguments.common.stores)?;
    let (from, to) = keys::formats(arguments, device::engine(&machine))?;
    let mut others = vec![("the key file of --to", arguments.to.as_path())];
    others.extend(arguments.to_passphrase_file.as_deref().map(|path| ("the passphrase file", path)));
    let secrets = Secrets::of(&arguments.format, &others);
    secrets.warn_of_places(&arguments.tree, &arguments.output);
    let (from, to) = (Arc::new(from), Arc::new(to));
    let mut job = job(Work::Rekey { from: &from, to: &to }, &source, &arguments.output, &arguments.format)?;
    secrets.refuse_replacing(source.tree(), &job)?;
    in_place::prepare(&mut job, &source)?;
    let run = Run {
        verb: "re-keyed",
        job,
        formats: [Some(Arc::clone(&from)), Some(Arc::clone(&to))],
        machine: &machine,
        common: &arguments.common,
        nothing: Nothing::new(&arguments.tree, &arguments.common),
        allow_mixed_keys: arguments.allow_mixed_keys,
    };
    run.go(source, arguments.output.dry_run, &FirstKey::NONE)
}

pub fn floor(arguments: &FloorArguments) -> anyhow::Result<ExitCode> {
    let machine = machine(&arguments.common.machine, arguments.common.verbose || arguments.output.dry_run)?;
    let source = Source::look(&arguments.tree, &arguments.common.stores)?;
    let mut job = Job::new(Work::Copy, None);
    place(&mut job, &source, &arguments.output)?;
    let run = Run {
        verb: "copied",
        job,
        formats: [None, None],
        machine: &machine,
        common: &arguments.common,
        nothing: Nothing::new(&arguments.tree, &arguments.common),
        allow_mixed_keys: true,
    };
    run.go(source, arguments.output.dry_run, &FirstKey::NONE)
}

/// This machine, with the backend and the calibration to go by. `shows_estimate`: whether somebody will see how long it
/// should take.
pub fn machine(arguments: &MachineArguments, shows_estimate: bool) -> anyhow::Result<Machine> {
    let wanted = arguments.backend.as_deref().and_then(device::Wanted::parse);
    // The calibration chooses the number of threads, or between CPU and device: where it does neither it is not read.
    let decides = arguments.threads.is_none() || wanted.is_some();
    let calibration = if decides || shows_estimate { cache::calibration() } else { Calibration::default() };
    let mut machine = Machine::detect(calibration);
    if let Some(wanted) = wanted {
        device::open(wanted, &mut machine)?;
    } else if let Some(name) = &arguments.backend {
        let known = || format!("{}; for GPUs {}", Backend::ALL.map(Backend::name).join(", "), device::NAMES);
        let backend = Backend::from_name(name)
            .ok_or_else(|| usage(format!("there is no backend {name:?}; the backends are {}", known())))?;
        if !backend.is_available() {
            let available: Vec<_> = Backend::available().map(Backend::name).collect();
            return Err(usage(format!(
                "this CPU cannot run the backend {name}; it can run {}",
                available.join(", ")
            )));
        }
        machine.backend = backend;
    }
    Ok(machine)
}

fn job<'f>(
    work: Work<'f>,
    source: &Source,
    output: &OutputArguments,
    format: &FormatArguments,
) -> anyhow::Result<Job<'f>> {
    let mut job = Job::new(work, None);
    for side in [work.opening(), work.sealing()].into_iter().flatten() {
        job.bind_path = binds(format, side)?;
    }
    place(&mut job, source, output)?;
    refuse_bound_renaming(&job, source)?;
    Ok(job)
}

/// A path is bound as it stands in the tree; under another name the file would never open again.
fn refuse_bound_renaming(job: &Job<'_>, source: &Source) -> anyhow::Result<()> {
    let (Some(name), Source::Tree(tree), true) = (&job.single_name, source, job.bind_path) else {
        return Ok(());
    };
    let unnamed = Job { single_name: None, ..job.clone() };
    let keeps = |entry: &Entry| unnamed.names_output(&entry.name).is_none_or(|expected| expected == *name);
    if tree.entries.iter().all(keeps) {
        return Ok(());
    }
    Err(usage("--bind-path binds the file's own name; name a folder as DST, so that the file keeps it"))
}

fn binds(arguments: &FormatArguments, format: &Format) -> anyhow::Result<bool> {
    if arguments.bind_path && !format.binds_associated_data() {
        return Err(usage(format!(
            "--format {} has no place to bind a path; leave --bind-path out",
            format.name()
        )));
    }
    Ok(arguments.bind_path)
}

/// Where the outputs go.
fn place(job: &mut Job<'_>, source: &Source, output: &OutputArguments) -> anyhow::Result<()> {
    job.if_exists = output.if_exists.into();
    job.links = match output.links {
        LinksArgument::Skip => Links::Skip,
        LinksArgument::Copy => Links::Copy,
        LinksArgument::CopyAll => Links::CopyAll,
    };
    if output.suffix.as_encoded_bytes().iter().any(|byte| std::path::is_separator(char::from(*byte))) {
        return Err(usage("--suffix is added to a file's name, in which no / can be; give one such as .enc"));
    }
    job.suffix.clone_from(&output.suffix);
    job.durable = output.durable;
    job.preserve_modes = output.preserve == Some(PreserveArgument::Modes);
    job.non_atomic = output.non_atomic;
    stores::refuse_misspelt(&output.destination)?;
    let destination = address::without_scheme(&output.destination);
    if address::is_address(destination) || matches!(source, Source::Listing(_)) {
        job.destination = Some(destination.to_owned());
        return Ok(());
    }
    stream::refuse_special(destination)?;
    if let Source::Tree(tree) = source {
        sources::refuse_missing_folder(tree, destination)?;
    }
    let is_folder = destination.is_dir() || destination.to_string_lossy().ends_with(std::path::is_separator);
    if let Source::Tree(Tree { is_single_file: true, .. }) = source
        && !is_folder
        && destination != Path::new("-")
    {
        // Like cp: a file goes to the file of that name.
        let name = destination.file_name().ok_or_else(|| usage("DST names neither a file nor a folder"))?;
        job.single_name = Some(name.to_owned());
        let parent = destination.parent().filter(|parent| !parent.as_os_str().is_empty());
        job.destination = Some(parent.map_or_else(|| PathBuf::from("."), Path::to_owned));
    } else {
        job.destination = Some(destination.to_owned());
    }
    Ok(())
}

fn refuse_keystream_reuse(arguments: &FormatArguments, source: &Source) -> anyhow::Result<()> {
    use crate::arguments::CipherName::{Aes128Ctr, Aes192Ctr, Aes256Ctr};
    let is_counter = matches!(arguments.cipher, Some(Aes128Ctr | Aes192Ctr | Aes256Ctr));
    let is_fixed = arguments.format == FormatName::Raw && arguments.iv.is_some();
    let several = match source {
        Source::Tree(tree) => tree.entries.len() > 1,
        Source::Listing(found) => !found.is_single(),
        Source::StandardInput => false,
    };
    if is_counter && is_fixed && several && !arguments.reuse_keystream_and_reveal_plaintext {
        return Err(usage(
            "one --iv for several files in CTR mode encrypts them with the same keystream, which reveals their XOR; \
             leave --iv out for a random one in front of each file \
             (or insist with --reuse-keystream-and-reveal-plaintext)",
        ));
    }
    Ok(())
}

/// A command on its way: all that is known before the tree is processed.
struct Run<'r> {
    verb: &'static str,
    job: Job<'r>,
    /// The formats of the job's two sides, source and output, for a run that shares them with tasks of its own.
    formats: [Option<Arc<Format>>; 2],
    machine: &'r Machine,
    common: &'r CommonArguments,
    nothing: Nothing,
    allow_mixed_keys: bool,
}

impl Run<'_> {
    /// Plans, runs and reports. `new_key` is written when nothing but the run itself can fail any more, so that a
    /// mistyped source or destination leaves no key behind.
    fn go(self, source: Source, dry_run: bool, new_key: &FirstKey<'_>) -> anyhow::Result<ExitCode> {
        let Run { verb, job, formats, machine, common, nothing, allow_mixed_keys } = self;
        warn_unauthenticated(&job, common);
        if stores::concerns(&source, &job) {
            let run = StoreRun { verb, job, formats, common, dry_run, nothing, allow_mixed_keys };
            return stores::run(run, source, new_key);
        }
        let to_output = job.destination.as_deref() == Some(Path::new("-"));
        if dry_run && (to_output || matches!(source, Source::StandardInput)) {
            return Err(usage("a single stream has no plan to show; leave --dry-run out"));
        }
        let tree = match source {
            Source::Tree(tree) => tree,
            Source::Listing(_) => unreachable!("runs over stores have their own way"),
            Source::StandardInput => return stream::from_standard_input(verb, &job, common, new_key),
        };
        if to_output {
            return stream::to_standard_output(verb, &tree, &job, common, new_key);
        }
        nothing.of_tree(&tree, &job, verb)?;
        suffix::hint(&tree, &job);
        let style = style(common);
        let segment = formats_of(&job).map(|format| format.layout().segment).max();
        let name = || output::printable(&output_path(&job));
        cipherloom::check(&tree, &job).with_context(name)?;
        let in_place = cipherloom::is_in_place(&tree, &job);
        if !allow_mixed_keys && !in_place {
            key_places::refuse_mixed_keys(cipherloom::find_other_key(&tree, &job).as_deref())?;
        }
        let threads = common.machine.threads;
        if dry_run {
            return dry_run::show(tree, &job, machine, threads, segment, style, common.verbose);
        }
        let plan = job.plan(&tree, machine, threads);
        device::settle(&plan);
        let interrupt = Interrupt::listen();
        new_key.write()?;
        if style == Style::Verbose {
            output::tell_lines(&plan::table(&plan, segment));
        }
        let progress = Progress::default();
        let printer = Printer::new(style, &progress, in_place);
        let work = || cipherloom::run(&tree, &plan, &job, &interrupt.watching(&printer));
        let ended = match style {
            Style::Plain => progress.shown_during(tree.total_bytes(), tree.entries.len() as u64, work),
            Style::Verbose | Style::Quiet | Style::Json => work(),
        };
        printer.end();
        // Such an error comes before anything was made.
        let summary = ended.inspect_err(|_| new_key.take_back()).with_context(name)?;
        Report::of_tree(&summary, &tree, &job).print(verb, style)?;
        interrupt.check(match job.destination {
            Some(_) => interrupt::kept(job.if_exists, new_key.is_made()),
            None => interrupt::NOT_READ,
        })?;
        Ok(exit_code::of_summary(&summary))
    }
}

/// The file or folder that the user named as DST.
fn output_path(job: &Job<'_>) -> PathBuf {
    let mut path = job.destination.clone().unwrap_or_default();
    path.extend(&job.single_name);
    path
}

pub fn style(common: &CommonArguments) -> Style {
    match common {
        CommonArguments { json: true, .. } => Style::Json,
        CommonArguments { quiet: true, .. } => Style::Quiet,
        CommonArguments { verbose: true, .. } => Style::Verbose,
        _ => Style::Plain,
    }
}

fn warn_unauthenticated(job: &Job<'_>, common: &CommonArguments) {
    if let Some(format) = formats_of(job).find(|format| !format.is_authenticated())
        && !common.quiet
    {
        output::warn(format_args!(
            "--format {} is not authenticated: changes to its files go unnoticed",
            format.name()
        ));
    }
}

/// The formats of a job's encrypted sides.
fn formats_of<'f>(job: &Job<'f>) -> impl Iterator<Item = &'f Format> {
    [job.work.opening(), job.work.sealing()].into_iter().flatten()
}
