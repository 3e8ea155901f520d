//! What a build without the feature `notify` says to `--notify`.

use crate::exit_code::usage;
use cipherloom_lcp::KeyRecord;
use cipherloom_lcp::notification::Notice;
use std::path::Path;

/// There is no client in this build.
pub enum Server {}

impl Server {
    pub fn new(_url: &str, _login: Option<&Path>, _allow_http: bool) -> anyhow::Result<Server> {
        Err(refused())
    }

    pub fn notify(&self, _record: &KeyRecord, _notice: &Notice, _may_know: bool) -> anyhow::Result<()> {
        match *self {}
    }
}

pub fn check_url(_url: &str, _allow_http: bool) -> anyhow::Result<bool> {
    Err(refused())
}

fn refused() -> anyhow::Error {
    usage(
        "this build of cipherloom cannot notify license servers",
        "the released one can; or build it with `cargo build --release --package cipherloom-cli --features notify`",
    )
}
