//! The machine record: processor, flags, caches, governor, clock, memory, kernel. What is not known is left out.

use super::clock_gigahertz;
use cipherloom::machine::Processor;
use serde::{Deserialize, Serialize};
use std::fs;

/// The hardware and system that a record was made on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model as the system names it.
    pub processor: String,
    /// Vendor, family, model and stepping, which tell apart what names hide.
    pub signature: String,
    /// Architecture of the program.
    pub architecture: String,
    /// Threads that can run at once.
    pub cores: usize,
    /// The processor's flags that matter here.
    pub flags: Vec<String>,
    /// Caches of the first core.
    pub caches: Vec<Cache>,
    /// How the kernel sets the clock rate, where it does.
    pub governor: Option<String>,
    /// The clock rate under load, measured, in GHz.
    pub clock_gigahertz: f64,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Whether it is a guest of a hypervisor, which can take its processors away.
    pub is_virtual: bool,
    /// System, release and architecture of the kernel.
    pub kernel: String,
    /// Transparent huge pages, where the system has them.
    pub huge_pages: Option<String>,
}

/// One level of cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Flags that decide which code runs.
const FLAGS: [&str; 16] = [
    "aes",
    "vaes",
    "pclmulqdq",
    "vpclmulqdq",
    "ssse3",
    "sse4_1",
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512_vbmi",
    "avx512ifma",
    "gfni",
    "bmi2",
    "adx",
    "sha_ni",
];

impl Machine {
    /// Looks at this machine; takes some milliseconds, for the clock rate.
    #[must_use]
    pub fn read() -> Machine {
        let processor = Processor::detect();
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let flags = field(&info, "flags").unwrap_or_default();
        let has = |flag: &str| flags.split(' ').any(|word| word == flag);
        let parts = ["vendor_id", "cpu family", "model", "stepping"].map(|name| field(&info, name));
        let caches = processor.caches.iter().map(|cache| Cache {
            level: cache.level,
            kind: cache.kind.clone(),
            bytes: cache.bytes,
        });
        Machine {
            processor: processor.model.clone().unwrap_or_else(|| "unknown".to_owned()),
            signature: parts.into_iter().flatten().collect::<Vec<_>>().join("/"),
            architecture: processor.architecture.to_owned(),
            cores: processor.cores,
            flags: FLAGS.iter().filter(|flag| has(flag)).map(|flag| (*flag).to_owned()).collect(),
            caches: caches.collect(),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            clock_gigahertz: clock_gigahertz(),
            memory_bytes: memory_bytes(),
            is_virtual: has("hypervisor"),
            kernel: kernel(),
            huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled"),
        }
    }

    /// What differs between two machines, in words; empty if nothing that is recorded does.
    #[must_use]
    pub fn differences(&self, other: &Machine) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, left: String, right: String| {
            if left != right {
                found.push(format!("{what}: {left} | {right}"));
            }
        };
        compare("processor", self.processor.clone(), other.processor.clone());
        compare("signature", self.signature.clone(), other.signature.clone());
        compare("cores", self.cores.to_string(), other.cores.to_string());
        compare("flags", self.flags.join(" "), other.flags.join(" "));
        compare("caches", cache_words(&self.caches), cache_words(&other.caches));
        let words = |text: &Option<String>| text.clone().unwrap_or_else(|| "not told".to_owned());
        compare("governor", words(&self.governor), words(&other.governor));
        compare("huge pages", words(&self.huge_pages), words(&other.huge_pages));
        compare("memory (MiB)", mebibytes(self), mebibytes(other));
        compare("kernel", self.kernel.clone(), other.kernel.clone());
        if (self.clock_gigahertz / other.clock_gigahertz - 1.0).abs() > 0.02 {
            found.push(format!("clock (GHz): {:.2} | {:.2}", self.clock_gigahertz, other.clock_gigahertz));
        }
        found
    }
}

fn mebibytes(machine: &Machine) -> String {
    (machine.memory_bytes >> 20).to_string()
}

fn cache_words(caches: &[Cache]) -> String {
    let word = |cache: &Cache| format!("L{} {} {} KiB", cache.level, cache.kind, cache.bytes >> 10);
    caches.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn line(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn memory_bytes() -> u64 {
    let total = line("/proc/meminfo").and_then(|text| field(&text, "MemTotal"));
    total.and_then(|text| text.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn kernel() -> String {
    let name = rustix::system::uname();
    let words = [name.sysname(), name.release(), name.machine()];
    words.map(|word| word.to_string_lossy().into_owned()).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_cores_a_clock_and_a_kernel() {
        let machine = Machine::read();
        assert!(machine.cores >= 1 && !machine.kernel.is_empty());
        assert!((0.1..10.0).contains(&machine.clock_gigahertz), "{}", machine.clock_gigahertz);
        assert_eq!(machine.differences(&machine), Vec::<String>::new());
    }

    #[test]
    fn what_changed_is_named() {
        let machine = Machine::read();
        let other = Machine { cores: machine.cores + 1, governor: Some("other".into()), ..machine.clone() };
        let words = machine.differences(&other);
        assert!(words.iter().any(|words| words.starts_with("cores: ")), "{words:?}");
        assert!(words.iter().any(|words| words.ends_with("| other")), "{words:?}");
    }
}
