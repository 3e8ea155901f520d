//! Whether an effect may be chance: tests by chance itself, without a distribution assumed, and Holm's correction where
//! several are made.

use super::Random;

/// How often chance is tried.
const TRIALS: usize = 9_999;

/// The probability that the mean of these differences (of logarithms, one for each pair) is as far from 0 or farther if
/// each pair's sign is chance. At least 1 in 10,000.
#[must_use]
pub fn probability_of_signs(differences: &[f64]) -> f64 {
    let size = |sum: f64| sum.abs();
    let found = size(differences.iter().sum());
    let mut random = Random::new(0x51675);
    let as_far = |_: &usize| {
        let sum = differences.iter().map(|value| if random.below(2) == 0 { *value } else { -value }).sum();
        size(sum) >= found * (1.0 - 1e-12)
    };
    (1 + (0..TRIALS).filter(as_far).count()) as f64 / (1 + TRIALS) as f64
}

/// The probability that the hits of these groups (`(runs, hits)`) differ as much or more if every run is as likely to be
/// hit as any other. At least 1 in 10,000.
#[must_use]
pub fn probability_of_counts(groups: &[(usize, usize)]) -> f64 {
    let runs: usize = groups.iter().map(|group| group.0).sum();
    let hits: usize = groups.iter().map(|group| group.1).sum();
    let expected = |group: usize| (hits * groups[group].0) as f64 / runs.max(1) as f64;
    let distance = |found: &[usize]| -> f64 {
        let squares = found.iter().enumerate().filter(|(group, _)| groups[*group].0 > 0);
        squares
            .map(|(group, &hits)| (hits as f64 - expected(group)).powi(2) / expected(group).max(1e-300))
            .sum()
    };
    if hits == 0 || hits == runs {
        return 1.0;
    }
    let found = distance(&groups.iter().map(|group| group.1).collect::<Vec<_>>());
    // Group of each run; the first `hits` of a shuffle are hit.
    let mut owners: Vec<usize> =
        groups.iter().enumerate().flat_map(|(group, &(runs, _))| std::iter::repeat_n(group, runs)).collect();
    let mut random = Random::new(0xc0471);
    let as_far = |_: &usize| {
        let mut hit = vec![0; groups.len()];
        for place in 0..hits {
            owners.swap(place, place + random.below(runs - place));
            hit[owners[place]] += 1;
        }
        distance(&hit) >= found * (1.0 - 1e-12)
    };
    (1 + (0..TRIALS).filter(as_far).count()) as f64 / (1 + TRIALS) as f64
}

/// The same probabilities for a family of tests: corrected so that any false finding among them is as unlikely as each says
/// (Holm 1979).
#[must_use]
pub fn correct_by_holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&left, &right| probabilities[left].total_cmp(&probabilities[right]));
    let mut corrected = vec![1.0; probabilities.len()];
    let mut least: f64 = 0.0;
    for (rank, &test) in order.iter().enumerate() {
        least = least.max((probabilities[test] * (probabilities.len() - rank) as f64).min(1.0));
        corrected[test] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_s_correction_is_that_of_r() {
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
        let corrected = correct_by_holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(
            corrected.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-12),
            "{corrected:?}"
        );
    }

    #[test]
    fn differences_of_one_sign_are_no_chance_and_balanced_ones_are() {
        let same: Vec<f64> = (1..=12).map(|step| 0.1 + f64::from(step) / 100.0).collect();
        // All of 12 signs alike: 2 in 4096.
        assert!(probability_of_signs(&same) < 0.002);
        let balanced: Vec<f64> =
            same.iter().enumerate().map(|(at, value)| if at % 2 == 0 { *value } else { -value }).collect();
        assert!(probability_of_signs(&balanced) > 0.5);
    }

    #[test]
    fn counts_are_tested_as_fisher_does() {
        // Fisher's tea: 4 and 4 cups, 3 and 1 told; both sides, R: fisher.test gives 0.4857.
        let tea = probability_of_counts(&[(4, 3), (4, 1)]);
        assert!((tea - 0.4857).abs() < 0.02, "{tea}");
        assert!(probability_of_counts(&[(100, 20), (100, 0)]) < 0.001);
        assert_eq!(probability_of_counts(&[(10, 0), (10, 0)]), 1.0);
    }
}
