//! The maze on every device of this machine (Debian's lavapipe where there is no card): each frame is the oracle's, and so are
//! mazes of many seeds and sizes. A machine without a device fails, since nothing would be tested.
#![cfg(feature = "gpu")]

use cipherloom_gpu::webgpu::{Adapters, Context};
use cipherloom_lab::experiments::maze::DOTS_CHANCE;
use cipherloom_lab::experiments::maze::automaton::{Life, Rule, Setting, step};
use cipherloom_lab::experiments::maze::device::{Automaton, Form, Program};
use cipherloom_lab::experiments::maze::proof::{Verdict, flaw, shortest_way, trail, unfilled};
use std::rc::Rc;

fn devices() -> Vec<Rc<Context>> {
    let adapters = Adapters::list(false);
    let opened: Vec<Rc<Context>> = adapters
        .reports()
        .iter()
        .filter(|report| report.left_out().is_none())
        .map(|report| Rc::new(adapters.open(Some(&report.number.to_string())).unwrap()))
        .collect();
    assert!(!opened.is_empty(), "no device is here; install mesa-vulkan-drivers, which needs no card");
    opened
}

/// The cells that a rule begins with, and its setting.
fn beginning(rule: Rule, setting: Setting) -> (Setting, Vec<u32>) {
    match rule {
        Rule::Grow => (setting, setting.plot()),
        Rule::Fill => (setting, Life::grown(&setting).cells),
        Rule::Dots => (setting.with_chance(DOTS_CHANCE), Life::grown(&setting).cells),
    }
}

#[test]
fn every_frame_is_the_oracle_s_in_both_forms() {
    for context in devices() {
        for rule in Rule::ALL {
            // With a finish in the midst of growing.
            let setting = Setting { finish: 80, ..Setting::new(33, 29, 7) };
            let (setting, mut cells) = beginning(rule, setting);
            let frames = Life::of(rule, &setting, cells.clone(), |_, _| ()).frames + 6;
            let mut automata = Form::ALL.map(|form| {
                let program = Rc::new(Program::new(&context, rule, form).unwrap());
                let mut automaton = Automaton::new(&program, setting).unwrap();
                automaton.load(&cells, 0).unwrap();
                automaton
            });
            for frame in 0..frames {
                let mut next = cells.clone();
                step(rule, &setting, frame, &cells, &mut next);
                cells = next;
                for (automaton, form) in automata.iter_mut().zip(Form::ALL) {
                    automaton.advance(1).unwrap();
                    let name = &context.report().name;
                    assert!(automaton.cells().unwrap() == cells, "{name}: {rule:?}, {form:?}, frame {frame}");
                }
            }
        }
    }
}

/// Of the published twenty, unless all are asked for (`cargo xtask test mazes`).
fn seeds() -> u32 {
    if std::env::var_os("CIPHERLOOM_TEST_LONG").is_some() { 20 } else { 4 }
}

#[test]
fn seeds_of_six_sizes_are_perfect_and_solved() {
    for context in devices() {
        let programs =
            Form::ALL.map(|form| Rule::ALL.map(|rule| Rc::new(Program::new(&context, rule, form).unwrap())));
        // The last is more than a workgroup and a submission hold, and many times a row.
        for (width, height) in [(9, 7), (17, 33), (33, 29), (49, 65), (65, 65), (129, 129)] {
            for seed in 0..seeds() {
                let setting = Setting::new(width, height, seed);
                let expected = Life::grown(&setting).cells;
                assert_eq!(flaw(&setting, &expected), None, "{setting:?}");
                let way = shortest_way(&setting, &expected).unwrap();
                for (form, [grow, fill, dots]) in Form::ALL.iter().zip(&programs) {
                    let name = format!("{}: {form:?}, {setting:?}", context.report().name);
                    let grown = finished(grow, setting, &setting.plot());
                    assert_eq!(Verdict::on(&setting, &expected, &grown), Verdict::Perfect, "{name}");
                    assert_eq!(unfilled(&finished(fill, setting, &grown)), way, "{name}");
                    // Dots take thousands of frames in large mazes: two seeds are enough there.
                    if width <= 65 || seed < 2 {
                        let dotted = setting.with_chance(DOTS_CHANCE);
                        assert_eq!(trail(&finished(dots, dotted, &grown)), way, "{name}");
                    }
                }
            }
        }
    }
}

/// The cells when the rule has come to its end.
fn finished(program: &Rc<Program>, setting: Setting, cells: &[u32]) -> Vec<u32> {
    let mut automaton = Automaton::new(program, setting).unwrap();
    automaton.load(cells, 0).unwrap();
    automaton.finish(Life::MOST).unwrap();
    automaton.cells().unwrap()
}
