//! The size from which on a variant is faster than another: the first after the last at which it is not.

use crate::measure::Interval;

/// From which size on a variant is the faster one.
pub(super) enum Crossover {
    Always(usize),
    Between(usize, usize),
    Never(usize),
}

impl Crossover {
    /// From sizes in rising order, each with whether the variant won there; `None` of no sizes.
    pub(super) fn of(outcomes: &[(usize, bool)]) -> Option<Crossover> {
        let (first, last) = (outcomes.first()?.0, outcomes.last()?.0);
        Some(match outcomes.iter().rposition(|(_, has_won)| !has_won) {
            None => Crossover::Always(first),
            Some(lost) if lost + 1 == outcomes.len() => Crossover::Never(last),
            Some(lost) => Crossover::Between(outcomes[lost].0, outcomes[lost + 1].0),
        })
    }

    pub(super) fn words(&self) -> String {
        match self {
            Crossover::Always(least) => format!("pays at every size, from {least} words"),
            Crossover::Between(lost, won) => format!("pays from {won} words on (not yet at {lost})"),
            Crossover::Never(most) => format!("does not pay up to {most} words"),
        }
    }

    pub(super) fn interval(&self) -> Option<Interval> {
        match *self {
            Crossover::Always(least) => Some(Interval::exact(least as f64)),
            Crossover::Between(lost, won) => {
                Some(Interval { estimate: won as f64, low: lost as f64, high: won as f64, rounds: 0 })
            }
            Crossover::Never(_) => None,
        }
    }
}
