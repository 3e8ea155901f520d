//! Who takes part: the C program with its factors, the product's pipeline, and the same pipeline without a cipher.

use super::trees::{KEY, ORACLE, Tree, VECTOR, content};
use super::{Parts, Setting};
use crate::external::{Server, number};
use crate::measure::{Contestant, Entrant, Stopwatch};
use crate::record::{Clock, Factors, Level, Oracle, Sample, Work};
use anyhow::{Context as _, ensure};
use cipherloom::format::{Cipher, IvPolicy};
use cipherloom::key::RawKey;
use cipherloom::machine::Calibration;
use cipherloom::{
    Format,
    internal::{Job, Selection, Work as JobWork},
    machine::{Backend, Machine},
    report::Unobserved,
};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

impl Parts {
    /// The C program with this setting; `None` where it could not be built.
    pub(super) fn c_program(
        &self,
        variant: &str,
        tree: &Tree,
        setting: Setting,
        part: &str,
    ) -> anyhow::Result<Option<Entrant<'static>>> {
        let Some(program) = &self.program else { return Ok(None) };
        Ok(Some(c_program(program, variant, tree, setting, part, None)?.0))
    }
}

/// The C program with this setting and a variable of its environment, and its process's number.
pub(super) fn c_program(
    program: &Path,
    variant: &str,
    tree: &Tree,
    setting: Setting,
    part: &str,
    variable: Option<(&str, &str)>,
) -> anyhow::Result<(Entrant<'static>, u32)> {
    let mut command = Command::new(program);
    command.envs(variable);
    c_command(command, variant, tree, setting, part)
}

/// The same by the command that starts it.
pub(super) fn c_command(
    mut command: Command,
    variant: &str,
    tree: &Tree,
    setting: Setting,
    part: &str,
) -> anyhow::Result<(Entrant<'static>, u32)> {
    command.arg(&tree.source).arg(&tree.target).arg(setting.threads.to_string());
    command.args(setting.arguments());
    if setting.wait == "spin" {
        command.env("OMP_WAIT_POLICY", "active").env("GOMP_SPINCOUNT", "infinite");
    } else {
        command.env("OMP_WAIT_POLICY", "passive");
    }
    let server = Server::start("the published program", &mut command)?;
    let id = server.id();
    let contestant = Box::new(Published { server, target: tree.target.clone() });
    Ok((entrant(variant, tree, setting.factors(), part, Rc::clone(&tree.expected), contestant), id))
}

/// The product's pipeline, raw AES-128-CBC, with the published key and vector; encrypting.
pub(super) fn product(tree: &Tree, threads: usize, part: &str) -> anyhow::Result<Entrant<'static>> {
    product_at(JobWork::Encrypt, tree, threads, part)
}

/// The same at one of the two directions.
pub(super) fn product_at(
    work: fn(Format) -> JobWork,
    tree: &Tree,
    threads: usize,
    part: &str,
) -> anyhow::Result<Entrant<'static>> {
    let key = RawKey::from_bytes(&KEY).context("16 bytes are a key")?;
    let format = Format::raw(Cipher::Aes128Cbc, &key, IvPolicy::Fixed(VECTOR), Backend::best())
        .context("the best backend runs here")?;
    let contestant = Box::new(Product::new(tree, threads, work(format)));
    Ok(entrant("cipherloom", tree, threads_of(threads), part, Rc::clone(&tree.expected), contestant))
}

/// The same without a cipher.
pub(super) fn floor(tree: &Tree, threads: usize, part: &str) -> anyhow::Result<Entrant<'static>> {
    let contestant = Box::new(Product::new(tree, threads, JobWork::Copy));
    let mut entrant = entrant("copy", tree, threads_of(threads), part, Rc::clone(&tree.content), contestant);
    entrant.oracle = Oracle("the input");
    Ok(entrant)
}

fn threads_of(threads: usize) -> Factors {
    super::super::factors([("threads", threads.into())])
}

fn entrant(
    variant: &str,
    tree: &Tree,
    mut factors: Factors,
    part: &str,
    expected: Rc<[u8]>,
    contestant: Box<dyn Contestant>,
) -> Entrant<'static> {
    factors.insert("part".to_owned(), Level::from(part));
    factors.insert("files".to_owned(), Level::from(tree.count));
    factors.insert("file_bytes".to_owned(), Level::from(tree.file_bytes));
    Entrant {
        variant: variant.to_owned(),
        factors,
        work: Work { bytes: tree.bytes, operations: tree.count as u64 },
        clock: Clock::Process,
        oracle: ORACLE,
        expected,
        contestant,
    }
}

/// The C program, kept running, so that its threads and its allocator live on as in a program that works for long.
struct Published {
    server: Server,
    target: PathBuf,
}

impl Contestant for Published {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.turn()?;
        content(&self.target)
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        let answer = self.server.ask("run")?;
        Ok(Sample { wall_ns: number(&answer, "wall")?, cpu_ns: number(&answer, "cpu")?, repeats: 1 })
    }
}

/// The library, called as the command calls it: list, plan, run.
struct Product {
    source: PathBuf,
    target: PathBuf,
    threads: usize,
    work: JobWork,
    machine: Machine,
}

impl Product {
    fn new(tree: &Tree, threads: usize, work: JobWork) -> Product {
        let machine = Machine::detect(Calibration::default());
        Product { source: tree.source.clone(), target: tree.target.clone(), threads, work, machine }
    }
}

impl Contestant for Product {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.turn()?;
        content(&self.target)
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        if self.target.exists() {
            fs::remove_dir_all(&self.target)
                .with_context(|| format!("cannot remove {}", self.target.display()))?;
        }
        fs::create_dir(&self.target).with_context(|| format!("cannot make {}", self.target.display()))?;
        let job = Job::new(self.work.clone(), Some(self.target.clone()));
        let watch = Stopwatch::start(Clock::Process);
        let tree = cipherloom::internal::Tree::list(&self.source, &Selection::default())?;
        let plan = job.plan(&tree, &self.machine, NonZeroUsize::new(self.threads));
        let summary = cipherloom::internal::run(&tree, &plan, &job, &Unobserved)?;
        let sample = watch.stop(1);
        ensure!(summary.failed == 0, "{} of {} files failed", summary.failed, summary.files);
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PROGRAM;
    use super::*;
    use crate::measure::Contest;

    #[test]
    fn every_setting_of_the_c_program_and_the_product_give_the_oracle_s_bytes() {
        let folder = tempfile::tempdir().unwrap();
        // The C compiler and OpenSSL's headers are what the tests of this project need anyway.
        let parts = Parts { program: Some(PROGRAM.compile("cc", folder.path()).unwrap()) };
        let tree = Tree::uneven(folder.path(), 7).unwrap();
        let mut entrants = vec![product(&tree, 2, "test").unwrap(), floor(&tree, 2, "test").unwrap()];
        for setting in Setting::all(&["strided", "queue"], &["inplace", "rename", "unnamed"]) {
            entrants.extend(parts.c_program("c", &tree, setting.with_threads(3), "test").unwrap());
        }
        let count = entrants.len();
        let outcome = Contest { warm_ups: 0, rounds: 1, seed: 1 }.hold(entrants, || ());
        assert_eq!(
            (outcome.excluded.len(), outcome.series.len()),
            (0, count),
            "{:?}",
            outcome.excluded.first()
        );
    }

    #[test]
    fn files_that_were_not_encrypted_are_caught() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::even(folder.path(), 3, 100).unwrap();
        let mut entrant = floor(&tree, 1, "test").unwrap();
        entrant.expected = Rc::clone(&tree.expected);
        let outcome = Contest { warm_ups: 0, rounds: 1, seed: 1 }.hold(vec![entrant], || ());
        assert!(outcome.series.is_empty() && outcome.excluded[0].was_wrong);
    }

    #[test]
    fn without_a_compiler_the_rest_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::even(folder.path(), 3, 100).unwrap();
        let parts = Parts { program: None };
        assert!(parts.c_program("published", &tree, Setting::PUBLISHED, "test").unwrap().is_none());
        let entrants = vec![product(&tree, 1, "test").unwrap()];
        assert_eq!(Contest { warm_ups: 0, rounds: 2, seed: 1 }.hold(entrants, || ()).series.len(), 1);
    }
}
