//! Our C program (`lab/peers/comba.c`): the published ways with OpenMP, whose team stays from product to product, and the classic
//! ones on one thread; by every compiler there is.

use super::Factor;
use super::timed::{Timed, set_order};
use crate::external::{Server, Source};
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

const PROGRAM: Source = Source {
    name: "comba",
    text: include_str!("../../../peers/comba.c"),
    headers: &[("comba_rows.h", include_str!("../../../peers/comba_rows.h"))],
    flags: &["-fno-strict-aliasing", "-fopenmp"],
    packages: "gcc, or clang and libomp-dev",
};

/// Compilers, and what their OpenMP is called.
const COMPILERS: [(&str, &str); 2] = [("gcc", "openmp"), ("clang", "openmp clang")];

/// The program as one compiler makes it.
pub(super) struct CProgram {
    runtime: &'static str,
    compiler: &'static str,
    methods: Vec<String>,
    server: Rc<RefCell<Server>>,
}

/// Every build that this machine can make, and in words what it lacks.
pub(super) fn find(folder: &Path) -> (Vec<CProgram>, Vec<String>) {
    let (mut found, mut lacking) = (Vec::new(), Vec::new());
    for (compiler, runtime) in COMPILERS {
        match CProgram::start(compiler, runtime, folder) {
            Ok(program) => found.push(program),
            Err(reason) => lacking.push(format!("`{runtime}` is not measured: {reason}")),
        }
    }
    (found, lacking)
}

impl CProgram {
    fn start(compiler: &'static str, runtime: &'static str, folder: &Path) -> Result<CProgram, String> {
        // Each compiler's program has a folder of its own, since they have one name.
        let folder = folder.join(compiler);
        let program = PROGRAM.compile(compiler, &folder)?;
        let ask = || -> anyhow::Result<CProgram> {
            let mut server = Server::start(runtime, &mut Command::new(&program))?;
            let answer = server.ask("methods")?;
            let names = answer["methods"].as_array().into_iter().flatten();
            let methods = names.filter_map(|name| Some(name.as_str()?.to_owned())).collect();
            Ok(CProgram { runtime, compiler, methods, server: Rc::new(RefCell::new(server)) })
        };
        ask().map_err(|error| format!("{error:#}"))
    }

    /// Variant, threads and contestant of every method: those on one thread by the first compiler alone.
    pub(super) fn all(
        &self,
        (a, b): (&Factor, &Factor),
        teams: &[usize],
        turn_ns: u64,
        is_first: bool,
    ) -> Vec<(String, usize, Timed)> {
        let contestant = |method: &str, threads: usize| {
            let orders = vec![set_order(a, b), format!("use {method},{threads}")];
            Timed::new(&self.server, orders, turn_ns)
        };
        let mut all = Vec::new();
        for method in &self.methods {
            match method.as_str() {
                "2x" => all.push((format!("{} 2x", self.runtime), 2, contestant(method, 2))),
                "Mx" => all.extend(
                    teams
                        .iter()
                        .map(|&team| (format!("{} Mx", self.runtime), team, contestant(method, team))),
                ),
                one if is_first => {
                    let variant =
                        if one == "rows" { one.to_owned() } else { format!("{one} bits, {}", self.compiler) };
                    all.push((variant, 1, contestant(one, 1)));
                }
                _ => {}
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Contestant;
    use num_bigint::BigUint;

    #[test]
    fn every_method_gives_num_bigint_s_product() {
        let folder = tempfile::tempdir().unwrap();
        // A C compiler is what the tests of this project need anyway.
        let program = CProgram::start("gcc", "openmp", folder.path()).unwrap();
        assert!(program.methods.len() >= 8, "{:?}", program.methods);
        // Lengths around words of 64 bits, blocks of four, and halves of halves.
        for words in [1, 2, 3, 7, 8, 31, 64, 79, 80, 81, 160, 322] {
            let ones: Factor = vec![u32::MAX; words].into();
            let mixed: Factor = (0..words as u32).map(|at| at.wrapping_mul(0x9e37_79b9) ^ 0x5555).collect();
            for (a, b) in [(&ones, &ones), (&ones, &mixed), (&mixed, &mixed)] {
                let mut expected = (BigUint::from_slice(a) * BigUint::from_slice(b)).to_bytes_le();
                expected.resize(8 * words, 0);
                for (variant, threads, mut contestant) in program.all((a, b), &[1, 2, 3], 0, true) {
                    assert!(
                        contestant.result().unwrap() == expected,
                        "{variant}, {threads} threads, {words} words"
                    );
                }
            }
        }
    }
}
