//! A condition on the request that completes a multipart upload: the client has none for it yet, so the header is put
//! in where requests leave. S3 does not ask for that header to be signed (only `host`, content and `x-amz-…` are).
//!
//! `If-None-Match: *` creates, `If-Match: <ETag>` replaces what was read: Amazon S3, "Conditional writes".

use crate::wire::Wire;
use async_trait::async_trait;
use http::header::{HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use object_store::ClientOptions;
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The conditions of the uploads in flight, by upload id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions(Arc<Mutex<HashMap<String, (HeaderName, HeaderValue)>>>);

impl Conditions {
    /// The upload is to be completed only if its key is free.
    pub(crate) fn create(&self, upload: &str) {
        self.set(upload, (IF_NONE_MATCH, HeaderValue::from_static("*")));
    }

    /// The upload is to be completed only if its key holds this version.
    pub(crate) fn replace(&self, upload: &str, e_tag: &str) {
        if let Ok(value) = HeaderValue::from_str(e_tag) {
            self.set(upload, (IF_MATCH, value));
        }
    }

    /// The upload is over.
    pub(crate) fn forget(&self, upload: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(upload);
    }

    fn set(&self, upload: &str, header: (HeaderName, HeaderValue)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(upload.to_owned(), header);
    }

    fn of(&self, request: &HttpRequest) -> Option<(HeaderName, HeaderValue)> {
        if request.method() != http::Method::POST {
            return None;
        }
        let query = request.uri().query()?;
        let (_, upload) =
            url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "uploadId")?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(upload.as_ref()).cloned()
    }
}

impl HttpConnector for Conditions {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = Wire.connect(options)?;
        Ok(HttpClient::new(Conditioned { client, conditions: self.clone() }))
    }
}

#[derive(Debug)]
struct Conditioned {
    client: HttpClient,
    conditions: Conditions,
}

#[async_trait]
impl HttpService for Conditioned {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if let Some((name, value)) = self.conditions.of(&request) {
            request.headers_mut().insert(name, value);
        }
        self.client.execute(request).await
    }
}
