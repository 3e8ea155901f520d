//! One object's way: read, translate, write. Up to a part's size in one piece, above it in parts that overlap.
//!
//! Each piece holds its share of the run's memory from before it is read until it is written. Shares are given in the
//! order of asking, and an object asks for its parts in their order, so the first of them always goes on.

use crate::confirm;
use crate::errand::Work;
use crate::existing::Ended;
use crate::listing::Object;
use crate::place::Kind;
use crate::provenance::{self, Provenance};
use crate::run::{Context, Told, random};
use crate::sink::{Condition, Sink, Target};
use crate::source::{self, Read};
use bytes::Bytes;
use cipherloom::{Error, IfExists, Pieces};
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
    let target = target(context, object)?;
    let is_large = object.size > context.errand.limits.part as u64;
    let bound = context.errand.bound_path(&object.path)?;
    let ended = match target.look(is_large).await? {
        Some(ended) => ended,
        None if is_large => large(context, object, &target, &bound).await?,
        None => small(context, object, &target, &bound).await?,
    };
    match ended {
        Ended::Claimed(stored) => confirm::claimed(context, object, stored, &bound).await,
        ended => Ok(ended),
    }
}

/// What would become of an object, as far as what stands where its output is to go decides that. Nothing is read of
/// either, so that an output under another key counts as skipped here.
pub(crate) async fn foresee(context: &Context, object: &Object) -> Result<Ended, Error> {
    match target(context, object)?.look(true).await? {
        None => Ok(Ended::Done(0)),
        Some(Ended::Claimed(stored)) => {
            confirm::check_len(&context.errand.work, object, &stored).map(|()| Ended::Skipped)
        }
        Some(ended) => Ok(ended),
    }
}

/// Where the object's output goes, and under which condition.
fn target(context: &Context, object: &Object) -> Result<Target, Error> {
    let errand = &context.errand;
    let relative = errand.output_path(&object.path)?;
    let if_exists = errand.if_exists;
    match errand.destination.as_ref().map(|place| &place.0) {
        None => Ok(Target::Nowhere),
        Some(Kind::Folder(root)) => {
            context.names.take(&relative)?;
            Ok(Target::File {
                root: root.clone(),
                relative: PathBuf::from(relative),
                if_exists,
                touched: errand.durable.then(|| Arc::clone(&context.touched)),
            })
        }
        Some(Kind::Bucket { bucket, .. }) => {
            let condition = match (&object.e_tag, if_exists) {
                (Some(e_tag), IfExists::Overwrite) if context.is_in_place => {
                    Condition::Replace(e_tag.clone())
                }
                (None, _) if context.is_in_place => return Err(Error::SourceChanged),
                (_, IfExists::Overwrite) => Condition::Overwrite,
                (_, IfExists::Fail | IfExists::Skip) => Condition::Create,
            };
            let origin = Provenance {
                source: object.e_tag.as_deref().map_or_else(|| object.size.to_string(), provenance::version),
                key: errand.work.borrowed().sealing().and_then(|format| format.key_id()),
                run: random()?,
            };
            Ok(Target::Object {
                bucket: Arc::clone(bucket),
                key: bucket.key(&relative)?,
                origin,
                condition,
                if_exists,
            })
        }
    }
}

/// In place, what bears the new key's identifier may have been done by an earlier run.
fn may_be_done(context: &Context, attributes: &object_store::Attributes) -> bool {
    let key = context.errand.work.borrowed().sealing().and_then(|format| format.key_id());
    context.is_in_place && key.is_some() && Provenance::of(attributes).is_some_and(|origin| origin.key == key)
}

async fn small(
    context: &Arc<Context>,
    object: &Object,
    target: &Target,
    bound: &[u8],
) -> Result<Ended, Error> {
    let _share = context.share(2 * object.size).await?;
    let Read { bytes, attributes, generation } = source::read(&context.home, object, 0..object.size).await?;
    if may_be_done(context, &attributes) && confirm::opens(context, bytes.clone(), true, bound).await? {
        return Ok(Ended::Skipped);
    }
    let is_verified = matches!(context.errand.work, Work::Verify(_));
    let mut verified = 0;
    let output = if matches!(context.errand.work, Work::Copy) {
        bytes
    } else {
        let (errand, bound) = (Arc::clone(&context.errand), bound.to_owned());
        let (len, output) = context
            .ciphers
            .run(move |workspace| {
                let work = errand.work.borrowed();
                let pieces = Pieces::begin(work, &bound, bytes.len() as u64, &bytes, workspace)?;
                let all = 0..pieces.segments();
                let wanted = pieces.source_range(&all)?;
                let output =
                    pieces.translate(all, &bytes[wanted.start as usize..wanted.end as usize], workspace)?;
                Ok((pieces.plaintext_len(), bytes_of(output, work)))
            })
            .await?;
        verified = len;
        output
    };
    context.tell(Told::Advanced(object.size));
    match target.put(output, generation).await? {
        Ended::Done(_) if is_verified => Ok(Ended::Done(verified)),
        ended => Ok(ended),
    }
}

async fn large(
    context: &Arc<Context>,
    object: &Object,
    target: &Target,
    bound: &[u8],
) -> Result<Ended, Error> {
    let head_len = (Pieces::head_len(context.errand.work.borrowed()) as u64).min(object.size);
    let mut head = Bytes::new();
    if head_len > 0 || context.is_in_place {
        let begun = source::read(&context.home, object, 0..head_len.max(1)).await?;
        if may_be_done(context, &begun.attributes)
            && confirm::begins(context, &context.home, object, bound).await?
        {
            return Ok(Ended::Skipped);
        }
        head = begun.bytes;
    }
    let pieces = begin(context, object, head, bound.to_owned()).await?;
    let mut sink = Guarded::new(context, target.begin().await?);
    let ended = in_parts(context, object, &pieces, sink.get()).await;
    match ended {
        Ok(verified) => {
            source::check_unchanged(&context.home, object).await?;
            let ended = sink.get().finish().await;
            // Ended either way; what it left behind in the store it has removed.
            sink.disarm();
            match (ended?, &context.errand.work) {
                (Ended::Done(_), Work::Verify(_)) => Ok(Ended::Done(verified)),
                (ended, _) => Ok(ended),
            }
        }
        Err(error) => Err(error),
    }
}

/// Derives the keys of an object that begins with `head`.
pub(crate) async fn begin(
    context: &Context,
    object: &Object,
    head: Bytes,
    bound: Vec<u8>,
) -> Result<Arc<Pieces>, Error> {
    let (errand, size) = (Arc::clone(&context.errand), object.size);
    let begin =
        move |workspace: &mut _| Pieces::begin(errand.work.borrowed(), &bound, size, &head, workspace);
    context.ciphers.run(begin).await.map(Arc::new)
}

/// The parts of the output in their order; some of them are read and translated ahead, also while nobody asks for the next:
/// an answer that nobody reads is given up by its store.
pub(crate) fn parts<'p>(
    context: &'p Arc<Context>,
    object: &'p Object,
    pieces: &'p Arc<Pieces>,
) -> BoxStream<'p, Result<(Bytes, OwnedSemaphorePermit), Error>> {
    let part_len = part_len(object.size, context.errand.limits.part as u64);
    let segments = pieces.segments();
    let segment_len = object.size.div_ceil(segments).max(1);
    let step = (part_len / segment_len).max(1);
    let ranges = (0..segments.div_ceil(step)).map(move |part| part * step..segments.min((part + 1) * step));
    let part = move |range: Range<u64>| async move {
        let wanted = pieces.source_range(&range)?;
        // Asked for in the parts' order: hence not by the tasks.
        let share = context.share(2 * (wanted.end - wanted.start)).await?;
        let (context, object, pieces) = (Arc::clone(context), object.clone(), Arc::clone(pieces));
        let mut task = JoinSet::new();
        task.spawn(async move { translated(&context, &object, &pieces, range, wanted).await });
        match task.join_next().await {
            Some(Ok(output)) => Ok((output?, share)),
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Some(Err(_)) | None => Err(Error::Stopped),
        }
    };
    stream::iter(ranges).map(part).buffered(PARTS).boxed()
}

/// Takes all parts through; gives the length of the plaintext.
async fn in_parts(
    context: &Arc<Context>,
    object: &Object,
    pieces: &Arc<Pieces>,
    sink: &mut Sink,
) -> Result<u64, Error> {
    let mut parts = parts(context, object, pieces);
    let mut writes: JoinSet<Result<(), Error>> = JoinSet::new();
    let mut is_read = false;
    while !(is_read && writes.is_empty()) {
        tokio::select! {
            part = parts.next(), if !is_read && writes.len() < PARTS => match part {
                None => is_read = true,
                Some(part) => {
                    let (bytes, share) = part?;
                    let write = sink.part(bytes);
                    writes.spawn(async move {
                        let written = write.await;
                        drop(share);
                        written
                    });
                }
            },
            Some(written) = writes.join_next(), if !writes.is_empty() => match written {
                Ok(written) => written?,
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(_) => return Err(Error::Stopped),
            },
        }
    }
    Ok(pieces.plaintext_len())
}

/// One part of the output, from this range of the source.
async fn translated(
    context: &Context,
    object: &Object,
    pieces: &Arc<Pieces>,
    range: Range<u64>,
    wanted: Range<u64>,
) -> Result<Bytes, Error> {
    let len = wanted.end - wanted.start;
    let bytes = match len {
        0 => Bytes::new(),
        _ => source::read(&context.home, object, wanted).await?.bytes,
    };
    let output = if matches!(context.errand.work, Work::Copy) {
        bytes
    } else {
        let (pieces, errand) = (Arc::clone(pieces), Arc::clone(&context.errand));
        let translate = move |workspace: &mut _| {
            let output = pieces.translate(range, &bytes, workspace)?;
            Ok(bytes_of(output, errand.work.borrowed()))
        };
        context.ciphers.run(translate).await?
    };
    context.tell(Told::Advanced(len));
    Ok(output)
}

/// An output as bytes to send: wiped when dropped if it is plaintext. Wiping costs as much as the cipher, so what is
/// ciphertext is spared it.
pub(crate) fn bytes_of(mut output: Zeroizing<Vec<u8>>, work: cipherloom::Work<'_>) -> Bytes {
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
            self.context.afterwards(upload.abort());
        }
    }
}
