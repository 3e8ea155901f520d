//! The automaton against a numpy program of the same rules, against breadth-first search, and against damage.

use super::automaton::{Life, Rule, Setting, step, step_on_threads};
use super::cell::{self, FILLED, FLOOR, OPEN, WALL, kind};
use super::proof::{Verdict, flaw, grown_share, shortest_way, trail, unfilled};
use aws_lc_rs::digest::{SHA256, digest};

/// The sizes that are run often: wide, high, and larger than a workgroup in both directions.
const SIZES: [(u32, u32); 6] = [(5, 5), (7, 5), (9, 21), (17, 33), (33, 29), (65, 65)];

/// Dots come more often than heads.
const DOTS: u32 = 16_384;

fn sha256(cells: &[u32]) -> String {
    let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
    digest(&SHA256, &bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn mazes_are_those_of_the_numpy_program() {
    // Its frames, digests, lengths of the shortest way, and frames of filling (of which the last changes nothing).
    let cases = [
        (65, 65, 7, 6554, 88, "ed957be6b5759e66", 157, 87),
        (33, 29, 7, 656, 116, "2ebff51397a591fd", 109, 35),
        (129, 97, 3, 656, 380, "6dd73772c2414919", 373, 217),
        (17, 33, 5, 66, 1392, "e41e6470e7a9c3f8", 61, 45),
        (65, 65, 1, 656, 356, "38013390a39094fc", 181, 87),
        (257, 257, 1, 656, 678, "53c652ce5efa67d3", 765, 463),
    ];
    for (width, height, seed, chance, frames, start_of_digest, way, fill_frames) in cases {
        let setting = Setting { chance, finish: u32::MAX, ..Setting::new(width, height, seed) };
        let life = Life::grown(&setting);
        assert_eq!((life.frames, life.has_ended), (frames, true), "{setting:?}");
        assert!(sha256(&life.cells).starts_with(start_of_digest), "{setting:?}");
        assert_eq!(shortest_way(&setting, &life.cells).unwrap().len(), way, "{setting:?}");
        let filled = Life::of(Rule::Fill, &setting, life.cells, |_, _| ());
        assert_eq!(filled.frames, fill_frames, "{setting:?}");
    }
}

#[test]
fn the_hundred_mazes_that_the_page_checks_a_device_with_are_these() {
    // The page tells the same digest of what a device has made (lab/web/src/check.ts, lab/web/test/page.mjs).
    let sizes = [(9, 7), (17, 33), (33, 29), (49, 65), (65, 65)];
    let mazes = sizes.into_iter().flat_map(|(width, height)| (0..20).map(move |seed| (width, height, seed)));
    let all: Vec<u32> = mazes
        .flat_map(|(width, height, seed)| Life::grown(&Setting::new(width, height, seed)).cells)
        .collect();
    assert_eq!(sha256(&all)[..16], *"b904040de13f3af3");
}

#[test]
fn every_maze_is_perfect_and_both_ways_to_solve_it_are_the_shortest() {
    for (width, height) in SIZES {
        for seed in 0..if width < 65 { 12 } else { 3 } {
            for chance in [65_536, 656, 66] {
                let setting = Setting::new(width, height, seed).with_chance(chance);
                let grown = Life::grown(&setting).cells;
                assert_eq!(flaw(&setting, &grown), None, "{setting:?}");
                let way = shortest_way(&setting, &grown).unwrap();
                let filled = Life::of(Rule::Fill, &setting, grown.clone(), |_, _| ());
                assert_eq!(unfilled(&filled.cells), way, "{setting:?}");
                let setting = setting.with_chance(DOTS);
                let found = Life::of(Rule::Dots, &setting, grown, |_, _| ());
                assert!(found.has_ended, "{setting:?}");
                assert_eq!(trail(&found.cells), way, "{setting:?}");
            }
        }
    }
}

#[test]
fn growing_ends_without_chance() {
    for (width, height) in [(5, 5), (7, 33), (65, 65), (129, 97)] {
        // No wall ever becomes a head by chance, or all do, for 100 frames; then the finish.
        for (chance, finish) in [(0, 0), (0, 1), (0, 101), (3, 100)] {
            let setting = Setting { chance, finish, ..Setting::new(width, height, 5) };
            let life = Life::grown(&setting);
            let slots = width * height / 2;
            assert!(life.has_ended && life.frames <= finish + 4 * slots, "{setting:?}: {}", life.frames);
            assert_eq!(flaw(&setting, &life.cells), None, "{setting:?}");
        }
    }
}

#[test]
fn without_chance_and_without_finish_nothing_grows() {
    let setting = Setting { chance: 0, finish: u32::MAX, ..Setting::new(17, 17, 1) };
    let mut cells = setting.plot();
    for frame in 0..50 {
        let mut next = cells.clone();
        step(Rule::Grow, &setting, frame, &cells, &mut next);
        cells = next;
    }
    assert_eq!(cells, setting.plot());
    assert_eq!(grown_share(&setting, &cells), 0.0);
}

#[test]
fn an_ended_maze_and_an_ended_solution_stand_still() {
    let setting = Setting::new(33, 29, 2).with_chance(DOTS);
    let mut cells = Life::grown(&setting).cells;
    for rule in Rule::ALL {
        let life = Life::of(rule, &setting, cells.clone(), |_, _| ());
        let mut later = life.cells.clone();
        for frame in life.frames..life.frames + 20 {
            let mut next = later.clone();
            step(rule, &setting, frame, &later, &mut next);
            later = next;
        }
        assert_eq!(later, life.cells, "{rule:?}");
        if rule == Rule::Grow {
            cells = later;
        }
    }
}

#[test]
fn short_cuts_and_threads_make_the_same_frames() {
    let setting = Setting::new(129, 97, 4).with_chance(DOTS);
    let grown = Life::grown(&setting).cells;
    for rule in Rule::ALL {
        let mut cells = if rule == Rule::Grow { setting.plot() } else { grown.clone() };
        for frame in 0..300 {
            let (mut serial, mut threaded) = (cells.clone(), cells.clone());
            step(rule, &setting, frame, &cells, &mut serial);
            step_on_threads(rule, &setting, frame, &cells, &mut threaded);
            assert!(serial == threaded, "{rule:?}, frame {frame}");
            cells = serial;
        }
        let mut ahead = if rule == Rule::Grow { setting.plot() } else { grown.clone() };
        let plain = Life::of(rule, &setting, ahead.clone(), |_, _| ());
        for frame in 0..plain.frames {
            let mut next = ahead.clone();
            step(rule, &setting, frame, &ahead, &mut next);
            ahead = next;
        }
        assert!(ahead == plain.cells, "{rule:?}");
    }
}

#[test]
fn dots_meet_no_other_dot_in_one_cell_and_none_is_lost_on_its_way() {
    let setting = Setting::new(33, 33, 3).with_chance(65_536);
    let grown = Life::grown(&setting).cells;
    let count = |cells: &[u32], wanted| cells.iter().filter(|cell| kind(**cell) == wanted).count();
    let mut before = (0, 0);
    let _ = Life::of(Rule::Dots, &setting, grown, |frame, cells| {
        let now = (count(cells, cell::DOT), count(cells, FILLED));
        if frame % 2 == 1 {
            // A claim changes no number of dots.
            assert_eq!(now, before, "frame {frame}");
        } else {
            // A round adds one dot at most (at the start), and each that goes out has filled its cell.
            assert!(now.0 <= before.0 + 1 && now.0 + (now.1 - before.1) + 1 >= before.0, "frame {frame}");
        }
        before = now;
    });
}

#[test]
fn verdicts_name_the_damage_and_its_first_cell() {
    let setting = Setting::new(33, 29, 2);
    let grown = Life::grown(&setting).cells;
    assert_eq!(Verdict::on(&setting, &grown, &grown), Verdict::Perfect);
    let wall = (setting.width as usize..grown.len())
        .find(|index| {
            index % 33 % 2 != index / 33 % 2
                && index % 33 > 0
                && index % 33 < 32
                && kind(grown[*index]) == WALL
        })
        .unwrap();
    let with = |cell: u32| {
        let mut cells = grown.clone();
        cells[wall] = cell;
        Verdict::on(&setting, &grown, &cells)
    };
    let place = format!("({}, {})", wall % 33, wall / 33);
    let (broken, stopped) = (with(OPEN).to_string(), with(FLOOR).to_string());
    assert!(
        broken.starts_with("broken walls: the first wrong cell is") && broken.contains(&place),
        "{broken}"
    );
    assert!(broken.contains("a passage (0x4) instead of a wall (0x1)"), "{broken}");
    assert!(stopped.starts_with("stopped growing") && stopped.contains(&place), "{stopped}");
    let other = Life::grown(&Setting { seed: 3, ..setting }).cells;
    assert_eq!(Verdict::on(&setting, &grown, &other).word(), "another maze");
    let closed: Vec<u32> = grown.iter().map(|cell| if kind(*cell) == OPEN { WALL } else { *cell }).collect();
    assert_eq!(Verdict::on(&setting, &grown, &closed).word(), "broken walls");
    assert!(flaw(&setting, &closed).unwrap().contains("(1, 1) is a wall"));
}
