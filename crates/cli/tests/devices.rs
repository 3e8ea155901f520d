//! The command with devices: what a device writes is what the CPU writes, and a device that cannot be used costs nothing
//! but a warning. Needs a driver: Debian's mesa-vulkan-drivers is enough.
#![cfg(feature = "gpu")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Longer than a piece of the device, and no multiple of anything.
const LARGE: usize = 5_000_003;

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cipherloom"));
    command.current_dir(folder).args(line.split(' ')).env("XDG_CACHE_HOME", "/nonexistent");
    command.env("CIPHERLOOM_PASSPHRASE", "correct horse");
    command
}

fn run(folder: &Path, line: &str) -> Output {
    let output = command(folder, line).output().unwrap();
    assert!(output.status.success(), "{line}: {}", words(&output));
    output
}

/// The Vulkan loader is sent to where no driver is.
fn without_vulkan(command: &mut Command) -> &mut Command {
    command.env("VK_DRIVER_FILES", "/nonexistent").env("VK_ICD_FILENAMES", "/nonexistent")
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with a tree of small, middling and large files, and keys.
fn workplace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    fs::create_dir_all(tree.join("deep")).unwrap();
    for (name, length) in
        [("empty", 0), ("small", 17), ("deep/middling", 70_001), ("deep/whole", 65_536), ("large", LARGE)]
    {
        let content: Vec<u8> = (0..length).map(|at: usize| (at ^ (at >> 7) ^ (at >> 13)) as u8).collect();
        fs::write(tree.join(name), content).unwrap();
    }
    for (name, digits) in [("key16.hex", 32), ("key32.hex", 64)] {
        let path = folder.path().join(name);
        fs::write(&path, "7e".repeat(digits / 2)).unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
        fs::set_permissions(&path, permissions).unwrap();
    }
    folder
}

/// How every warning goes on that a device did not do the work, or not all of it.
const BY_THE_CPU: &str = "; the CPU d";

fn assert_same(folder: &Path, one: &str, other: &str) {
    for name in ["empty", "small", "deep/middling", "deep/whole", "large"] {
        let read = |tree: &str| fs::read(folder.join(tree).join(name)).unwrap();
        assert!(read(one) == read(other), "{one}/{name} differs from {other}/{name}");
    }
}

#[test]
fn a_device_writes_what_the_cpu_writes() {
    let folder = workplace();
    let folder = folder.path();
    let fixed = "--format raw --cipher aes-128-ctr --raw-key key16.hex --iv fffffffffffffffffffffffffffff123 \
                 --reuse-keystream-and-reveal-plaintext";
    run(folder, &format!("encrypt tree cpu {fixed}"));
    let output = run(folder, &format!("encrypt tree gpu {fixed} --backend wgpu"));
    assert!(!words(&output).contains(BY_THE_CPU), "{}", words(&output));
    assert_same(folder, "cpu", "gpu");
    run(folder, &format!("decrypt cpu back {fixed} --backend wgpu --threads 2"));
    assert_same(folder, "tree", "back");
}

#[test]
fn a_device_opens_what_the_cpu_sealed_in_every_format_that_it_can() {
    let folder = workplace();
    let folder = folder.path();
    run(folder, "keygen -o ctr.json --template AES256_CTR_HMAC_SHA256_1MB");
    let formats = [
        "--format raw --cipher aes-256-cbc --raw-key key32.hex",
        "--format openssl --cipher aes-128-cbc --pbkdf2-iterations 1000",
        "--format openssl --cipher aes-256-ctr --pbkdf2-iterations 1000",
        "--key ctr.json",
    ];
    for (number, format) in formats.into_iter().enumerate() {
        run(folder, &format!("encrypt tree sealed{number} {format}"));
        let output = run(folder, &format!("decrypt sealed{number} opened{number} {format} --backend wgpu"));
        assert!(!words(&output).contains(BY_THE_CPU), "{}", words(&output));
        assert_same(folder, "tree", &format!("opened{number}"));
    }
    // Sealed with the device, opened without.
    run(folder, "encrypt tree sealed --key ctr.json --quiet --backend wgpu");
    run(folder, "decrypt sealed opened --key ctr.json --quiet");
    assert_same(folder, "tree", "opened");
    // Damage is still damage.
    let path = folder.join("sealed/large");
    let mut content = fs::read(&path).unwrap();
    content[3_000_000] ^= 1;
    fs::write(&path, content).unwrap();
    let output = command(folder, "decrypt sealed damaged --key ctr.json --backend wgpu").output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", words(&output));
    assert!(!folder.join("damaged/large").exists() && folder.join("damaged/small").exists());
}

#[test]
fn a_device_that_cannot_be_used_is_told_and_the_cpu_does_the_work() {
    let folder = workplace();
    let folder = folder.path();
    let format = "--format raw --cipher aes-128-ctr --raw-key key16.hex --iv 00000000000000000000000000000000 \
                  --reuse-keystream-and-reveal-plaintext";
    run(folder, &format!("encrypt tree cpu {format} --quiet"));
    let output = run(folder, &format!("encrypt tree unknown {format} --backend wgpu:nothing-of-this-name"));
    assert!(words(&output).contains("`nothing-of-this-name`; there are: 0 ("), "{}", words(&output));
    assert!(words(&output).contains("the CPU does the work"), "{}", words(&output));
    assert_same(folder, "cpu", "unknown");

    let mut without = command(folder, &format!("encrypt tree without {format} --backend wgpu"));
    // Both loaders are sent to where no driver is.
    without.env("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent");
    let output = without_vulkan(&mut without).output();
    let output = output.unwrap();
    assert!(output.status.success() && words(&output).contains("no device of wgpu"), "{}", words(&output));
    assert_same(folder, "cpu", "without");
}

#[test]
fn an_old_opengl_is_listed_and_refused_by_its_name() {
    let folder = workplace();
    let folder = folder.path();
    // Mesa stands in for a driver of the time before compute kernels.
    let with_old = |line: &str| {
        let mut command = command(folder, line);
        without_vulkan(&mut command).env("MESA_GL_VERSION_OVERRIDE", "3.3");
        let output = command.env("MESA_EXTENSION_OVERRIDE", "-GL_ARB_compute_shader").output().unwrap();
        assert!(output.status.success(), "{line}: {}", words(&output));
        output
    };
    let table = String::from_utf8(with_old("devices").stdout).unwrap();
    assert!(table.contains(", gl, software") && table.contains("no compute kernels"), "{table}");
    let format = "--format openssl --cipher aes-128-ctr --pbkdf2-iterations 1000";
    let told = words(&with_old(&format!("encrypt tree sealed {format} --backend wgpu")));
    assert!(
        told.contains("(gl 3.3 (Core Profile) Mesa")
            && told.contains("no compute kernels")
            && told.contains("the CPU does the work"),
        "{told}"
    );
    run(folder, &format!("decrypt sealed opened {format}"));
    assert_same(folder, "tree", "opened");
}

#[test]
fn a_plan_tells_what_the_device_costs_and_who_wins() {
    let folder = workplace();
    let plan = |options: &str| {
        let output = run(folder.path(), &format!("plan tree --json {options}"));
        String::from_utf8(output.stdout).unwrap()
    };
    let forced = plan("--format raw --cipher aes-128-ctr --backend wgpu");
    assert!(forced.contains("\"device\":\"wgpu (") && forced.contains("\"device_seconds\":"), "{forced}");
    let idle = plan("--backend wgpu");
    assert!(!idle.contains("\"device\":") && idle.contains("\"verdict\":\"not_for_gcm\""), "{idle}");
    // A software device is the CPU, less what driving it costs.
    let chosen = plan("--format raw --cipher aes-128-ctr --backend auto");
    assert!(chosen.contains("\"verdict\":\"idle\""), "{chosen}");
}

#[test]
fn devices_are_listed_and_checked() {
    let folder = workplace();
    let output = run(folder.path(), "devices --json");
    let json = String::from_utf8(output.stdout).unwrap();
    for part in [
        "\"wgpu\":[{\"number\":0,",
        "\"api\":\"vulkan\"",
        "\"api\":\"gl\"",
        "\"limits\":{\"buffer_bytes\":",
        "\"features\":[",
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
    let output = run(folder.path(), "devices --validate");
    let table = String::from_utf8(output.stdout).unwrap();
    for part in [
        "OpenGL's way to what another API reaches",
        "wgpu:0 under validation: passed the self-test",
        "wgpu:1 under validation: passed the self-test",
    ] {
        assert!(table.contains(part), "{part} in {table}");
    }
}

#[test]
fn calibrated_devices_are_spoken_of_without_a_driver_until_drivers_change() {
    let folder = workplace();
    let folder = folder.path();
    let cache = folder.join("cache");
    let with_cache = |line: &str| {
        let mut command = command(folder, line);
        let output = command.env("XDG_CACHE_HOME", &cache).output().unwrap();
        assert!(output.status.success(), "{line}: {}", words(&output));
        (String::from_utf8(output.stdout.clone()).unwrap(), words(&output))
    };
    let plan = "plan tree --format raw --cipher aes-128-ctr";
    assert!(!with_cache(plan).0.contains("as calibrated"));
    let (figures, told) = with_cache("calibrate");
    assert!(figures.contains("wgpu ") && figures.contains("AES-128-CTR there and back"), "{figures}{told}");
    let (planned, told) = with_cache(plan);
    // A verdict with both times, and four lines of figures below it, each of three digits that count.
    let lines: Vec<&str> = planned.lines().collect();
    let verdict =
        lines.iter().position(|line| line.contains("as calibrated, would not be faster: ")).unwrap();
    assert!(
        lines[verdict].ends_with(" of the CPU") && lines[verdict - 2].starts_with("wgpu      "),
        "{planned}"
    );
    let figures = ["there and back", "moving alone", "kernel alone", "the CPU"];
    let told_figures = &lines[verdict + 1..];
    assert!(told_figures.len() >= figures.len(), "{planned}");
    for (line, what) in told_figures.iter().zip(figures) {
        let (rate, unit) = line[28..].trim().split_once(' ').unwrap();
        assert!(line[12..].starts_with(what) && unit.contains("iB/s, "), "{planned}");
        let digits: String = rate.chars().filter(char::is_ascii_digit).collect();
        assert!(digits.len() >= 3 && line.len() <= 80, "{planned}");
    }
    assert_eq!(told, "");
    let kept = cache.join("cipherloom/devices.json");
    let changed = fs::read_to_string(&kept).unwrap().replacen("icd.d", "icd.e", 1);
    fs::write(&kept, changed).unwrap();
    let (planned, told) = with_cache(plan);
    assert!(!planned.contains("as calibrated") && told.contains("the drivers have changed"), "{told}");
}
