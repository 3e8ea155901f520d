// The published form: a fragment for each cell, read from one texture and written to the other, which take turns. Random numbers
// are made here, or come from the processor in a texture of their own, as the publication had them.

@group(0) @binding(0) var before: texture_2d<u32>;
@group(0) @binding(1) var numbers: texture_2d<u32>;

// Beyond the border there are walls.
fn cell_at(x: u32, y: u32) -> u32 {
  if (x >= frame.width || y >= frame.height) { return WALL; }
  return textureLoad(before, vec2<u32>(x, y), 0).x;
}

// PCG4D (Jarzynski, Olano, "Hash Functions for GPU Rendering", JCGT 9(3), 2020).
fn made_here(x: u32, y: u32) -> vec4<u32> {
  var v = vec4<u32>(x, y, frame.number, frame.seed) * 1664525u + 1013904223u;
  v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
  v ^= v >> vec4<u32>(16u);
  v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
  return v;
}

fn random(x: u32, y: u32) -> vec4<u32> {
  if (frame.unused != 0u) { return textureLoad(numbers, vec2<u32>(x, y), 0); }
  return made_here(x, y);
}

// Dots stand still when the trail has come to the start.
fn has_arrived() -> bool { return (cell_at(1u, 1u) & TRAIL) != 0u; }

// 0 to 2: grow, fill, dots by branches; 3 to 5: the same by selects.
@fragment
fn make_cell(@builtin(position) place: vec4<f32>) -> @location(0) u32 {
  let x = u32(place.x);
  let y = u32(place.y);
  let cell = cell_at(x, y);
  let n = look_around(x, y);
  switch frame.report {
    case 0u: { return grow_by_branches(x, y, cell, n); }
    case 1u: { return fill_by_branches(x, y, cell, n); }
    case 2u: {
      if (has_arrived()) { return cell; }
      return dots_by_branches(x, y, cell, n);
    }
    case 3u: { return grow_by_selects(x, y, cell, n); }
    case 4u: { return fill_by_selects(x, y, cell, n); }
    default: { return select(dots_by_selects(x, y, cell, n), cell, has_arrived()); }
  }
}
