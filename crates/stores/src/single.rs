//! One object to or from a stream of unknown length, which is `-` on the command line.
//!
//! ```text
//! object ─> ranged GETs ahead ─> translate ─> in order ─> sink       each part goes out when all of it is authentic
//! source ─> translate ─> parts ─> upload ─> conditional completion   up to one part: a single conditional put
//! ```
//!
//! A stream's length is not known, and an upload has at most 10,000 parts: after every 1,000 they become twice as large.

use crate::existing::{self, Provenance, Settled};
use crate::inventory::{Inventory, Object};
use crate::job::{StoreJob, bound_path};
use crate::object::{Part, begin, bytes_of, parts};
use crate::place::Kind;
use crate::run::{Context, TAKING_BACK, TaskEvent, random};
use crate::runtime::{Stop, joined, runtime};
use crate::sink::{Condition, Sink, Target};
use crate::source;
use bytes::Bytes;
use cipherloom::{Error, IfExists, Observer, Report, internal::translate_stream};
use futures_util::StreamExt;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use zeroize::Zeroizing;

/// Parts of a stream that are as large as each other.
const PARTS_OF_A_SIZE: usize = 1_000;

impl StoreJob {
    /// Writes the translation of a single object to `sink`. A part goes out when it is authentic; that the whole is, is known
    /// only at its end: an error means that what came out must not be used. Verifying writes nothing.
    ///
    /// # Errors
    /// The first error; [`Error::NeitherFileNorFolder`] if the inventory is no single object; [`Error::Stopped`].
    pub fn read_single(
        &self,
        inventory: &Inventory,
        sink: &mut dyn Write,
        observer: &dyn Observer,
    ) -> Result<Report, Error> {
        let start = Instant::now();
        let object = inventory.single().ok_or(Error::NeitherFileNorFolder)?.clone();
        let bytes = object.size;
        let (context, mut events) = Context::new(inventory, self, false);
        let (sender, mut parts) = mpsc::channel(1);
        let stop = Stop::new(observer);
        let mut tasks = JoinSet::new();
        tasks.spawn_on(send_parts(context, object, sender), runtime()?.handle());
        let mut output_bytes = 0;
        while let Some(Part { output: part, share, .. }) = stop.block_on(parts.recv())? {
            output_bytes += part.len() as u64;
            sink.write_all(&part).map_err(|error| Error::io("write the output", error))?;
            drop(share);
            while let Ok(TaskEvent::Advanced(bytes)) = events.try_recv() {
                observer.advanced(bytes);
            }
        }
        stop.block_on(tasks.join_next())?.map_or(Ok(()), joined)?;
        sink.flush().map_err(|error| Error::io("write the output", error))?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Report { files: 1, bytes, output_bytes, seconds, ..Report::default() })
    }

    /// Translates `source` into the one object that the job names ([`Job::single_name`](cipherloom::internal::Job::single_name) below
    /// [`StoreJob::destination`]), which appears whole or not at all.
    ///
    /// ```no_run
    /// # use cipherloom::{Format, internal::{Job, Work}, key::Keyset, machine::Backend, report::Unobserved};
    /// # use cipherloom_stores::{Access, StoreJob};
    /// # let format = Format::tink(Keyset::generate("AES256_GCM_HKDF_1MB".parse()?)?, Backend::best())?;
    /// let mut job = Job::new(Work::Encrypt(format), Some("s3://backups/databases".into()));
    /// job.single_name = Some("monday".into());
    /// StoreJob::open(job, Access::default())?.write_single(&mut std::io::stdin(), &Unobserved)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`translate_stream`]; [`Error::OutputExists`], [`Error::OutputConflict`]; the store's refusals.
    /// [`Error::NeitherFileNorFolder`] if the job names no object of a bucket.
    pub fn write_single(&self, source: &mut dyn Read, observer: &dyn Observer) -> Result<Report, Error> {
        let start = Instant::now();
        let target = self.single_target()?;
        let stop = Stop::new(observer);
        if let Target::Object { bucket, key, condition: Condition::Create, .. } = &target
            && stop.block_on(existing::look(bucket, key))??.is_some()
        {
            return Err(match self.job.if_exists {
                IfExists::Skip => Error::OutputConflict {
                    reason: "a stream cannot be compared with what this was made from".to_owned(),
                },
                IfExists::Fail | IfExists::Overwrite => Error::OutputExists,
            });
        }
        let mut upload = Upload {
            target: &target,
            job: self,
            stop,
            sink: None,
            writes: JoinSet::new(),
            in_flight: 0,
            sent: 0,
            gathered: Zeroizing::default(),
            refused: None,
        };
        let translated = translate_stream(&self.job.work, b"", source, &mut upload, observer);
        let refused = upload.refused.take();
        // Who stopped the run may also have ended the source, which then looks whole.
        let is_stopped = || if observer.is_stopped() { Err(Error::Stopped) } else { Ok(()) };
        let ended = refused.map_or(Ok(()), Err).and(translated).and_then(|report| {
            is_stopped()?;
            upload.finish()?;
            Ok(report)
        });
        if ended.is_err() {
            upload.give_up();
        }
        Ok(Report { seconds: start.elapsed().as_secs_f64(), ..ended? })
    }

    /// The one object to write, for a source of which no version is known.
    fn single_target(&self) -> Result<Target, Error> {
        let place = self.destination.as_ref().map(|place| &place.0);
        let (Some(Kind::Bucket { bucket, .. }), Some(name)) = (place, &self.job.single_name) else {
            return Err(Error::NeitherFileNorFolder);
        };
        let run = random()?;
        Ok(Target::Object {
            bucket: Arc::clone(bucket),
            key: bucket.key(&name.to_string_lossy())?,
            origin: Provenance {
                source: format!("stream-{run}"),
                key: self.job.work.sealing().and_then(|format| format.key_id()),
                run,
            },
            condition: match self.job.if_exists {
                IfExists::Overwrite => Condition::Overwrite,
                IfExists::Fail | IfExists::Skip => Condition::Create,
            },
            // An object that appears during the run belongs to another writer.
            if_exists: IfExists::Fail,
        })
    }
}

/// Sends the parts of the output in their order.
async fn send_parts(context: Context, object: Object, sender: mpsc::Sender<Part>) -> Result<(), Error> {
    let context = Arc::new(context);
    let job = &context.job;
    let head = source::read_head(&context.inventory, &object, &job.work, Bytes::new()).await?;
    let pieces = begin(&context, &object, head, bound_path(job, &object.path)?).await?;
    let mut parts = parts(&context, &object, &pieces);
    while let Some(part) = parts.next().await {
        // The sink took no more, and the calling thread says why.
        if sender.send(part?).await.is_err() {
            return Ok(());
        }
    }
    source::check_unchanged(&context.inventory, &object).await
}

/// An output that is being uploaded, as a writer.
struct Upload<'r> {
    target: &'r Target,
    job: &'r StoreJob,
    stop: Stop<'r>,
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
        self.job.limits.part << (self.sent / PARTS_OF_A_SIZE)
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
        let most = self.job.limits.memory / 2;
        while self.in_flight > 0 && self.in_flight + bytes.len() > most {
            self.wait()?;
        }
        if self.sink.is_none() {
            self.sink = Some(self.stop.block_on(self.target.begin())??);
        }
        let len = bytes.len();
        let write = self.sink.as_mut().expect("just begun").part(bytes);
        self.writes.spawn_on(async move { write.await.map(|()| len) }, runtime.handle());
        self.in_flight += len;
        self.sent += 1;
        Ok(())
    }

    fn bytes(&mut self) -> Bytes {
        bytes_of(std::mem::take(&mut self.gathered), &self.job.job.work)
    }

    /// Until one of the parts in flight has arrived.
    fn wait(&mut self) -> Result<(), Error> {
        self.in_flight -= self.stop.block_on(self.writes.join_next())?.map_or(Ok(0), joined)?;
        Ok(())
    }

    fn finish(&mut self) -> Result<Settled, Error> {
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
                let _ = tokio::time::timeout(TAKING_BACK, upload.abort()).await;
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
