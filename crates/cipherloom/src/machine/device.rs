//! A device beside the CPU, as the planner sees it: what it costs to have something done there.

/// What a device was measured to cost on this machine. Rates in bytes per second.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceCosts {
    /// Its backend's name: `wgpu`, `cuda`.
    pub backend: &'static str,
    /// The device's own name.
    pub name: String,
    /// Its driver, where that is known.
    pub driver: Option<String>,
    /// Seconds of the smallest piece, there and back: launch, and waiting for its end.
    pub call_seconds: f64,
    /// Moving bytes there and back, without a kernel.
    pub transfer_bytes_per_second: f64,
    /// The kernel alone, on bytes that are there: AES-128-CTR.
    pub kernel_bytes_per_second: f64,
    /// All of it in long pieces, moving and computing overlapped as far as the device can.
    pub end_to_end_bytes_per_second: f64,
    /// Bytes that one call should bring, for its fixed cost not to count.
    pub call_bytes: usize,
    /// Bytes of memory of this machine that it holds for staging.
    pub staging_bytes: usize,
    /// Whether it works whatever the planner thinks of it: somebody asked for it by name.
    pub is_forced: bool,
}

impl DeviceCosts {
    /// Backend and name, for people.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} ({})", self.backend, self.name)
    }
}
