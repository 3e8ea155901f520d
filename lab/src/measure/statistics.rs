//! Statistics that assume nothing about a distribution: quantiles, and intervals by resampling (Efron's percentile
//! bootstrap).

use super::Random;
use serde::{Deserialize, Serialize};

/// How often an interval resamples.
const RESAMPLES: usize = 400;

/// A delay is anomalous above so many medians.
const ANOMALOUS: f64 = 10.0;

/// An estimate with its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// From all samples.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// A number without an interval: counted, or computed from the machine.
    #[must_use]
    pub fn exact(value: f64) -> Interval {
        Interval { estimate: value, low: value, high: value }
    }

    /// Whether the interval lies wholly above or below `value`.
    #[must_use]
    pub fn excludes(&self, value: f64) -> bool {
        value < self.low || value > self.high
    }
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
        median: bootstrap(&[samples], |parts| median(&parts[0])),
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

/// How many times the median of `samples` is that of `base`.
///
/// # Panics
/// If one of them has no samples.
#[must_use]
pub fn ratio_of_medians(samples: &[f64], base: &[f64]) -> Interval {
    bootstrap(&[samples, base], |parts| median(&parts[0]) / median(&parts[1]))
}

/// `statistic` of `series` with its 95% interval: each series is resampled by itself.
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
    Interval { estimate, low: sorted_quantile(&found, 0.025), high: sorted_quantile(&found, 0.975) }
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
