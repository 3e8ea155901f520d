//! A plan in words and figures, for `cipherloom plan` and its JSON.

use super::{DeviceChoice, Plan, Task};
use serde::Serialize;

/// What a person or a program wants to know of a plan.
#[derive(Debug, Clone, Serialize)]
pub struct Description<'a> {
    /// Entries to process.
    pub entries: usize,
    /// Bytes to process.
    pub bytes: u64,
    /// Worker threads.
    pub threads: usize,
    /// AES backend.
    pub backend: &'static str,
    /// The device beside the CPU that does the cipher's work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<&'a str>,
    /// Entries interleaved on each core.
    pub lanes: usize,
    /// Tasks in the queue.
    pub tasks: usize,
    /// Entries that are cut into parts.
    pub shared_entries: usize,
    /// Parts that these are cut into.
    pub parts: usize,
    /// Bytes moved by one read or write at most.
    pub run_bytes: usize,
    /// Bytes of buffer of each worker.
    pub buffer_bytes_per_worker: usize,
    /// Bytes of buffer of all workers.
    pub buffer_bytes: usize,
    /// Estimated seconds with one thread.
    pub estimated_serial_seconds: f64,
    /// Estimated seconds as planned.
    pub estimated_seconds: f64,
    /// Why so.
    pub reasons: &'a [String],
    /// Devices beside the CPU, and whether they pay.
    #[serde(skip_serializing_if = "<[DeviceChoice]>::is_empty")]
    pub devices: &'a [DeviceChoice],
}

impl Plan {
    /// The plan in words and figures.
    #[must_use]
    pub fn describe(&self) -> Description<'_> {
        Description {
            entries: self.order.len() + self.shared.len(),
            bytes: self.total_bytes,
            threads: self.threads,
            backend: self.backend.name(),
            device: self.device.as_deref(),
            lanes: self.lanes,
            tasks: self.tasks.len(),
            shared_entries: self.shared.len(),
            parts: self.tasks.iter().filter(|task| matches!(task, Task::Part { .. })).count(),
            run_bytes: self.run_len,
            buffer_bytes_per_worker: self.buffer_len,
            buffer_bytes: self.buffer_bytes(),
            estimated_serial_seconds: self.estimate.serial_seconds,
            estimated_seconds: self.estimate.seconds,
            reasons: &self.reasons,
            devices: &self.devices,
        }
    }
}
