// One dispatch makes one frame: all cells are read from `before` and written to `after`, one invocation each. An entry point
// for each rule in each form.

struct Status {
  unfinished: atomic<u32>,  // 1 after a frame that reports, if cells are still to change
  arrived: atomic<u32>,     // dots: one more than the frame in which the trail came to the start
}

@group(0) @binding(0) var<storage, read> before: array<u32>;
@group(0) @binding(1) var<storage, read_write> after: array<u32>;
@group(0) @binding(3) var<storage, read_write> status: Status;

// Beyond the border there are walls.
fn cell_at(x: u32, y: u32) -> u32 {
  if (x >= frame.width || y >= frame.height) { return WALL; }
  return before[y * frame.width + x];
}

// PCG4D (Jarzynski, Olano, "Hash Functions for GPU Rendering", JCGT 9(3), 2020).
fn random(x: u32, y: u32) -> vec4<u32> {
  var v = vec4<u32>(x, y, frame.number, frame.seed) * 1664525u + 1013904223u;
  v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
  v ^= v >> vec4<u32>(16u);
  v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
  return v;
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
