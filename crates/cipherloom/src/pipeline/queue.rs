//! The queue: the plan's tasks, taken in order by whichever worker is free. One atomic addition a task; nobody waits.

use super::shared::Shared;
use crate::plan::{Plan, Task};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct Queue<'p> {
    plan: &'p Plan,
    next: AtomicUsize,
    pub(super) shared: Vec<Shared>,
}

impl<'p> Queue<'p> {
    pub(super) fn new(plan: &'p Plan) -> Queue<'p> {
        Queue {
            plan,
            next: AtomicUsize::new(0),
            shared: plan.shared.iter().map(|_| Shared::default()).collect(),
        }
    }

    pub(super) fn take(&self) -> Option<&'p Task> {
        // Only the number matters: what a task refers to was there before the workers started.
        self.plan.tasks.get(self.next.fetch_add(1, Ordering::Relaxed))
    }
}
