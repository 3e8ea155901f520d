// Form (A) of the maze's rules: branches and early returns.

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

fn dot_branches(x: u32, y: u32, entered: u32, n: Around, shunned: u32) -> u32 {
  let ways = ways_of(n) & onward(entered);
  if (ways == 0u && parent(entered) != NOBODY) { return towards(DOT, parent(entered)) | entered; }
  var choice = new_of(n) & onward(entered) & ~shunned;
  if (choice == 0u) { choice = ways & ~shunned; }
  if (choice == 0u) { choice = ways; }
  return towards(DOT, any_of_branches(choice, random(x, y).y)) | entered;
}
