//! Threads that carry out tasks while the one that gives them goes on, and takes their results when it needs them.
//!
//! ```text
//! leader: give ─> tasks ─> whichever thread is free, the leader too while it waits ─> results ─> leader: take
//! ```
//!
//! The threads start once, when the leader finds that there is enough to do, and end with the pool.

use super::spread::Parent;
use super::workers::{Workers, lock};
use crate::Error;
use crate::report::Observer;
use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, Scope};

/// A task that was given, by which its result is taken.
#[derive(Debug)]
pub struct Ticket(u64);

/// The side of a pool that gives tasks.
pub struct Leader<'s, 'e, T, R> {
    pool: &'e Pool<'e, T, R>,
    scope: &'s Scope<'s, 'e>,
    given: u64,
    has_started: bool,
}

struct Pool<'p, T, R> {
    workers: &'p Workers<'p>,
    work: &'p (dyn Fn(T) -> R + Sync),
    state: Mutex<State<T, R>>,
    /// A task was queued, or the pool was closed.
    begins: Condvar,
    /// A result was added, or the run was stopped.
    ended: Condvar,
}

struct State<T, R> {
    /// Those that are carried out before the others.
    first: VecDeque<(u64, T)>,
    tasks: VecDeque<(u64, T)>,
    /// By ticket.
    results: HashMap<u64, R>,
    /// Threads that wait for tasks.
    idle: usize,
    /// Whether the leader waits for a result.
    leader_waits: bool,
    is_closed: bool,
}

impl<T, R> State<T, R> {
    /// The task to begin next.
    fn next(&mut self) -> Option<(u64, T)> {
        self.first.pop_front().or_else(|| self.tasks.pop_front())
    }
}

impl Workers<'_> {
    /// Calls `lead`, which gives tasks and takes their results. `work` carries out a task.
    ///
    /// # Errors
    /// Those of `lead`; [`Error::Internal`] if a task panicked.
    pub fn run_pool<T: Send, R: Send, O>(
        &self,
        work: &(dyn Fn(T) -> R + Sync),
        lead: impl FnOnce(&mut Leader<'_, '_, T, R>) -> Result<O, Error>,
    ) -> Result<O, Error> {
        let state = State {
            first: VecDeque::new(),
            tasks: VecDeque::new(),
            results: HashMap::new(),
            idle: 0,
            leader_waits: false,
            is_closed: false,
        };
        let (begins, ended) = (Condvar::new(), Condvar::new());
        let pool = Pool { workers: self, work, state: Mutex::new(state), begins, ended };
        let led = thread::scope(|scope| {
            let _closing = Closing(&pool);
            lead(&mut Leader { pool: &pool, scope, given: 0, has_started: false })
        });
        self.panic().map_or(led, Err)
    }
}

/// Ends the threads when the leader has ended, in whatever way.
struct Closing<'p, T, R>(&'p Pool<'p, T, R>);

impl<T, R> Drop for Closing<'_, T, R> {
    fn drop(&mut self) {
        lock(&self.0.state).is_closed = true;
        self.0.begins.notify_all();
    }
}

impl<'e, T: Send, R: Send> Leader<'_, 'e, T, R> {
    /// Queues a task behind the others.
    pub fn give(&mut self, task: T) -> Ticket {
        self.add(task, |state| &mut state.tasks)
    }

    /// Queues a task before those that [`Leader::give`] queued.
    pub fn give_first(&mut self, task: T) -> Ticket {
        self.add(task, |state| &mut state.first)
    }

    fn add(&mut self, task: T, queue: impl FnOnce(&mut State<T, R>) -> &mut VecDeque<(u64, T)>) -> Ticket {
        self.given += 1;
        let mut state = lock(&self.pool.state);
        queue(&mut state).push_back((self.given, task));
        // The leader comes to a single one itself.
        if state.idle > 0 && state.first.len() + state.tasks.len() > 1 {
            self.pool.begins.notify_one();
        }
        Ticket(self.given)
    }

    /// Starts threads, so that with the leader's there are as many as `threads` says; once.
    pub fn start(&mut self, threads: impl FnOnce() -> usize) {
        if std::mem::replace(&mut self.has_started, true) {
            return;
        }
        for _ in 1..threads() {
            let (parent, pool): (_, &'e Pool<'e, T, R>) = (Parent::here(), self.pool);
            let _ = thread::Builder::new().spawn_scoped(self.scope, move || {
                parent.leave();
                pool.help();
            });
        }
    }

    /// The result of a task. Until it is there, this thread carries out tasks too.
    ///
    /// # Errors
    /// [`Error::Stopped`], also if a task panicked.
    pub fn take(&mut self, Ticket(wanted): Ticket) -> Result<R, Error> {
        let pool = self.pool;
        let mut state = lock(&pool.state);
        loop {
            if let Some(result) = state.results.remove(&wanted) {
                return Ok(result);
            }
            if pool.workers.is_stopped() {
                return Err(Error::Stopped);
            }
            let Some((begun, task)) = state.next() else {
                state.leader_waits = true;
                state = pool.workers.wait(&pool.ended, state);
                state.leader_waits = false;
                continue;
            };
            drop(state);
            let result = pool.workers.guard(|| (pool.work)(task));
            if let Some(result) = result {
                if begun == wanted {
                    return Ok(result);
                }
                state = lock(&pool.state);
                state.results.insert(begun, result);
            } else {
                state = lock(&pool.state);
            }
        }
    }
}

impl<T, R> Pool<'_, T, R> {
    fn help(&self) {
        let mut state = lock(&self.state);
        while !state.is_closed {
            let Some((ticket, task)) = state.next() else {
                state.idle += 1;
                state = self.begins.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            drop(state);
            let result = self.workers.guard(|| (self.work)(task));
            state = lock(&self.state);
            if let Some(result) = result {
                state.results.insert(ticket, result);
            }
            if state.leader_waits {
                self.ended.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Unobserved;
    use std::sync::Barrier;

    #[test]
    fn every_result_is_that_of_its_task() {
        for threads in [1, 4] {
            let workers = Workers::new(1, &Unobserved);
            let sum = workers.run_pool(&|task: u64| 2 * task, |leader| {
                leader.start(|| threads);
                let mut tickets = VecDeque::new();
                let mut sum = 0;
                for task in 0..1000 {
                    let ticket = if task % 7 == 0 { leader.give_first(task) } else { leader.give(task) };
                    tickets.push_back((task, ticket));
                    if tickets.len() == 20 {
                        // Not always in the order in which they were given.
                        let (task, ticket) = tickets.remove(task as usize % 3).unwrap();
                        let result = leader.take(ticket)?;
                        assert_eq!(result, 2 * task);
                        sum += result;
                    }
                }
                for (_, ticket) in tickets {
                    sum += leader.take(ticket)?;
                }
                Ok(sum)
            });
            assert_eq!(sum.unwrap(), 999 * 1000);
        }
    }

    /// A task of each thread is being carried out when one of them panics.
    #[test]
    fn a_panic_of_whichever_thread_is_the_error() {
        for panicking in 0..2 {
            let both_there = Barrier::new(2);
            let workers = Workers::new(1, &Unobserved);
            let work = |task: usize| {
                both_there.wait();
                assert_ne!(task, panicking, "on purpose");
            };
            let error = workers
                .run_pool(&work, |leader| {
                    leader.start(|| 2);
                    let tickets = [0, 1].map(|task| leader.give(task));
                    tickets.into_iter().try_for_each(|ticket| leader.take(ticket))
                })
                .unwrap_err();
            assert!(
                matches!(&error, Error::Internal { message } if message.contains("on purpose")),
                "{error}"
            );
        }
    }
}
