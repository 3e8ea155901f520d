//! The object at the key of an output, and what it means for that output.
//!
//! ```text
//! answer to a conditional put    object at the key           outcome
//! done                                                       done
//! 412, 409, or no answer         this run's own              done: an earlier try got through
//!                                same source, same key       fail: exists; skip: skipped, if `confirm.rs` agrees
//!                                anything else               fail: exists; skip: a conflict
//!                                nothing                     the put's own error
//! ```
//!
//! What an output says of its origin, in the object's metadata: which version of which source it was made from, under
//! which key. A repeated run recognises by it what may be done, and a put whose answer was lost its own work.
//!
//! Who may write objects may write this too: it is a hint, which `confirm.rs` checks before an object is passed over.
//!
//! ```text
//! cipherloomsource   the source's ETag (size and time of a file), without quotation marks
//! cipherloomkey      the identifier of the key that sealed it (tink; not secret), `-` where there is none
//! cipherloomrun      16 random hexadecimal digits, drawn for each output: nobody knows them before it is written
//! ```
//!
//! Names are letters only: Azure takes identifiers, S3 has them in HTTP headers.

use crate::faults::ask;
use crate::place::Bucket;
use cipherloom::{Error, IfExists, internal::Ended};
use object_store::path::Path as Key;
use object_store::{Attribute, Attributes, GetOptions};

/// What became of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Settled {
    Ended(Ended),
    /// This run has written it.
    Written {
        /// Its length.
        bytes: u64,
        /// Its version, if the store's answer had it.
        e_tag: Option<String>,
    },
    /// It is there already, as its metadata says. Anybody may have written that, so `confirm.rs` has the last word.
    Claimed(Stored),
}

/// An object in a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) size: u64,
    pub(crate) e_tag: Option<String>,
}

/// The object at a key.
pub(crate) struct Found {
    pub(crate) origin: Option<Provenance>,
    pub(crate) stored: Stored,
}

/// Looks at a key; `None` if it is free.
pub(crate) async fn look(bucket: &Bucket, key: &Key) -> Result<Option<Found>, Error> {
    let options = GetOptions { head: true, ..GetOptions::default() };
    match ask(bucket.store.get_opts(key, options)).await {
        Ok(found) => Ok(Some(Found {
            origin: Provenance::of(&found.attributes),
            stored: Stored { size: found.meta.size, e_tag: found.meta.e_tag },
        })),
        Err(refusal) if refusal.is_missing() => Ok(None),
        Err(refusal) => Err(refusal.of("look whether the output exists")),
    }
}

/// Whether nothing is at the key of an object that was listed, as far as the store says.
pub(crate) async fn is_gone(bucket: &Bucket, path: &str) -> bool {
    let Ok(key) = bucket.key(path) else { return false };
    matches!(look(bucket, &key).await, Ok(None))
}

impl Found {
    /// Whether it is the very output that `origin` was drawn for.
    pub(crate) fn is_ours(&self, origin: &Provenance) -> bool {
        self.origin.as_ref().is_some_and(|found| found == origin)
    }

    /// What this object means for an output of `origin` with the same key.
    pub(crate) fn judge(&self, origin: &Provenance, if_exists: IfExists) -> Result<Settled, Error> {
        if if_exists != IfExists::Skip {
            return Err(Error::OutputExists);
        }
        let difference = match &self.origin {
            Some(found) => found.differs_from(origin),
            None => Some("it does not say what it was made from"),
        };
        match difference {
            None => Ok(Settled::Claimed(self.stored.clone())),
            Some(reason) => Err(Error::OutputConflict { reason: reason.to_owned() }),
        }
    }
}

const SOURCE: &str = "cipherloomsource";
const KEY: &str = "cipherloomkey";
const RUN: &str = "cipherloomrun";

/// What an output was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Provenance {
    /// The source's version.
    pub(crate) source: String,
    /// The identifier of the key that sealed it.
    pub(crate) key: Option<u32>,
    /// This output's own mark.
    pub(crate) run: String,
}

impl Provenance {
    /// As metadata.
    pub(crate) fn attributes(&self) -> Attributes {
        let key = self.key.map_or_else(|| "-".to_owned(), |key| key.to_string());
        Attributes::from_iter([
            (Attribute::Metadata(SOURCE.into()), self.source.clone()),
            (Attribute::Metadata(KEY.into()), key),
            (Attribute::Metadata(RUN.into()), self.run.clone()),
        ])
    }

    /// From an object's metadata; `None` if it says nothing.
    pub(crate) fn of(attributes: &Attributes) -> Option<Provenance> {
        let get = |name: &'static str| {
            let value = attributes.get(&Attribute::Metadata(name.into()))?;
            Some(value.as_ref().to_owned())
        };
        Some(Provenance { source: get(SOURCE)?, key: get(KEY)?.parse().ok(), run: get(RUN)? })
    }

    /// What differs from another's origin, in words; `None` if both are made from the same source under the same key.
    pub(crate) fn differs_from(&self, other: &Provenance) -> Option<&'static str> {
        if self.source != other.source {
            return Some("made from another version of the source");
        }
        (self.key != other.key).then_some("made under another key")
    }
}

/// A version as a value for a header: ETags come quoted, and may hold anything.
pub(crate) fn version(e_tag: &str) -> String {
    e_tag.chars().filter(|character| character.is_ascii_graphic() && *character != '"').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for key in [None, Some(7)] {
            let origin = Provenance { source: version("W/\"a b\u{e9}\""), key, run: "00ff".into() };
            assert_eq!(origin.source, "W/ab");
            assert_eq!(Provenance::of(&origin.attributes()), Some(origin.clone()));
            let other = Provenance { source: "c".into(), ..origin.clone() };
            assert!(other.differs_from(&origin).is_some());
            assert_eq!(Provenance { run: "1".into(), ..origin.clone() }.differs_from(&origin), None);
            assert!(Provenance { key: Some(8), ..origin.clone() }.differs_from(&origin).is_some());
        }
        assert_eq!(Provenance::of(&Attributes::default()), None);
    }
}
