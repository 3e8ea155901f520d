//! Checks and decrypts publications: many at once, each on several cores.

mod check;
mod decrypt;
mod inspect;
#[cfg(test)]
mod tests;

pub(crate) use check::stop_if_asked;
pub use check::{CheckOptions, Checked, LicenseSummary, Subject, Unchecked, check};
pub use decrypt::{DecryptOptions, Decrypted, decrypt};
pub use inspect::{FoundFiles, Inspected, find_protected, inspect};
