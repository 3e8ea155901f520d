//! A product in a process of its own, by a server that is told the factors, how often, and answers how long.

use crate::external::{Server, number};
use crate::measure::Contestant;
use crate::record::Sample;
use std::cell::RefCell;
use std::rc::Rc;

/// The factors, as the servers take them.
pub(super) fn set_order(a: &[u32], b: &[u32]) -> String {
    let digits = |words: &[u32]| words.iter().rev().map(|word| format!("{word:08x}")).collect::<String>();
    format!("set {} {} {}", a.len(), digits(a), digits(b))
}

/// A way to multiply in another process.
pub(super) struct Timed {
    server: Rc<RefCell<Server>>,
    /// What it is told before it works: others had their turn meanwhile.
    orders: Vec<String>,
    turn_ns: u64,
    repeats: u64,
}

impl Timed {
    pub(super) fn new(server: &Rc<RefCell<Server>>, orders: Vec<String>, turn_ns: u64) -> Timed {
        Timed { server: Rc::clone(server), orders, turn_ns, repeats: 0 }
    }

    /// Tells the server what to work on.
    fn prepare(&self) -> anyhow::Result<()> {
        let mut server = self.server.borrow_mut();
        self.orders.iter().try_for_each(|order| server.ask(order).map(drop))
    }

    fn time(&mut self, repeats: u64) -> anyhow::Result<Sample> {
        self.prepare()?;
        let mut server = self.server.borrow_mut();
        let answer = server.ask(&format!("time {repeats}"))?;
        Ok(Sample { wall_ns: number(&answer, "wall_ns")?, cpu_ns: number(&answer, "cpu_ns")?, repeats })
    }
}

impl Contestant for Timed {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.prepare()?;
        let mut server = self.server.borrow_mut();
        let count = number(&server.ask("product")?, "bytes")?;
        server.bytes(count as usize)
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        while self.repeats == 0 {
            let mut repeats = 1;
            let mut sample = self.time(repeats)?;
            while sample.wall_ns < self.turn_ns / 2 {
                repeats *= 2;
                sample = self.time(repeats)?;
            }
            self.repeats = ((self.turn_ns as f64 / sample.wall().max(1.0)).round() as u64).max(1);
        }
        self.time(self.repeats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_has_the_highest_word_first() {
        assert_eq!(set_order(&[1, 0xab], &[2, 3]), "set 2 000000ab00000001 0000000300000002");
    }
}
