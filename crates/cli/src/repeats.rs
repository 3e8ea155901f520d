//! One cause, many files: a wrong key or a full disk is told ten times, then counted.

use crate::output;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// So often a cause is told.
const TOLD: u64 = 10;

/// So many causes are kept apart; errors of any other are all told.
const CAUSES: usize = 1000;

/// How often each cause was met.
#[derive(Debug, Default)]
pub struct Repeats(Mutex<BTreeMap<String, Repeated>>);

#[derive(Debug)]
struct Repeated {
    count: u64,
    /// The error that is told for all that are not.
    error: String,
}

impl Repeats {
    /// Counts an error. Whether it is to be told.
    pub fn is_told(&self, error: &str) -> bool {
        // What differs in numbers only, such as the segment that is damaged, is one cause.
        let cause: String = error.chars().filter(|character| !character.is_ascii_digit()).collect();
        let mut causes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !causes.contains_key(&cause) && causes.len() == CAUSES {
            return true;
        }
        let repeated = causes.entry(cause).or_insert_with(|| Repeated { count: 0, error: error.to_owned() });
        repeated.count += 1;
        repeated.count <= TOLD
    }

    /// Tells how many errors were not told, for each cause; `listed_by`: how all can be had.
    pub fn end(&self, listed_by: &str) {
        let causes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for Repeated { count, error } in causes.into_values().filter(|repeated| repeated.count > TOLD) {
            let more = count - TOLD;
            output::tell(format_args!(
                "cipherloom: {more} more failed likewise ({listed_by} lists all): {error}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_ten_times_and_others_still_are() {
        let repeats = Repeats::default();
        let told = (0..100).filter(|number| repeats.is_told(&format!("segment {number} is damaged"))).count();
        assert_eq!(told, 10);
        assert!(repeats.is_told("the file is too short"));
    }
}
