// The maze's automaton for graphics devices: WebGPU in a browser, wgpu in the lab. One source in four files, which both
// join in this order: cells.wgsl, branches.wgsl, selects.wgsl, frames.wgsl. With fragments.wgsl as the last it is the
// published form, of which WebGL's text is made (fragments.glsl).
//
// The rules with their reasons stand in lab/src/experiments/maze/ (cell.rs, grow.rs, solve.rs), and every frame must be the
// same there and here, bit for bit. Each rule has two forms, as the publication had: in (A) branches and early returns, where
// threads of one wave part ways and wait for each other; in (B) values that are all computed, and selected from.
//
// This file: what a frame and a cell are, and what both forms ask of a cell and its neighbours.

struct Frame {
  width: u32,
  height: u32,
  number: u32,  // even and odd frames have other rules
  seed: u32,
  chance: u32,  // in 65536ths
  finish: u32,  // from this frame on growing leaves nothing to chance
  report: u32,  // 1: this frame says in `status.unfinished` whether the rule goes on
  unused: u32,
}

@group(0) @binding(2) var<uniform> frame: Frame;

// Kinds, bits 0 to 2 of a cell.
const FLOOR = 0u;
const WALL = 1u;
const HEAD = 2u;
const RESERVED = 3u;
const OPEN = 4u;
const DOT = 5u;
const CLAIMED = 6u;
const FILLED = 7u;

const ALL_SIDES = 15u;
const HAS_PARENT = 1u << 11u;
const PARENTAGE = 7u << 9u;
const TRAIL = 1u << 12u;
const NOBODY = 4u;  // no side

struct Around { up: u32, right: u32, down: u32, left: u32 }

fn kind(cell: u32) -> u32 { return cell & 7u; }
fn direction(cell: u32) -> u32 { return (cell >> 3u) & 3u; }
fn opposite(side: u32) -> u32 { return (side + 2u) & 3u; }
fn parent(cell: u32) -> u32 { return select(NOBODY, (cell >> 9u) & 3u, (cell & HAS_PARENT) != 0u); }
fn towards(what: u32, side: u32) -> u32 { return what | (side << 3u); }
// Kind and direction are these.
fn is_just(cell: u32, what: u32, side: u32) -> bool { return (cell & 31u) == towards(what, side); }

// A bit for each side whose answer is yes.
fn sides(up: bool, right: bool, down: bool, left: bool) -> u32 {
  return select(0u, 1u, up) | select(0u, 2u, right) | select(0u, 4u, down) | select(0u, 8u, left);
}

fn is_finishing() -> bool { return frame.number >= frame.finish; }

fn is_border(x: u32, y: u32) -> bool {
  return x == 0u || y == 0u || x == frame.width - 1u || y == frame.height - 1u;
}

fn is_start(x: u32, y: u32) -> bool { return x == 1u && y == 1u; }
fn is_goal(x: u32, y: u32) -> bool { return x == frame.width - 2u && y == frame.height - 2u; }

fn look_around(x: u32, y: u32) -> Around {
  return Around(cell_at(x, y - 1u), cell_at(x + 1u, y), cell_at(x, y + 1u), cell_at(x - 1u, y));
}

fn free_sides(n: Around) -> u32 {
  return sides(kind(n.up) == FLOOR, kind(n.right) == FLOOR, kind(n.down) == FLOOR, kind(n.left) == FLOOR);
}

// Sides from which something of this kind points here: slots point away from their head, dots at what they want.
fn sides_coming(n: Around, what: u32) -> u32 {
  return sides(is_just(n.up, what, 2u), is_just(n.right, what, 3u), is_just(n.down, what, 0u), is_just(n.left, what, 1u));
}

fn is_passage(cell: u32) -> bool { return kind(cell) >= OPEN; }
fn is_way(cell: u32) -> bool { return kind(cell) >= OPEN && kind(cell) != FILLED; }
fn is_new(cell: u32) -> bool { return (kind(cell) == OPEN || kind(cell) == CLAIMED) && (cell & HAS_PARENT) == 0u; }

// Whether the trail comes from the neighbour at this side.
fn leads(neighbour: u32, side: u32) -> bool { return (neighbour & TRAIL) != 0u && parent(neighbour) == opposite(side); }
fn is_led(n: Around) -> bool { return leads(n.up, 0u) || leads(n.right, 1u) || leads(n.down, 2u) || leads(n.left, 3u); }

// Sides a dot that came in by `entered` may leave by.
fn onward(entered: u32) -> u32 { return ALL_SIDES & ~((1u << parent(entered)) & ALL_SIDES); }
fn ways_of(n: Around) -> u32 { return sides(is_way(n.up), is_way(n.right), is_way(n.down), is_way(n.left)); }
fn new_of(n: Around) -> u32 { return sides(is_new(n.up), is_new(n.right), is_new(n.down), is_new(n.left)); }
