// The published form of the automaton: WebGL 2, a fragment for each cell, and two textures that take turns. The page uses it where
// there is no WebGPU, the lab times it; both give it the shader's text (lab/shaders/maze/fragments.glsl).

const CORNERS = `#version 300 es
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }`;

// What GLSL ES 3.00 lacks of 3.10, in which the text is written; it lets nobody add to `mix`.
const LACKING = `
int count_bits(uint word) {
    word -= (word >> 1u) & 0x55555555u;
    word = (word & 0x33333333u) + ((word >> 2u) & 0x33333333u);
    return int(((word + (word >> 4u)) & 0x0f0f0f0fu) * 0x01010101u >> 24u);
}
int lowest_bit(uint word) { return word == 0u ? -1 : count_bits((word & (~word + 1u)) - 1u); }
uvec4 chosen(uvec4 no, uvec4 yes, bvec4 which) {
    return uvec4(which.x ? yes.x : no.x, which.y ? yes.y : no.y, which.z ? yes.z : no.z, which.w ? yes.w : no.w);
}
#define bitCount count_bits
#define findLSB lowest_bit
#define mix chosen
`;

/** Compiles and links; throws what the driver says. */
export function linked(gl, fragment, vertex = CORNERS) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader) ?? "the shader does not compile");
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(program) ?? "the shader does not link");
  return program;
}

/** PCG4D, as the shader has it; `to` takes four numbers for each cell of a frame. */
export function fillNumbers({ width, height, seed }, frame, to) {
  const factor = 1664525, term = 1013904223;
  const w = Math.imul(seed, factor) + term | 0, z = Math.imul(frame, factor) + term | 0;
  for (let row = 0, at = 0; row < height; row++) {
    const y = Math.imul(row, factor) + term | 0;
    for (let column = 0; column < width; column++, at += 4) {
      let a = Math.imul(column, factor) + term | 0, b = y, c = z, d = w;
      a = a + Math.imul(b, d) | 0; b = b + Math.imul(c, a) | 0; c = c + Math.imul(a, b) | 0; d = d + Math.imul(b, c) | 0;
      a ^= a >>> 16; b ^= b >>> 16; c ^= c >>> 16; d ^= d >>> 16;
      a = a + Math.imul(b, d) | 0; b = b + Math.imul(c, a) | 0; c = c + Math.imul(a, b) | 0; d = d + Math.imul(b, c) | 0;
      to[at] = a; to[at + 1] = b; to[at + 2] = c; to[at + 3] = d;
    }
  }
}

/** Programs for every rule and form. `precision` is the default one of whole numbers: highp, mediump, lowp. */
export class Fragments {
  constructor(gl, text, precision = "highp") {
    this.gl = gl;
    this.text = text.slice(0, text.indexOf("void main()")).replace("precision highp int;", `precision ${precision} int;${LACKING}`);
    this.programs = new Map();
    this.frame = gl.createBuffer();
    gl.bindBuffer(gl.UNIFORM_BUFFER, this.frame);
    gl.bufferData(gl.UNIFORM_BUFFER, 32, gl.DYNAMIC_DRAW);
    this.words = new Uint32Array(8);
  }

  program(rule, form) {
    const name = `${rule}_by_${form}`;
    const known = this.programs.get(name);
    if (known) return known;
    const { gl } = this;
    const next = `${name}(x, y, cell, look_around(x, y))`;
    const program = linked(gl, `${this.text}
void main() {
    uint x = uint(gl_FragCoord.x);
    uint y = uint(gl_FragCoord.y);
    uint cell = cell_at(x, y);
    _fs2p_location0 = ${rule === "dots" ? `has_arrived() ? cell : ${next}` : next};
}`);
    gl.uniformBlockBinding(program, gl.getUniformBlockIndex(program, "Frame_block_0Fragment"), 0);
    gl.useProgram(program);
    gl.uniform1i(gl.getUniformLocation(program, "_group_0_binding_0_fs"), 0);
    gl.uniform1i(gl.getUniformLocation(program, "_group_0_binding_1_fs"), 1);
    this.programs.set(name, program);
    return program;
  }
}

/** A maze in two textures. */
export class Textures {
  constructor(fragments, width, height) {
    this.fragments = fragments;
    this.width = width;
    this.height = height;
    const { gl } = fragments;
    this.cells = [0, 1].map(() => this.texture(gl.R32UI, width, height));
    this.targets = this.cells.map(texture => {
      const target = gl.createFramebuffer();
      gl.bindFramebuffer(gl.FRAMEBUFFER, target);
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
      return target;
    });
    // Read only where the processor makes the numbers.
    this.numbers = this.texture(gl.RGBA32UI, 1, 1);
    this.made = null;
  }

  texture(format, width, height) {
    const { gl } = this.fragments;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, format, width, height);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    return texture;
  }

  /** The texture that holds the cells before this frame. */
  before(frame) { return this.cells[frame % 2]; }

  /** Cells before this frame. */
  load(cells, frame = 0) {
    const { gl } = this.fragments;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.before(frame));
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, this.width, this.height, gl.RED_INTEGER, gl.UNSIGNED_INT, cells);
  }

  /** So many frames from this one on; `byProcessor`: with random numbers from there. */
  advance(rule, form, setting, first, count, byProcessor = false) {
    const { fragments, width, height } = this;
    const { gl, words } = fragments;
    const program = fragments.program(rule, form);
    if (byProcessor && !this.made) {
      gl.deleteTexture(this.numbers);
      this.numbers = this.texture(gl.RGBA32UI, width, height);
      this.made = new Uint32Array(4 * width * height);
    }
    gl.useProgram(program);
    gl.viewport(0, 0, width, height);
    gl.bindBufferBase(gl.UNIFORM_BUFFER, 0, fragments.frame);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.numbers);
    for (let frame = first; frame < first + count; frame++) {
      if (byProcessor) {
        fillNumbers(setting, frame, this.made);
        gl.activeTexture(gl.TEXTURE1);
        gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, gl.RGBA_INTEGER, gl.UNSIGNED_INT, this.made);
      }
      words.set([width, height, frame, setting.seed, setting.chance, setting.finish, 0, byProcessor ? 1 : 0]);
      gl.bufferSubData(gl.UNIFORM_BUFFER, 0, words);
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, this.before(frame));
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.targets[(frame + 1) % 2]);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }

  /** The cells before this frame; some rows of them. Waits for the device. */
  read(frame, rows = this.height) {
    const { gl } = this.fragments;
    const { width } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.targets[frame % 2]);
    // One number a cell, where the driver can.
    if (gl.getParameter(gl.IMPLEMENTATION_COLOR_READ_FORMAT) === gl.RED_INTEGER && gl.getParameter(gl.IMPLEMENTATION_COLOR_READ_TYPE) === gl.UNSIGNED_INT) {
      const cells = new Uint32Array(width * rows);
      gl.readPixels(0, 0, width, rows, gl.RED_INTEGER, gl.UNSIGNED_INT, cells);
      return cells;
    }
    const wide = new Uint32Array(4 * width * rows);
    gl.readPixels(0, 0, width, rows, gl.RGBA_INTEGER, gl.UNSIGNED_INT, wide);
    return Uint32Array.from({ length: width * rows }, (_, index) => wide[4 * index]);
  }

  close() {
    const { gl } = this.fragments;
    [...this.cells, this.numbers].forEach(texture => gl.deleteTexture(texture));
    this.targets.forEach(target => gl.deleteFramebuffer(target));
  }
}

/** What the browser says of the device: vendor, version of the API and of its shading language, limits. */
export function described(gl) {
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const told = name => String(gl.getParameter(name));
  return {
    name: told(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER), vendor: told(info ? info.UNMASKED_VENDOR_WEBGL : gl.VENDOR),
    api: told(gl.VERSION), language: told(gl.SHADING_LANGUAGE_VERSION), largestTexture: gl.getParameter(gl.MAX_TEXTURE_SIZE),
    bits: Object.fromEntries([["lowp", gl.LOW_INT], ["mediump", gl.MEDIUM_INT], ["highp", gl.HIGH_INT]]
      .map(([name, kind]) => [name, gl.getShaderPrecisionFormat(gl.FRAGMENT_SHADER, kind).rangeMax + 1])),
  };
}
