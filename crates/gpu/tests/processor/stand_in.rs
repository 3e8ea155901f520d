//! Builds C programs around kernels' CUDA text, so that the kernels run on this processor: a program that runs launches, and
//! libraries that replace NVIDIA's driver and its run-time compiler. Several crates' tests include this file by `#[path]`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The source of a C program: code that runs the texts' kernels, a table of them in the order of the texts, and `end`, which
/// uses the table.
///
/// Every text begins with the same head, which a C compiler accepts only once.
pub fn program(texts: &[String], end: &[&str]) -> String {
    const END_OF_HEAD: &str = "#endif\n";
    let kernels: String = texts
        .iter()
        .enumerate()
        .map(|(number, text)| {
            let head = text.find(END_OF_HEAD).expect("kernels' texts have a head") + END_OF_HEAD.len();
            &text[if number == 0 { 0 } else { head }..]
        })
        .collect();
    let (before, behind) = (include_str!("kernels.h"), include_str!("launch.h"));
    ["#define _GNU_SOURCE\n", before, &kernels, behind, &table(&kernels), &end.concat()].concat()
}

/// `KERNEL(threads, blocks) name(arguments) { … }` as lines of a table.
fn table(kernels: &str) -> String {
    let mut table =
        "static const struct { Kernel *kernel; int has_barriers; unsigned threads; const char *name; } KERNELS[] = {\n"
            .to_owned();
    // The first part has the macro itself, with a name instead of the number.
    for part in kernels.split("KERNEL(").skip(1) {
        let Some((bounds, rest)) = part.split_once(") ") else { continue };
        let threads = bounds.split_once(", ").and_then(|(threads, _)| threads.parse::<u32>().ok());
        let (Some(threads), Some((name, body))) = (threads, rest.split_once('(')) else { continue };
        let has_barriers = u32::from(body.contains("__syncthreads("));
        writeln!(table, "{{{name}, {has_barriers}, {threads}, \"{name}\"}},").unwrap();
    }
    table + "};\n"
}

/// Makes `libcuda.so.1` with these kernels in `folder`, and in `folder/quick` a `libnvrtc.so` that returns at once.
pub fn driver(folder: &Path, texts: &[String]) {
    let quick = folder.join("quick");
    fs::create_dir_all(&quick).unwrap();
    let driver = program(texts, &[include_str!("streams.h"), include_str!("driver.c")]);
    library(&folder.join("libcuda.so.1"), &driver, &["-fvisibility=hidden", "-pthread"]);
    library(&quick.join("libnvrtc.so"), include_str!("compiler.c"), &[]);
}

fn library(path: &Path, source: &str, options: &[&str]) {
    let text = path.with_extension("c");
    fs::write(&text, source).unwrap();
    let name = path.file_name().and_then(|name| name.to_str()).expect("a name of letters");
    compile(&text, path, &[&["-O1", "-shared", "-fPIC", &format!("-Wl,-soname,{name}")], options].concat());
}

/// Compiles one source.
pub fn compile(source: &Path, program: &Path, options: &[&str]) {
    let mut compiler = Command::new("cc");
    compiler.args(options).arg("-w").arg("-o").arg(program).arg(source);
    assert!(compiler.status().expect("a C compiler").success(), "{} does not compile", source.display());
}
