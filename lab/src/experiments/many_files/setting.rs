//! A choice for every factor of the C program.

use crate::record::Factors;

/// One level of each factor; see `lab/peers/many_files.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Threads.
    pub threads: usize,
    /// `spawned`, `openmp`, `pool`.
    pub runtime: &'static str,
    /// `fixed` for each thread, or `whole` for each file; between them `largest`, for each thread and as large as the
    /// largest file.
    pub buffer: &'static str,
    /// Bytes of a fixed buffer.
    pub size: usize,
    /// `default`, `never`.
    pub trim: &'static str,
    /// `inplace`, `rename`, `unnamed`.
    pub appear: &'static str,
    /// `strided`, `queue`.
    pub order: &'static str,
    /// `park`, `spin`.
    pub wait: &'static str,
    /// `encrypt`, `decrypt`.
    pub work: &'static str,
}

impl Setting {
    /// The published program.
    pub const PUBLISHED: Setting = Setting {
        threads: 1,
        runtime: "spawned",
        buffer: "fixed",
        size: 1024,
        trim: "default",
        appear: "inplace",
        order: "strided",
        wait: "park",
        work: "encrypt",
    };

    /// Its older form.
    pub const OLDER: Setting = Setting { runtime: "openmp", buffer: "whole", ..Setting::PUBLISHED };

    /// The same with so many threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Setting {
        Setting { threads, ..self }
    }

    /// Every level of every factor with every other, with these orders and these ways of giving an output its name. A
    /// buffer for each thread has three sizes, the last that of the files, so that what a buffer's size does and what
    /// allocating one for each file does can be told apart.
    #[must_use]
    pub fn all(orders: &[&'static str], appearances: &[&'static str]) -> Vec<Setting> {
        let mut all = Vec::new();
        for runtime in ["spawned", "openmp", "pool"] {
            for (buffer, size) in [("whole", 1024), ("largest", 1024), ("fixed", 1024), ("fixed", 64 << 10)] {
                for trim in ["default", "never"] {
                    for &order in orders {
                        for wait in ["park", "spin"] {
                            for &appear in appearances {
                                all.push(Setting {
                                    threads: 1,
                                    runtime,
                                    buffer,
                                    size,
                                    trim,
                                    appear,
                                    order,
                                    wait,
                                    work: "encrypt",
                                });
                            }
                        }
                    }
                }
            }
        }
        all
    }

    /// As the program takes them.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let size = self.size.to_string();
        let pairs = [
            ("runtime", self.runtime),
            ("buffer", self.buffer),
            ("size", &size),
            ("trim", self.trim),
            ("appear", self.appear),
            ("order", self.order),
            ("wait", self.wait),
            ("work", self.work),
            ("serve", "1"),
        ];
        pairs.map(|(factor, level)| format!("{factor}={level}")).to_vec()
    }

    /// As a record has them; a fixed buffer carries its size in its name.
    #[must_use]
    pub fn factors(&self) -> Factors {
        let buffer = match (self.buffer, self.size) {
            ("fixed", size) => format!("fixed {size}"),
            (other, _) => other.to_owned(),
        };
        super::super::factors([
            ("threads", self.threads.into()),
            ("runtime", self.runtime.into()),
            ("buffer", buffer.as_str().into()),
            ("trim", self.trim.into()),
            ("appear", self.appear.into()),
            ("order", self.order.into()),
            ("wait", self.wait.into()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_design_is_balanced() {
        let all = Setting::all(&["strided", "queue"], &["inplace", "rename", "unnamed"]);
        assert_eq!(all.len(), 3 * 4 * 2 * 2 * 2 * 3);
        let mut seen: Vec<Vec<String>> = all.iter().map(Setting::arguments).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all.len(), "no setting comes twice");
        assert_eq!(all.iter().filter(|setting| setting.wait == "spin").count(), all.len() / 2);
    }
}
