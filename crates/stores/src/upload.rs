//! A large object in parts, which no one sees before all of them are there.
//!
//! ```text
//! S3          parts ─> completion with If-None-Match: * or If-Match
//! GCS, Azure  parts ─> a temporary key ─> copy if not exists ─> delete the temporary one
//!             parts ─> the final key, where replacing is allowed        (completion is atomic)
//! ```
//!
//! The client has no condition for the completion of an upload yet, so [`crate::wire`] adds the header when the request
//! leaves (Amazon S3, "Conditional writes"). S3 does not ask for that header to be signed: only `host`, content and
//! `x-amz-…` are.

use crate::existing::{Provenance, version};
use crate::faults::{Refusal, ask};
use crate::place::Bucket;
use crate::sink::Condition;
use bytes::Bytes;
use cipherloom::{Error, internal::location::Scheme};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::{HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use object_store::client::HttpRequest;
use object_store::path::Path as Key;
use object_store::{
    CopyMode, CopyOptions, Error as ClientError, MultipartUpload, ObjectStoreExt, PutMultipartOptions,
};
use std::sync::Arc;

tokio::task_local! {
    /// The condition of the completion or removal that is being asked for.
    static HEADER: Option<(HeaderName, HeaderValue)>;
}

/// A multipart upload in progress.
pub(crate) struct Upload {
    bucket: Arc<Bucket>,
    key: Key,
    condition: Condition,
    parts: Box<dyn MultipartUpload>,
    /// Where the parts go first, if the store knows no conditions for uploads.
    staging: Option<Key>,
}

impl Upload {
    pub(crate) async fn begin(
        bucket: &Arc<Bucket>,
        key: &Key,
        origin: &Provenance,
        condition: Condition,
    ) -> Result<Upload, Error> {
        let options =
            PutMultipartOptions { attributes: origin.attributes(), ..PutMultipartOptions::default() };
        let is_staged = bucket.scheme != Scheme::S3 && condition == Condition::Create;
        // Beside the outputs: a bucket's rules go by prefix.
        let staging_key = || bucket.key(&format!(".cipherloom-{}", crate::run::random()?));
        let staging = is_staged.then(staging_key).transpose()?;
        let begun = ask(bucket.store.put_multipart_opts(staging.as_ref().unwrap_or(key), options)).await;
        let parts = begun.map_err(|refusal| refusal.of("begin the upload"))?;
        Ok(Upload { bucket: Arc::clone(bucket), key: key.clone(), condition, parts, staging })
    }

    /// Sends the next part. The order of the calls is that of the parts; the futures may run at the same time.
    pub(crate) fn part(&mut self, bytes: Bytes) -> BoxFuture<'static, Result<(), Error>> {
        let refused = |refusal: Refusal| refusal.of("write a part of the output");
        ask(self.parts.put_part(bytes.into())).map(move |sent| sent.map_err(refused)).boxed()
    }

    /// Makes the whole object appear under its key, if the condition holds.
    /// Gives its version, if the store's answer had it.
    pub(crate) async fn complete(&mut self) -> Result<Option<String>, Refusal> {
        let store = &self.bucket.store;
        // A store that knows no conditions here would replace without a word: look, at the last moment.
        if self.bucket.scheme == Scheme::S3 && self.condition == Condition::Create {
            if store.head(&self.key).await.is_ok() {
                let (path, source) = (self.key.to_string(), "an object bears the key".into());
                return Err(ClientError::AlreadyExists { path, source }.into());
            }
        } else if let Condition::Replace(e_tag) = &self.condition {
            // Azure quotes ETags in headers and not in listings.
            let found = ask(store.head(&self.key)).await?;
            if found.e_tag.as_deref().map(version) != Some(version(e_tag)) {
                let (path, source) = (self.key.to_string(), "the object is another one now".into());
                return Err(ClientError::Precondition { path, source }.into());
            }
        }
        let header = match &self.condition {
            _ if self.bucket.scheme != Scheme::S3 => None,
            Condition::Create => Some((IF_NONE_MATCH, HeaderValue::from_static("*"))),
            Condition::Replace(e_tag) => Some(if_match(e_tag)?),
            Condition::Overwrite => None,
        };
        let completed = HEADER.scope(header, ask(self.parts.complete())).await?;
        if let Some(staging) = &self.staging {
            let options = CopyOptions::new().with_mode(CopyMode::Create);
            let copied = ask(store.copy_opts(staging, &self.key, options)).await;
            // A temporary object that stays is a nuisance; the output is what counts.
            let _ = store.delete(staging).await;
            copied?;
            // The copy has a version that no answer told.
            return Ok(None);
        }
        Ok(completed.e_tag)
    }

    /// Gives up: the store forgets the parts, by its own rules where this does not reach it.
    pub(crate) async fn abort(mut self) {
        let _ = self.parts.abort().await;
    }
}

/// Removes an object; on S3, if it is still this version.
pub(crate) async fn remove(bucket: &Bucket, key: &Key, e_tag: Option<&str>) -> Result<(), Refusal> {
    let e_tag = e_tag.filter(|_| bucket.scheme == Scheme::S3);
    let header = e_tag.map(if_match).transpose()?;
    HEADER.scope(header, ask(bucket.store.delete(key))).await
}

fn if_match(e_tag: &str) -> Result<(HeaderName, HeaderValue), ClientError> {
    let value = HeaderValue::from_str(e_tag);
    let value = value.map_err(|error| ClientError::Generic { store: "S3", source: error.into() })?;
    Ok((IF_MATCH, value))
}

/// Adds the condition to a request that completes an upload or removes an object.
pub(crate) fn add_condition(request: &mut HttpRequest) {
    let query = request.uri().query().unwrap_or_default();
    let is_completion = request.method() == http::Method::POST
        && url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "uploadId");
    if (is_completion || request.method() == http::Method::DELETE)
        && let Ok(Some((name, value))) = HEADER.try_with(Clone::clone)
    {
        request.headers_mut().insert(name, value);
    }
}
