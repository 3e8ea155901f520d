//! Processes one object: reads, translates, writes. Up to a part's size in one piece, above it in parts that overlap.
//!
//! Each piece holds its share of the run's memory from before it is read until it is written. Shares are given in the
//! order of asking, and an object asks for its parts in their order, so the first of them always goes on.

use crate::confirm;
use crate::existing::{self, Provenance, Settled};
use crate::indexing::{self, read_ends};
use crate::inventory::Object;
use crate::job::{bound_path, output_path};
use crate::place::Kind;
use crate::run::{Context, TaskEvent, random};
use crate::runtime::joined;
use crate::sink::{Condition, Sink, Target};
use crate::source::{self, Read};
use bytes::Bytes;
use cipherloom::{
    Error, IfExists,
    error::IndexFault,
    internal::{Ended, Pieces, StreamEnds, Work},
};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use zeroize::Zeroizing;

/// Parts of one object in flight on each side.
const PARTS: usize = 8;

/// S3 takes 10,000 parts; a larger object gets larger ones.
const MOST_PARTS: u64 = 9_500;

/// Bytes of a part of an object of this size, where parts are to have `part`.
pub(crate) fn part_len(size: u64, part: u64) -> u64 {
    part.max(size.div_ceil(MOST_PARTS))
}

/// Processes one object.
pub(crate) async fn process(context: &Arc<Context>, object: &Object) -> Result<Ended, Error> {
    if context.job.reads_ends_only() {
        return indexing::look(context, object).await;
    }
    let target = target(context, object)?;
    let is_large = object.size > context.limits.part as u64;
    let bound = bound_path(&context.job, &object.path)?;
    if let Some(ended) = context.find_made(object, &bound).await? {
        return Ok(ended);
    }
    let mut made = StreamEnds::default();
    let settled = match target.look(is_large).await {
        Ok(Some(settled)) => Ok(settled),
        Ok(None) if is_large => large(context, object, &target, &bound, &mut made).await,
        Ok(None) => small(context, object, &target, &bound, &mut made).await,
        Err(error) => Err(error),
    };
    let settled = match settled {
        // A run that was killed may have re-keyed it.
        Err(Error::Index(IndexFault::Replaced { .. })) if context.is_in_place => {
            return context.confirm_rekeyed(object, &bound).await.map(|()| Ended::Skipped);
        }
        settled => settled.map_err(|error| context.explain_replaced(error))?,
    };
    let (ended, e_tag) = match settled {
        Settled::Ended(ended) => (ended, None),
        Settled::Written { bytes, e_tag } => (Ended::Done(bytes), e_tag),
        Settled::Claimed(stored) => (confirm::claimed(context, object, stored, &bound).await?, None),
    };
    context.note_output(object, ended, &made, e_tag.as_deref(), &bound).await?;
    Ok(ended)
}

/// What would become of an object, as far as the object at its output's key decides that. Neither is read, so an output
/// under another key counts as skipped here.
pub(crate) async fn foresee(context: &Context, object: &Object) -> Result<Ended, Error> {
    match target(context, object)?.look(true).await? {
        None => Ok(Ended::Done(0)),
        Some(Settled::Claimed(stored)) => {
            confirm::check_len(&context.job.work, object, &stored).map(|()| Ended::Skipped)
        }
        Some(Settled::Ended(ended)) => Ok(ended),
        Some(Settled::Written { bytes, .. }) => Ok(Ended::Done(bytes)),
    }
}

/// Where the object's output goes, and under which condition.
fn target(context: &Context, object: &Object) -> Result<Target, Error> {
    let job = &context.job;
    let relative = output_path(job, &object.path)?;
    let if_exists = job.if_exists;
    match context.destination.as_ref().map(|place| &place.0) {
        None => Ok(Target::Nowhere),
        Some(Kind::Folder(root)) => {
            context.names.take(&relative)?;
            Ok(Target::File {
                root: root.clone(),
                relative: PathBuf::from(relative),
                if_exists,
                touched: job.durable.then(|| Arc::clone(&context.touched)),
            })
        }
        Some(Kind::Bucket { bucket, .. }) => {
            let replaced = context.replaced.as_ref().map(|replaced| replaced.condition(&relative));
            let condition = match (&object.e_tag, if_exists) {
                _ if let Some(condition) = replaced.transpose()? => condition,
                (Some(e_tag), IfExists::Overwrite) if context.is_in_place => {
                    Condition::Replace(e_tag.clone())
                }
                (None, _) if context.is_in_place => return Err(Error::SourceChanged),
                (_, IfExists::Overwrite) => Condition::Overwrite,
                (_, IfExists::Fail | IfExists::Skip) => Condition::Create,
            };
            let origin = Provenance {
                source: object.e_tag.as_deref().map_or_else(|| object.size.to_string(), existing::version),
                key: job.work.sealing().and_then(|format| format.key_id()),
                run: random()?,
            };
            Ok(Target::Object {
                bucket: Arc::clone(bucket),
                key: bucket.key(&relative)?,
                origin,
                condition,
                if_exists: if context.replaced.is_some() { IfExists::Fail } else { if_exists },
            })
        }
    }
}

/// In place, what bears the new key's identifier may have been done by an earlier run; and what the index lists, whatever it bears.
fn may_be_done(context: &Context, attributes: &object_store::Attributes) -> bool {
    let key = context.job.work.sealing().and_then(|format| format.key_id());
    let has_key = || Provenance::of(attributes).is_some_and(|origin| origin.key == key);
    context.is_in_place && key.is_some() && (context.carries() || has_key())
}

async fn small(
    context: &Arc<Context>,
    object: &Object,
    target: &Target,
    bound: &[u8],
    made: &mut StreamEnds,
) -> Result<Settled, Error> {
    let _share = context.share(2 * object.size).await?;
    let Read { bytes, attributes, generation } =
        source::read(&context.inventory, object, 0..object.size).await?;
    if context.carries() {
        // Before it is opened: one that an earlier run re-keyed is not the listed one.
        context.compare(object, &StreamEnds::new(&bytes, &bytes, object.size))?;
    }
    if may_be_done(context, &attributes) && confirm::opens(context, bytes.clone(), true, bound).await? {
        return Ok(Settled::Ended(Ended::Skipped));
    }
    let is_verified = matches!(context.job.work, Work::Verify(_));
    let mut verified = 0;
    let source = context.compares().then(|| bytes.clone());
    let output = if matches!(context.job.work, Work::Copy) {
        bytes
    } else {
        let (job, bound, mark) = (Arc::clone(&context.job), bound.to_owned(), context.mark(object));
        let (len, output) = context
            .ciphers
            .run(move |workspace| {
                let work = &job.work;
                let (len, mark) = (bytes.len() as u64, mark.as_ref());
                let pieces = Pieces::begin_marked(work, &bound, len, &bytes, mark, workspace)?;
                let all = 0..pieces.segments();
                let wanted = pieces.source_range(&all);
                let output =
                    pieces.translate(all, &bytes[wanted.start as usize..wanted.end as usize], workspace)?;
                Ok((pieces.plaintext_len(), bytes_of(output, work)))
            })
            .await?;
        verified = len;
        output
    };
    context.send(TaskEvent::Advanced(object.size));
    if let Some(source) = source {
        context.compare(object, &StreamEnds::new(&source, &source, object.size))?;
    }
    if context.notes() {
        made.add(&output);
    }
    let settled = target.put(output, generation).await?;
    Ok(if is_verified { Settled::Ended(Ended::Done(verified)) } else { settled })
}

async fn large(
    context: &Arc<Context>,
    object: &Object,
    target: &Target,
    bound: &[u8],
    made: &mut StreamEnds,
) -> Result<Settled, Error> {
    if context.carries() {
        let (_, ends) = read_ends(&context.inventory, object, StreamEnds::BEGIN as u64).await?;
        context.compare(object, &ends)?;
    }
    let mut head = Bytes::new();
    let head_len = (Pieces::head_len(&context.job.work, &head) as u64).min(object.size);
    if head_len > 0 || context.is_in_place {
        let begun = source::read(&context.inventory, object, 0..head_len.max(1)).await?;
        if may_be_done(context, &begun.attributes)
            && confirm::begins(context, &context.inventory, object, bound).await?
        {
            return Ok(Settled::Ended(Ended::Skipped));
        }
        head = source::read_head(&context.inventory, object, &context.job.work, begun.bytes).await?;
    }
    let first = head[..head.len().min(StreamEnds::BEGIN)].to_vec();
    let pieces = begin(context, object, head, bound.to_owned()).await?;
    let mut sink = Guarded::new(context, target.begin().await?);
    let end = in_parts(context, object, &pieces, sink.get(), made).await?;
    // Of the bytes that gave the keys and were opened with them: a store may answer each request from another object.
    context.compare(object, &StreamEnds::new(&first, &end, object.size))?;
    source::check_unchanged(&context.inventory, object).await?;
    let settled = sink.get().finish().await;
    // The upload has ended, completed or taken back.
    sink.disarm();
    match context.job.work {
        Work::Verify(_) => settled.map(|_| Settled::Ended(Ended::Done(pieces.plaintext_len()))),
        _ => settled,
    }
}

/// Verifies all of an object that begins with `begun`, which is not asked for again: a store may answer each request from another
/// object. Gives the ends of what was opened, and how many bytes of plaintext that has.
pub(crate) async fn verify(
    context: &Arc<Context>,
    object: &Object,
    begun: Bytes,
    bound: &[u8],
) -> Result<(StreamEnds, u64), Error> {
    let head = source::read_head(&context.inventory, object, &context.job.work, begun).await?;
    let first = head[..head.len().min(StreamEnds::BEGIN)].to_vec();
    let pieces = begin(context, object, head, bound.to_owned()).await?;
    let mut sink = Target::Nowhere.begin().await?;
    let end = in_parts(context, object, &pieces, &mut sink, &mut StreamEnds::default()).await?;
    Ok((StreamEnds::new(&first, &end, object.size), pieces.plaintext_len()))
}

/// Derives the keys of an object that begins with `head`.
pub(crate) async fn begin(
    context: &Context,
    object: &Object,
    head: Bytes,
    bound: Vec<u8>,
) -> Result<Arc<Pieces>, Error> {
    let (job, size, mark) = (Arc::clone(&context.job), object.size, context.mark(object));
    let begin = move |workspace: &mut _| {
        Pieces::begin_marked(&job.work, &bound, size, &head, mark.as_ref(), workspace)
    };
    context.ciphers.run(begin).await.map(Arc::new)
}

/// A part of an output.
pub(crate) struct Part {
    pub(crate) output: Bytes,
    /// The last bytes of its source, as many as identify a stream.
    source_end: Vec<u8>,
    /// Of the memory.
    pub(crate) share: OwnedSemaphorePermit,
}

/// The parts of the output in their order; some of them are read and translated ahead, also while nobody asks for the next:
/// an answer that nobody reads is given up by its store.
pub(crate) fn parts<'p>(
    context: &'p Arc<Context>,
    object: &'p Object,
    pieces: &'p Arc<Pieces>,
) -> BoxStream<'p, Result<Part, Error>> {
    let part_len = part_len(object.size, context.limits.part as u64);
    let segments = pieces.segments();
    let segment_len = object.size.div_ceil(segments).max(1);
    let step = (part_len / segment_len).max(1);
    let ranges = (0..segments.div_ceil(step)).map(move |part| part * step..segments.min((part + 1) * step));
    let part = move |range: Range<u64>| async move {
        let wanted = pieces.source_range(&range);
        // Asked for in the parts' order: hence not by the tasks.
        let share = context.share(2 * (wanted.end - wanted.start)).await?;
        let (context, object, pieces) = (Arc::clone(context), object.clone(), Arc::clone(pieces));
        let mut task = JoinSet::new();
        task.spawn(async move { translated(&context, &object, &pieces, range, wanted).await });
        let (output, source_end) = joined(task.join_next().await.expect("a task was spawned"))?;
        Ok(Part { output, source_end, share })
    };
    stream::iter(ranges).map(part).buffered(PARTS).boxed()
}

/// Takes all parts through; gives the last bytes of the source.
async fn in_parts(
    context: &Arc<Context>,
    object: &Object,
    pieces: &Arc<Pieces>,
    sink: &mut Sink,
    made: &mut StreamEnds,
) -> Result<Vec<u8>, Error> {
    let mut end = Vec::new();
    let mut parts = parts(context, object, pieces);
    let mut writes: JoinSet<Result<(), Error>> = JoinSet::new();
    let mut is_read = false;
    while !(is_read && writes.is_empty()) {
        tokio::select! {
            part = parts.next(), if !is_read && writes.len() < PARTS => match part {
                None => is_read = true,
                Some(part) => {
                    let Part { output, source_end, share } = part?;
                    // The last part may be shorter than that.
                    end.extend(source_end);
                    end.drain(..end.len().saturating_sub(StreamEnds::END));
                    if context.notes() {
                        made.add(&output);
                    }
                    let write = sink.part(output);
                    writes.spawn(async move {
                        let written = write.await;
                        drop(share);
                        written
                    });
                }
            },
            Some(written) = writes.join_next(), if !writes.is_empty() => joined(written)?,
        }
    }
    Ok(end)
}

/// One part of the output, from this range of the source, and the last bytes of that.
async fn translated(
    context: &Context,
    object: &Object,
    pieces: &Arc<Pieces>,
    range: Range<u64>,
    wanted: Range<u64>,
) -> Result<(Bytes, Vec<u8>), Error> {
    let len = wanted.end - wanted.start;
    let bytes = match len {
        0 => Bytes::new(),
        _ => source::read(&context.inventory, object, wanted).await?.bytes,
    };
    let end = bytes[bytes.len().saturating_sub(StreamEnds::END)..].to_vec();
    let output = if matches!(context.job.work, Work::Copy) {
        bytes
    } else {
        let (pieces, job) = (Arc::clone(pieces), Arc::clone(&context.job));
        let translate = move |workspace: &mut _| {
            let output = pieces.translate(range, &bytes, workspace)?;
            Ok(bytes_of(output, &job.work))
        };
        context.ciphers.run(translate).await?
    };
    context.send(TaskEvent::Advanced(len));
    Ok((output, end))
}

/// An output as bytes to send: wiped when dropped if it is plaintext. Wiping costs as much as the cipher, so what is
/// ciphertext is spared it.
pub(crate) fn bytes_of(mut output: Zeroizing<Vec<u8>>, work: &Work) -> Bytes {
    match work.sealing() {
        Some(_) => std::mem::take(&mut *output).into(),
        None => Bytes::from_owner(output),
    }
}

/// A sink whose upload is taken back if it is dropped: by an error, or because the run was stopped.
struct Guarded<'c> {
    context: &'c Context,
    sink: Option<Sink>,
}

impl<'c> Guarded<'c> {
    fn new(context: &'c Context, sink: Sink) -> Guarded<'c> {
        Guarded { context, sink: Some(sink) }
    }

    fn get(&mut self) -> &mut Sink {
        self.sink.as_mut().expect("there until it is disarmed")
    }

    fn disarm(mut self) {
        self.sink = None;
    }
}

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        if let Some(upload) = self.sink.take().and_then(Sink::into_upload) {
            self.context.do_afterwards(upload.abort());
        }
    }
}
