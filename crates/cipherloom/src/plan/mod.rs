//! The plan: which tasks run where, with which backend, threads, lanes, segments and buffers, and why.
//!
//! Pure: made from the shape of the tree, the machine's fixed costs and the request, without touching a file, a
//! clock, the environment or a thread; so it can be printed without running (`cipherloom plan`), and tested.
//!
//! ```text
//! sizes ┐
//! costs ├─> threads ─> which entries are split ─> tasks, big ones first ─> buffers
//! request ┘
//! ```
//!
//! ```
//! # let scratch = tempfile::tempdir().unwrap();
//! # std::env::set_current_dir(scratch.path()).unwrap();
//! # std::fs::write("letter", "Dear Winston").unwrap();
//! # let keyset = cipherloom::key::Keyset::generate(cipherloom::key::Template::default())?;
//! let plan = cipherloom::encrypt("letter", "letter.tink").key(&keyset).plan()?;
//! assert_eq!(plan.threads(), 1, "a second thread would not pay");
//! println!("{}", plan.describe().reasons.join("\n"));
//! # Ok::<(), cipherloom::Error>(())
//! ```

mod cost;
mod device;
mod tasks;

pub use cost::CipherCost;
use cost::Estimate;
pub use device::{DeviceChoice, DeviceTimes, DeviceVerdict};
pub(crate) use tasks::Task;

use crate::Error;
use crate::machine::{DeviceCosts, Machine};
use cipherloom_kernels::Backend;
use serde::Serialize;
use std::fmt;
use std::num::NonZeroUsize;

/// What is to be done with the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Plaintext in, ciphertext out.
    Encrypt,
    /// Ciphertext in, plaintext out.
    Decrypt,
    /// Ciphertext in, nothing out: every byte is authenticated.
    Verify,
    /// Ciphertext under one key in, ciphertext under another out; the plaintext stays in memory.
    Rekey,
    /// The same way through the same pipeline without a cipher: the floor that the others are measured against.
    Copy,
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Operation::Encrypt => "encrypt",
            Operation::Decrypt => "decrypt",
            Operation::Verify => "verify",
            Operation::Rekey => "re-key",
            Operation::Copy => "copy",
        })
    }
}

/// What the planner is asked for.
///
/// ```
/// use cipherloom::key::{Keyset, Template};
/// use cipherloom::machine::{Calibration, Machine};
/// use cipherloom::plan::{CipherCost, Description, Operation, Plan, Request};
/// use cipherloom::{Format, machine::Backend};
///
/// let format = Format::tink(Keyset::generate(Template::default())?, Backend::best())?;
/// let machine = Machine::detect(Calibration::default());
/// let request = Request {
///     operation: Operation::Encrypt,
///     threads: None,
///     cipher: CipherCost::of(&format),
///     key_iterations: 0,
///     largest_segment: Template::default().segment_size() as usize,
///     names_in_turns: false,
/// };
/// // A thousand files of a mebibyte each.
/// let plan = Plan::new(&[1 << 20; 1000], &machine, &request);
/// assert!(plan.threads() <= machine.cores.get() && plan.slots() == 1);
/// let Description { entries, bytes, estimated_seconds, .. } = plan.describe();
/// println!("{} {entries} files, {bytes} bytes: about {estimated_seconds:.1} s", request.operation);
/// println!("{} bytes of buffers", plan.buffer_bytes());
/// # Ok::<(), cipherloom::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Request {
    /// What to do.
    pub operation: Operation,
    /// How many threads, if the user said; else the planner chooses.
    pub threads: Option<NonZeroUsize>,
    /// Which of the machine's cipher rates applies.
    pub cipher: CipherCost,
    /// Iterations of PBKDF2 for each entry's key; 0 where no passphrase is stretched.
    pub key_iterations: u32,
    /// The largest segment, in ciphertext bytes, that must fit into a worker's buffer.
    pub largest_segment: usize,
    /// Whether threads wait for each other, longer than the work takes, where the outputs get their names: in one folder on XFS.
    pub names_in_turns: bool,
}

impl Request {
    /// Whether each entry is a chain, which one worker at a time can go along.
    fn is_chained(&self) -> bool {
        self.cipher == CipherCost::CbcChain && self.operation == Operation::Encrypt
    }
}

/// Bytes that one read or write moves, if segments allow: large enough that system calls do not count, small enough
/// that the data is still in the core's own cache when the next stage touches it.
pub(crate) const RUN_LEN: usize = 1 << 20;

/// Bytes of one entry that a lane processes before all lanes turn to their next piece.
pub(crate) const LANE_LEN: usize = 64 << 10;

/// More threads than any machine has cores for; beyond it a request is a slip.
pub(crate) const MOST_THREADS: usize = 1024;

/// Files that the process holds open besides its workers': among them the waypoints to deep folders of the output.
const SPARE_FILES: usize = 64;

/// Files that a worker holds open besides those of its lanes: folders on both sides, one entry's two ends.
const FILES_PER_WORKER: usize = 24;

/// A run's whole course, ready to execute. Made by [`Plan::new`] and not to be changed: the pipeline trusts that its parts
/// fit each other. [`Plan::describe`] tells everything of it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is done.
    pub(crate) operation: Operation,
    /// Whether entries are chains, which workers keep in lanes.
    pub(crate) is_chained: bool,
    /// The AES backend.
    pub(crate) backend: Backend,
    /// Worker threads.
    pub(crate) threads: usize,
    /// CBC streams that each worker keeps in flight; 1 where entries are not chained.
    pub(crate) lanes: usize,
    /// Entries that a worker may hold open at once in lanes.
    pub(crate) slots: usize,
    /// Bytes that one read or write moves at most.
    pub(crate) run_len: usize,
    /// The largest segment that was planned for, in ciphertext bytes.
    largest_segment: usize,
    /// Bytes of buffer that each worker holds.
    pub(crate) buffer_len: usize,
    /// The tasks in the order in which workers take them.
    pub(crate) tasks: Vec<Task>,
    /// Entry indices in the order that [`Task::Entries`] ranges refer to.
    pub(crate) order: Vec<u32>,
    /// Entries that several workers share, in the order that [`Task::Part`] refers to.
    pub(crate) shared: Vec<u32>,
    /// The machine's device, by its backend and name, if it takes part.
    device: Option<String>,
    /// Every device that is known, and whether it pays.
    devices: Vec<DeviceChoice>,
    /// What it should take.
    estimate: Estimate,
    /// The sum of all sizes.
    pub(crate) total_bytes: u64,
    /// Why so, in words.
    reasons: Vec<String>,
}

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
    /// Plans a run over entries of these `sizes` (bytes, in the order of the tree).
    #[must_use]
    pub fn new(sizes: &[u64], machine: &Machine, request: &Request) -> Plan {
        let total_bytes = sizes.iter().sum();
        let is_chained = request.is_chained();
        let mut reasons = Vec::new();
        let estimate = cost::estimate(sizes.len(), total_bytes, machine, request, &mut reasons);
        let division = tasks::divide(sizes, total_bytes, estimate.threads, request, &mut reasons);
        // Each worker holds its folders, and an entry's two ends; shared entries and standard streams need a few.
        let affordable = (machine.open_files.saturating_sub(SPARE_FILES) / FILES_PER_WORKER).max(1);
        let threads = estimate.threads.min(division.tasks.len()).min(affordable).max(1);
        if threads < estimate.threads {
            let by_files = affordable < division.tasks.len();
            let cause =
                if by_files { "no more files may be open at once" } else { "the tree makes no more tasks" };
            reasons.push(format!("{threads} in fact: {cause}"));
        }
        let estimate = estimate.on(threads);
        let lanes = if is_chained { machine.backend.lanes() } else { 1 };
        let for_lanes = machine.open_files.saturating_sub(SPARE_FILES + FILES_PER_WORKER * threads);
        // Two ends, and where there are no unnamed files the folder that the output's temporary name is in.
        let slots = if is_chained { (for_lanes / (3 * threads)).clamp(1, 4 * lanes) } else { 1 };

        if is_chained {
            reasons.push(format!(
                "CBC encryption is a chain within a file: {lanes} files are interleaved in each core's pipeline ({} backend)",
                machine.backend.name()
            ));
        }
        let (device, devices) = device::choose(sizes, threads, machine, request);
        let run_len = device.map_or(RUN_LEN, |device| device.call_bytes.clamp(RUN_LEN, device::LONGEST_RUN));
        let buffer_len = buffer_len(request, is_chained, lanes, run_len);
        Plan {
            operation: request.operation,
            is_chained,
            backend: machine.backend,
            threads,
            lanes,
            slots,
            run_len,
            largest_segment: request.largest_segment,
            buffer_len,
            tasks: division.tasks,
            order: division.order,
            shared: division.shared,
            device: device.map(DeviceCosts::title),
            devices,
            estimate,
            total_bytes,
            reasons,
        }
    }

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

    /// Worker threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Entries that each worker may hold open at once: 1, or so many chains (CBC encryption).
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The machine's device, by its backend and name, if it takes part.
    #[must_use]
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Checks that this is a plan for so many entries and such a request: tasks, lanes and buffers depend on these.
    pub(crate) fn check_fits(&self, entries: usize, request: &Request) -> Result<(), Error> {
        let planned = self.order.len() + self.shared.len();
        Err(Error::PlanMismatch(if planned != entries {
            format!("it has {planned} entries, and the tree {entries}")
        } else if self.operation != request.operation {
            format!("it is made to {}, and the job is to {}", self.operation, request.operation)
        } else if self.is_chained != request.is_chained() {
            "one of them is CBC encryption, which takes whole files in lanes".to_owned()
        } else if self.largest_segment < request.largest_segment {
            format!(
                "its buffers are made for segments of {} bytes, and the job's have {}",
                self.largest_segment, request.largest_segment
            )
        } else {
            return Ok(());
        }))
    }

    /// The most bytes that all workers' buffers take together.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        let buffers = if self.operation == Operation::Rekey { 2 } else { 1 };
        self.threads * buffers * self.buffer_len
    }
}

/// Room for a header in front, a run or a whole segment, and a byte to notice that a file has grown.
fn buffer_len(request: &Request, is_chained: bool, lanes: usize, run_len: usize) -> usize {
    const HEADER_ROOM: usize = 128;
    let content =
        if is_chained { lanes * (LANE_LEN + HEADER_ROOM) } else { run_len.max(request.largest_segment) };
    HEADER_ROOM + content + 1
}
