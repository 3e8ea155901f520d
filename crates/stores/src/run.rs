//! A run: the objects of a place, many in flight. Tasks send events; only the calling thread invokes the observer.

use crate::index_run::{IndexRun, Notes};
use crate::indexing::{Duty, Noted};
use crate::inventory::{Inventory, Object, Survey, address};
use crate::job::{Limits, StoreJob, output_path};
use crate::names::Names;
use crate::object::{foresee as foresee_object, process};
use crate::pages::{AHEAD, Found};
use crate::place::{Kind, Place};
use crate::runtime::{Ciphers, Stop, runtime};
use crate::sink::Touched;
use crate::sync::Replaced;
use cipherloom::{
    Error, IfExists, Observer, Report,
    error::{IndexFault, LocationFault},
    internal::{Ended, Entries, Job, Tally, Unlisted, Work, make_folders, refuse_other_names, sync_folders},
    report::Unobserved,
};
use futures_util::FutureExt;
use futures_util::future::join;
use std::any::Any;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How long a run that ends waits for the store to take back the uploads that were given up.
pub(crate) const TAKING_BACK: Duration = Duration::from_secs(2);

/// Bytes per permit of memory: a semaphore counts no further than 2^29 on small machines.
const SHARE: u64 = 1 << 10;

/// What an object holds beside its bytes.
const OVERHEAD: u64 = 64 << 10;

/// What all tasks share.
pub(crate) struct Context {
    pub(crate) inventory: Inventory,
    pub(crate) job: Arc<Job>,
    pub(crate) destination: Option<Place>,
    pub(crate) limits: Limits,
    pub(crate) ciphers: Ciphers,
    pub(crate) is_in_place: bool,
    /// Whether nothing is done, and only what the run would do is reported.
    pub(crate) is_foreseen: bool,
    /// Of outputs in a folder.
    pub(crate) names: Names,
    /// Filled by runs whose outputs are to be on stable storage.
    pub(crate) touched: Arc<Touched>,
    /// What is done for the index of the encrypted tree.
    pub(crate) duty: Option<Duty>,
    /// What the outputs of a synchronization replace.
    pub(crate) replaced: Option<Replaced>,
    pub(crate) memory: Arc<Semaphore>,
    pub(crate) shares: u32,
    pub(crate) events: UnboundedSender<TaskEvent>,
}

/// What tasks send to the calling thread.
pub(crate) enum TaskEvent {
    /// So many more source bytes are done.
    Advanced(u64),
    /// With the object's turn: the next object starts only when this event was handled, so that events do not pile up.
    Ended(Object, Result<Ended, Error>, OwnedSemaphorePermit),
    Unlisted(Unlisted),
    /// What was found out about an entry for the index, before it ends.
    Noted(u32, Noted),
    /// A panic, which the calling thread resumes.
    Panicked(Box<dyn Any + Send>),
}

impl Context {
    /// The receiver gets the tasks' events until the last sender has gone.
    pub(crate) fn new(
        inventory: &Inventory,
        job: &StoreJob,
        is_in_place: bool,
    ) -> (Context, UnboundedReceiver<TaskEvent>) {
        let (events, receiver) = unbounded_channel();
        let limits = job.limits;
        let shares = u32::try_from(limits.memory as u64 / SHARE).unwrap_or(u32::MAX).clamp(1, 1 << 28);
        let context = Context {
            inventory: inventory.clone(),
            job: Arc::new(job.job.clone()),
            destination: job.destination.clone(),
            limits,
            ciphers: Ciphers::new(limits.threads),
            is_in_place,
            is_foreseen: false,
            names: Names::default(),
            touched: Arc::default(),
            duty: None,
            replaced: None,
            memory: Arc::new(Semaphore::new(shares as usize)),
            shares,
            events,
        };
        (context, receiver)
    }

    pub(crate) fn send(&self, event: TaskEvent) {
        // Only a calling thread that panicked has dropped the receiver.
        let _ = self.events.send(event);
    }

    /// A share of the memory for so many bytes; all of it for what is larger than that.
    pub(crate) async fn share(&self, bytes: u64) -> Result<OwnedSemaphorePermit, Error> {
        let shares = u32::try_from((bytes + OVERHEAD).div_ceil(SHARE)).unwrap_or(u32::MAX).min(self.shares);
        Arc::clone(&self.memory).acquire_many_owned(shares).await.map_err(|_| Error::Stopped)
    }

    /// Does something after the task has ended, but before the run has.
    pub(crate) fn do_afterwards(&self, work: impl Future<Output = ()> + Send + 'static) {
        let events = self.events.clone();
        tokio::spawn(async move {
            let _ = tokio::time::timeout(TAKING_BACK, work).await;
            drop(events);
        });
    }
}

/// The objects of a run, as events name them.
struct Objects<'r> {
    inventory: &'r Inventory,
    job: &'r StoreJob,
}

impl Entries<Object> for Objects<'_> {
    fn size(&self, object: &Object) -> u64 {
        object.size
    }

    fn paths(&self, object: &Object) -> (PathBuf, Option<PathBuf>) {
        let output = self.job.destination.as_ref().and_then(|place| {
            let relative = output_path(&self.job.job, &object.path).ok()?;
            Some(address(place, &relative))
        });
        (address(self.inventory.place(), &object.path), output)
    }
}

impl StoreJob {
    /// Does the job for every object. A bucket is listed during the run: nothing waits for the end of the listing, and only some
    /// pages of it are in memory. Blocks; only this thread calls `observer`.
    ///
    /// If the observer stops the run, what is in flight is given up at once (uploads are taken back, for at most 2 s). The
    /// report then counts what had ended.
    ///
    /// # Errors
    /// If nothing could be started: source and destination contain each other, the destination cannot be made, the format
    /// cannot be written here ([`Error::Chained`]: CBC). What goes wrong with single objects is reported to `observer`.
    pub fn run(&self, inventory: &Inventory, observer: &dyn Observer) -> Result<Report, Error> {
        let start = Instant::now();
        let stopped = || Ok(Report { seconds: start.elapsed().as_secs_f64(), ..Report::default() });
        let prepared = match self.with_index(inventory, observer) {
            // While it was listed: nothing has ended.
            Err(Error::Stopped) => return stopped(),
            prepared => prepared?,
        };
        let (StoreJob { job, .. }, inventory) = (&prepared.0, &prepared.1);
        let (mut context, events) = prepared.0.context(inventory)?;
        let folder = self.destination.as_ref().and_then(|place| place.folder());
        let first_existing = folder.map(make_folders).transpose();
        let first_existing =
            first_existing.map_err(|error| Error::io("make the destination folder", error))?;
        if let (Some(folder), None) = (folder, inventory.single()) {
            context.names = Names::below(folder)?;
        }
        let touched = Arc::clone(&context.touched);
        let objects = Objects { inventory, job: self };
        let tally = Tally::new(&objects, observer);
        let mut index = match IndexRun::begin(inventory, job, context.is_in_place, &tally) {
            // While it was taken over.
            Err(Error::Stopped) => return stopped(),
            begun => begun?,
        };
        context.duty = index.as_ref().map(|index| index.duty(job));
        let notes = matches!(context.duty, Some(Duty::Note));
        process_all(context, inventory, events, &tally, Object::clone, &mut index)?;
        // A source that is empty, as where its disk is not mounted, replaces no index with one that lists nothing.
        let is_empty = notes && inventory.found().0 == 0 && tally.report(0).failed == 0;
        let index = index
            .filter(|index| !is_empty && (!tally.is_stopped() || index.outlives_a_stop(job)))
            .and_then(|index| index.finish(inventory, &tally));
        if let (Some(folder), Some(first_existing), true) = (folder, first_existing, self.job.durable) {
            let folders = touched.folders();
            if let Err(error) = sync_folders(folder, folders.iter().map(PathBuf::as_path), &first_existing) {
                tally.fail_other(folder, None, &error);
            }
        }
        // Of a bucket, what had been listed by then.
        Ok(Report { index, seconds: start.elapsed().as_secs_f64(), ..tally.report(inventory.found().0) })
    }

    /// What [`StoreJob::run`] would do, as far as what is at the destination decides that: which objects it would process
    /// ([`Survey`]; [`Report::files`]), skip or fail at. Writes nothing, and reads no object.
    ///
    /// # Errors
    /// As [`StoreJob::run`].
    pub fn foresee(&self, inventory: &Inventory, observer: &dyn Observer) -> Result<(Report, Survey), Error> {
        let (mut context, events) = self.context(inventory)?;
        context.is_foreseen = true;
        let objects = Objects { inventory, job: self };
        let tally = Tally::new(&objects, observer);
        let survey = process_all(context, inventory, events, &tally, Object::clone, &mut None)?;
        if self.carries_index() && inventory.has_nested_index() {
            return Err(IndexFault::NotCarried.into());
        }
        Ok((tally.report(inventory.found().0), survey))
    }

    /// Refuses a contradictory job, as [`StoreJob::run`] does first, and a destination with objects (or files) under another key,
    /// unless [`Job::allow_mixed_keys`] is set. To be called once before [`StoreJob::run`], which does not look for these.
    ///
    /// # Errors
    /// [`Error::SameFile`], [`Error::DestinationInsideSource`], [`Error::SourceInsideDestination`]; [`Error::Chained`];
    /// [`Error::RekeyUnauthenticated`]; [`Error::Index`] for re-keying a tree with an index that is not carried; [`Error::Location`] for re-keying in place without leave to replace;
    /// [`Error::OtherKey`] with the path of such an object; if the store cannot be reached.
    pub fn check(&self, inventory: &Inventory) -> Result<(), Error> {
        let is_rekeyed = matches!(self.job.work, Work::Rekey { .. });
        if is_rekeyed && !self.carries_index() && inventory.has_index(&Unobserved)? {
            return Err(IndexFault::NotCarried.into());
        }
        if self.is_in_place(inventory)? || self.job.allow_mixed_keys {
            return Ok(());
        }
        self.find_other_key(inventory)?.map_or(Ok(()), |path| Err(Error::OtherKey.at(&path)))
    }

    /// What the tasks of a run share. Fails before any object is read if the job is contradictory, or if there are no
    /// credentials for the destination's store.
    fn context(&self, inventory: &Inventory) -> Result<(Context, UnboundedReceiver<TaskEvent>), Error> {
        let is_in_place = self.is_in_place(inventory)?;
        if let Some(Place(Kind::Bucket { bucket, .. })) = &self.destination {
            // Who has listed a store has credentials for it.
            let is_listed = matches!(&inventory.place().0, Kind::Bucket { bucket: source, .. } if source.scheme == bucket.scheme);
            if !is_listed {
                runtime()?.block_on(bucket.check_credentials())?;
            }
        }
        Ok(Context::new(inventory, self, is_in_place))
    }

    /// True if the outputs replace their sources.
    pub(crate) fn is_in_place(&self, inventory: &Inventory) -> Result<bool, Error> {
        let job = &self.job;
        job.work.check_rekey()?;
        // What is in a bucket is found while the run goes on, and reported at its end.
        if !self.carries_index() {
            job.work.check_reserved(inventory.passed_over())?;
        }
        if job.work.sealing().is_some_and(|format| format.is_chained()) {
            return Err(Error::Chained);
        }
        let Some(destination) = &self.destination else { return Ok(false) };
        if let Kind::Folder(root) = &destination.0 {
            refuse_other_names(&Job { destination: Some(root.clone()), ..job.clone() })?;
        }
        let same_place = inventory.place().meets(destination);
        if let Some(object) = inventory.single() {
            // Single objects may go anywhere but onto themselves.
            let Ok(true) = same_place else { return Ok(false) };
            if output_path(job, &object.path)? != object.path {
                return Ok(false);
            }
        } else if !same_place? {
            return Ok(false);
        }
        let is_rekey = matches!(job.work, Work::Rekey { .. }) && job.suffix.is_empty();
        match (is_rekey, job.if_exists) {
            (true, IfExists::Overwrite) => Ok(true),
            (true, IfExists::Fail | IfExists::Skip) => Err(LocationFault::SamePlace.into()),
            (false, _) if inventory.single().is_some() => Err(Error::SameFile),
            (false, _) => Err(Error::DestinationInsideSource),
        }
    }
}

/// Starts the tasks and handles their events until the last has ended. `key`: an object as the tally knows it.
pub(crate) fn process_all<K: Send>(
    context: Context,
    inventory: &Inventory,
    mut events: UnboundedReceiver<TaskEvent>,
    tally: &Tally<'_, K>,
    key: impl Fn(&Object) -> K,
    notes: &mut impl Notes,
) -> Result<Survey, Error> {
    let mut done = Survey::default();
    let fail_unlisted = |done: &mut Survey, unlisted: &Unlisted| {
        done.unlisted += 1;
        tally.fail_other(&unlisted.path, None, &unlisted.error);
    };
    let of_tree = inventory.listing.tree.iter().flat_map(|tree| &tree.unlisted);
    inventory.unlisted().iter().chain(of_tree).for_each(|unlisted| fail_unlisted(&mut done, unlisted));
    let (stop, limits) = (Stop::new(tally), context.limits);
    let job = Arc::clone(&context.job);
    let (context, all, stopped) = (Arc::new(context), inventory.clone(), stop.subscribe());
    runtime()?.spawn(async move {
        let driven = AssertUnwindSafe(start_all(&context, &all, stopped)).catch_unwind().await;
        driven.unwrap_or_else(|panic| context.send(TaskEvent::Panicked(panic)));
    });
    let mut is_stopped = false;
    loop {
        let event = match is_stopped {
            false => stop.block_on(events.recv()),
            true => Ok(events.blocking_recv()),
        };
        match event {
            Ok(None) => break,
            Ok(Some(TaskEvent::Advanced(bytes))) => tally.advanced(bytes),
            Ok(Some(TaskEvent::Ended(object, ended, turn))) => {
                if matches!(ended, Ok(Ended::Done(_))) {
                    done.count(&object, &limits);
                }
                if !notes.holds_back(&object, &ended) {
                    tally.end_entry(key(&object), ended);
                }
                drop(turn);
            }
            Ok(Some(TaskEvent::Noted(entry, noted))) => notes.note(entry, noted),
            Ok(Some(TaskEvent::Unlisted(unlisted))) => fail_unlisted(&mut done, &unlisted),
            Ok(Some(TaskEvent::Panicked(panic))) => resume_unwind(panic),
            Err(Error::Stopped) => is_stopped = true,
            Err(error) => return Err(error),
        }
    }
    // Of a folder that was refused before.
    if inventory.pages.is_some()
        && matches!(job.work, Work::Encrypt(_) | Work::Copy)
        && let Err(error) = job.work.check_reserved(inventory.passed_over())
    {
        tally.fail_other(&inventory.place().address(), None, &error);
    }
    tally.release_held();
    Ok(Survey { requests: inventory.requests(), ..done })
}

/// Starts a task for each object, as many at once as the limits say, until the run is to stop.
async fn start_all(context: &Arc<Context>, inventory: &Inventory, stopped: watch::Receiver<bool>) {
    let in_flight = Arc::new(Semaphore::new(context.limits.objects.max(1)));
    let start = async |object| {
        if let Ok(turn) = Arc::clone(&in_flight).acquire_owned().await {
            tokio::spawn(run_task(Arc::clone(context), object, turn, stopped.clone()));
        }
    };
    let start_each = async {
        for object in inventory.objects() {
            start(object.clone()).await;
        }
        let Some(pages) = &inventory.pages else { return };
        let (sender, mut listed) = channel(AHEAD);
        let start_listed = async {
            while let Some(found) = listed.recv().await {
                match found {
                    Found::Object(object) => start(object).await,
                    Found::Unlisted(unlisted) => context.send(TaskEvent::Unlisted(unlisted)),
                }
            }
        };
        join(pages.feed(sender), start_listed).await;
    };
    let mut is_stopped = stopped.clone();
    tokio::select! {
        biased;
        _ = is_stopped.wait_for(|is_stopped| *is_stopped) => {}
        () = start_each => {}
    }
}

/// Processes an object until it has ended or the run is to stop.
async fn run_task(
    context: Arc<Context>,
    object: Object,
    turn: OwnedSemaphorePermit,
    mut stopped: watch::Receiver<bool>,
) {
    let processed = async {
        match context.is_foreseen {
            true => foresee_object(&context, &object).await,
            false => process(&context, &object).await,
        }
    };
    let ended = tokio::select! {
        biased;
        _ = stopped.wait_for(|is_stopped| *is_stopped) => Ok(Err(Error::Stopped)),
        ended = AssertUnwindSafe(processed).catch_unwind() => ended,
    };
    context.send(match ended {
        Ok(ended) => TaskEvent::Ended(object, ended, turn),
        Err(panic) => TaskEvent::Panicked(panic),
    });
}

/// 16 random hexadecimal digits.
pub(crate) fn random() -> Result<String, Error> {
    Ok(format!("{:016x}", getrandom::u64().map_err(Error::Random)?))
}
