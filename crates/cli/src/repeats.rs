//! One cause, many files: a wrong key or a full disk is told ten times, then counted.

use crate::output;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// So often a cause is told.
const TOLD: u64 = 10;

/// So many causes are kept apart; errors of any other are all told.
const CAUSES: usize = 1000;

/// How often each cause was met.
#[derive(Debug)]
pub struct Repeats<C>(Mutex<HashMap<C, Repeated>>);

impl<C> Default for Repeats<C> {
    fn default() -> Repeats<C> {
        Repeats(Mutex::default())
    }
}

#[derive(Debug)]
struct Repeated {
    count: u64,
    /// The error that is told for all that are not.
    error: String,
}

impl Repeats<String> {
    /// Counts an error whose words are all that is known: those that differ in numbers only have one cause.
    pub fn is_told_of_words(&self, error: &str) -> bool {
        self.is_told(error.chars().filter(|character| !character.is_ascii_digit()).collect(), error)
    }
}

impl<C: Eq + Hash> Repeats<C> {
    /// Counts an error of this cause. Whether it is to be told.
    pub fn is_told(&self, cause: C, error: &str) -> bool {
        let mut causes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !causes.contains_key(&cause) && causes.len() == CAUSES {
            return true;
        }
        let repeated = causes.entry(cause).or_insert_with(|| Repeated { count: 0, error: error.to_owned() });
        repeated.count += 1;
        repeated.count <= TOLD
    }

    /// Tells how many errors were not told, for each cause. `what`: what each concerned, such as "file"; `listed_by`: how all
    /// can be had.
    pub fn end(&self, what: &str, listed_by: &str) {
        let causes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut repeated: Vec<_> = causes.into_values().filter(|repeated| repeated.count > TOLD).collect();
        repeated.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.error.cmp(&b.error)));
        for Repeated { count, error } in repeated {
            let more = count - TOLD;
            let plural = if more == 1 { "" } else { "s" };
            output::tell(format_args!(
                "cipherloom: {more} more {what}{plural} failed with the same error (use {listed_by} to list them): {error}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cipherloom::{Error, RunFault};

    #[test]
    fn a_cause_is_told_ten_times_and_others_still_are() {
        let repeats = Repeats::<String>::default();
        let is_told = |number: &u32| repeats.is_told_of_words(&format!("segment {number} is damaged"));
        assert_eq!((0..100).filter(is_told).count(), 10);
        assert!(repeats.is_told_of_words("the file is too short"));
        let repeats = Repeats::default();
        let is_told = |number: &u32| {
            let error = Error::Run(RunFault::NameCollision {
                other: format!("name {number} or {}", "x".repeat(*number as usize)),
            });
            repeats.is_told(error.cause(), &error.to_string())
        };
        assert_eq!((0..100).filter(is_told).count(), 10);
        assert!(repeats.is_told(Error::FirstSegment.cause(), "another"));
    }
}
