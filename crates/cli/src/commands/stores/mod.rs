//! Trees in object stores: `s3://…`, `gs://…`, `az://…` where SRC or DST is a path. The feature `stores` brings them; a
//! build without it knows the addresses, and says what is missing.

#[cfg(not(feature = "stores"))]
mod disabled;
#[cfg(feature = "stores")]
mod dry_run;
#[cfg(feature = "stores")]
mod enabled;
#[cfg(feature = "stores")]
mod plan;
#[cfg(feature = "stores")]
mod stream;

#[cfg(not(feature = "stores"))]
pub use disabled::{Found, look, run, show_plan};
#[cfg(feature = "stores")]
pub use enabled::{Found, look, run, show_plan};

use super::nothing::Nothing;
use super::sources::Source;
use crate::arguments::CommonArguments;
use crate::exit_code::usage;
use crate::output;
use cipherloom::address::is_address;
use cipherloom::{Format, Job};
use std::path::Path;
use std::sync::Arc;

/// A command over at least one store: all that is known before its objects are processed.
#[cfg_attr(
    not(feature = "stores"),
    expect(dead_code, reason = "such a build refuses before it would read them")
)]
pub struct StoreRun<'r> {
    /// What was done, "encrypted".
    pub verb: &'static str,
    pub job: Job<'r>,
    /// The formats of the job's two sides, source and output.
    pub formats: [Option<Arc<Format>>; 2],
    pub common: &'r CommonArguments,
    pub dry_run: bool,
    pub nothing: Nothing,
    pub allow_mixed_keys: bool,
}

/// Refuses what looks like an address and would be taken for a path: outputs would go to a folder named `s3:`.
pub fn refuse_misspelt(place: &Path) -> anyhow::Result<()> {
    let Some((scheme, rest)) = place.to_str().and_then(|text| text.split_once(":/")) else { return Ok(()) };
    let address = output::printable(place);
    match (scheme, rest.strip_prefix('/')) {
        ("file", Some(folder)) if folder.starts_with('/') => Ok(()),
        ("file", Some(_)) => Err(usage(format!("{address}: give the whole path, as in file:///folder"))),
        ("file", None) => {
            Err(usage(format!("{address}: did you mean file:///{rest}? (a folder named file: is ./file:)")))
        }
        ("http" | "https" | "ftp" | "sftp", _) => Err(usage(format!(
            "{address}: {scheme}:// is no store; known are s3://bucket/prefix, gs://bucket/prefix, az://container/prefix \
             and file:///folder (a folder named {scheme}: is ./{scheme}:)"
        ))),
        ("s3" | "gs" | "az", None) => Err(usage(format!(
            "{address}: did you mean {scheme}://{rest}? (a folder named {scheme}: is ./{scheme}:)"
        ))),
        _ => Ok(()),
    }
}

/// Whether source or destination is in a store.
pub fn concerns(source: &Source, job: &Job<'_>) -> bool {
    matches!(source, Source::Listing(_)) || job.destination.as_deref().is_some_and(is_address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_a_slash_too_few_are_no_paths() {
        for (place, said) in [
            ("file://sealed", "as in file:///folder"),
            ("file:/sealed", "did you mean file:///sealed?"),
            ("s3:/bucket/x", "did you mean s3://bucket/x?"),
            ("gs:/bucket", "did you mean gs://bucket?"),
            ("az:/", "did you mean az://?"),
            ("http://host/x", "http:// is no store"),
            ("https:/host/x", "https:// is no store"),
        ] {
            let refused = refuse_misspelt(Path::new(place)).unwrap_err().to_string();
            assert!(refused.starts_with(place) && refused.contains(said), "{refused}");
        }
        for place in ["s3://bucket", "file:///sealed", "./s3:/x", "s3:x", "books", "a:/b", "c://d"] {
            assert!(refuse_misspelt(Path::new(place)).is_ok(), "{place}");
        }
    }
}
