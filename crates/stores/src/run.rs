//! A run: the objects of a place, many in flight. The calling thread hears what becomes of them, and tells the observer.

use crate::cipher::Ciphers;
use crate::errand::{Errand, Work};
use crate::existing::Ended;
use crate::inventory::{Inventory, Supply, Survey};
use crate::listing::Object;
use crate::names::Names;
use crate::object::{foresee as foresee_object, process};
use crate::pages::{AHEAD, Found};
use crate::place::Kind;
use crate::runtime::runtime;
use crate::sink::Touched;
use crate::source::Home;
use crate::tally::Tally;
use cipherloom::{Error, IfExists, Observer, Summary, Unlisted, make_folders, sync_folders};
use futures_util::FutureExt;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;

/// How often the calling thread asks whether to stop.
pub(crate) const WATCH: Duration = Duration::from_millis(20);

/// How long uploads that were given up may take to tell the store.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(2);

/// Bytes that one permit of memory stands for: a semaphore counts no further than 2^29 on small machines.
const SHARE: u64 = 1 << 10;

/// What an object holds beside its bytes.
const OVERHEAD: u64 = 64 << 10;

/// What all tasks look at.
pub(crate) struct Context {
    pub(crate) home: Home,
    pub(crate) errand: Arc<Errand>,
    pub(crate) ciphers: Ciphers,
    pub(crate) is_in_place: bool,
    /// Nothing is done: it is only told what the run would do.
    pub(crate) is_foreseen: bool,
    /// Of outputs in a folder.
    pub(crate) names: Names,
    /// Filled by runs whose outputs are to be on stable storage.
    pub(crate) touched: Arc<Touched>,
    memory: Arc<Semaphore>,
    shares: u32,
    told: Sender<Told>,
}

/// What the calling thread is told.
pub(crate) enum Told {
    Advanced(u64),
    /// With the object's turn: the next one starts when this end was heard, so that ends do not pile up.
    Ended(Object, Result<Ended, Error>, OwnedSemaphorePermit),
    Unlisted(Unlisted),
    /// A defect, which is the calling thread's to raise.
    Panicked(Box<dyn Any + Send>),
}

impl Context {
    /// What is told comes out at the receiver, until the last who could tell has gone.
    pub(crate) fn new(home: Home, errand: &Errand, is_in_place: bool) -> (Context, Receiver<Told>) {
        let (told, hears) = channel();
        let shares = u32::try_from(errand.limits.memory as u64 / SHARE).unwrap_or(u32::MAX).clamp(1, 1 << 28);
        let context = Context {
            home,
            errand: Arc::new(errand.clone()),
            ciphers: Ciphers::new(errand.limits.threads),
            is_in_place,
            is_foreseen: false,
            names: Names::default(),
            touched: Arc::default(),
            memory: Arc::new(Semaphore::new(shares as usize)),
            shares,
            told,
        };
        (context, hears)
    }

    pub(crate) fn tell(&self, told: Told) {
        // Only a calling thread that panicked hears nothing any more.
        let _ = self.told.send(told);
    }

    /// A share of the memory for so many bytes; all of it for what is larger than that.
    pub(crate) async fn share(&self, bytes: u64) -> Result<OwnedSemaphorePermit, Error> {
        let shares = u32::try_from((bytes + OVERHEAD).div_ceil(SHARE)).unwrap_or(u32::MAX).min(self.shares);
        Arc::clone(&self.memory).acquire_many_owned(shares).await.map_err(|_| Error::Stopped)
    }

    /// Does something after the task has ended, but before the run has.
    pub(crate) fn afterwards(&self, work: impl Future<Output = ()> + Send + 'static) {
        let told = self.told.clone();
        tokio::spawn(async move {
            let _ = tokio::time::timeout(LAST_WORDS, work).await;
            drop(told);
        });
    }
}

/// Does the errand for every object. A bucket is listed meanwhile: nothing waits for the end of the listing, and no more
/// of it is held than some pages. Blocks; `observer` is called by this thread alone, and asked at least every 20 ms
/// whether to stop.
///
/// If it stops the run, what was in flight is given up within moments (uploads are taken back, for at most 2 s); the
/// summary then holds what had ended.
///
/// # Errors
/// If nothing could be started: source and destination contain each other, the destination cannot be made, the format
/// cannot be written here ([`Error::Chained`]: CBC). What goes wrong with single objects is told to `observer`.
pub fn run(
    inventory: impl Into<Inventory>,
    errand: &Errand,
    observer: &dyn Observer,
) -> Result<Summary, Error> {
    let start = Instant::now();
    let inventory = inventory.into();
    let is_in_place = is_in_place(&inventory, errand)?;
    check_credentials(&inventory, errand)?;
    let folder = errand.destination.as_ref().and_then(|place| place.folder());
    let first_existing = folder.map(make_folders).transpose();
    let first_existing = first_existing.map_err(|error| Error::io("make the destination folder", error))?;
    let mut tally = Tally::new(&inventory, errand, observer);
    let (mut context, hears) = Context::new(inventory.home(), errand, is_in_place);
    if let (Some(folder), None) = (folder, inventory.single()) {
        context.names = Names::below(folder)?;
    }
    let touched = Arc::clone(&context.touched);
    go_through(context, &inventory, &hears, &mut tally)?;
    if let (Some(folder), Some(first_existing), true) = (folder, first_existing, errand.durable) {
        let folders = touched.folders();
        if let Err(error) = sync_folders(folder, folders.iter().map(PathBuf::as_path), &first_existing) {
            tally.unlisted(&Unlisted { path: folder.to_owned(), error });
        }
    }
    Ok(Summary { seconds: start.elapsed().as_secs_f64(), ..tally.summary })
}

/// What [`run`] would do, as far as what stands where the outputs are to go decides that: which objects it would do
/// ([`Survey`]; [`Summary::files`]), skip or fail at. Writes nothing, and reads no object.
///
/// # Errors
/// As [`run`].
pub fn foresee(
    inventory: impl Into<Inventory>,
    errand: &Errand,
    observer: &dyn Observer,
) -> Result<(Summary, Survey), Error> {
    let inventory = inventory.into();
    let is_in_place = is_in_place(&inventory, errand)?;
    check_credentials(&inventory, errand)?;
    let mut tally = Tally::new(&inventory, errand, observer);
    let (mut context, hears) = Context::new(inventory.home(), errand, is_in_place);
    context.is_foreseen = true;
    go_through(context, &inventory, &hears, &mut tally)?;
    Ok((tally.summary, Survey { requests: inventory.requests(), ..tally.done }))
}

/// Starts the tasks, and hears of their ends until the last.
fn go_through(
    context: Context,
    inventory: &Inventory,
    hears: &Receiver<Told>,
    tally: &mut Tally<'_>,
) -> Result<(), Error> {
    if let Supply::Known(listing) = &inventory.supply {
        listing.unlisted.iter().for_each(|unlisted| tally.unlisted(unlisted));
    }
    let (stop, stopped) = watch::channel(false);
    let (context, supply) = (Arc::new(context), inventory.supply.clone());
    runtime()?.spawn(async move {
        let driven = AssertUnwindSafe(drive(Arc::clone(&context), supply, stopped)).catch_unwind().await;
        driven.unwrap_or_else(|panic| context.tell(Told::Panicked(panic)));
    });
    tally.hear(hears, &stop);
    tally.end(inventory);
    Ok(())
}

/// Refuses what makes no sense as a whole, as [`run`] does before anything else.
///
/// # Errors
/// [`Error::SameFile`], [`Error::DestinationInsideSource`], [`Error::SourceInsideDestination`]; [`Error::Chained`];
/// [`Error::RekeyUnauthenticated`]; [`Error::Location`] for re-keying in place without leave to replace.
pub fn check(inventory: &Inventory, errand: &Errand) -> Result<(), Error> {
    is_in_place(inventory, errand).map(|_| ())
}

/// Who has listed a store has credentials for it; for another one this asks, before any object is read.
fn check_credentials(inventory: &Inventory, errand: &Errand) -> Result<(), Error> {
    match (&inventory.place().0, errand.destination.as_ref().map(|place| &place.0)) {
        (Kind::Bucket { bucket: source, .. }, Some(Kind::Bucket { bucket, .. }))
            if source.scheme == bucket.scheme =>
        {
            Ok(())
        }
        (_, Some(Kind::Bucket { bucket, .. })) => runtime()?.block_on(bucket.check_credentials()),
        _ => Ok(()),
    }
}

/// True if the outputs replace their sources.
pub(crate) fn is_in_place(inventory: &Inventory, errand: &Errand) -> Result<bool, Error> {
    let work = errand.work.borrowed();
    work.check_rekey()?;
    let is_rekey = matches!(errand.work, Work::Rekey { .. });
    if work.sealing().is_some_and(|format| format.is_chained()) {
        return Err(Error::Chained);
    }
    let Some(destination) = &errand.destination else { return Ok(false) };
    let same_place = inventory.place().meets(destination);
    if let Some(object) = inventory.single() {
        // Single objects may go anywhere but onto themselves.
        let Ok(true) = same_place else { return Ok(false) };
        if errand.output_path(&object.path)? != object.path {
            return Ok(false);
        }
    } else if !same_place? {
        return Ok(false);
    }
    match (is_rekey && errand.suffix.is_empty(), errand.if_exists) {
        (true, IfExists::Overwrite) => Ok(true),
        (true, IfExists::Fail | IfExists::Skip) => Err(Error::Location {
            reason: "source and destination are the same place; --if-exists overwrite re-keys it in place"
                .to_owned(),
        }),
        (false, _) if inventory.single().is_some() => Err(Error::SameFile),
        (false, _) => Err(Error::DestinationInsideSource),
    }
}

/// Starts a task for each object, as many at once as the limits say.
async fn drive(context: Arc<Context>, supply: Supply, mut stopped: watch::Receiver<bool>) {
    let in_flight = Arc::new(Semaphore::new(context.errand.limits.objects.max(1)));
    match supply {
        Supply::Known(listing) => {
            for object in &listing.objects {
                if !start(&context, &in_flight, object.clone(), &stopped).await {
                    return;
                }
            }
        }
        Supply::Pages(pages) => {
            let (sender, mut listed) = mpsc::channel(AHEAD);
            let mut feeder = JoinSet::new();
            feeder.spawn(async move { pages.feed(&sender).await });
            loop {
                let found = tokio::select! {
                    found = listed.recv() => found,
                    _ = stopped.wait_for(|stopped| *stopped) => return,
                };
                let goes_on = match found {
                    None => {
                        if let Some(Err(error)) = feeder.join_next().await
                            && error.is_panic()
                        {
                            context.tell(Told::Panicked(error.into_panic()));
                        }
                        return;
                    }
                    Some(Found::Object(object)) => start(&context, &in_flight, object, &stopped).await,
                    Some(Found::Unlisted(unlisted)) => {
                        context.tell(Told::Unlisted(unlisted));
                        true
                    }
                };
                if !goes_on {
                    return;
                }
            }
        }
    }
}

/// Starts a task for an object as soon as it is its turn; false if the run is to stop.
async fn start(
    context: &Arc<Context>,
    in_flight: &Arc<Semaphore>,
    object: Object,
    stopped: &watch::Receiver<bool>,
) -> bool {
    let Ok(turn) = Arc::clone(in_flight).acquire_owned().await else { return false };
    if *stopped.borrow() {
        return false;
    }
    let (context, mut stopped) = (Arc::clone(context), stopped.clone());
    tokio::spawn(async move {
        let processed = async {
            match context.is_foreseen {
                true => foresee_object(&context, &object).await,
                false => process(&context, &object).await,
            }
        };
        let processed = AssertUnwindSafe(processed).catch_unwind();
        let ended = tokio::select! {
            ended = processed => ended,
            _ = stopped.wait_for(|stopped| *stopped) => Ok(Err(Error::Stopped)),
        };
        context.tell(match ended {
            Ok(ended) => Told::Ended(object, ended, turn),
            Err(panic) => Told::Panicked(panic),
        });
    });
    true
}

/// 16 random hexadecimal digits.
pub(crate) fn random() -> Result<String, Error> {
    Ok(format!("{:016x}", getrandom::u64().map_err(Error::Random)?))
}
