//! The CPU as `cipherloom devices` shows it: model, instruction-set features that matter here, cores, caches.
//! Linux tells more than other systems; what is not known is left out rather than guessed.

use cipherloom_kernels::Backend;
use serde::Serialize;
use std::fs;
use std::path::Path;

/// One level of cache of the first core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// Level: 1, 2, 3.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// This machine's CPU.
///
/// ```
/// use cipherloom::machine::{BackendState, Cache, Processor};
///
/// let processor = Processor::detect();
/// println!("{} on {}, {} threads", processor.model.unwrap_or_default(), processor.architecture, processor.cores);
/// println!("features: {}", processor.features.join(" "));
/// for Cache { level, kind, bytes } in &processor.caches {
///     println!("level {level}: {kind}, {bytes} bytes");
/// }
/// let chosen: Vec<&BackendState> = processor.backends.iter().filter(|backend| backend.chosen).collect();
/// assert!(chosen.len() == 1 && chosen[0].available && chosen[0].lanes >= 1);
/// println!("AES runs on the backend {}", chosen[0].name);
/// ```
#[derive(Debug, Clone, Serialize)]
pub struct Processor {
    /// Model name as the system tells it.
    pub model: Option<String>,
    /// Architecture the program was built for.
    pub architecture: &'static str,
    /// Features that a backend here or a library beneath could use, of those that the CPU has.
    pub features: Vec<&'static str>,
    /// Threads that can run at once.
    pub cores: usize,
    /// Caches of the first core.
    pub caches: Vec<Cache>,
    /// The backends that run on this CPU, and whether each is the chosen one.
    pub backends: Vec<BackendState>,
}

/// A backend's name and standing on this CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackendState {
    /// Name, as `--backend` takes it.
    pub name: &'static str,
    /// Whether this CPU has what it needs.
    pub available: bool,
    /// Whether it runs when none is named.
    pub chosen: bool,
    /// CBC streams that one core keeps in flight with it.
    pub lanes: usize,
}

impl Processor {
    /// Looks at this machine's CPU.
    #[must_use]
    pub fn detect() -> Processor {
        let best = Backend::best();
        Processor {
            model: model(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
            architecture: std::env::consts::ARCH,
            features: features(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
            backends: Backend::ALL
                .iter()
                .map(|&backend| BackendState {
                    name: backend.name(),
                    available: backend.is_available(),
                    chosen: backend == best,
                    lanes: backend.lanes(),
                })
                .collect(),
        }
    }
}

fn model(cpuinfo: &str) -> Option<String> {
    let field = |name: &str| {
        let line =
            cpuinfo.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    field("model name").or_else(|| field("Model"))
}

fn caches(folder: &Path) -> Vec<Cache> {
    let read = |index: u32, name: &str| {
        fs::read_to_string(folder.join(format!("index{index}")).join(name))
            .map(|text| text.trim().to_owned())
            .ok()
    };
    (0..)
        .map_while(|index| {
            Some(Cache {
                level: read(index, "level")?.parse().ok()?,
                kind: read(index, "type")?,
                bytes: kibibytes(&read(index, "size")?)?,
            })
        })
        .collect()
}

/// `32K`, `1024K`, `32M` as the kernel writes them.
fn kibibytes(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    Some(digits.parse::<u64>().ok()? * factor)
}

/// Which of these the CPU has.
fn features() -> Vec<&'static str> {
    macro_rules! detected {
        ($is_detected:ident: $($name:tt),*) => { [$(($name, std::arch::$is_detected!($name))),*].to_vec() };
    }
    #[cfg(target_arch = "x86_64")]
    let known = detected!(is_x86_feature_detected: "aes", "pclmulqdq", "vaes", "vpclmulqdq", "sha", "avx2", "avx512f", "avx512vl", "bmi2", "adx");
    #[cfg(target_arch = "aarch64")]
    let known = detected!(is_aarch64_feature_detected: "aes", "sha2", "sha3", "sve", "sve2");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let known = Vec::<(&str, bool)>::new();
    known.into_iter().filter_map(|(name, has)| has.then_some(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernel_s_words() {
        assert_eq!(
            model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n").as_deref(),
            Some("Some CPU @ 2 GHz")
        );
        assert_eq!(model("nothing here"), None);
        assert_eq!(
            (kibibytes("32K"), kibibytes("8M"), kibibytes("x")),
            (Some(32 << 10), Some(8 << 20), None)
        );
    }

    #[test]
    fn exactly_one_backend_is_chosen_and_it_runs_here() {
        let processor = Processor::detect();
        let chosen: Vec<_> = processor.backends.iter().filter(|backend| backend.chosen).collect();
        assert_eq!(chosen.len(), 1);
        assert!(chosen[0].available);
    }
}
