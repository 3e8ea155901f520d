//! `cipherloom lcp encrypt`: finds the publications, makes the job, plans it, runs it, reports.

use super::notify::Notifier;
use super::secrets;
use super::verdicts;
use crate::arguments::{IfExistsArgument, LcpEncryptArguments, MachineArguments};
use crate::commands::{key_places, transform};
use crate::exit_code::{self, ExitCode, usage};
use crate::interrupt::{self, Interrupt};
use crate::output;
use crate::progress::Progress;
use crate::report::Style;
use anyhow::Context;
use cipherloom::IfExists;
use cipherloom_lcp::protect::{self, Event, Identity, Job, Observer, Outcome, Plan, Summary};
use cipherloom_lcp::{Class, KeyRecord};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use verdicts::{Line, Verdicts};

pub fn run(arguments: &LcpEncryptArguments) -> anyhow::Result<ExitCode> {
    let asked = MachineArguments { threads: arguments.jobs, backend: arguments.backend.clone() };
    if asked.backend.as_deref().is_some_and(|name| crate::device::Wanted::parse(name).is_some()) {
        return Err(usage(
            "books are encrypted with CBC, a chain within each part, which no GPU does faster; leave --backend out",
        ));
    }
    if !arguments.quiet {
        let secrets = [Some(&arguments.key_file), arguments.notify_file.as_ref()];
        key_places::warn_of_content_keys(&arguments.out, secrets.into_iter().flatten().map(PathBuf::as_path));
    }
    let machine = transform::machine(&asked, false)?;
    let found = protect::find(&arguments.sources, &arguments.out)
        .map_err(|(path, error)| anyhow::Error::from(error).context(output::printable(&path)))?;
    if found.sources.is_empty() && found.unlisted.is_empty() {
        return Err(usage(
            "no publication was found: the folders hold no .epub, .webpub, .audiobook, .divina, .lpf or .pdf",
        ));
    }
    let is_named =
        arguments.id.is_some() || arguments.alt_id.is_some() || arguments.content_key_file.is_some();
    if is_named && found.sources.len() != 1 {
        return Err(usage("--id, --alt-id and --content-key-file are one publication's; name one BOOK"));
    }
    let notifier = Notifier::new(arguments)?;
    let identity = Identity {
        update: arguments.update,
        id: arguments.id.clone(),
        alt_id: arguments.alt_id.clone(),
        content_key: arguments.content_key_file.as_deref().map(secrets::content_key).transpose()?,
        recipient: notifier.as_ref().map(|notifier| notifier.recipient.clone()),
    };
    let sizes: Vec<u64> = found.sources.iter().map(|source| source.size).collect();
    let plan = Plan::new(&sizes, &machine, machine.backend, arguments.jobs, !arguments.no_checksum);
    let job = Job {
        sources: found.sources,
        out: arguments.out.clone(),
        key_file: arguments.key_file.clone(),
        if_exists: match arguments.if_exists {
            _ if arguments.update => IfExists::Overwrite,
            IfExistsArgument::Fail => IfExists::Fail,
            IfExistsArgument::Skip => IfExists::Skip,
            IfExistsArgument::Overwrite => IfExists::Overwrite,
        },
        checksums: !arguments.no_checksum,
        durable: arguments.durable,
        level: arguments.level,
        backend: machine.backend,
        identity,
    };
    let style = style(arguments);
    let progress = Progress::default();
    let verdicts = Verdicts::new(style, &progress);
    for (path, error) in &found.unlisted {
        verdicts.add(Line::failed(path, None, 0, &error.to_string()));
    }
    if style == Style::Verbose {
        plan.reasons.iter().for_each(output::tell);
    }
    let interrupt = Interrupt::listen();
    let (to_notifier, told) = channel::<Told>();
    let untold = AtomicU64::new(0);
    let ended = std::thread::scope(|scope| {
        let (notifier, verdicts, untold) = (notifier.as_ref(), &verdicts, &untold);
        let send = move || {
            for told in told {
                let problems = notifier.map_or(Vec::new(), |notifier| notifier.notify(&told.record));
                untold.fetch_add(u64::from(!problems.is_empty()), Ordering::Relaxed);
                for problem in problems {
                    verdicts.complain(&told.output, &output::message(&problem));
                }
            }
        };
        std::thread::Builder::new()
            .spawn_scoped(scope, send)
            .context("cannot start the thread that notifies the licence server")?;
        let told = Mutex::new(to_notifier);
        let watch = Watch { progress: &progress, verdicts, told, interrupt: &interrupt };
        let work = || protect::run(&job, &plan, &watch);
        let ended = match style {
            Style::Plain => progress.shown_during(sizes.iter().sum(), sizes.len() as u64, work),
            Style::Verbose | Style::Quiet | Style::Json => work(),
        };
        ended.map_err(|(path, error)| anyhow::Error::from(error).context(output::printable(&path)))
    });
    let mut summary = ended?;
    summary.failed += found.unlisted.len() as u64;
    let untold = untold.into_inner();
    verdicts.end(&summary, found.passed_over, untold, &arguments.key_file)?;
    let if_exists = if arguments.update { IfExistsArgument::Overwrite } else { arguments.if_exists };
    interrupt.check(interrupt::kept(if_exists.into(), false))?;
    Ok(code(&summary, untold))
}

fn code(summary: &Summary, untold: u64) -> ExitCode {
    match summary {
        Summary { failed: 0, .. } if untold == 0 => ExitCode::Success,
        Summary { books: 0, skipped: 0, without_key, failed, .. } if without_key == failed => {
            exit_code::of_class(Class::Key)
        }
        Summary { books: 0, skipped: 0, .. } => ExitCode::Failure,
        _ => ExitCode::Partial,
    }
}

fn style(arguments: &LcpEncryptArguments) -> Style {
    match arguments {
        LcpEncryptArguments { json: true, .. } => Style::Json,
        LcpEncryptArguments { quiet: true, .. } => Style::Quiet,
        LcpEncryptArguments { verbose: true, .. } => Style::Verbose,
        _ => Style::Plain,
    }
}

/// A publication that a server is to be told of.
struct Told {
    output: PathBuf,
    record: KeyRecord,
}

struct Watch<'w> {
    progress: &'w Progress,
    verdicts: &'w Verdicts<'w>,
    told: Mutex<Sender<Told>>,
    interrupt: &'w Interrupt,
}

impl Observer for Watch<'_> {
    fn advanced(&self, bytes: u64) {
        self.progress.count_bytes(bytes);
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.is_raised()
    }

    fn ended(&self, event: &Event<'_>) {
        self.progress.count_file();
        self.verdicts.add(Line::new(event));
        if let (Outcome::Done { record, .. }, Some(output)) = (&event.outcome, event.output)
            && record.notice.is_some()
        {
            let told = self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            // The thread that sends takes until this sender is gone.
            let _ = told.send(Told { output: output.to_owned(), record: KeyRecord::clone(record) });
        }
    }
}
