//! A moment as licenses write it: ISO 8601 with a zone (RFC 3339), here always to the second and in UTC, so that every
//! program that reads and writes a license writes the same text again (it is signed).

use super::fault::LicenseFault;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use time::format_description::well_known::Rfc3339;
use time::{Date, OffsetDateTime, UtcOffset};

/// A moment, to the second.
///
/// ```
/// use cipherloom_lcp::license::Moment;
///
/// let start = Moment::parse("2026-11-04T01:08:15+01:00", "the start of the rights")?;
/// assert_eq!(start.to_string(), "2026-11-04T00:08:15Z");
/// assert!(start > Moment::parse("2026-11-04", "the start of the rights")?);
/// # Ok::<(), cipherloom_lcp::license::LicenseFault>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(OffsetDateTime);

impl Moment {
    /// Now.
    #[must_use]
    pub fn now() -> Moment {
        Moment(OffsetDateTime::now_utc().truncate_to_second())
    }

    /// The moment of a Unix time in seconds; `None` beyond the year 9999.
    pub(super) fn from_unix(seconds: i64) -> Option<Moment> {
        OffsetDateTime::from_unix_timestamp(seconds).ok().and_then(Moment::new)
    }

    /// Reads `2026-11-04T01:08:15+01:00`, or a date alone (`2026-11-04`: its first second in UTC).
    ///
    /// # Errors
    /// If the text is neither; `what` names it in the message ("the start of the rights").
    pub fn parse(text: &str, what: &'static str) -> Result<Moment, LicenseFault> {
        let date_alone = time::macros::format_description!("[year]-[month]-[day]");
        let date = || Date::parse(text, &date_alone).map(|date| date.midnight().assume_utc());
        let moment = OffsetDateTime::parse(text, &Rfc3339).or_else(|_| date());
        moment.ok().and_then(Moment::new).ok_or_else(|| LicenseFault::Term {
            what,
            problem: format!("is {text:?}, and should be like 2026-11-04 or 2026-11-04T01:08:15Z"),
        })
    }

    /// `None` if the moment falls, in UTC, into a year that the format cannot write.
    fn new(moment: OffsetDateTime) -> Option<Moment> {
        let moment = moment.checked_to_offset(UtcOffset::UTC)?;
        (0..=9999).contains(&moment.year()).then(|| Moment(moment.truncate_to_second()))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only years of four digits come into being, so this always succeeds.
        out.write_str(&self.0.format(&Rfc3339).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        let text = String::deserialize(deserializer)?;
        OffsetDateTime::parse(&text, &Rfc3339).ok().and_then(Moment::new).ok_or_else(|| {
            serde::de::Error::custom(format_args!("{text:?} is not a date and time of ISO 8601"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_to_the_second_in_utc() {
        let parse = |text| Moment::parse(text, "the start").map(|moment| moment.to_string());
        assert_eq!(parse("2013-11-04T01:08:15+01:00").unwrap(), "2013-11-04T00:08:15Z");
        assert_eq!(parse("2013-11-04T01:08:15.987Z").unwrap(), "2013-11-04T01:08:15Z");
        assert_eq!(parse("2024-02-29").unwrap(), "2024-02-29T00:00:00Z");
        for bad in ["", "2023-02-29", "2013-11-04T01:08", "tomorrow", "2013-11-04 01:08:15"] {
            assert!(matches!(parse(bad), Err(LicenseFault::Term { what: "the start", .. })), "{bad}");
        }
    }

    #[test]
    fn the_edges_of_time_do_not_panic() {
        for text in ["0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"] {
            assert!(Moment::parse(text, "the start").is_err(), "{text}");
        }
        assert_eq!(Moment::from_unix(0).unwrap().to_string(), "1970-01-01T00:00:00Z");
        assert!(Moment::from_unix(i64::MAX).is_none());
    }
}
