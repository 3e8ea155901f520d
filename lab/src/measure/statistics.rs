//! Statistics that assume nothing about a distribution: quantiles, and intervals between order statistics (of what was
//! measured in turns) or by resampling (of what was not).

use super::Random;
use serde::{Deserialize, Serialize};

/// How often an interval resamples.
const RESAMPLES: usize = 400;

/// A delay is anomalous above so many medians.
const ANOMALOUS: f64 = 10.0;

/// Rounds below which no interval is called a 95% interval: it is the least and the greatest round.
pub const LEAST_ROUNDS: usize = 8;

/// An estimate with its 95% confidence interval, or with the least and the greatest of few rounds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// From all samples.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many rounds it rests on; 0 for a number that was counted, or computed from the machine.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounds: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Interval {
    /// A number without an interval: counted, or computed from the machine.
    #[must_use]
    pub fn exact(value: f64) -> Interval {
        Interval { estimate: value, low: value, high: value, rounds: 0 }
    }

    /// The median of one value for each round. The interval is between two order statistics, the closest that hold the
    /// median of any distribution in 95% of cases (sign test); of less than [`LEAST_ROUNDS`] values it is their range.
    ///
    /// # Panics
    /// If there are no values.
    #[must_use]
    pub fn of_rounds(values: &[f64]) -> Interval {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rounds = sorted.len();
        let left_out = if rounds < LEAST_ROUNDS { 0 } else { order_statistic(rounds) };
        Interval {
            estimate: sorted_quantile(&sorted, 0.5),
            low: sorted[left_out],
            high: sorted[rounds - 1 - left_out],
            rounds,
        }
    }

    /// Whether the interval lies wholly above or below `value`.
    #[must_use]
    pub fn excludes(&self, value: f64) -> bool {
        value < self.low || value > self.high
    }

    /// The same in another unit.
    #[must_use]
    pub fn scaled(&self, by: f64) -> Interval {
        let [low, high] = if by < 0.0 { [self.high, self.low] } else { [self.low, self.high] };
        Interval { estimate: by * self.estimate, low: by * low, high: by * high, rounds: self.rounds }
    }

    /// `0.83 (0.78 to 0.86)`; of too few rounds for 95% `0.83 (5 rounds: 0.78 to 0.86)`.
    #[must_use]
    pub fn words(&self, digits: usize) -> String {
        let Interval { estimate, low, high, rounds } = self;
        match rounds {
            0 => format!("{estimate:.digits$}"),
            1..LEAST_ROUNDS => {
                format!("{estimate:.digits$} ({rounds} rounds: {low:.digits$} to {high:.digits$})")
            }
            _ => format!("{estimate:.digits$} ({low:.digits$} to {high:.digits$})"),
        }
    }
}

/// How many of the sorted values lie outside on each side: the most of which a fair coin thrown `count` times shows so few
/// heads, or fewer, in at most 2.5% of cases.
fn order_statistic(count: usize) -> usize {
    let mut probability = 0.5_f64.powi(count as i32);
    let (mut below, mut sum) = (0, probability);
    while sum <= 0.025 {
        below += 1;
        probability *= (count - below + 1) as f64 / below as f64;
        sum += probability;
    }
    below.saturating_sub(1)
}

/// A series in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// How many samples.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Median with its interval.
    pub median: Interval,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Most.
    pub max: f64,
    /// Samples of more than ten times the median.
    pub anomalous: usize,
}

/// A series in numbers; the same samples give the same numbers.
///
/// # Panics
/// If there are no samples.
#[must_use]
pub fn summarise(samples: &[f64]) -> Summary {
    assert!(!samples.is_empty(), "a series has samples");
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted_quantile(&sorted, 0.5);
    Summary {
        count: sorted.len(),
        mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
        min: sorted[0],
        median: Interval::of_rounds(samples),
        p95: sorted_quantile(&sorted, 0.95),
        p99: sorted_quantile(&sorted, 0.99),
        max: sorted[sorted.len() - 1],
        anomalous: sorted.iter().filter(|&&sample| sample > ANOMALOUS * middle).count(),
    }
}

/// The middle sample, or the mean of the two middle ones.
///
/// # Panics
/// If there are no samples.
#[must_use]
pub fn median(samples: &[f64]) -> f64 {
    quantile(samples, 0.5)
}

/// The quantile at `share` (0 to 1), linear between samples (Hyndman and Fan, type 7).
///
/// # Panics
/// If there are no samples.
#[must_use]
pub fn quantile(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted_quantile(&sorted, share)
}

fn sorted_quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + part * (sorted[above] - sorted[below])
}

/// How many times as long as `base`, round by round: value i of both is of round i, so that what slowed a round down
/// meets both.
///
/// # Panics
/// If their numbers of rounds differ, or are 0.
#[must_use]
pub fn ratio_by_round(samples: &[f64], base: &[f64]) -> Interval {
    assert_eq!(samples.len(), base.len(), "both have the same rounds");
    let ratios: Vec<f64> = samples.iter().zip(base).map(|(sample, base)| sample / base).collect();
    Interval::of_rounds(&ratios)
}

/// How many times the median of `samples` is that of `base`, which has rounds of its own.
///
/// # Panics
/// If one of them has no samples.
#[must_use]
pub fn ratio_of_medians(samples: &[f64], base: &[f64]) -> Interval {
    bootstrap(&[samples, base], |parts| median(&parts[0]) / median(&parts[1]))
}

/// `statistic` of series that were not measured in turns, with its 95% interval: each is resampled by itself (Efron's
/// percentile bootstrap, seeded). Call it so only if [`Interval::rounds`] says that there were enough.
pub fn bootstrap(series: &[&[f64]], statistic: impl Fn(&[Vec<f64>]) -> f64) -> Interval {
    let mut random = Random::new(0x5eed);
    let mut parts: Vec<Vec<f64>> = series.iter().map(|samples| samples.to_vec()).collect();
    let estimate = statistic(&parts);
    let mut found: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for (part, samples) in parts.iter_mut().zip(series) {
                part.iter_mut().for_each(|place| *place = samples[random.below(samples.len())]);
            }
            statistic(&parts)
        })
        .collect();
    found.sort_by(f64::total_cmp);
    let rounds = series.iter().map(|samples| samples.len()).min().unwrap_or(0);
    let outside = if rounds < LEAST_ROUNDS { 0.0 } else { 0.025 };
    let [low, high] = [outside, 1.0 - outside].map(|share| sorted_quantile(&found, share));
    Interval { estimate, low, high, rounds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        // numpy.percentile([15, 20, 35, 40, 50], [5, 30, 40, 100]) with its default method.
        let samples = [35.0, 15.0, 50.0, 20.0, 40.0];
        let found = [0.05, 0.3, 0.4, 1.0].map(|share| quantile(&samples, share));
        assert_eq!(found, [16.0, 23.0, 29.0, 50.0]);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    #[test]
    fn a_summary_counts_anomalous_delays() {
        // 97 runs of 1 ms to 1.96 ms and three of 14 s, as the published tables have them.
        let mut samples: Vec<f64> = (0..97).map(|step| 1.0 + f64::from(step) / 100.0).collect();
        samples.extend([14_000.0; 3]);
        let summary = summarise(&samples);
        assert_eq!((summary.count, summary.anomalous, summary.min, summary.max), (100, 3, 1.0, 14_000.0));
        assert!((summary.median.estimate - 1.495).abs() < 1e-9);
        assert_eq!(summary.p99, 14_000.0);
        assert!(summary.p95 < 2.0, "{summary:?}");
    }

    #[test]
    fn an_interval_holds_the_truth_about_as_often_as_it_says() {
        // 200 series of 40 uniform samples; the true median is 0.5.
        let mut random = Random::new(11);
        let mut uniform = || random.next_word() as f64 / u64::MAX as f64;
        let holds = (0..200)
            .filter(|_| {
                let samples: Vec<f64> = (0..40).map(|_| uniform()).collect();
                !summarise(&samples).median.excludes(0.5)
            })
            .count();
        assert!((176..=200).contains(&holds), "{holds} of 200 intervals hold the median");
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_tables() {
        // Of 9, 15, 20 and 40 sorted values 1, 3, 5 and 13 are outside on each side (Conover, Practical Nonparametric
        // Statistics, table A3); of 8 none; of 7 it is not called a 95% interval.
        let outside = [8, 9, 15, 20, 40].map(order_statistic);
        assert_eq!(outside, [0, 1, 3, 5, 13]);
        let of = |count: u32| Interval::of_rounds(&(1..=count).map(f64::from).collect::<Vec<_>>());
        assert_eq!(of(9), Interval { estimate: 5.0, low: 2.0, high: 8.0, rounds: 9 });
        assert_eq!(of(9).words(1), "5.0 (2.0 to 8.0)");
        assert_eq!(of(7).words(0), "4 (7 rounds: 1 to 7)");
        assert_eq!(Interval::exact(3.0).words(2), "3.00");
    }

    #[test]
    fn what_slows_a_round_down_cancels_out() {
        // The machine drifts by a factor of eight; the ratio is 2 in every round.
        let base: Vec<f64> = (0..16).map(|round| f64::from(round / 2).exp2()).collect();
        let double: Vec<f64> = base.iter().map(|time| 2.0 * time).collect();
        let ratio = ratio_by_round(&double, &base);
        assert_eq!(ratio, Interval { estimate: 2.0, low: 2.0, high: 2.0, rounds: 16 });
        assert!(!ratio_of_medians(&double, &base).excludes(1.0));
    }

    #[test]
    fn a_ratio_finds_a_known_factor_and_its_interval_excludes_one() {
        let mut random = Random::new(5);
        let mut noisy = |scale: f64| -> Vec<f64> {
            (0..60).map(|_| scale * (1.0 + random.next_word() as f64 / u64::MAX as f64 / 5.0)).collect()
        };
        let ratio = ratio_of_medians(&noisy(3.0), &noisy(1.5));
        assert!(
            (ratio.estimate - 2.0).abs() < 0.1 && ratio.excludes(1.0) && !ratio.excludes(2.0),
            "{ratio:?}"
        );
        let same = ratio_of_medians(&noisy(1.0), &noisy(1.0));
        assert!(!same.excludes(1.0), "{same:?}");
    }
}
