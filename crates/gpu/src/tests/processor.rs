//! Compiles the kernels' CUDA text with this machine's C compiler and runs it on the processor, to check it without a device.

use crate::stand_in;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program that runs launches of the kernels it was made of.
pub(crate) struct Processor {
    folder: PathBuf,
}

/// A launch, and the contents of the device's memory.
pub(crate) struct Launch<'l> {
    pub(crate) kernel: usize,
    pub(crate) grid: usize,
    pub(crate) threads: u32,
    pub(crate) counter: [u32; 4],
    pub(crate) blocks: usize,
    pub(crate) skip: u32,
    pub(crate) rounds: usize,
    pub(crate) keys: &'l [u32],
    pub(crate) source: &'l [u8],
}

impl Processor {
    /// Compiles `text`; kernels are numbered in the order of the text.
    pub(crate) fn compile(name: &str, text: &str) -> Processor {
        let folder = std::env::temp_dir().join(format!("cipherloom-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = stand_in::program(&[text.to_owned()], &[include_str!("../../tests/processor/main.c")]);
        let path = folder.join("kernels.c");
        std::fs::write(&path, source).unwrap();
        stand_in::compile(&path, &folder.join("kernels"), &["-O1"]);
        Processor { folder }
    }

    /// What a launch writes to the sink.
    pub(crate) fn run(&self, launch: &Launch<'_>) -> Vec<u8> {
        let mut input: Vec<u8> = [
            launch.kernel as u32,
            launch.grid as u32,
            launch.threads,
            launch.blocks as u32,
            launch.source.len() as u32 / 16,
            launch.skip,
            launch.rounds as u32,
        ]
        .iter()
        .chain(&launch.counter)
        .chain(launch.keys)
        .flat_map(|word| word.to_le_bytes())
        .collect();
        input.extend(launch.source);
        let mut program = Command::new(self.folder.join("kernels"));
        let mut running = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut pipe = running.stdin.take().unwrap();
        let writer = std::thread::spawn(move || pipe.write_all(&input));
        let output = running.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(output.status.success(), "{}", output.status);
        output.stdout
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
