//! Whether an object is what its metadata says. Who may write to a bucket may write any metadata there, so before an
//! object is passed over, so much is looked at as one request shows:
//!
//! | the output is | looked at |
//! |---|---|
//! | encrypted | its length, and whether its first segment opens with the key that seals (and with the bound path) |
//! | encrypted for others (age with recipients alone) | its length |
//! | plaintext | its length |
//!
//! What this cannot show: that the segments behind the first open, and which plaintext there is.

use crate::existing::Stored;
use crate::inventory::{Inventory, Object};
use crate::job::output_path;
use crate::run::Context;
use crate::source;
use bytes::Bytes;
use cipherloom::{
    Error,
    internal::{Ended, Work},
};
use std::sync::Arc;

/// Passes over an object whose output is there already, as that one's metadata says.
///
/// # Errors
/// [`Error::OutputConflict`] if it cannot be that output.
pub(crate) async fn claimed(
    context: &Context,
    object: &Object,
    stored: Stored,
    bound: &[u8],
) -> Result<Ended, Error> {
    let conflict = |reason: &str| Err(Error::OutputConflict { reason: reason.to_owned() });
    check_len(&context.job.work, object, &stored)?;
    let sealing = context.job.work.sealing().filter(|format| format.can_open());
    let (Some(place), Some(_)) = (context.destination.clone(), sealing) else {
        return Ok(Ended::Skipped);
    };
    let output = Object::new(output_path(&context.job, &object.path)?, stored.size, stored.e_tag);
    let outputs = Inventory::of_objects(place, Vec::new());
    match begins(context, &outputs, &output, bound).await {
        Ok(true) => Ok(Ended::Skipped),
        Ok(false) => {
            conflict("its metadata says that it was made under this key, but it does not open with it")
        }
        Err(Error::SourceChanged | Error::SourceShrank) => conflict("it was changed meanwhile"),
        Err(error) => Err(error),
    }
}

/// Looks at no more than the length.
///
/// # Errors
/// [`Error::OutputConflict`] if it does not fit.
pub(crate) fn check_len(work: &Work, object: &Object, stored: &Stored) -> Result<(), Error> {
    if fits(work, object.size, stored.size) {
        return Ok(());
    }
    let reason = "its metadata says that it was made from this source, but its length does not fit";
    Err(Error::OutputConflict { reason: reason.to_owned() })
}

/// Whether a source of one length can become an output of the other.
fn fits(work: &Work, source: u64, output: u64) -> bool {
    match work {
        Work::Encrypt(format) => format.may_make(output, source),
        Work::Decrypt(format) | Work::Verify(format) => format.can_hold(source, output),
        Work::Rekey { from, to } => {
            to.layout().plaintext_len(output).is_ok_and(|plaintext| from.can_hold(source, plaintext))
        }
        Work::Copy => source == output,
    }
}

/// Whether an object's beginning, which is read, opens with the key that seals.
pub(crate) async fn begins(
    context: &Context,
    inventory: &Inventory,
    object: &Object,
    bound: &[u8],
) -> Result<bool, Error> {
    let Some(wanted) = context.job.work.sealing().map(|format| format.begin_len()) else {
        return Ok(false);
    };
    let len = object.size.min(wanted);
    let _share = context.share(2 * len).await?;
    let begin = match len {
        0 => Bytes::new(),
        _ => source::read(inventory, object, 0..len).await?.bytes,
    };
    opens(context, begin, len == object.size, bound).await
}

/// Whether a stream that begins so, and is no longer if it `is_whole`, opens with the key that seals.
pub(crate) async fn opens(
    context: &Context,
    begin: Bytes,
    is_whole: bool,
    bound: &[u8],
) -> Result<bool, Error> {
    let (job, bound) = (Arc::clone(&context.job), bound.to_owned());
    context
        .ciphers
        .run(move |_| match job.work.sealing() {
            Some(format) => format.opens_with_primary(&bound, &begin, is_whole),
            None => Ok(false),
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use cipherloom::key::{Keyset, Template};
    use cipherloom::{Format, machine::Backend};

    fn tink(template: &str) -> Format {
        let template: Template = template.parse().unwrap();
        Format::tink(Keyset::generate(template).unwrap(), Backend::Soft).unwrap()
    }

    #[test]
    fn lengths_fit_only_what_can_have_been_made() {
        let (small, large) = (tink("AES256_GCM_HKDF_4KB"), tink("AES128_CTR_HMAC_SHA256_1MB"));
        for len in [0, 1, 4096, 70_000, 3_000_000] {
            let sealed = |format: &Format| format.layout().ciphertext_len(len);
            let rekeying = Work::Rekey { from: small.clone(), to: large.clone() };
            for (work, source, output) in [
                (Work::Encrypt(small.clone()), len, sealed(&small)),
                (Work::Decrypt(small.clone()), sealed(&small), len),
                (rekeying, sealed(&small), sealed(&large)),
                (Work::Copy, len, len),
            ] {
                assert!(fits(&work, source, output), "{work:?} {len}");
                assert!(!fits(&work, source, output + 1), "{work:?} {len}");
            }
        }
    }
}
