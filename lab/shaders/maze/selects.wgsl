// Form (B) of the maze's rules: everything is computed, and selected from; no thread waits for its neighbours.

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
