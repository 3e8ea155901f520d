//! Names of outputs that are not complete: `.cipherloom-` and 16 hexadecimal digits. What bears one belongs to a run under way
//! or to a killed one, and is never content.

use crate::Error;
use std::ffi::OsStr;

/// Where such a name begins; a listing of the destination shows whose it is.
const TEMPORARY_PREFIX: &str = ".cipherloom-";

/// A random name.
pub(crate) fn temporary_name() -> Result<String, Error> {
    let random = getrandom::u64().map_err(Error::Random)?;
    Ok(format!("{TEMPORARY_PREFIX}{random:016x}"))
}

/// Whether [`temporary_name`] gives such names.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let digits = name.as_encoded_bytes().strip_prefix(TEMPORARY_PREFIX.as_bytes());
    digits.is_some_and(|digits| digits.len() == 16 && digits.iter().all(u8::is_ascii_hexdigit))
}
