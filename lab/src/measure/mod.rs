//! The craft of measuring: clocks, contests in alternation, statistics, and what the machine is and did meanwhile.
//!
//! - A contestant's result is compared with an oracle's before it is timed; a wrong one is excluded with its reason.
//! - Contestants take turns in a random order and then in that order reversed (A B C C B A), so that drift and noise of
//!   the machine meet all alike.
//! - Processor time is kept beside wall time: where they part, something else ran.

mod affinity;
mod build;
mod clock;
mod contest;
mod load;
mod machine;
mod random;
mod significance;
mod statistics;

pub use affinity::{OnFirstCore, Pinned};
pub use build::Build;
pub use clock::{Stopwatch, clock_gigahertz, now};
pub use contest::{Contest, Contestant, Entrant, Order, Outcome, Repeated};
pub use load::{HostWatch, Load, LoadWatch, Moment, load_average};
pub use machine::{Cache, Machine};
pub use random::Random;
pub use significance::{correct_by_holm, probability_of_counts, probability_of_signs};
pub use statistics::{
    Interval, LEAST_ROUNDS, Summary, bootstrap, median, quantile, ratio_by_round, ratio_of_medians, summarise,
};
