// The maze's automaton for graphics devices: WebGPU in a browser, wgpu in the lab.
//
// The rules with their reasons stand in lab/src/experiments/maze/ (cell.rs, grow.rs, solve.rs), and every frame must be the
// same there and here, bit for bit. Each rule has two forms, as the publication had: in (A) branches and early returns, where
// threads of one wave part ways and wait for each other; in (B) values that are all computed, and selected from.
//
// One dispatch makes one frame: all cells are read from `before` and written to `after`, one invocation each.

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

struct Status {
  unfinished: atomic<u32>,  // 1 after a frame that reports, if cells are still to change
  arrived: atomic<u32>,     // dots: one more than the frame in which the trail came to the start
}

@group(0) @binding(0) var<storage, read> before: array<u32>;
@group(0) @binding(1) var<storage, read_write> after: array<u32>;
@group(0) @binding(2) var<uniform> frame: Frame;
@group(0) @binding(3) var<storage, read_write> status: Status;

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

// PCG4D (Jarzynski, Olano, "Hash Functions for GPU Rendering", JCGT 9(3), 2020).
fn random(x: u32, y: u32) -> vec4<u32> {
  var v = vec4<u32>(x, y, frame.number, frame.seed) * 1664525u + 1013904223u;
  v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
  v ^= v >> vec4<u32>(16u);
  v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
  return v;
}

fn is_finishing() -> bool { return frame.number >= frame.finish; }

fn is_border(x: u32, y: u32) -> bool {
  return x == 0u || y == 0u || x == frame.width - 1u || y == frame.height - 1u;
}

fn is_start(x: u32, y: u32) -> bool { return x == 1u && y == 1u; }
fn is_goal(x: u32, y: u32) -> bool { return x == frame.width - 2u && y == frame.height - 2u; }

// ---------------------------------------------------------------- (A) branches

fn any_of_branches(choice: u32, word: u32) -> u32 {
  var skipped = ((word >> 16u) * countOneBits(choice)) >> 16u;
  for (var side = 0u; side < 4u; side++) {
    if ((choice & (1u << side)) != 0u) {
      if (skipped == 0u) { return side; }
      skipped--;
    }
  }
  return 0u;
}

fn choose_branches(choice: u32, word: u32) -> u32 {
  if (is_finishing()) {
    let turn = (frame.number >> 1u) & 3u;
    return (turn + countTrailingZeros(((choice | (choice << 4u)) >> turn) | 16u)) & 3u;
  }
  return any_of_branches(choice, word);
}

fn free_sides(n: Around) -> u32 {
  return sides(kind(n.up) == FLOOR, kind(n.right) == FLOOR, kind(n.down) == FLOOR, kind(n.left) == FLOOR);
}

// Sides from which something of this kind points here: slots point away from their head, dots at what they want.
fn sides_coming(n: Around, what: u32) -> u32 {
  return sides(is_just(n.up, what, 2u), is_just(n.right, what, 3u), is_just(n.down, what, 0u), is_just(n.left, what, 1u));
}

fn beside_branches(n: Around, side: u32) -> u32 {
  switch side {
    case 0u: { return n.up; }
    case 1u: { return n.right; }
    case 2u: { return n.down; }
    default: { return n.left; }
  }
}

fn grow_by_branches(x: u32, y: u32, cell: u32, n: Around) -> u32 {
  if ((frame.number & 1u) == 0u) {
    if (((x ^ y) & 1u) == 0u || is_border(x, y)) { return cell; }
    return slot_branches((x & 1u) == 1u, cell, n);
  }
  if (((x | y) & 1u) == 1u) { return cell; }
  return pillar_branches(x, y, cell, n);
}

fn slot_branches(is_level: bool, cell: u32, n: Around) -> u32 {
  var first = n.up; var second = n.down; var forth = 2u;
  if (is_level) { first = n.left; second = n.right; forth = 1u; }
  let back = opposite(forth);
  if (kind(cell) == FLOOR) {
    if (is_just(first, HEAD, forth) && kind(second) == FLOOR) { return towards(RESERVED, forth); }
    if (is_just(second, HEAD, back) && kind(first) == FLOOR) { return towards(RESERVED, back); }
    if (kind(first) != FLOOR && kind(second) != FLOOR) { return OPEN; }
    return FLOOR;
  }
  if (kind(cell) == RESERVED) {
    let way = direction(cell);
    var toward = first;
    if (way == forth) { toward = second; }
    if (kind(toward) != FLOOR && parent(toward) == opposite(way)) { return WALL; }
    return FLOOR;
  }
  return cell;
}

fn pillar_branches(x: u32, y: u32, cell: u32, n: Around) -> u32 {
  let keep = cell & PARENTAGE;
  if (kind(cell) == FLOOR) {
    let offers = sides_coming(n, RESERVED);
    if (offers == 0u) { return cell; }
    let words = random(x, y);
    let origin = choose_branches(offers, words.x);
    let way = choose_branches(ALL_SIDES & ~(1u << origin), words.y);
    return towards(HEAD, way) | (1u << (origin + 5u)) | (origin << 9u) | HAS_PARENT;
  }
  if (kind(cell) == HEAD) {
    let way = direction(cell);
    if (is_just(beside_branches(n, way), RESERVED, way)) { return WALL | keep; }
    let tried = ((cell >> 5u) & ALL_SIDES) | (1u << way) | (ALL_SIDES & ~free_sides(n));
    if (tried == ALL_SIDES) { return WALL | keep; }
    return towards(HEAD, choose_branches(ALL_SIDES & ~tried, random(x, y).y)) | (tried << 5u) | keep;
  }
  if (kind(cell) != WALL) { return cell; }
  let free = free_sides(n);
  if (free == 0u) { return cell; }
  let words = random(x, y);
  if (!is_finishing() && (words.z >> 16u) >= frame.chance) { return cell; }
  return towards(HEAD, choose_branches(free, words.y)) | ((ALL_SIDES & ~free) << 5u) | keep;
}

fn fill_by_branches(x: u32, y: u32, cell: u32, n: Around) -> u32 {
  if (kind(cell) != OPEN || is_start(x, y) || is_goal(x, y)) { return cell; }
  var open = 0u;
  if (kind(n.up) == OPEN) { open++; }
  if (kind(n.right) == OPEN) { open++; }
  if (kind(n.down) == OPEN) { open++; }
  if (kind(n.left) == OPEN) { open++; }
  if (open <= 1u) { return FILLED; }
  return cell;
}

fn is_passage(cell: u32) -> bool { return kind(cell) >= OPEN; }
fn is_way(cell: u32) -> bool { return kind(cell) >= OPEN && kind(cell) != FILLED; }
fn is_new(cell: u32) -> bool { return (kind(cell) == OPEN || kind(cell) == CLAIMED) && (cell & HAS_PARENT) == 0u; }

// Whether the trail comes from the neighbour at this side.
fn leads(neighbour: u32, side: u32) -> bool { return (neighbour & TRAIL) != 0u && parent(neighbour) == opposite(side); }
fn is_led(n: Around) -> bool { return leads(n.up, 0u) || leads(n.right, 1u) || leads(n.down, 2u) || leads(n.left, 3u); }

fn dots_by_branches(x: u32, y: u32, cell: u32, n: Around) -> u32 {
  if (!is_passage(cell)) { return cell; }
  var next = cell;
  if ((frame.number & 1u) == 0u) { next = let_in_branches(x, y, cell, n); }
  else { next = move_on_branches(x, y, cell, n); }
  if (is_led(n)) { return next | TRAIL; }
  return next;
}

fn let_in_branches(x: u32, y: u32, cell: u32, n: Around) -> u32 {
  if (kind(cell) != OPEN) { return cell; }
  let coming = sides_coming(n, DOT);
  if (coming == 0u) { return cell; }
  return towards(CLAIMED, any_of_branches(coming, random(x, y).x)) | (cell & (PARENTAGE | TRAIL));
}

fn move_on_branches(x: u32, y: u32, cell: u32, n: Around) -> u32 {
  let keep = cell & (PARENTAGE | TRAIL);
  let way = direction(cell);
  if (kind(cell) == CLAIMED) {
    var entered = keep;
    if (parent(cell) == NOBODY && !is_start(x, y)) { entered = keep | (way << 9u) | HAS_PARENT; }
    if (is_goal(x, y)) { return OPEN | entered | TRAIL; }
    return dot_branches(x, y, entered, n, 0u);
  }
  if (kind(cell) == DOT) {
    if (parent(cell) == way) { return FILLED | keep; }
    if (is_just(beside_branches(n, way), CLAIMED, opposite(way))) { return OPEN | keep; }
    return dot_branches(x, y, keep, n, 1u << way);
  }
  if (kind(cell) == OPEN && is_start(x, y) && (random(x, y).z >> 16u) < frame.chance) {
    return dot_branches(x, y, keep, n, 0u);
  }
  return cell;
}

fn onward(entered: u32) -> u32 { return ALL_SIDES & ~((1u << parent(entered)) & ALL_SIDES); }
fn ways_of(n: Around) -> u32 { return sides(is_way(n.up), is_way(n.right), is_way(n.down), is_way(n.left)); }
fn new_of(n: Around) -> u32 { return sides(is_new(n.up), is_new(n.right), is_new(n.down), is_new(n.left)); }

fn dot_branches(x: u32, y: u32, entered: u32, n: Around, shunned: u32) -> u32 {
  let ways = ways_of(n) & onward(entered);
  if (ways == 0u && parent(entered) != NOBODY) { return towards(DOT, parent(entered)) | entered; }
  var choice = new_of(n) & onward(entered) & ~shunned;
  if (choice == 0u) { choice = ways & ~shunned; }
  if (choice == 0u) { choice = ways; }
  return towards(DOT, any_of_branches(choice, random(x, y).y)) | entered;
}

// ---------------------------------------------------------------- (B) selects

// The place of the n-th one in a word of four bits, where n is what `word` says.
fn any_of_selects(choice: u32, word: u32) -> u32 {
  let skipped = ((word >> 16u) * countOneBits(choice)) >> 16u;
  let below = vec4<u32>(0u, choice & 1u, countOneBits(choice & 3u), countOneBits(choice & 7u));
  let is_it = ((vec4<u32>(choice) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u)) == vec4<u32>(1u);
  let found = select(vec4<u32>(0u), vec4<u32>(0u, 1u, 2u, 3u), is_it & (below == vec4<u32>(skipped)));
  return found.x | found.y | found.z | found.w;
}

fn choose_selects(choice: u32, word: u32) -> u32 {
  let turn = (frame.number >> 1u) & 3u;
  let next = (turn + countTrailingZeros(((choice | (choice << 4u)) >> turn) | 16u)) & 3u;
  return select(any_of_selects(choice, word), next, is_finishing());
}

fn beside_selects(n: Around, side: u32) -> u32 {
  return select(select(n.up, n.right, side == 1u), select(n.down, n.left, side == 3u), side > 1u);
}

fn grow_by_selects(x: u32, y: u32, cell: u32, n: Around) -> u32 {
  let is_even = (frame.number & 1u) == 0u;
  // Slots.
  let is_level = (x & 1u) == 1u;
  let first = select(n.up, n.left, is_level);
  let second = select(n.down, n.right, is_level);
  let forth = select(2u, 1u, is_level);
  let back = opposite(forth);
  let is_decided = (kind(first) != FLOOR) & (kind(second) != FLOOR);
  let by_first = is_just(first, HEAD, forth) & (kind(second) == FLOOR);
  let by_second = is_just(second, HEAD, back) & (kind(first) == FLOOR);
  let from_floor = select(select(select(FLOOR, OPEN, is_decided), towards(RESERVED, back), by_second), towards(RESERVED, forth), by_first);
  let way = direction(cell);
  let toward = select(first, second, way == forth);
  let from_reserved = select(FLOOR, WALL, (kind(toward) != FLOOR) & (parent(toward) == opposite(way)));
  let is_slot = is_even & (((x ^ y) & 1u) == 1u) & !is_border(x, y);
  // Pillars.
  let words = random(x, y);
  let free = free_sides(n);
  let offers = sides_coming(n, RESERVED);
  let keep = cell & PARENTAGE;
  let origin = choose_selects(offers, words.x);
  let tried = ((cell >> 5u) & ALL_SIDES) | (1u << way) | (ALL_SIDES & ~free);
  let is_floor = kind(cell) == FLOOR;
  let is_head = kind(cell) == HEAD;
  let choice = select(select(free, ALL_SIDES & ~tried, is_head), ALL_SIDES & ~(1u << origin), is_floor);
  let head = towards(HEAD, choose_selects(choice, words.y));
  let joined = select(cell, head | (1u << (origin + 5u)) | (origin << 9u) | HAS_PARENT, offers != 0u);
  let is_done = is_just(beside_selects(n, way), RESERVED, way) | (tried == ALL_SIDES);
  let from_head = select(head | (tried << 5u) | keep, WALL | keep, is_done);
  let is_drawn = is_finishing() | ((words.z >> 16u) < frame.chance);
  let from_wall = select(cell, head | ((ALL_SIDES & ~free) << 5u) | keep, (free != 0u) & is_drawn);
  let is_pillar = !is_even & (((x | y) & 1u) == 0u);
  // What it is.
  var next = cell;
  next = select(next, from_floor, is_slot & is_floor);
  next = select(next, from_reserved, is_slot & (kind(cell) == RESERVED));
  next = select(next, joined, is_pillar & is_floor);
  next = select(next, from_head, is_pillar & is_head);
  next = select(next, from_wall, is_pillar & (kind(cell) == WALL));
  return next;
}

fn fill_by_selects(x: u32, y: u32, cell: u32, n: Around) -> u32 {
  let open = countOneBits(sides(kind(n.up) == OPEN, kind(n.right) == OPEN, kind(n.down) == OPEN, kind(n.left) == OPEN));
  return select(cell, FILLED, (kind(cell) == OPEN) & (open <= 1u) & !is_start(x, y) & !is_goal(x, y));
}

fn dots_by_selects(x: u32, y: u32, cell: u32, n: Around) -> u32 {
  let words = random(x, y);
  let what = kind(cell);
  let keep = cell & (PARENTAGE | TRAIL);
  let way = direction(cell);
  // Even frames.
  let coming = sides_coming(n, DOT);
  let is_claimed = (what == OPEN) & (coming != 0u);
  let even = select(cell, towards(CLAIMED, any_of_selects(coming, words.x)) | keep, is_claimed);
  // Odd frames.
  let is_first = (what == CLAIMED) & (parent(cell) == NOBODY) & !is_start(x, y);
  let entered = keep | select(0u, (way << 9u) | HAS_PARENT, is_first);
  let shunned = select(0u, 1u << way, what == DOT);
  let ways = ways_of(n) & onward(entered);
  let new_ones = new_of(n) & onward(entered) & ~shunned;
  let others = select(ways, ways & ~shunned, (ways & ~shunned) != 0u);
  let choice = select(others, new_ones, new_ones != 0u);
  let is_back = (ways == 0u) & (parent(entered) != NOBODY);
  let dot = towards(DOT, select(any_of_selects(choice, words.y), parent(entered) & 3u, is_back)) | entered;
  let arrived = select(dot, OPEN | entered | TRAIL, is_goal(x, y));
  let is_let_in = is_just(beside_selects(n, way), CLAIMED, opposite(way));
  let left = select(select(dot, OPEN | keep, is_let_in), FILLED | keep, parent(cell) == way);
  let is_born = (what == OPEN) & is_start(x, y) & ((words.z >> 16u) < frame.chance);
  let odd = select(select(select(cell, dot, is_born), left, what == DOT), arrived, what == CLAIMED);
  let next = select(odd, even, (frame.number & 1u) == 0u);
  return select(cell, next | select(0u, TRAIL, is_led(n)), is_passage(cell));
}

// ---------------------------------------------------------------- entry points

// Beyond the border there are walls.
fn cell_at(x: u32, y: u32) -> u32 {
  if (x >= frame.width || y >= frame.height) { return WALL; }
  return before[y * frame.width + x];
}

fn look_around(x: u32, y: u32) -> Around {
  return Around(cell_at(x, y - 1u), cell_at(x + 1u, y), cell_at(x, y + 1u), cell_at(x - 1u, y));
}

fn report_if(goes_on: bool) {
  if (frame.report != 0u && goes_on) { atomicStore(&status.unfinished, 1u); }
}

fn is_unsettled(cell: u32) -> bool { return kind(cell) == FLOOR || kind(cell) == HEAD || kind(cell) == RESERVED; }

@compute @workgroup_size(16, 8)
fn grow_branches(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= frame.width || id.y >= frame.height) { return; }
  let index = id.y * frame.width + id.x;
  let next = grow_by_branches(id.x, id.y, before[index], look_around(id.x, id.y));
  after[index] = next;
  report_if(is_unsettled(next));
}

@compute @workgroup_size(16, 8)
fn grow_selects(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= frame.width || id.y >= frame.height) { return; }
  let index = id.y * frame.width + id.x;
  let next = grow_by_selects(id.x, id.y, before[index], look_around(id.x, id.y));
  after[index] = next;
  report_if(is_unsettled(next));
}

@compute @workgroup_size(16, 8)
fn fill_branches(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= frame.width || id.y >= frame.height) { return; }
  let index = id.y * frame.width + id.x;
  let next = fill_by_branches(id.x, id.y, before[index], look_around(id.x, id.y));
  after[index] = next;
  report_if(next != before[index]);
}

@compute @workgroup_size(16, 8)
fn fill_selects(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= frame.width || id.y >= frame.height) { return; }
  let index = id.y * frame.width + id.x;
  let next = fill_by_selects(id.x, id.y, before[index], look_around(id.x, id.y));
  after[index] = next;
  report_if(next != before[index]);
}

// Dots stand still from the frame after the trail's arrival on: who reads of it in the same frame goes on.
fn has_arrived() -> bool {
  let arrived = atomicLoad(&status.arrived);
  return arrived != 0u && arrived <= frame.number;
}

fn note_dots(x: u32, y: u32, next: u32) {
  if (!is_start(x, y)) { return; }
  if ((next & TRAIL) == 0u) { report_if(true); }
  else if (!has_arrived()) { atomicStore(&status.arrived, frame.number + 1u); }
}

@compute @workgroup_size(16, 8)
fn dots_branches(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= frame.width || id.y >= frame.height) { return; }
  let index = id.y * frame.width + id.x;
  var next = before[index];
  if (!has_arrived()) { next = dots_by_branches(id.x, id.y, next, look_around(id.x, id.y)); }
  after[index] = next;
  note_dots(id.x, id.y, next);
}

@compute @workgroup_size(16, 8)
fn dots_selects(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= frame.width || id.y >= frame.height) { return; }
  let index = id.y * frame.width + id.x;
  let cell = before[index];
  let next = select(dots_by_selects(id.x, id.y, cell, look_around(id.x, id.y)), cell, has_arrived());
  after[index] = next;
  note_dots(id.x, id.y, next);
}
