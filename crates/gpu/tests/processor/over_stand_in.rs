//! Tests over the driver that stands in for NVIDIA's (`driver.c`), each in a process of its own: the system looks for libraries
//! where the environment said when the process began, and by the environment the driver is told how to fail. A part of
//! several crates' tests, by `#[path]`, beside `stand_in`.

use crate::stand_in;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Set in the process of its own.
const INSIDE: &str = "CIPHERLOOM_OVER_STAND_IN";

/// Does `work` over the driver with these variables: the test `name` of the module `module` calls this and nothing else, and is
/// run once more for it. The driver has the kernels of `texts`, which are the same for all tests of a crate.
pub(crate) fn run(
    module: &str,
    name: &str,
    variables: &[(&str, &str)],
    texts: fn() -> Vec<String>,
    work: impl FnOnce(),
) {
    if std::env::var_os(INSIDE).is_some() {
        return work();
    }
    let (_, module) = module.split_once("::").expect("the crate's name is in front");
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args([&format!("{module}::{name}"), "--exact", "--nocapture"]).env(INSIDE, "1");
    let folder = folder(texts).display();
    again.env("LD_LIBRARY_PATH", format!("{folder}:{folder}/quick")).envs(variables.iter().copied());
    let output = again.output().unwrap();
    let told =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && told.contains("1 passed"), "{}: {told}", output.status);
}

/// Where the driver is, made once.
fn folder(texts: fn() -> Vec<String>) -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let program = std::env::current_exe().unwrap();
        let folder = program.parent().unwrap().join(concat!("cuda-driver-of-", env!("CARGO_PKG_NAME")));
        stand_in::driver(&folder, &texts());
        folder
    })
}
