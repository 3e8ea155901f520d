//! A contest: variants that do the same work take turns.
//!
//! ```text
//! each contestant: result ─> compared with the oracle's ─> warm-up
//!                                └ differs: excluded, with its reason
//! rounds: a random order, then the same order reversed:  B A C   C A B   A C B   B C A  …
//! ```

use super::{HostWatch, Random, Stopwatch};
use crate::record::{Clock, Evidence, Excluded, Factors, Oracle, Sample, Series, Work};
use std::rc::Rc;

/// A variant that can be timed.
pub trait Contestant {
    /// Does the work once, on fresh input, and hands over everything that came out.
    ///
    /// # Errors
    /// If it cannot; the variant is then excluded.
    fn result(&mut self) -> anyhow::Result<Vec<u8>>;

    /// Does the same work and times it.
    ///
    /// # Errors
    /// If it cannot; the variant is then excluded.
    fn turn(&mut self) -> anyhow::Result<Sample>;
}

impl<C: Contestant + ?Sized> Contestant for Box<C> {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        (**self).result()
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        (**self).turn()
    }
}

/// A contestant with its name, and what its result must be.
pub struct Entrant<'a> {
    /// The variant's name.
    pub variant: String,
    /// The levels of its factors.
    pub factors: Factors,
    /// What one repeat does.
    pub work: Work,
    /// Whose processor time its turns tell.
    pub clock: Clock,
    /// Who says what is right.
    pub oracle: Oracle,
    /// What is right.
    pub expected: Rc<[u8]>,
    /// The variant itself.
    pub contestant: Box<dyn Contestant + 'a>,
}

/// What a contest gives.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One for each variant that is right, in the order in which they entered.
    pub series: Vec<Series>,
    /// Those that are not, or could not run.
    pub excluded: Vec<Excluded>,
}

/// How a contest is held.
#[derive(Debug, Clone, Copy)]
pub struct Contest {
    /// Turns of each that are not recorded.
    pub warm_ups: usize,
    /// Turns of each that are.
    pub rounds: usize,
    /// Of the order.
    pub seed: u64,
}

impl Contest {
    /// Holds it. `tick` is called after each recorded turn.
    pub fn hold(&self, entrants: Vec<Entrant<'_>>, mut tick: impl FnMut()) -> Outcome {
        let mut excluded = Vec::new();
        let mut admitted = Vec::new();
        for mut entrant in entrants {
            let ready = entrant.check().and_then(|evidence| {
                (0..self.warm_ups).try_for_each(|_| entrant.turn().map(drop)).map(|()| evidence)
            });
            match ready {
                Ok(evidence) => admitted.push(Some((entrant, evidence, Vec::new(), Vec::new()))),
                Err(out) => excluded.push(out),
            }
        }
        for (_, index) in Order::new(self.seed, admitted.len(), self.rounds) {
            if let Some((entrant, _, samples, hosts)) = &mut admitted[index] {
                let host = HostWatch::start();
                match entrant.turn() {
                    Ok(sample) => {
                        samples.push(sample);
                        hosts.push(host.stop());
                    }
                    Err(out) => {
                        excluded.push(out);
                        admitted[index] = None;
                    }
                }
            }
            tick();
        }
        let series = admitted
            .into_iter()
            .flatten()
            .map(|(entrant, evidence, samples, hosts)| {
                let Entrant { variant, factors, work, clock, .. } = entrant;
                let mut series = Series::new(&variant, factors, work, clock, samples, evidence);
                // Without a delay there is nothing to lay at the host's door, and records are large enough.
                if series.wall.anomalous > 0 {
                    series.host = hosts;
                }
                series
            })
            .collect();
        Outcome { series, excluded }
    }
}

impl Entrant<'_> {
    fn check(&mut self) -> Result<Evidence, Excluded> {
        let actual = self.contestant.result().map_err(|error| self.out(false, format!("{error:#}")))?;
        Evidence::compare(self.oracle, &self.expected, &actual)
            .map_err(|wrong| self.out(true, wrong.to_string()))
    }

    fn turn(&mut self) -> Result<Sample, Excluded> {
        self.contestant.turn().map_err(|error| self.out(false, format!("{error:#}")))
    }

    fn out(&self, was_wrong: bool, reason: String) -> Excluded {
        Excluded { variant: self.variant.clone(), factors: self.factors.clone(), was_wrong, reason }
    }
}

/// Who takes the next turn: the round, and the number of the one whose turn it is. Each has one turn a round.
#[derive(Debug)]
pub struct Order {
    random: Random,
    order: Vec<usize>,
    rounds: usize,
    round: usize,
    at: usize,
}

impl Order {
    /// The order of so many, for so many rounds.
    #[must_use]
    pub fn new(seed: u64, count: usize, rounds: usize) -> Order {
        let mut random = Random::new(seed);
        let mut order: Vec<usize> = (0..count).collect();
        random.shuffle(&mut order);
        Order { random, order, rounds, round: 0, at: 0 }
    }
}

impl Iterator for Order {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        if self.at == self.order.len() {
            self.at = 0;
            self.round += 1;
            if self.round.is_multiple_of(2) {
                self.random.shuffle(&mut self.order)
            } else {
                self.order.reverse()
            }
        }
        if self.round >= self.rounds {
            return None;
        }
        self.at += 1;
        Some((self.round, *self.order.get(self.at - 1)?))
    }
}

/// A contestant in this process that repeats its work until a turn is long enough to be timed.
pub struct Repeated<S, R, P> {
    state: S,
    result: R,
    pass: P,
    clock: Clock,
    turn_ns: u64,
    repeats: u64,
}

impl<S, R, P> Repeated<S, R, P>
where
    R: FnMut(&mut S) -> Vec<u8>,
    P: FnMut(&mut S),
{
    /// `pass` does the work once on `state`; `result` does it on fresh input and gives what came out. A turn lasts at
    /// least `turn_ns` nanoseconds of wall time, and at least one pass.
    pub fn new(clock: Clock, turn_ns: u64, state: S, result: R, pass: P) -> Repeated<S, R, P> {
        Repeated { state, result, pass, clock, turn_ns, repeats: 0 }
    }

    fn timed(&mut self, repeats: u64) -> Sample {
        let watch = Stopwatch::start(self.clock);
        for _ in 0..repeats {
            (self.pass)(&mut self.state);
        }
        watch.stop(repeats)
    }

    /// How many passes make a turn, by doubling.
    fn calibrate(&mut self) -> u64 {
        let mut repeats = 1;
        loop {
            let sample = self.timed(repeats);
            if sample.wall_ns >= self.turn_ns / 2 {
                let wanted = self.turn_ns as f64 / sample.wall().max(1.0);
                return (wanted.round() as u64).max(1);
            }
            repeats *= 2;
        }
    }
}

impl<S, R, P> Contestant for Repeated<S, R, P>
where
    R: FnMut(&mut S) -> Vec<u8>,
    P: FnMut(&mut S),
{
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        Ok((self.result)(&mut self.state))
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        if self.repeats == 0 {
            self.repeats = self.calibrate();
        }
        Ok(self.timed(self.repeats))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrant(name: &str, makes: &'static [u8]) -> Entrant<'static> {
        let pass = |count: &mut u64| *count = std::hint::black_box(*count + 1);
        Entrant {
            variant: name.to_owned(),
            factors: Factors::new(),
            work: Work { bytes: 3, operations: 1 },
            clock: Clock::Thread,
            oracle: Oracle("the test"),
            expected: Rc::from(&b"abc"[..]),
            contestant: Box::new(Repeated::new(Clock::Thread, 1000, 0, |_| makes.to_vec(), pass)),
        }
    }

    #[test]
    fn a_wrong_result_is_never_timed() {
        let mut turns = 0;
        let contest = Contest { warm_ups: 1, rounds: 4, seed: 1 };
        let outcome = contest.hold(vec![entrant("right", b"abc"), entrant("wrong", b"abd")], || turns += 1);
        assert_eq!(outcome.series.len(), 1);
        assert_eq!(
            (outcome.series[0].variant.as_str(), outcome.series[0].samples.len(), turns),
            ("right", 4, 4)
        );
        assert_eq!(outcome.series[0].check().oracle(), "the test");
        let out = &outcome.excluded[0];
        assert!(out.was_wrong && out.variant == "wrong" && out.reason.contains("byte 2"), "{out:?}");
    }

    struct Failing(usize);

    impl Contestant for Failing {
        fn result(&mut self) -> anyhow::Result<Vec<u8>> {
            Ok(b"abc".to_vec())
        }

        fn turn(&mut self) -> anyhow::Result<Sample> {
            self.0 += 1;
            anyhow::ensure!(self.0 < 3, "out of breath");
            Ok(Sample { wall_ns: 1, cpu_ns: 1, repeats: 1 })
        }
    }

    #[test]
    fn one_that_fails_on_the_way_does_not_stop_the_others() {
        let failing = Entrant { contestant: Box::new(Failing(0)), ..entrant("failing", b"") };
        let outcome =
            Contest { warm_ups: 0, rounds: 5, seed: 2 }.hold(vec![failing, entrant("right", b"abc")], || ());
        assert_eq!(outcome.series.len(), 1);
        assert_eq!(outcome.series[0].samples.len(), 5);
        assert_eq!(
            (outcome.excluded[0].was_wrong, outcome.excluded[0].reason.as_str()),
            (false, "out of breath")
        );
    }

    /// Every tenth turn takes a hundred times as long.
    struct Halting(u64);

    impl Contestant for Halting {
        fn result(&mut self) -> anyhow::Result<Vec<u8>> {
            Ok(b"abc".to_vec())
        }

        fn turn(&mut self) -> anyhow::Result<Sample> {
            self.0 += 1;
            let wall_ns = if self.0.is_multiple_of(10) { 100 } else { 1 };
            Ok(Sample { wall_ns, cpu_ns: 1, repeats: 1 })
        }
    }

    #[test]
    fn what_the_host_did_is_kept_where_a_run_was_delayed() {
        let halting = Entrant { contestant: Box::new(Halting(0)), ..entrant("halting", b"") };
        let smooth = Entrant { contestant: Box::new(Failing(usize::MAX / 2)), ..entrant("smooth", b"") };
        let contest = Contest { warm_ups: 0, rounds: 20, seed: 3 };
        let outcome = contest.hold(vec![halting, smooth], || ());
        assert_eq!(outcome.series.len(), 1, "the other fails at once");
        assert_eq!(outcome.series[0].host.len(), 20);
        let right = contest.hold(vec![entrant("right", b"abc")], || ()).series.remove(0);
        assert_eq!(right.host.is_empty(), right.wall.anomalous == 0);
    }

    #[test]
    fn every_second_round_is_the_mirror_of_the_one_before() {
        let order: Vec<usize> = Order::new(9, 5, 4).map(|(_, index)| index).collect();
        assert_eq!(order.len(), 20);
        assert!(Order::new(9, 5, 4).map(|(round, _)| round).eq((0..20).map(|turn| turn / 5)));
        for pair in order.chunks(10) {
            let mirrored: Vec<usize> = pair[5..].iter().rev().copied().collect();
            assert_eq!(pair[..5], mirrored);
        }
        assert_ne!(order[..5], order[10..15], "pairs of rounds have orders of their own");
        assert_eq!(Order::new(9, 0, 4).count(), 0);
    }
}
