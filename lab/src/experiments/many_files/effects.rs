//! Main effects of a factorial design: what changing one factor alone does, over all levels of the others.

use crate::measure::{Interval, probability_of_signs};
use crate::record::{Factors, Level, Series};
use std::collections::BTreeMap;

/// What one step of a factor does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MainEffect {
    /// How many times as long runs take: the median over the rounds.
    pub(super) value: Interval,
    /// The probability that it is chance, by the pairs' signs; not corrected for other tests.
    pub(super) probability: f64,
}

/// How many times as long runs take when `factor` goes from `base` to `level`, all else the same: in each round the
/// geometric mean over every pair of series that differ in this factor alone. `None` if there is no such pair.
pub(super) fn main_effect<'s>(
    series: impl Iterator<Item = &'s Series>,
    factor: &str,
    base: &str,
    level: &str,
) -> Option<MainEffect> {
    let mut pairs: BTreeMap<String, [Option<&Series>; 2]> = BTreeMap::new();
    for series in series {
        let Some(Level::Name(name)) = series.factor(factor) else { continue };
        let place = match name {
            name if name == base => 0,
            name if name == level => 1,
            _ => continue,
        };
        pairs.entry(others(&series.factors, factor)).or_default()[place] = Some(series);
    }
    // Logarithms of the ratio, for each pair and round.
    let differences: Vec<Vec<f64>> = pairs
        .into_values()
        .filter_map(|[base, level]| Some((base?, level?)))
        .filter(|(base, level)| base.took_turns_with(level))
        .map(|(base, level)| {
            level.walls().iter().zip(base.walls()).map(|(level, base)| (level / base).ln()).collect()
        })
        .collect();
    let rounds = differences.iter().map(Vec::len).min()?;
    let of_round = |round| {
        let sum: f64 = differences.iter().map(|pair: &Vec<f64>| pair[round]).sum();
        (sum / differences.len() as f64).exp()
    };
    let of_pair = |pair: &Vec<f64>| pair[..rounds].iter().sum::<f64>();
    Some(MainEffect {
        value: Interval::of_rounds(&(0..rounds).map(of_round).collect::<Vec<_>>()),
        probability: probability_of_signs(&differences.iter().map(of_pair).collect::<Vec<_>>()),
    })
}

fn others(factors: &Factors, factor: &str) -> String {
    let rest = factors.iter().filter(|(name, _)| *name != factor);
    rest.map(|(name, level)| format!("{name}={level};")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Clock, Evidence, Oracle, Sample, Work};

    /// A run takes 1 ms; with `openmp` 1.5 times, with `whole` 0.8 times as long, whatever the other is.
    fn design() -> Vec<Series> {
        let mut all = Vec::new();
        for (runtime, times) in [("spawned", 1.0), ("openmp", 1.5)] {
            for (buffer, more) in [("fixed", 1.0), ("whole", 0.8)] {
                let factors =
                    super::super::super::factors([("runtime", runtime.into()), ("buffer", buffer.into())]);
                let sample = |noise: u64| Sample {
                    wall_ns: (1e6 * times * more) as u64 + 1000 * noise,
                    cpu_ns: 1,
                    repeats: 1,
                };
                let check = Evidence::compare(Oracle("the test"), b"x", b"x").unwrap();
                let samples = (0..9).map(sample).collect();
                all.push(Series::new("v", factors, Work::default(), Clock::Process, samples, check));
            }
        }
        all
    }

    #[test]
    fn a_known_effect_is_found_whatever_the_other_factor_is() {
        let design = design();
        let runtime = main_effect(design.iter(), "runtime", "spawned", "openmp").unwrap();
        assert!((runtime.value.estimate - 1.5).abs() < 0.01 && runtime.value.excludes(1.0), "{runtime:?}");
        // Two pairs alike: half of all signs are as far from nothing, so that two pairs prove nothing.
        assert!((0.45..0.55).contains(&runtime.probability), "{runtime:?}");
        let buffer = main_effect(design.iter(), "buffer", "fixed", "whole").unwrap();
        assert!((buffer.value.estimate - 0.8).abs() < 0.01 && buffer.value.excludes(1.0), "{buffer:?}");
        assert_eq!(main_effect(design.iter(), "runtime", "spawned", "no-such"), None);
    }
}
