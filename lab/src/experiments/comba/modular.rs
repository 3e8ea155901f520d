//! What the publication names as future work: modular products, and a curve. Montgomery multiplication by the same columns with a
//! delayed carry, and X25519 over a field of 28-bit digits, one scalar multiplication at a time, in vector lanes, and on threads; beside
//! OpenSSL and AWS-LC.

use super::timed::Timed;
use crate::experiments::{Context, Findings, factors};
use crate::external::{Server, Source};
use crate::measure::{Contest, Contestant, Entrant, Random, Repeated};
use crate::record::{Answer, Clock, Effect, Level, Oracle, Series, Work};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use cipherloom_bignum::curve::{multiply, multiply_all};
use cipherloom_bignum::montgomery::Modulus;
use num_bigint::BigUint;
use std::cell::RefCell;
use std::hint::black_box;
use std::process::Command;
use std::rc::Rc;

const PROGRAM: Source = Source {
    name: "curve",
    text: include_str!("../../../peers/curve.c"),
    headers: &[],
    flags: &["-lcrypto"],
    packages: "gcc and libssl-dev",
};

const NUM_BIGINT: Oracle = Oracle("num-bigint");
const AWS_LC: Oracle = Oracle("AWS-LC");

/// 256, 1024 and 2048 bits.
const WORDS: [usize; 3] = [8, 32, 64];
/// Scalar multiplications of a batch.
const BATCH: usize = 64;

const MONTGOMERY: &str = "montgomery";
const CURVE: &str = "x25519";
const OPENSSL: &str = "OpenSSL";
const COLUMNS: &str = "Montgomery by modified Comba";
const ONE: &str = "one lane";
const LANES: &str = "lanes";
const ON_THREADS: &str = "lanes on threads";

pub(super) fn hold(
    threads: usize,
    turn_ns: u64,
    context: &mut Context,
    findings: &mut Findings,
) -> anyhow::Result<()> {
    let server = PROGRAM.compile("cc", &context.scratch).and_then(|program| {
        let started = Server::start("OpenSSL's modular arithmetic", &mut Command::new(program));
        started.map_err(|error| format!("{error:#}"))
    });
    let server = match server {
        Ok(server) => Some(Rc::new(RefCell::new(server))),
        Err(reason) => {
            findings.notes.push(format!("modular arithmetic is not measured beside OpenSSL: {reason}"));
            None
        }
    };
    let rounds = context.by_extent(9, 41);
    let mut random = Random::new(context.seed + 5);
    for words in WORDS {
        let entrants = products(words, turn_ns, server.as_ref(), &mut random);
        let contest = Contest { warm_ups: 1, rounds, seed: context.seed };
        context.hold(contest, &format!("Montgomery products of {words} words"), entrants, findings);
    }
    let entrants = curve(threads, turn_ns, server.as_ref(), &mut random)?;
    context.hold(Contest { warm_ups: 1, rounds, seed: context.seed }, "X25519", entrants, findings);
    Ok(())
}

fn products(
    words: usize,
    turn_ns: u64,
    server: Option<&Rc<RefCell<Server>>>,
    random: &mut Random,
) -> Vec<Entrant<'static>> {
    let mut number = || -> Vec<u32> { (0..words).map(|_| random.next_word() as u32).collect() };
    let (mut modulus, mut a, mut b) = (number(), number(), number());
    modulus[0] |= 1;
    modulus[words - 1] |= 1 << 31;
    // Below the modulus.
    [&mut a, &mut b].into_iter().for_each(|factor| factor[words - 1] &= i32::MAX as u32);
    let [m, left, right] = [&modulus, &a, &b].map(|number| BigUint::from_slice(number));
    // 2^(32 n) has an inverse modulo an odd number.
    let expected =
        (&left * &right * (BigUint::from(1_u32) << (32 * words)).modinv(&m).unwrap_or_default()) % &m;
    let mut expected = expected.to_bytes_le();
    expected.resize(4 * words, 0);
    let expected: Rc<[u8]> = expected.into();
    let enter = |variant: &str, contestant: Box<dyn Contestant>| Entrant {
        variant: variant.to_owned(),
        factors: factors([("task", MONTGOMERY.into()), ("modulus_words", words.into())]),
        work: Work { bytes: 8 * words as u64, operations: 1 },
        clock: Clock::Process,
        oracle: NUM_BIGINT,
        expected: Rc::clone(&expected),
        contestant,
    };
    let state = (Modulus::new(&modulus), a, b, vec![0_u32; words]);
    let pass = |(modulus, a, b, result): &mut (Modulus, Vec<u32>, Vec<u32>, Vec<u32>)| {
        modulus.multiply(black_box(a), black_box(b), result);
        black_box(result);
    };
    let result = move |state: &mut (Modulus, Vec<u32>, Vec<u32>, Vec<u32>)| {
        pass(state);
        state.3.iter().flat_map(|word| word.to_le_bytes()).collect()
    };
    let mut entrants =
        vec![enter(COLUMNS, Box::new(Repeated::new(Clock::Process, turn_ns, state, result, pass)))];
    if let Some(server) = server {
        let order = format!("montgomery {left:x} {right:x} {m:x}");
        entrants.push(enter(OPENSSL, Box::new(Timed::new(server, vec![order], turn_ns))));
    }
    entrants
}

type Bytes = [u8; 32];

fn curve(
    threads: usize,
    turn_ns: u64,
    server: Option<&Rc<RefCell<Server>>>,
    random: &mut Random,
) -> anyhow::Result<Vec<Entrant<'static>>> {
    let mut numbers = || -> Vec<Bytes> {
        let mut numbers = vec![[0; 32]; BATCH];
        numbers.iter_mut().for_each(|number| random.fill(number));
        numbers
    };
    let (scalars, points) = (numbers(), numbers());
    let expected: Vec<Bytes> = scalars
        .iter()
        .zip(&points)
        .map(|(scalar, point)| by_aws_lc(scalar, point))
        .collect::<Result<_, _>>()?;
    let enter = |variant: &str, threads: usize, operations: usize, contestant: Box<dyn Contestant>| Entrant {
        variant: variant.to_owned(),
        factors: factors([("task", CURVE.into()), ("threads", threads.into())]),
        work: Work { bytes: 64 * operations as u64, operations: operations as u64 },
        clock: Clock::Process,
        oracle: AWS_LC,
        expected: expected[..operations].concat().into(),
        contestant,
    };
    let batch = |threads: usize| -> Box<dyn Contestant> {
        let state = (scalars.clone(), points.clone(), vec![[0; 32]; BATCH]);
        let pass = move |(scalars, points, products): &mut (Vec<Bytes>, Vec<Bytes>, Vec<Bytes>)| {
            multiply_all(threads, black_box(scalars), black_box(points), products);
            black_box(products);
        };
        let result = move |state: &mut (Vec<Bytes>, Vec<Bytes>, Vec<Bytes>)| {
            pass(state);
            state.2.concat()
        };
        Box::new(Repeated::new(Clock::Process, turn_ns, state, result, pass))
    };
    let single = |work: fn(&Bytes, &Bytes) -> anyhow::Result<Bytes>| -> Box<dyn Contestant> {
        let result =
            move |(scalar, point): &mut (Bytes, Bytes)| work(scalar, point).unwrap_or_default().to_vec();
        let pass = move |(scalar, point): &mut (Bytes, Bytes)| {
            // What it refuses was found out before it is timed.
            let _ = black_box(work(black_box(scalar), black_box(point)));
        };
        Box::new(Repeated::new(Clock::Process, turn_ns, (scalars[0], points[0]), result, pass))
    };
    let mut entrants = vec![
        enter(ONE, 1, 1, single(|scalar, point| Ok(multiply(scalar, point)))),
        enter(LANES, 1, BATCH, batch(1)),
        enter(ON_THREADS, threads, BATCH, batch(threads)),
    ];
    // AWS-LC cannot vouch for itself.
    let mut aws_lc = enter("AWS-LC", 1, 1, single(by_aws_lc));
    aws_lc.oracle = Oracle("cipherloom-bignum");
    aws_lc.expected = multiply(&scalars[0], &points[0]).to_vec().into();
    entrants.push(aws_lc);
    if let Some(server) = server {
        let digits = |bytes: &Bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let order = format!("{CURVE} {} {}", digits(&scalars[0]), digits(&points[0]));
        entrants.push(enter(OPENSSL, 1, 1, Box::new(Timed::new(server, vec![order], turn_ns))));
    }
    Ok(entrants)
}

fn by_aws_lc(scalar: &Bytes, point: &Bytes) -> anyhow::Result<Bytes> {
    let refused = |_| anyhow::anyhow!("AWS-LC refuses the key");
    let own = PrivateKey::from_private_key(&X25519, scalar).map_err(refused)?;
    let theirs = UnparsedPublicKey::new(&X25519, point);
    agree(&own, theirs, anyhow::anyhow!("AWS-LC refuses the point"), |secret| {
        secret.try_into().map_err(|_| anyhow::anyhow!("a secret has 32 bytes"))
    })
}

fn find<'f>(findings: &'f Findings, variant: &str, task: &str, words: Option<usize>) -> Option<&'f Series> {
    let mut wanted = vec![("task", Level::from(task))];
    wanted.extend(words.map(|words| ("modulus_words", words.into())));
    findings.find(variant, &wanted)
}

pub(super) fn answer(findings: &Findings) -> Option<Answer> {
    let mut effects = Vec::new();
    let mut clauses = Vec::new();
    for words in WORDS {
        let of = |variant| find(findings, variant, MONTGOMERY, Some(words));
        let (Some(ours), Some(theirs)) = (of(COLUMNS), of(OPENSSL)) else { continue };
        let ratio = ours.times_as_long_as(theirs);
        clauses.push(format!("{} bits {}", 32 * words, ratio.words(1)));
        let name = format!("a Montgomery product of {} bits by modified Comba against OpenSSL", 32 * words);
        effects.push(Effect::new(name, ratio, "times as long"));
    }
    let products = match clauses.as_slice() {
        [] => String::new(),
        some => format!(
            "A Montgomery product by modified Comba in words of 32 bits takes, in times of OpenSSL's: {}. ",
            some.join(", ")
        ),
    };
    let one = find(findings, ONE, CURVE, None)?;
    let rate = |series: &Series| 1e9 * series.work.operations as f64 / series.wall.median.estimate;
    let mut curve = Vec::new();
    for variant in [LANES, ON_THREADS, "AWS-LC", OPENSSL] {
        let Some(series) = find(findings, variant, CURVE, None) else { continue };
        let ratio = one.times_as_long_as(series).scaled(series.work.operations as f64);
        curve.push(format!("{variant} {} ({:.0} a second)", ratio.words(1), rate(series)));
        effects.push(Effect::new(format!("X25519, {variant} against one lane"), ratio, "times as fast"));
    }
    let sentence = format!(
        "{products}Scalar multiplications of X25519, in times of the rate of one lane of digits of 28 bits ({:.0} a second): {}.",
        rate(one),
        curve.join("; ")
    );
    let question =
        "Does the delayed carry pay in a modular product, a field and a curve (published: future work)?";
    Some(Answer::measured(question, sentence, effects).as_headline())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_right_and_answered() {
        let folder = tempfile::tempdir().unwrap();
        let mut context = Context { scratch: folder.path().to_owned(), ..Context::of_a_test() };
        let mut findings = Findings::default();
        hold(2, 1, &mut context, &mut findings).unwrap();
        assert_eq!(
            (findings.excluded.len(), findings.series.len()),
            (0, 2 * 3 + 5),
            "{:?}",
            findings.excluded.first()
        );
        let answer = answer(&findings).unwrap();
        assert_eq!(answer.effects.len(), 3 + 4);
        assert!(
            answer.sentence.contains("256 bits") && answer.sentence.contains("AWS-LC"),
            "{}",
            answer.sentence
        );
    }
}
