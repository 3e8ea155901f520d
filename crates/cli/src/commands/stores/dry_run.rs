//! `--dry-run` over stores: what the run would do with each object, as far as the names at the destination decide it.

use super::StoreRun;
use super::enabled::{address, refuse_nothing};
use super::plan::{self, Planned};
use crate::commands::dry_run::LeftOut;
use crate::commands::transform::style;
use crate::exit_code::{self, ExitCode};
use crate::output;
use crate::progress::Progress;
use crate::report::{self, Printer, Style};
use anyhow::Context;
use cipherloom::{Event, Observer, Outcome};
use cipherloom_stores::{Errand, Inventory};

/// Shows the plan for what the run would do; returns the run's exit code.
pub(super) fn show(run: &StoreRun<'_>, inventory: &Inventory, errand: &Errand) -> anyhow::Result<ExitCode> {
    let (style, progress) = (style(run.common), Progress::default());
    let foreteller =
        Foreteller { printer: Printer::new(style, &progress, false), style, lists: run.common.verbose };
    let foreseen = cipherloom_stores::foresee(inventory, errand, &foreteller);
    foreteller.printer.end();
    let (summary, survey) = foreseen.with_context(|| output::printable(&address(errand, inventory)))?;
    refuse_nothing(run, inventory, &summary)?;
    let left_out = LeftOut { skipped: summary.skipped, failed: summary.failed };
    plan::print(&Planned::of_run(inventory, Some(survey), errand), Some(left_out), run.common.json)?;
    Ok(exit_code::of_summary(&summary))
}

/// Tells what would fail, and the other objects only where each is to be listed.
struct Foreteller<'p> {
    printer: Printer<'p>,
    style: Style,
    lists: bool,
}

impl Observer for Foreteller<'_> {
    fn advanced(&self, _bytes: u64) {}
    fn entry_ended(&self) {}
    fn wants_every_event(&self) -> bool {
        self.lists
    }
    fn ended(&self, event: &Event<'_>) {
        match event.outcome {
            Outcome::Failed(_) => self.printer.ended(event),
            Outcome::Skipped if self.lists => self.printer.ended(event),
            Outcome::Done { .. } if self.lists => {
                // Where nothing can be written any more, the plan will tell.
                let _ = report::foretell_entry(event.source, event.output, event.bytes, self.style);
            }
            Outcome::Skipped | Outcome::Done { .. } => {}
        }
    }
}
