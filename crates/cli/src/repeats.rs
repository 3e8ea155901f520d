//! One cause, many files: the errors of a wrong key or a full disk are printed ten times, then counted.

use crate::output;
use cipherloom::internal::engine::lock;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// So many errors of one cause are printed.
const PRINTED: u64 = 10;

/// So many causes are distinguished; errors of any other are all printed.
const CAUSES: usize = 1000;

/// How often each cause occurred, and which hints were printed.
#[derive(Debug, Default)]
pub struct Repeats {
    /// With the first error of each.
    causes: Mutex<HashMap<String, (u64, String)>>,
    hints: Mutex<HashSet<Cow<'static, str>>>,
}

impl Repeats {
    /// Counts an error of this cause. Whether it is to be printed.
    pub fn is_printed(&self, cause: String, error: &str) -> bool {
        let mut causes = lock(&self.causes);
        if !causes.contains_key(&cause) && causes.len() == CAUSES {
            return true;
        }
        let (count, _) = causes.entry(cause).or_insert_with(|| (0, error.to_owned()));
        *count += 1;
        *count <= PRINTED
    }

    /// The same for an error of which only the message is known: messages that differ in digits only have one cause.
    pub fn is_message_printed(&self, error: &str) -> bool {
        self.is_printed(error.chars().filter(|character| !character.is_ascii_digit()).collect(), error)
    }

    /// The hint, unless it was given before.
    pub fn first(&self, hint: Option<Cow<'static, str>>) -> Option<Cow<'static, str>> {
        hint.filter(|hint| lock(&self.hints).insert(hint.clone()))
    }

    /// Prints for each cause how many errors were not printed. `what`: what each concerned, such as "file"; `option`: lists
    /// them all.
    pub fn end(&self, what: &str, option: &str) {
        let causes = std::mem::take(&mut *lock(&self.causes));
        let mut repeated: Vec<_> = causes.into_values().filter(|(count, _)| *count > PRINTED).collect();
        repeated.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        for (count, error) in repeated {
            let more = output::count(count - PRINTED, &format!("more {what}"));
            output::print_line(format_args!(
                "cipherloom: {more} failed with the same error (use {option} to list them): {error}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cipherloom::Error;

    #[test]
    fn a_cause_is_printed_ten_times_and_others_still_are() {
        let repeats = Repeats::default();
        let is_printed = |number: &u32| repeats.is_message_printed(&format!("segment {number} is damaged"));
        assert_eq!((0..100).filter(is_printed).count(), 10);
        assert!(repeats.is_message_printed("the file is too short"));
        let repeats = Repeats::default();
        let is_printed =
            |error: Error| repeats.is_printed(format!("{:?}", error.cause()), &error.to_string());
        let collision = |number: u32| Error::NameCollision {
            other: format!("name {number} or {}", "x".repeat(number as usize)),
        };
        assert_eq!((0..100).filter(|number| is_printed(collision(*number))).count(), 10);
        assert!(is_printed(Error::FirstSegment));
    }

    #[test]
    fn a_hint_is_given_once() {
        let repeats = Repeats::default();
        assert_eq!(repeats.first(Some("a".into())).as_deref(), Some("a"));
        assert_eq!(repeats.first(Some("a".into())), None);
        assert_eq!(repeats.first(None), None);
    }
}
