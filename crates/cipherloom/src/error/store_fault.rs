//! What an object store's refusal comes from, as far as somebody can do something about it.

/// The cause of an [`Error::Store`](super::Error::Store), for front ends that say what to do about it.
///
/// ```
/// use cipherloom::error::{Error, StoreFault};
///
/// fn is_worth_another_try(error: &Error) -> bool {
///     matches!(error, Error::Store { fault: StoreFault::Busy | StoreFault::Failed, .. })
/// }
///
/// let (action, reason) = ("read the object", "slow down".to_owned());
/// let error = Error::Store { action, fault: StoreFault::Busy, reason };
/// assert!(is_worth_another_try(&error));
/// assert_eq!(error.to_string(), "cannot read the object: slow down");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreFault {
    /// There is no such bucket or container.
    NoBucket,
    /// The object is not there.
    Missing,
    /// The store has dropped an unfinished upload.
    UploadDropped,
    /// This machine's clock is too far from the store's.
    ClockSkewed,
    /// Neither the environment nor a service of the machine gives credentials.
    NoCredentials {
        /// What to set, in words: environment variables.
        variables: &'static str,
    },
    /// The credentials have expired.
    CredentialsExpired,
    /// The store does not accept the credentials.
    CredentialsRefused {
        /// What to check, in words: environment variables.
        variables: &'static str,
    },
    /// The credentials are valid and do not allow this.
    Denied,
    /// The store asks for fewer requests, also after repeated tries.
    Busy,
    /// The store failed by itself, also after repeated tries.
    Failed,
    /// The object is archived and cannot be read before it is restored.
    Archived,
    /// The endpoint is `http://`, and nobody has allowed that.
    Unencrypted,
    /// Anything else: [`Error::Store`](super::Error::Store) has the store's own words.
    Other,
}
