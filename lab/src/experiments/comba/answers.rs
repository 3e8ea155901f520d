//! What the publication left open, answered from the series.

use crate::experiments::Findings;
use crate::measure::{Interval, ratio_of_medians};
use crate::record::{Answer, Effect, Level, Series};

/// The published machines' largest common size.
const PUBLISHED_MOST: usize = 384;

pub(super) fn of(findings: &Findings, sizes: &[usize], threads: usize) -> Vec<Answer> {
    let table = Table { findings, sizes, threads };
    vec![table.thread_creation(), table.gain(), table.library(), table.today()]
}

struct Table<'a> {
    findings: &'a Findings,
    sizes: &'a [usize],
    threads: usize,
}

impl Table<'_> {
    fn series(&self, variant: &str, words: usize) -> Option<&Series> {
        self.findings.find(variant, &[("words", Level::from(words))])
    }

    /// How many times as fast as `base` the variant is at this size, for one product.
    fn speedup(&self, variant: &str, base: &str, words: usize) -> Option<Interval> {
        let (variant, base) = (self.series(variant, words)?, self.series(base, words)?);
        let scale = variant.work.operations as f64 / base.work.operations as f64;
        let ratio = ratio_of_medians(&base.walls(), &variant.walls());
        Some(Interval { estimate: ratio.estimate * scale, low: ratio.low * scale, high: ratio.high * scale })
    }

    /// The size from which on the variant is faster than `base` at every size measured, with the size before it.
    fn crossover(&self, variant: &str, base: &str) -> Crossover {
        let wins = |&words: &usize| self.speedup(variant, base, words).map(|ratio| ratio.low > 1.0);
        let lost = self.sizes.iter().rposition(|words| wins(words) != Some(true));
        match lost {
            None => Crossover::Always(self.sizes[0]),
            Some(last) if last + 1 == self.sizes.len() => Crossover::Never(self.sizes[last]),
            Some(last) => Crossover::Between(self.sizes[last], self.sizes[last + 1]),
        }
    }

    fn thread_creation(&self) -> Answer {
        let found = [("pool Mx", "spawned Mx"), ("pool 2x", "spawned 2x")].map(|(pool, spawned)| {
            [pool, spawned].map(|variant| (variant, self.crossover(variant, "serial")))
        });
        let sentence = {
            let [[(_, pool), (_, spawned)], _] = &found;
            format!(
                "Mx on {} threads {} if they stay in a pool, and {} if they are made for each product (published with OpenMP: 32 to 128).",
                self.threads,
                pool.words(),
                spawned.words()
            )
        };
        let effect = |(variant, crossover): &(&str, Crossover)| {
            let value = crossover.interval()?;
            Some(Effect { name: format!("crossover of {variant}"), value, unit: "words".into() })
        };
        Answer {
            question: "Was it the creation of threads that kept short products from gaining, as the authors thought?".into(),
            sentence,
            effects: found.iter().flatten().filter_map(effect).collect(),
        }
    }

    fn gain(&self) -> Answer {
        let at = |variant| self.speedup(variant, "serial", PUBLISHED_MOST).map(|ratio| (variant, ratio));
        let found: Vec<(&str, Interval)> =
            ["pool Mx", "pool 2x", "spawned Mx", "spawned 2x"].into_iter().filter_map(at).collect();
        let best = found.iter().max_by(|left, right| left.1.estimate.total_cmp(&right.1.estimate));
        let sentence = match best {
            Some((variant, ratio)) => format!(
                "At {PUBLISHED_MOST} words {} threads are at best {} as fast as one ({variant}); published: up to 2.4 times on 4 cores.",
                self.threads,
                times(ratio)
            ),
            None => "Not measured.".to_owned(),
        };
        let effects = found
            .into_iter()
            .map(|(variant, value)| effect(variant, "serial", PUBLISHED_MOST, value))
            .collect();
        Answer { question: "How much do threads inside one product gain?".into(), sentence, effects }
    }

    /// The faster of the builds of GMP at this size.
    fn best_gmp(&self, words: usize) -> Option<&str> {
        let found =
            ["gmp (gmpy2)", "gmp (system)"].into_iter().filter_map(|variant| self.series(variant, words));
        let best =
            found.min_by(|left, right| left.wall.median.estimate.total_cmp(&right.wall.median.estimate));
        best.map(|series| series.variant.as_str())
    }

    fn library(&self) -> Answer {
        let question = "How far is the published algorithm from a current library on one core?".to_owned();
        let Some(gmp) = self.best_gmp(PUBLISHED_MOST) else {
            let sentence =
                "Not measured: no build of GMP was found (the record's notes say what to install)."
                    .to_owned();
            return Answer { question, sentence, effects: Vec::new() };
        };
        let at = |words| self.speedup(gmp, "serial", words).map(|ratio| (words, ratio));
        let found: Vec<(usize, Interval)> = [32, PUBLISHED_MOST, 4096].into_iter().filter_map(at).collect();
        let clauses: Vec<String> =
            found.iter().map(|(words, ratio)| format!("{} as fast at {words} words", times(ratio))).collect();
        let against = self.speedup(gmp, "pool Mx", PUBLISHED_MOST);
        let beside = against
            .map(|ratio| {
                format!(
                    "; at {PUBLISHED_MOST} words it is {} as fast as {} threads of Mx",
                    times(&ratio),
                    self.threads
                )
            })
            .unwrap_or_default();
        let mut effects: Vec<Effect> =
            found.into_iter().map(|(words, value)| effect(gmp, "serial", words, value)).collect();
        effects.extend(against.map(|value| effect(gmp, "pool Mx", PUBLISHED_MOST, value)));
        let version = self.findings.versions.get(gmp).map(String::as_str).unwrap_or_default();
        let sentence = format!("GMP {version} on one core is {}{beside}.", clauses.join(", "));
        Answer { question, sentence, effects }
    }

    fn today(&self) -> Answer {
        let question = "Where does the delayed carry pay today?".to_owned();
        let mut effects = Vec::new();
        let mut clause = |variant: &str, base: &str, words: usize| {
            let ratio = self.speedup(variant, base, words)?;
            effects.push(effect(variant, base, words, ratio));
            Some(times(&ratio))
        };
        let one = clause("lanes", "serial", PUBLISHED_MOST);
        let many = clause("batch of lanes", "lanes", PUBLISHED_MOST);
        let gmp = self.best_gmp(PUBLISHED_MOST).and_then(|gmp| clause("lanes", gmp, PUBLISHED_MOST));
        let sentence = match (one, many) {
            (Some(one), Some(many)) => format!(
                "In vector registers: with 28-bit digits one core is {one} as fast as serial at {PUBLISHED_MOST} words{}, and {} threads over a batch of such products are {many} as fast again.",
                gmp.map(|ratio| format!(" ({ratio} as fast as GMP)")).unwrap_or_default(),
                self.threads
            ),
            _ => "Not measured.".to_owned(),
        };
        Answer { question, sentence, effects }
    }
}

/// From which size on a variant is the faster one.
enum Crossover {
    Always(usize),
    Between(usize, usize),
    Never(usize),
}

impl Crossover {
    fn words(&self) -> String {
        match self {
            Crossover::Always(least) => format!("pays at every size, from {least} words"),
            Crossover::Between(lost, won) => format!("pays from {won} words on (not yet at {lost})"),
            Crossover::Never(most) => format!("does not pay up to {most} words"),
        }
    }

    fn interval(&self) -> Option<Interval> {
        match *self {
            Crossover::Always(least) => Some(Interval::exact(least as f64)),
            Crossover::Between(lost, won) => {
                Some(Interval { estimate: won as f64, low: lost as f64, high: won as f64 })
            }
            Crossover::Never(_) => None,
        }
    }
}

fn effect(variant: &str, base: &str, words: usize, value: Interval) -> Effect {
    Effect { name: format!("{variant} against {base}, {words} words"), value, unit: "times".into() }
}

fn times(ratio: &Interval) -> String {
    format!("{:.2} times ({:.2} to {:.2})", ratio.estimate, ratio.low, ratio.high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::factors;
    use crate::record::{Clock, Evidence, Oracle, Sample, Work};

    fn findings(pool: [u64; 4]) -> Findings {
        let mut findings = Findings::default();
        for (words, (serial, pool)) in
            [8_usize, 32, 64, 384].into_iter().zip([100, 1000, 4000, 100_000].into_iter().zip(pool))
        {
            for (variant, nanoseconds) in [("serial", serial), ("pool Mx", pool)] {
                let samples = (0..9)
                    .map(|step| Sample { wall_ns: 10 * nanoseconds + step, cpu_ns: 1, repeats: 10 })
                    .collect();
                let evidence = Evidence::compare(Oracle("the test"), b"a", b"a").unwrap();
                let work = Work { bytes: 1, operations: 1 };
                findings.series.push(Series::new(
                    variant,
                    factors([("words", words.into())]),
                    work,
                    Clock::Process,
                    samples,
                    evidence,
                ));
            }
        }
        findings
    }

    fn sentence(pool: [u64; 4]) -> String {
        let findings = findings(pool);
        of(&findings, &[8, 32, 64, 384], 2)[0].sentence.clone()
    }

    #[test]
    fn the_crossover_is_the_first_size_after_the_last_loss() {
        assert!(
            sentence([900, 950, 2200, 52_000]).contains("2 threads pays from 32 words on (not yet at 8) if")
        );
        // A win between losses is none.
        assert!(sentence([900, 950, 4200, 52_000]).contains("pays from 384 words on (not yet at 64)"));
        assert!(sentence([900, 2950, 4200, 152_000]).contains("does not pay up to 384 words"));
        assert!(sentence([90, 950, 3200, 52_000]).contains("pays at every size, from 8 words"));
    }

    #[test]
    fn what_is_missing_is_called_so() {
        let answers = of(&findings([900, 950, 2200, 52_000]), &[8, 32, 64, 384], 2);
        assert!(answers[2].sentence.contains("no build of GMP"), "{}", answers[2].sentence);
        assert!(answers[1].sentence.contains("1.92 times"), "{}", answers[1].sentence);
    }
}
