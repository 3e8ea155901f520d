//! What the publication left open, answered from the series.

use super::crossover::Crossover;
use super::modular;
use super::published;
use crate::experiments::{Answered, Findings};
use crate::measure::Interval;
use crate::record::{Answer, Effect, Level, Series};
use std::collections::BTreeSet;

/// The published machines' largest common size.
const PUBLISHED_MOST: usize = 384;

pub(super) fn of(findings: &Findings) -> Answered {
    let level = |series: &Series| match series.factor("words") {
        Some(Level::Whole(words)) => Some(*words as usize),
        _ => None,
    };
    let sizes: BTreeSet<usize> = findings.series.iter().filter_map(level).collect();
    let threads = match findings.parameters.get("threads") {
        Some(Level::Whole(threads)) => *threads as usize,
        _ => 2,
    };
    let sizes: Vec<usize> = sizes.into_iter().collect();
    let table = Table { findings, sizes: &sizes, threads };
    let answers = [
        table.crossovers(),
        table.fork_and_join(),
        table.team(),
        table.gain(),
        table.library(),
        table.yardstick(),
        table.today(),
        table.classic(),
    ];
    let answers = answers.into_iter().chain([modular::answer(findings)]).flatten().collect();
    Answered { answers, tables: Vec::new() }
}

struct Table<'a> {
    findings: &'a Findings,
    sizes: &'a [usize],
    threads: usize,
}

/// Who runs the threads, and in which words.
const RUNTIMES: [(&str, &str); 4] = [
    ("pool", "in our pool"),
    ("openmp", "in OpenMP's team (gcc)"),
    ("openmp clang", "in OpenMP's team (clang)"),
    ("spawned", "made for each product"),
];

impl Table<'_> {
    /// The series of this variant at this size; of several numbers of threads that with as many as there are cores.
    fn series(&self, variant: &str, words: usize) -> Option<&Series> {
        let words = ("words", Level::from(words));
        let with_threads = [words.clone(), ("threads", Level::from(self.threads))];
        self.findings.find(variant, &with_threads).or_else(|| self.findings.find(variant, &[words]))
    }

    /// How many times as fast as `base` the variant is at this size, for one product.
    fn speedup(&self, variant: &str, base: &str, words: usize) -> Option<Interval> {
        let (variant, base) = (self.series(variant, words)?, self.series(base, words)?);
        let scale = variant.work.operations as f64 / base.work.operations as f64;
        Some(base.times_as_long_as(variant).scaled(scale))
    }

    /// The size from which on the variant is faster than `base` at every size measured, with the size before it.
    fn crossover(&self, variant: &str, base: &str) -> Option<Crossover> {
        let wins = |&words: &usize| self.speedup(variant, base, words).map(|ratio| ratio.low > 1.0);
        let measured: Vec<usize> = self.sizes.iter().copied().filter(|words| wins(words).is_some()).collect();
        let outcomes: Vec<(usize, bool)> =
            measured.into_iter().map(|words| (words, wins(&words) == Some(true))).collect();
        Crossover::of(&outcomes)
    }

    fn crossovers(&self) -> Option<Answer> {
        let mut effects = Vec::new();
        let mut clauses = Vec::new();
        for (runtime, words) in RUNTIMES {
            for method in ["Mx", "2x"] {
                let variant = format!("{runtime} {method}");
                let Some(found) = self.crossover(&variant, "serial") else { continue };
                clauses.push(format!("{method} {words} {}", found.words()));
                let name = format!("crossover of {variant}");
                effects.extend(found.interval().map(|value| Effect::new(name, value, "words")));
            }
        }
        let mut vector = Vec::new();
        for method in ["Mx", "2x"] {
            let variant = format!("vector pool {method}");
            let Some(found) = self.crossover(&variant, "vector comba") else { continue };
            vector.push(format!("{method} in our pool {}", found.words()));
            let name = format!("crossover of {variant}, in vector registers both");
            effects.extend(found.interval().map(|value| Effect::new(name, value, "words")));
        }
        let beside = if vector.is_empty() {
            String::new()
        } else {
            format!(" With vector registers in both: {}.", vector.join("; "))
        };
        let sentence = format!(
            "On {} threads against plain serial Modified Comba: {} (published with OpenMP: 32 to 128).{beside}",
            self.threads,
            clauses.join("; ")
        );
        let question = "From how many words on do threads inside one product pay?";
        (!clauses.is_empty()).then(|| Answer::measured(question, sentence, effects).as_headline())
    }

    /// What the threads of a product of 3 words cost, where there is hardly any work to share.
    fn fork_and_join(&self) -> Option<Answer> {
        let least = *self.sizes.first()?;
        let serial = self.series("serial", least)?;
        let mut effects = Vec::new();
        let mut clauses = Vec::new();
        for (runtime, words) in RUNTIMES {
            let Some(series) = self.series(&format!("{runtime} Mx"), least) else { continue };
            if !series.took_turns_with(serial) {
                continue;
            }
            let more = |(many, one): (f64, f64)| many - one;
            let more: Vec<f64> = series.walls().into_iter().zip(serial.walls()).map(more).collect();
            let more = Interval::of_rounds(&more);
            clauses.push(format!("{words} {} ns", more.words(0)));
            effects.push(Effect::new(format!("fork and join {words}, {least} words"), more, "ns"));
        }
        let (low, high) = published::shortest_parallel();
        let sentence = format!(
            "No. The published parallel forms take {low:.0} to {high:.0} ns for a product of 3 words, in which no thread can be made: \
             their team stayed, and fork and join were the cost. Measured at {least} words, Mx takes longer than serial by: {}.",
            clauses.join(", ")
        );
        let question =
            "Was it the creation of threads that kept short products from gaining, as the authors thought?";
        (!clauses.is_empty()).then(|| Answer::measured(question, sentence, effects).as_headline())
    }

    /// The number of threads, where more were measured than there are cores.
    fn team(&self) -> Option<Answer> {
        let words = PUBLISHED_MOST;
        let mut counts = BTreeSet::new();
        for series in &self.findings.series {
            if let Some(Level::Whole(threads)) = series.factor("threads") {
                counts.insert(*threads as usize);
            }
        }
        let mut clauses = Vec::new();
        let mut effects = Vec::new();
        for (runtime, name) in RUNTIMES {
            let variant = format!("{runtime} Mx");
            let at = |threads: usize| {
                let factors = [("words", Level::from(words)), ("threads", Level::from(threads))];
                self.findings.find(&variant, &factors)
            };
            let Some(base) = at(self.threads) else { continue };
            for &threads in counts.iter().filter(|&&threads| threads != self.threads) {
                let Some(series) = at(threads) else { continue };
                let ratio = series.times_as_long_as(base);
                clauses.push(format!("{name} {threads} threads {}", ratio.words(2)));
                effects.push(Effect::new(format!("{variant}, {threads} threads"), ratio, "times as long"));
            }
        }
        let sentence = format!(
            "Time of Mx at {words} words in times of that with {} threads: {}.",
            self.threads,
            clauses.join(", ")
        );
        let question = "What do more threads than cores do (published: 8 threads on 4 cores gained most)?";
        (!clauses.is_empty()).then(|| Answer::measured(question, sentence, effects))
    }

    fn gain(&self) -> Option<Answer> {
        let variants =
            RUNTIMES.iter().flat_map(|(runtime, _)| ["Mx", "2x"].map(|method| format!("{runtime} {method}")));
        let at =
            |variant: String| self.speedup(&variant, "serial", PUBLISHED_MOST).map(|ratio| (variant, ratio));
        let found: Vec<(String, Interval)> = variants.filter_map(at).collect();
        let (variant, ratio) =
            found.iter().max_by(|left, right| left.1.estimate.total_cmp(&right.1.estimate))?;
        let sentence = format!(
            "At {PUBLISHED_MOST} words {} threads are at best {} times as fast as one ({variant}); published: up to 2.4 times on 4 cores.",
            self.threads,
            ratio.words(2)
        );
        let effects =
            found.iter().map(|(variant, value)| effect(variant, "serial", PUBLISHED_MOST, *value)).collect();
        Some(Answer::measured("How much do threads inside one product gain?", sentence, effects))
    }

    /// The faster of the builds of GMP at this size.
    fn best_gmp(&self, words: usize) -> Option<&str> {
        let found =
            ["gmp (gmpy2)", "gmp (system)"].into_iter().filter_map(|variant| self.series(variant, words));
        let best =
            found.min_by(|left, right| left.wall.median.estimate.total_cmp(&right.wall.median.estimate));
        best.map(|series| series.variant.as_str())
    }

    fn library(&self) -> Option<Answer> {
        let gmp = self.best_gmp(PUBLISHED_MOST)?;
        let mut effects = Vec::new();
        let mut clauses = Vec::new();
        for base in ["serial", "vector comba", "rows"] {
            let mut at = |words| {
                let ratio = self.speedup(gmp, base, words)?;
                effects.push(effect(gmp, base, words, ratio));
                Some(format!("{} at {words} words", ratio.words(1)))
            };
            let found: Vec<String> = [32, PUBLISHED_MOST, 4096].into_iter().filter_map(&mut at).collect();
            if !found.is_empty() {
                clauses.push(format!("than {} {}", name_of(base), found.join(", ")));
            }
        }
        let beside = self.speedup("flint", gmp, PUBLISHED_MOST).map_or_else(String::new, |ratio| {
            let words =
                format!(" FLINT is {} times as fast as GMP at {PUBLISHED_MOST} words.", ratio.words(2));
            effects.push(effect("flint", gmp, PUBLISHED_MOST, ratio));
            words
        });
        let version = self.findings.versions.get(gmp).map(String::as_str).unwrap_or_default();
        let sentence =
            format!("How many times faster GMP {version} is on one core: {}.{beside}", clauses.join("; "));
        let question = "How far is the published algorithm from a current library on one core?";
        Some(Answer::measured(question, sentence, effects).as_headline())
    }

    /// Our forms beside the fastest published figure, clock for clock.
    fn yardstick(&self) -> Option<Answer> {
        let Some(Level::Number(clock)) = self.findings.parameters.get("clock_gigahertz") else { return None };
        let mut effects = Vec::new();
        let mut clauses = Vec::new();
        for variant in ["serial", "vector comba", "rows"] {
            let at = |&words: &usize| {
                let cycles = (words >= 32).then(|| published::serial_cycles(words)).flatten()?;
                let walls = self.series(variant, words)?.walls();
                let ratios: Vec<f64> = walls.iter().map(|ns| cycles / (ns * clock)).collect();
                Some((words, Interval::of_rounds(&ratios)))
            };
            let all: Vec<(usize, Interval)> = self.sizes.iter().filter_map(at).collect();
            let by = |a: &&(usize, Interval), b: &&(usize, Interval)| a.1.estimate.total_cmp(&b.1.estimate);
            let (Some(least), Some(most)) = (all.iter().min_by(by), all.iter().max_by(by)) else { continue };
            clauses.push(format!(
                "{} from {} ({} words) to {} ({} words)",
                name_of(variant),
                least.1.words(2),
                least.0,
                most.1.words(2),
                most.0
            ));
            effects.extend(all.iter().map(|(words, value)| {
                Effect::new(
                    format!("{variant} against the fastest published, clock for clock, {words} words"),
                    *value,
                    "times as fast",
                )
            }));
        }
        let sentence = format!(
            "Speed for each cycle of the clock ({clock:.2} GHz measured here), in times of the fastest published serial figure of each \
             size from 32 to {PUBLISHED_MOST} words: {}.",
            clauses.join("; ")
        );
        let question = "Is our serial form a fair yardstick beside the published ones?";
        (!clauses.is_empty()).then(|| Answer::measured(question, sentence, effects).as_headline())
    }

    fn today(&self) -> Option<Answer> {
        let mut effects = Vec::new();
        let mut clause = |variant: &str, base: &str| {
            let ratio = self.speedup(variant, base, PUBLISHED_MOST)?;
            effects.push(effect(variant, base, PUBLISHED_MOST, ratio));
            Some(format!("{} {} times as fast as {}", name_of(variant), ratio.words(2), name_of(base)))
        };
        let clauses: Vec<String> = [
            ("lanes", "serial"),
            ("vector comba", "serial"),
            ("rows", "vector comba"),
            ("batch of lanes", "lanes"),
        ]
        .into_iter()
        .filter_map(|(variant, base)| clause(variant, base))
        .collect();
        let sentence = format!("At {PUBLISHED_MOST} words: {}.", clauses.join("; "));
        let question = "Where does the delayed carry pay today?";
        (!clauses.is_empty()).then(|| Answer::measured(question, sentence, effects))
    }
}

impl Table<'_> {
    /// The ways of the textbooks, in words of 32 and 64 bits, all by one compiler.
    fn classic(&self) -> Option<Answer> {
        let base = "modified 32 bits, gcc";
        let mut effects = Vec::new();
        let mut clauses = Vec::new();
        for variant in [
            "schoolbook 32 bits, gcc",
            "comba 32 bits, gcc",
            "schoolbook 64 bits, gcc",
            "comba 64 bits, gcc",
            "modified 64 bits, gcc",
        ] {
            let Some(ratio) = self.speedup(variant, base, PUBLISHED_MOST) else { continue };
            effects.push(effect(variant, base, PUBLISHED_MOST, ratio));
            clauses.push(format!("{} {}", variant.trim_end_matches(", gcc"), ratio.words(2)));
        }
        let sentence = format!(
            "In C on one thread at {PUBLISHED_MOST} words, in times of the speed of Modified Comba in words of 32 bits: {}.",
            clauses.join("; ")
        );
        let question = "What do the delayed carry and the word's width do without threads and vectors?";
        (!clauses.is_empty()).then(|| Answer::measured(question, sentence, effects))
    }
}

/// A variant in words.
fn name_of(variant: &str) -> &str {
    match variant {
        "serial" => "plain serial Modified Comba",
        "vector comba" => "vectorised Modified Comba",
        "rows" => "64-bit rows with Karatsuba above",
        "lanes" => "28-bit digits in vector lanes",
        "batch of lanes" => "a batch of them on all threads",
        other => other,
    }
}

fn effect(variant: &str, base: &str, words: usize, value: Interval) -> Effect {
    Effect::new(format!("{variant} against {base}, {words} words"), value, "times")
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

    fn answers(pool: [u64; 4]) -> Vec<Answer> {
        of(&findings(pool)).answers
    }

    #[test]
    fn the_crossover_is_the_first_size_after_the_last_loss() {
        let sentence = |pool| answers(pool)[0].sentence.clone();
        assert!(
            sentence([900, 950, 2200, 52_000])
                .contains("Mx in our pool pays from 32 words on (not yet at 8)")
        );
        // A win between losses is none.
        assert!(sentence([900, 950, 4200, 52_000]).contains("pays from 384 words on (not yet at 64)"));
        assert!(sentence([900, 2950, 4200, 152_000]).contains("does not pay up to 384 words"));
        assert!(sentence([90, 950, 3200, 52_000]).contains("pays at every size, from 8 words"));
    }

    #[test]
    fn what_was_not_measured_is_not_answered() {
        let answers = answers([900, 950, 2200, 52_000]);
        assert_eq!(answers.len(), 3, "{answers:?}");
        assert!(
            answers[1]
                .sentence
                .contains("at 8 words, Mx takes longer than serial by: in our pool 800 (800 to 800) ns"),
            "{}",
            answers[1].sentence
        );
        assert!(
            answers[2].sentence.contains("1.92 (1.92 to 1.92) times as fast as one (pool Mx)"),
            "{}",
            answers[2].sentence
        );
    }
}
