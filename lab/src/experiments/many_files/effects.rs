//! Main effects of a factorial design: what changing one factor alone does, over all levels of the others.

use crate::measure::{Interval, bootstrap, median};
use crate::record::{Factors, Level, Series};
use std::collections::BTreeMap;

/// How many times as long runs take when `factor` goes from `base` to `level`, all else the same: the geometric mean
/// over every pair of series that differ in this factor alone, with its 95% interval. `None` if there is no such pair.
pub(super) fn main_effect<'s>(
    series: impl Iterator<Item = &'s Series>,
    factor: &str,
    base: &str,
    level: &str,
) -> Option<Interval> {
    let mut pairs: BTreeMap<String, [Option<Vec<f64>>; 2]> = BTreeMap::new();
    for series in series {
        let Some(Level::Name(name)) = series.factor(factor) else { continue };
        let place = match name {
            name if name == base => 0,
            name if name == level => 1,
            _ => continue,
        };
        pairs.entry(others(&series.factors, factor)).or_default()[place] = Some(series.walls());
    }
    let pairs: Vec<[Vec<f64>; 2]> =
        pairs.into_values().filter_map(|[base, level]| Some([base?, level?])).collect();
    if pairs.is_empty() {
        return None;
    }
    let flat: Vec<&[f64]> = pairs.iter().flatten().map(Vec::as_slice).collect();
    let count = pairs.len() as f64;
    Some(bootstrap(&flat, |parts| {
        let sum: f64 = parts.chunks(2).map(|pair| (median(&pair[1]) / median(&pair[0])).ln()).sum();
        (sum / count).exp()
    }))
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
        assert!((runtime.estimate - 1.5).abs() < 0.01 && runtime.excludes(1.0), "{runtime:?}");
        let buffer = main_effect(design.iter(), "buffer", "fixed", "whole").unwrap();
        assert!((buffer.estimate - 0.8).abs() < 0.01 && buffer.excludes(1.0), "{buffer:?}");
        assert_eq!(main_effect(design.iter(), "runtime", "spawned", "no-such"), None);
    }
}
