//! A maze that grows and is solved by a cellular automaton.

pub mod automaton;
pub mod cell;
mod chance;
mod grow;
pub mod proof;
mod solve;
#[cfg(test)]
mod tests;
