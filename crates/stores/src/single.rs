//! One object to or from a stream of unknown length: what `-` stands for on the command line.
//!
//! ```text
//! object ─> ranged GETs ahead ─> translate ─> in order ─> sink       each part goes out when all of it is authentic
//! source ─> translate ─> parts ─> upload ─> conditional completion   up to one part: a single conditional put
//! ```
//!
//! A stream's length is not known, and an upload has at most 10,000 parts: after every 1,000 they become twice as large.

use crate::errand::Errand;
use crate::existing::{self, Ended};
use crate::inventory::Inventory;
use crate::object::{begin, bytes_of, parts};
use crate::place::Kind;
use crate::provenance::Provenance;
use crate::run::{Context, LAST_WORDS, Told, WATCH, random};
use crate::runtime::runtime;
use crate::sink::{Condition, Sink, Target};
use crate::source;
use bytes::Bytes;
use cipherloom::{Error, IfExists, Observer, Pieces, Summary, translate_stream};
use futures_util::StreamExt;
use std::io::{self, Read, Write};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use zeroize::Zeroizing;

/// Parts of a stream that are as large as each other.
const PARTS_OF_A_SIZE: usize = 1_000;

/// Writes the translation of a single object to `sink`. A part goes out when it is authentic; that the whole is, is known
/// only at its end: an error means that what came out must not be used. Verifying writes nothing.
///
/// # Errors
/// The first trouble; [`Error::NeitherFileNorFolder`] if the inventory is no single object; [`Error::Stopped`].
pub fn read_single(
    inventory: &Inventory,
    errand: &Errand,
    sink: &mut dyn Write,
    observer: &dyn Observer,
) -> Result<Summary, Error> {
    let start = Instant::now();
    let object = inventory.single().ok_or(Error::NeitherFileNorFolder)?.clone();
    let (context, told) = Context::new(inventory.home(), errand, false);
    let (sender, mut ready) = mpsc::channel(1);
    let size = object.size;
    let task = runtime()?.spawn(async move {
        let context = Arc::new(context);
        let work = context.errand.work.borrowed();
        let head_len = (Pieces::head_len(work) as u64).min(object.size);
        let head = match head_len {
            0 => Bytes::new(),
            _ => source::read(&context.home, &object, 0..head_len).await?.bytes,
        };
        let pieces = begin(&context, &object, head, context.errand.bound_path(&object.path)?).await?;
        let mut parts = parts(&context, &object, &pieces);
        while let Some(part) = parts.next().await {
            // Nobody listens any more: the sink took no more, and says why itself.
            if sender.send(part?).await.is_err() {
                return Ok(());
            }
        }
        source::check_unchanged(&context.home, &object).await
    });
    let mut output_bytes = 0;
    let mut pass = || -> Result<(), Error> {
        loop {
            if observer.is_stopped() {
                return Err(Error::Stopped);
            }
            for told in told.try_iter() {
                if let Told::Advanced(bytes) = told {
                    observer.advanced(bytes);
                }
            }
            let waited = runtime()?.block_on(async { tokio::time::timeout(WATCH, ready.recv()).await });
            match waited {
                Err(_) => {}
                Ok(None) => return Ok(()),
                Ok(Some((bytes, share))) => {
                    output_bytes += bytes.len() as u64;
                    sink.write_all(&bytes).map_err(|error| Error::io("write the output", error))?;
                    drop(share);
                }
            }
        }
    };
    let passed = pass();
    if passed.is_err() {
        task.abort();
    }
    passed?;
    match runtime()?.block_on(task) {
        Ok(ended) => ended?,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => return Err(Error::Stopped),
    }
    sink.flush().map_err(|error| Error::io("write the output", error))?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Summary { files: 1, bytes: size, output_bytes, seconds, ..Summary::default() })
}

/// Translates `source` into the one object that the errand names ([`Errand::single_name`] below its destination), which
/// appears whole or not at all.
///
/// # Errors
/// As [`translate_stream`]; [`Error::OutputExists`], [`Error::OutputConflict`]; the store's refusals.
/// [`Error::NeitherFileNorFolder`] if the errand names no object of a bucket.
pub fn write_single(
    source: &mut dyn Read,
    errand: &Errand,
    observer: &dyn Observer,
) -> Result<Summary, Error> {
    let start = Instant::now();
    let target = target(errand)?;
    if let Target::Object { bucket, key, condition: Condition::Create, .. } = &target
        && watched(observer, existing::look(bucket, key))??.is_some()
    {
        return Err(match errand.if_exists {
            IfExists::Skip => Error::OutputConflict {
                reason: "a stream cannot be compared with what this was made from".to_owned(),
            },
            IfExists::Fail | IfExists::Overwrite => Error::OutputExists,
        });
    }
    let mut upload = Upload {
        target: &target,
        errand,
        observer,
        sink: None,
        writes: JoinSet::new(),
        in_flight: 0,
        sent: 0,
        gathered: Zeroizing::default(),
        refused: None,
    };
    let translated = translate_stream(errand.work.borrowed(), b"", source, &mut upload, observer);
    let refused = upload.refused.take();
    // Who stopped the run may also have ended the source, which then looks whole.
    let is_stopped = || if observer.is_stopped() { Err(Error::Stopped) } else { Ok(()) };
    let ended = refused.map_or(Ok(()), Err).and(translated).and_then(|summary| {
        is_stopped()?;
        upload.finish()?;
        Ok(summary)
    });
    if ended.is_err() {
        upload.give_up();
    }
    Ok(Summary { seconds: start.elapsed().as_secs_f64(), ..ended? })
}

/// Waits for `work`, unless the observer stops it.
fn watched<T>(observer: &dyn Observer, work: impl Future<Output = T>) -> Result<T, Error> {
    runtime()?.block_on(async {
        let mut work = pin!(work);
        loop {
            if let Ok(done) = tokio::time::timeout(WATCH, &mut work).await {
                return Ok(done);
            }
            if observer.is_stopped() {
                return Err(Error::Stopped);
            }
        }
    })
}

/// The object, as a target that no version of a source is known of.
fn target(errand: &Errand) -> Result<Target, Error> {
    let place = errand.destination.as_ref().map(|place| &place.0);
    let (Some(Kind::Bucket { bucket, .. }), Some(name)) = (place, &errand.single_name) else {
        return Err(Error::NeitherFileNorFolder);
    };
    let run = random()?;
    Ok(Target::Object {
        bucket: Arc::clone(bucket),
        key: bucket.key(name)?,
        origin: Provenance {
            source: format!("stream-{run}"),
            key: errand.work.borrowed().sealing().and_then(|format| format.key_id()),
            run,
        },
        condition: match errand.if_exists {
            IfExists::Overwrite => Condition::Overwrite,
            IfExists::Fail | IfExists::Skip => Condition::Create,
        },
        // What comes between is somebody else's.
        if_exists: IfExists::Fail,
    })
}

/// The output on its way, as a writer.
struct Upload<'r> {
    target: &'r Target,
    errand: &'r Errand,
    observer: &'r dyn Observer,
    /// There as soon as there is more than one part.
    sink: Option<Sink>,
    writes: JoinSet<Result<usize, Error>>,
    /// Bytes of the parts that are being sent.
    in_flight: usize,
    /// Parts that were given to the store.
    sent: usize,
    gathered: Zeroizing<Vec<u8>>,
    /// The store's own reason, which says more than what a writer may.
    refused: Option<Error>,
}

impl Upload<'_> {
    fn part_len(&self) -> usize {
        self.errand.limits.part << (self.sent / PARTS_OF_A_SIZE)
    }

    /// Gathers bytes; a part that is full goes out as soon as there are more.
    fn take(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let part_len = self.part_len();
            if self.gathered.len() >= part_len {
                self.send()?;
                continue;
            }
            if self.gathered.is_empty() {
                // Whole from the start: a vector that grows leaves copies behind.
                self.gathered.reserve_exact(part_len);
            }
            let (now, later) = bytes.split_at(bytes.len().min(part_len - self.gathered.len()));
            self.gathered.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    /// Sends what is gathered as the next part, when there is memory for it.
    fn send(&mut self) -> Result<(), Error> {
        let runtime = runtime()?;
        let bytes = self.bytes();
        let most = self.errand.limits.memory / 2;
        while self.in_flight > 0 && self.in_flight + bytes.len() > most {
            self.wait()?;
        }
        if self.sink.is_none() {
            self.sink = Some(watched(self.observer, self.target.begin())??);
        }
        let len = bytes.len();
        let write = self.sink.as_mut().expect("just begun").part(bytes);
        self.writes.spawn_on(async move { write.await.map(|()| len) }, runtime.handle());
        self.in_flight += len;
        self.sent += 1;
        Ok(())
    }

    fn bytes(&mut self) -> Bytes {
        bytes_of(std::mem::take(&mut self.gathered), self.errand.work.borrowed())
    }

    /// Until one of the parts on their way has arrived.
    fn wait(&mut self) -> Result<(), Error> {
        match watched(self.observer, self.writes.join_next())? {
            None => {}
            Some(Ok(written)) => self.in_flight -= written?,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Some(Err(_)) => return Err(Error::Stopped),
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Ended, Error> {
        if self.sink.is_none() {
            let bytes = self.bytes();
            // Waited for to its end, as below: only then is it known whether the object is there.
            return runtime()?.block_on(self.target.put(bytes, None));
        }
        if !self.gathered.is_empty() {
            self.send()?;
        }
        while self.in_flight > 0 {
            self.wait()?;
        }
        let sink = self.sink.as_mut().expect("there are parts");
        runtime()?.block_on(sink.finish())
    }

    /// Takes the upload back, for a moment.
    fn give_up(mut self) {
        let Ok(runtime) = runtime() else { return };
        runtime.block_on(async {
            self.writes.shutdown().await;
            if let Some(upload) = self.sink.take().and_then(Sink::into_upload) {
                let _ = tokio::time::timeout(LAST_WORDS, upload.abort()).await;
            }
        });
    }
}

impl Write for Upload<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.take(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => {
                self.refused = Some(error);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
