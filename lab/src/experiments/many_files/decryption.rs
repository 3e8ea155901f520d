//! Decryption instead of encryption, once: a contrast at one shape and two threads, of both published forms and the product. No
//! factor is said to act on one direction alone, so the rest of the experiment encrypts.

use super::answers::{longer, part};
use super::contestants::product_at;
use super::trees::Tree;
use super::{Parts, Setting};
use crate::experiments::{Context, Findings, size_words};
use crate::measure::Contest;
use crate::record::{Answer, Effect, Level, Series};
use cipherloom::internal::Work as JobWork;

const PART: &str = "decryption";
const THREADS: usize = 2;
const QUESTION: &str = "Does decrypting change the picture?";

pub(super) fn run(parts: &Parts, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
    let (count, bytes) = (context.by_extent(20, 100), 256 << 10);
    let plain = Tree::even(&context.scratch, count, bytes)?;
    let encrypted = plain.encrypted()?;
    let mut entrants = Vec::new();
    for (work, tree) in [("encrypt", &plain), ("decrypt", &encrypted)] {
        let of_product = if work == "encrypt" { JobWork::Encrypt } else { JobWork::Decrypt };
        let mut of_it = vec![product_at(of_product, tree, THREADS, PART)?];
        for (name, form) in [("published", Setting::PUBLISHED), ("openmp-malloc", Setting::OLDER)] {
            let setting = Setting { work, ..form }.with_threads(THREADS);
            of_it.extend(parts.c_program(name, tree, setting, PART)?);
        }
        for entrant in &mut of_it {
            entrant.factors.insert("work".to_owned(), Level::from(work));
        }
        entrants.extend(of_it);
    }
    let contest = Contest { warm_ups: 1, rounds: context.by_extent(5, 20), seed: context.seed };
    context.hold(contest, "decrypting beside encrypting", entrants, findings);
    Ok(())
}

pub(super) fn answer(findings: &Findings) -> Option<Answer> {
    let of = |variant: &str, work: &str| -> Option<&Series> {
        part(findings, PART)
            .find(|series| series.variant == variant && series.factor("work") == Some(&Level::from(work)))
    };
    let mut effects = Vec::new();
    let mut clauses = Vec::new();
    for variant in ["published", "openmp-malloc", "cipherloom"] {
        let (Some(decrypts), Some(encrypts)) = (of(variant, "decrypt"), of(variant, "encrypt")) else {
            continue;
        };
        let ratio = decrypts.times_as_long_as(encrypts);
        clauses.push(format!("{variant} {}", longer(ratio)));
        effects.push(Effect::new(
            format!("decrypting instead of encrypting, {variant}"),
            ratio,
            "times as long",
        ));
    }
    let shape = part(findings, PART).next()?;
    let bytes = shape.work.bytes / shape.work.operations.max(1);
    let sentence = format!(
        "Decrypting instead of encrypting {} files of {} with {THREADS} threads takes: {}. Measured at this one shape; all else \
         here encrypts.",
        shape.work.operations,
        size_words(bytes),
        clauses.join("; ")
    );
    (!effects.is_empty()).then(|| Answer::measured(QUESTION, sentence, effects))
}

#[cfg(test)]
mod tests {
    use super::super::PROGRAM;
    use super::*;

    #[test]
    fn both_directions_give_the_oracle_s_bytes_and_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        let program = PROGRAM.compile("cc", folder.path()).unwrap();
        let mut context = Context::of_a_test();
        context.scratch = folder.path().to_owned();
        let mut findings = Findings::default();
        run(&Parts { program: Some(program) }, &mut context, &mut findings).unwrap();
        assert_eq!(
            (findings.excluded.len(), findings.series.len()),
            (0, 6),
            "{:?}",
            findings.excluded.first()
        );
        let sentence = answer(&findings).unwrap().sentence;
        assert!(
            sentence.starts_with("Decrypting instead of encrypting 20 files of 256 KB with 2 threads"),
            "{sentence}"
        );
    }
}
