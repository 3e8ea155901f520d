// Shows cells: one triangle over the whole picture, and in each pixel the colour of the cell beneath it.

struct View {
  cells: vec2<u32>,      // of the maze
  origin: vec2<f32>,     // pixels from the picture's corner to the maze's
  pixels: f32,           // along a cell's side
  is_filled: u32,        // 1: open passages are the way
}

@group(0) @binding(0) var<storage, read> cells: array<u32>;
@group(0) @binding(1) var<uniform> view: View;
@group(0) @binding(2) var<uniform> colours: array<vec4<f32>, 12>;

const OPEN = 4u;
const DOT = 5u;
const TRAIL = 1u << 12u;
const WAY = 8u;
const ENDS = 9u;
const OUTSIDE = 10u;

@vertex
fn corner(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
  return vec4<f32>(f32(index & 1u) * 4.0 - 1.0, f32(index >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

@fragment
fn colour(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
  let place = (position.xy - view.origin) / view.pixels;
  if (any(place < vec2<f32>(0.0)) || any(place >= vec2<f32>(view.cells))) { return colours[OUTSIDE]; }
  let at = vec2<u32>(place);
  let cell = cells[at.y * view.cells.x + at.x];
  let kind = cell & 7u;
  let is_end = all(at == vec2<u32>(1u)) || all(at == view.cells - vec2<u32>(2u));
  if (is_end && kind != DOT) { return colours[ENDS]; }
  if (kind >= OPEN && (cell & TRAIL) != 0u) { return colours[WAY]; }
  if (kind == OPEN && view.is_filled == 1u) { return colours[WAY]; }
  return colours[kind];
}
