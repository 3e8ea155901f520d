//! Where an output goes, whole or in parts: nowhere, a file without a name, a bucket.

use crate::existing::{self, Found, Provenance, Settled};
use crate::faults::{Refusal, ask};
use crate::place::Bucket;
use crate::runtime::blocking;
use crate::upload::Upload;
use bytes::Bytes;
use cipherloom::{
    Error, IfExists,
    internal::{Draft, Ended, engine::lock, location::Scheme},
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use object_store::path::Path as Key;
use object_store::{ObjectStoreExt, PutMode, PutOptions, UpdateVersion};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// When an output may take its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// If nothing bears it.
    Create,
    /// Always.
    Overwrite,
    /// If what bears it is this version.
    Replace(String),
}

/// The folders below the destination whose names are to be forced to stable storage when the run ends.
#[derive(Debug, Default)]
pub(crate) struct Touched(Mutex<BTreeSet<PathBuf>>);

impl Touched {
    /// Notes the folder of the output at this path.
    fn note(&self, relative: &Path) {
        let folder = relative.parent().unwrap_or(Path::new(""));
        let mut folders = lock(&self.0);
        if !folders.contains(folder) {
            folders.insert(folder.to_owned());
        }
    }

    pub(crate) fn folders(&self) -> BTreeSet<PathBuf> {
        std::mem::take(&mut *lock(&self.0))
    }
}

/// An output's place.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Nowhere,
    /// `touched` where outputs are to be on stable storage.
    File {
        root: PathBuf,
        relative: PathBuf,
        if_exists: IfExists,
        touched: Option<Arc<Touched>>,
    },
    Object {
        bucket: Arc<Bucket>,
        key: Key,
        origin: Provenance,
        condition: Condition,
        if_exists: IfExists,
    },
}

/// How often a put is tried whose refusal names a conflict that is not there.
const TRIES: usize = 3;

impl Target {
    /// Before any work: whether the output is there. `None` if the work is to be done.
    pub(crate) async fn look(&self, is_large: bool) -> Result<Option<Settled>, Error> {
        match self {
            Target::File { root, relative, if_exists, touched } => {
                let is_there = *if_exists != IfExists::Overwrite && Draft::is_there(root, relative);
                match if_exists {
                    IfExists::Skip if is_there => {
                        // The run that made it may have been stopped before its end.
                        touched.iter().for_each(|touched| touched.note(relative));
                        Ok(Some(Settled::Ended(Ended::Skipped)))
                    }
                    IfExists::Fail if is_there => Err(Error::OutputExists),
                    _ => Ok(None),
                }
            }
            // A small object's conditional put finds out soon enough.
            Target::Object { bucket, key, origin, condition: Condition::Create, if_exists }
                if is_large || *if_exists == IfExists::Skip =>
            {
                match existing::look(bucket, key).await? {
                    Some(found) => found.judge(origin, *if_exists).map(Some),
                    None => Ok(None),
                }
            }
            Target::Nowhere | Target::Object { .. } => Ok(None),
        }
    }

    /// Writes a whole output. Where it replaces what was read, `generation` is that one's, if the store gave it: Google
    /// Cloud Storage compares nothing else when it writes.
    pub(crate) async fn put(&self, bytes: Bytes, generation: Option<String>) -> Result<Settled, Error> {
        let len = bytes.len() as u64;
        let done = Settled::Ended(Ended::Done(len));
        match self {
            Target::Nowhere => Ok(done),
            Target::File { .. } => {
                let mut sink = self.begin().await?;
                sink.part(bytes).await?;
                sink.finish().await
            }
            Target::Object { bucket, key, origin, condition, .. } => {
                let mode = match condition {
                    Condition::Create => PutMode::Create,
                    Condition::Overwrite => PutMode::Overwrite,
                    Condition::Replace(e_tag) => {
                        let version = match generation {
                            None if bucket.scheme == Scheme::Gcs => {
                                self.generation(bucket, key, e_tag).await?
                            }
                            generation => generation,
                        };
                        PutMode::Update(UpdateVersion { e_tag: Some(e_tag.clone()), version })
                    }
                };
                let options = PutOptions { mode, attributes: origin.attributes(), ..PutOptions::default() };
                let mut tries = 0;
                loop {
                    tries += 1;
                    let sent = ask(bucket.store.put_opts(key, bytes.clone().into(), options.clone())).await;
                    let refusal = match sent {
                        Ok(sent) => return Ok(Settled::Written { bytes: len, e_tag: sent.e_tag }),
                        Err(refusal) => refusal,
                    };
                    let found = existing::look(bucket, key).await.ok().flatten();
                    let is_race = found.is_none() && refusal.is_condition() && tries < TRIES;
                    if !is_race {
                        return self.settle(refusal, found, done);
                    }
                }
            }
        }
    }

    /// The number of a version in Google Cloud Storage, which a listing does not have.
    async fn generation(&self, bucket: &Bucket, key: &Key, e_tag: &str) -> Result<Option<String>, Error> {
        match ask(bucket.store.head(key)).await {
            Ok(found) if found.e_tag.as_deref().map(existing::version) == Some(existing::version(e_tag)) => {
                Ok(found.version)
            }
            Err(refusal) if !refusal.is_missing() => Err(refusal.of("write the output")),
            Ok(_) | Err(_) => Err(Error::OutputExists),
        }
    }

    /// Settles a put that was refused or not answered, by what is at its key now. `done`: what it means if this run has
    /// written that.
    fn settle(&self, refusal: Refusal, found: Option<Found>, done: Settled) -> Result<Settled, Error> {
        let Target::Object { origin, condition, if_exists, .. } = self else {
            return Err(refusal.of("write the output"));
        };
        match (found, condition) {
            (Some(found), _) if found.is_ours(origin) => Ok(done),
            (_, Condition::Replace(_)) if refusal.is_condition() || refusal.is_missing() => {
                Err(match if_exists {
                    IfExists::Fail => Error::OutputExists,
                    IfExists::Skip | IfExists::Overwrite => Error::SourceChanged,
                })
            }
            (Some(found), Condition::Create) if refusal.is_condition() => found.judge(origin, *if_exists),
            _ => Err(refusal.of("write the output")),
        }
    }

    /// Begins an output in parts.
    pub(crate) async fn begin(&self) -> Result<Sink, Error> {
        let way = match self {
            Target::Nowhere => Way::Nowhere,
            Target::File { root, relative, if_exists, .. } => {
                let (root, relative, if_exists) = (root.clone(), relative.clone(), *if_exists);
                let begun = blocking(move || Draft::begin_below(&root, &relative, if_exists)).await;
                Way::File(Arc::new(begun.map_err(Error::of_destination)?))
            }
            Target::Object { bucket, key, origin, condition, .. } => {
                Way::Object(Upload::begin(bucket, key, origin, condition.clone()).await?)
            }
        };
        Ok(Sink { target: self.clone(), way, len: 0 })
    }
}

/// An output that is being written in parts. It has no name before [`Sink::finish`].
pub(crate) struct Sink {
    target: Target,
    way: Way,
    len: u64,
}

enum Way {
    Nowhere,
    File(Arc<Draft>),
    Object(Upload),
}

impl Sink {
    /// Writes the next part. The order of the calls is that of the parts; the futures may run at the same time.
    pub(crate) fn part(&mut self, bytes: Bytes) -> BoxFuture<'static, Result<(), Error>> {
        let offset = self.len;
        self.len += bytes.len() as u64;
        match &mut self.way {
            Way::Nowhere => std::future::ready(Ok(())).boxed(),
            Way::File(draft) => {
                let draft = Arc::clone(draft);
                blocking(move || draft.write_at(&bytes, offset).map_err(Error::of_destination)).boxed()
            }
            Way::Object(upload) => upload.part(bytes),
        }
    }

    /// When all parts are written: gives the output its name.
    ///
    /// # Panics
    /// If a part is still being written: the output would be incomplete.
    pub(crate) async fn finish(&mut self) -> Result<Settled, Error> {
        let done = Settled::Ended(Ended::Done(self.len));
        match (std::mem::replace(&mut self.way, Way::Nowhere), &self.target) {
            (Way::File(draft), Target::File { relative, touched, .. }) => {
                let draft =
                    Arc::into_inner(draft).expect("all parts are written before the output is finished");
                let is_durable = touched.is_some();
                let named = blocking(move || {
                    if is_durable {
                        draft.sync()?;
                    }
                    draft.publish()
                });
                named.await.map_err(Error::of_destination)?;
                touched.iter().for_each(|touched| touched.note(relative));
            }
            (Way::Object(mut upload), target @ Target::Object { bucket, key, .. }) => {
                let refusal = match upload.complete().await {
                    Ok(e_tag) => return Ok(Settled::Written { bytes: self.len, e_tag }),
                    Err(refusal) => refusal,
                };
                let found = existing::look(bucket, key).await.ok().flatten();
                let settled = target.settle(refusal, found, done);
                if !matches!(settled, Ok(Settled::Ended(Ended::Done(_)))) {
                    upload.abort().await;
                }
                return settled;
            }
            _ => {}
        }
        Ok(done)
    }

    /// The upload to abort if the output is given up.
    pub(crate) fn into_upload(self) -> Option<Upload> {
        match self.way {
            Way::Object(upload) => Some(upload),
            Way::Nowhere | Way::File(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::runtime;

    #[test]
    fn folders_of_durable_outputs_are_noted_made_or_found() {
        let root = tempfile::tempdir().unwrap();
        let touched = Arc::new(Touched::default());
        let target = |relative: &str, if_exists| Target::File {
            root: root.path().to_owned(),
            relative: relative.into(),
            if_exists,
            touched: Some(Arc::clone(&touched)),
        };
        let put =
            |target: &Target| runtime().unwrap().block_on(target.put(Bytes::from_static(b"text"), None));
        let look = |target: &Target| runtime().unwrap().block_on(target.look(false));
        for relative in ["top", "a/b/deep", "a/b/other"] {
            assert!(matches!(put(&target(relative, IfExists::Fail)), Ok(Settled::Ended(Ended::Done(4)))));
        }
        assert_eq!(touched.folders(), ["", "a/b"].map(PathBuf::from).into());
        assert!(matches!(
            look(&target("a/b/deep", IfExists::Skip)),
            Ok(Some(Settled::Ended(Ended::Skipped)))
        ));
        assert!(matches!(look(&target("a/b/deep", IfExists::Fail)), Err(Error::OutputExists)));
        assert!(matches!(look(&target("a/b/deep", IfExists::Overwrite)), Ok(None)));
        assert_eq!(touched.folders(), [PathBuf::from("a/b")].into());
    }

    /// Not [`Error::Stopped`], which no report counts: the object would vanish from it.
    #[test]
    #[should_panic(expected = "all parts are written")]
    fn an_output_with_a_part_on_its_way_is_not_finished() {
        let root = tempfile::tempdir().unwrap();
        let target = Target::File {
            root: root.path().to_owned(),
            relative: "output".into(),
            if_exists: IfExists::Fail,
            touched: None,
        };
        let _ = runtime().unwrap().block_on(async {
            let mut sink = target.begin().await?;
            let _part = sink.part(Bytes::from_static(b"text"));
            sink.finish().await
        });
    }

    /// What lies behind a link is no output of an earlier run, and nothing is put there.
    #[cfg(unix)]
    #[test]
    fn a_linked_folder_is_neither_looked_into_nor_written_to() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("object"), b"theirs").unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
        for if_exists in [IfExists::Skip, IfExists::Fail, IfExists::Overwrite] {
            let target = Target::File {
                root: root.path().to_owned(),
                relative: "link/object".into(),
                if_exists,
                touched: None,
            };
            let runtime = runtime().unwrap();
            assert!(matches!(runtime.block_on(target.look(true)), Ok(None)));
            let put = runtime.block_on(target.put(Bytes::from_static(b"text"), None));
            assert!(matches!(put, Err(Error::LinkInDestination)));
        }
        assert_eq!(std::fs::read(outside.path().join("object")).unwrap(), b"theirs");
    }
}
