//! Listings of a million objects that nobody has: how far listing runs ahead, and what it makes of folders' markers.

use super::*;
use crate::inventory::Inventory;
use crate::job::StoreJob;
use crate::place::{Access, Kind, Place};
use async_trait::async_trait;
use cipherloom::internal::{Job, Work, location::Scheme};
use cipherloom::report::Unobserved;
use object_store::path::Path as Key;
use object_store::{ListResult, Result};
use tokio::sync::mpsc;

const PAGE: u64 = 1_000;

/// A bucket with `folders` folders of `each` objects, of which only pages are ever in memory.
struct Synthetic {
    folders: u64,
    each: u64,
    given: AtomicU64,
}

impl Synthetic {
    fn page(&self, from: u64, end: u64) -> PaginatedListResult {
        let until = end.min(from + PAGE);
        self.given.fetch_add(until - from, Ordering::Relaxed);
        let objects = (from..until).map(|number| meta(&format!("in/{}/{number:09}", number / self.each), 1));
        let result = ListResult {
            common_prefixes: Vec::new(),
            objects: objects.collect(),
            extensions: http::Extensions::default(),
        };
        PaginatedListResult { result, page_token: (until < end).then(|| until.to_string()) }
    }
}

#[async_trait]
impl PaginatedListStore for Synthetic {
    async fn list_paginated(
        &self,
        prefix: Option<&str>,
        options: PaginatedListOptions,
    ) -> Result<PaginatedListResult> {
        let token = options.page_token.map(|token| token.parse::<u64>().unwrap());
        if options.delimiter.is_some() {
            let shown = self.folders.min(PAGE);
            let folders = (0..shown).map(|folder| Key::from(format!("in/{folder}")));
            let result = ListResult {
                common_prefixes: folders.collect(),
                objects: Vec::new(),
                extensions: http::Extensions::default(),
            };
            return Ok(PaginatedListResult {
                result,
                page_token: (shown < self.folders).then(|| "more".to_owned()),
            });
        }
        let folder =
            prefix.unwrap().trim_end_matches('/').strip_prefix("in/").map(|name| name.parse::<u64>());
        let (start, end) = match folder {
            Some(folder) => (folder.clone().unwrap() * self.each, (folder.unwrap() + 1) * self.each),
            None => (0, self.folders * self.each),
        };
        Ok(self.page(token.unwrap_or(start), end))
    }
}

fn meta(key: &str, size: u64) -> ObjectMeta {
    ObjectMeta {
        location: Key::from(key),
        last_modified: std::time::SystemTime::UNIX_EPOCH.into(),
        size,
        e_tag: Some("0123456789abcdef0123456789abcdef".to_owned()),
        version: None,
    }
}

/// The most objects that were listed and not yet taken.
async fn farthest_ahead(folders: u64, each: u64) -> u64 {
    let synthetic = Arc::new(Synthetic { folders, each, given: AtomicU64::new(0) });
    let bucket = Bucket::open(Scheme::S3, "bucket", Key::from("in"), Access::default()).unwrap();
    let bucket = Arc::new(Bucket { pager: Pager(synthetic.clone()), ..bucket });
    let pages = Arc::new(Pages::open(bucket, Selection::default()).await.unwrap());
    let (sender, mut receiver) = mpsc::channel(AHEAD);
    let feeder = tokio::spawn({
        let pages = Arc::clone(&pages);
        async move { pages.feed(sender).await }
    });
    let (mut taken, mut farthest) = (0, 0);
    while let Some(found) = receiver.recv().await {
        assert!(matches!(found, Found::Object(_)));
        taken += 1;
        farthest = farthest.max(synthetic.given.load(Ordering::Relaxed) - taken);
    }
    feeder.await.unwrap();
    assert_eq!(taken, folders * each);
    assert_eq!(pages.counts.objects.load(Ordering::Relaxed), taken);
    assert!(pages.counts.is_complete.load(Ordering::Relaxed));
    farthest
}

#[test]
fn a_million_objects_are_never_in_memory_together() {
    let runtime = crate::runtime::runtime().unwrap();
    // Folders side by side: a page of each; many folders: one page in all.
    let most = PAGE * LISTS as u64 + AHEAD as u64 + LISTS as u64;
    assert!(runtime.block_on(farthest_ahead(100, 10_000)) <= most);
    assert!(runtime.block_on(farthest_ahead(500_000, 2)) <= PAGE + AHEAD as u64 + 1);
}

#[test]
fn a_run_that_ends_early_ends_the_listing() {
    let runtime = crate::runtime::runtime().unwrap();
    runtime.block_on(async {
        let synthetic = Arc::new(Synthetic { folders: 100, each: 10_000, given: AtomicU64::new(0) });
        let bucket = Bucket::open(Scheme::S3, "bucket", Key::from("in"), Access::default()).unwrap();
        let bucket = Arc::new(Bucket { pager: Pager(synthetic.clone()), ..bucket });
        let pages = Pages::open(bucket, Selection::default()).await.unwrap();
        let (sender, receiver) = mpsc::channel(AHEAD);
        drop(receiver);
        pages.feed(sender).await;
        assert!(!pages.counts.is_complete.load(Ordering::Relaxed));
        assert!(synthetic.given.load(Ordering::Relaxed) <= PAGE * LISTS as u64);
    });
}

#[test]
fn markers_of_folders_are_left_out_and_empty_objects_are_not() {
    let keys = ["a", "a!", "a-b", "a/x", "b", "c", "c/d", "c/d/e", "f"];
    let mut markers = Markers::default();
    let mut passed: Vec<String> = Vec::new();
    for key in keys {
        let size = u64::from(key == "c/d/e" || key == "a/x");
        passed.extend(markers.pass(meta(key, size)).iter().map(|meta| meta.location.to_string()));
    }
    passed.extend(markers.held.iter().map(|meta| meta.location.to_string()));
    assert_eq!(passed, ["a!", "a-b", "a/x", "b", "c/d/e", "f"]);
}

/// A bucket with these objects below `in`.
struct Fixed(&'static [&'static str]);

#[async_trait]
impl PaginatedListStore for Fixed {
    async fn list_paginated(
        &self,
        prefix: Option<&str>,
        options: PaginatedListOptions,
    ) -> Result<PaginatedListResult> {
        let mut result = ListResult {
            common_prefixes: Vec::new(),
            objects: Vec::new(),
            extensions: http::Extensions::default(),
        };
        let prefix = prefix.unwrap();
        for below in self.0.iter().filter_map(|key| key.strip_prefix(prefix)) {
            match below.split_once('/').filter(|_| options.delimiter.is_some()) {
                Some((folder, _)) => result.common_prefixes.push(Key::from(format!("{prefix}{folder}"))),
                None => result.objects.push(meta(&format!("{prefix}{below}"), 1)),
            }
        }
        Ok(PaginatedListResult { result, page_token: None })
    }
}

/// An index that was copied to a bucket would be missing from what a run makes, so the run fails.
#[test]
fn what_has_the_name_of_an_index_is_not_left_out_silently() {
    let folder = tempfile::tempdir().unwrap();
    let run = |objects, work, exclude: &[String]| {
        let bucket = Bucket::open(Scheme::S3, "bucket", Key::from("in"), Access::default()).unwrap();
        let bucket = Arc::new(Bucket { pager: Pager(Arc::new(Fixed(objects))), ..bucket });
        let selection = Selection::new(&[], exclude).unwrap();
        let runtime = crate::runtime::runtime().unwrap();
        let pages = runtime.block_on(Pages::open(Arc::clone(&bucket), selection)).unwrap();
        let place = Place(Kind::Bucket { bucket, is_prefix: true });
        let inventory = Inventory { place, listing: Arc::default(), pages: Some(Arc::new(pages)) };
        let destination = folder.path().join("out");
        let job = StoreJob::open(Job::new(work, Some(destination)), Access::default()).unwrap();
        let report = job.run(&inventory, &Unobserved).unwrap();
        (report.failed, inventory.passed_over())
    };
    for objects in
        [&["in/.cipherloom/index/root", "in/.Cipherloom/x"][..], &["in/a/.cipherloom/x", "in/.cipherloom"]]
    {
        let (failed, passed_over) = run(objects, Work::Copy, &[]);
        assert_eq!((failed, passed_over.index), (1, 2));
        let exclude = [".cipherloom".to_owned(), ".Cipherloom".to_owned()];
        let (failed, passed_over) = run(objects, Work::Copy, &exclude);
        assert_eq!((failed, passed_over.index, passed_over.excluded), (0, 0, 2));
    }
}
