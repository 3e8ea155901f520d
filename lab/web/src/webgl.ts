// The engine of browsers without WebGPU: the published form, by WebGL 2, in the page's own canvas, since its textures cannot be
// drawn in another.

import { goesOn, plot, withChanceOf, type Rule, type Setting } from "./automaton";
import text from "../../shaders/maze/fragments.glsl?raw";
import type { Display, Engine, Form, Growing } from "./engine";
import { described, Fragments, linked, Textures, type Described, type Precision } from "./fragments";
import { channels, fit, onColours, placed } from "./look";

const PRECISIONS: readonly Precision[] = ["highp", "mediump", "lowp"];

export class WebGl implements Engine<TextureMaze> {
  readonly isDevice = true;
  readonly name: string;
  readonly mostCells: number;
  readonly canvas: HTMLCanvasElement;
  readonly gl: WebGL2RenderingContext;
  readonly fragments: Fragments;
  /** Whether the processor makes the random numbers, as the publication had it: `?random=processor`. */
  readonly byProcessor: boolean;

  private constructor(canvas: HTMLCanvasElement, gl: WebGL2RenderingContext, told: Described) {
    const asked = new URLSearchParams(location.search);
    const precision = PRECISIONS.find(precision => precision === asked.get("precision")) ?? "highp";
    this.canvas = canvas;
    this.gl = gl;
    this.fragments = new Fragments(gl, text, precision);
    this.byProcessor = asked.get("random") === "processor";
    this.name = `${told.name}, by ${told.api}, ${told.language}`;
    // A side too long for a texture is kept away by the number of cells: no canvas is more than twice as long as it is wide.
    this.mostCells = Math.min(2049 * 4097, told.largestTexture ** 2 / 2);
  }

  /** The canvas' own device; the reason if there is none. */
  static open(canvas: HTMLCanvasElement): WebGl | string {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, powerPreference: "high-performance" });
    return gl ? new WebGl(canvas, gl, described(gl)) : "It has no WebGL 2 either.";
  }

  maze(setting: Setting): TextureMaze { return new TextureMaze(this, setting); }
}

export class TextureMaze implements Growing {
  readonly setting: Setting;
  rule: Rule = "grow";
  frame = 0;
  readonly textures: Textures;
  private readonly engine: WebGl;

  constructor(engine: WebGl, setting: Setting) {
    this.engine = engine;
    this.setting = setting;
    this.textures = new Textures(engine.fragments, setting.width, setting.height);
    this.begin("grow", plot(setting));
  }

  begin(rule: Rule, cells: Uint32Array<ArrayBuffer>): void {
    this.rule = rule;
    this.frame = 0;
    this.textures.load(cells);
  }

  advance(frames: number, form: Form): void {
    const count = Math.min(frames, 64);
    this.textures.advance(this.rule, form, withChanceOf(this.rule, this.setting), this.frame, count, this.engine.byProcessor);
    this.frame += count;
  }

  async goesOn(): Promise<boolean> {
    const after = this.textures.read(this.frame);
    // Only filling is known by what the last frame changed.
    const before = this.rule === "fill" ? this.textures.read(this.frame + 1) : after;
    if (this.engine.gl.isContextLost()) throw new DOMException("the context was lost");
    return goesOn(this.rule, this.setting, before, after);
  }

  async cells(): Promise<Uint32Array<ArrayBuffer>> {
    const cells = this.textures.read(this.frame);
    if (this.engine.gl.isContextLost()) throw new DOMException("the context was lost");
    return cells;
  }

  close(): void { this.textures.close(); }
}

const COLOUR = `#version 300 es
precision highp float;
precision highp int;
uniform highp usampler2D cells;
uniform vec4 place; // left, top, pixels of a cell, height of the canvas
uniform ivec3 size; // cells, and whether dead ends were filled
uniform vec3 colours[11];
out vec4 colour;
void main() {
  ivec2 at = ivec2(floor((vec2(gl_FragCoord.x, place.w - gl_FragCoord.y) - place.xy) / place.z));
  int kind = 10;
  if (all(greaterThanEqual(at, ivec2(0))) && all(lessThan(at, size.xy))) {
    uint cell = texelFetch(cells, at, 0).x;
    kind = int(cell & 7u);
    bool isEnd = at == ivec2(1) || at == size.xy - 2;
    bool isWay = (kind >= 4 && (cell & 4096u) != 0u) || (kind == 4 && size.z == 1);
    if (isEnd && kind != 5) kind = 9;
    else if (isWay) kind = 8;
  }
  colour = vec4(colours[kind], 1.0);
}`;

export class TextureDisplay implements Display<TextureMaze> {
  readonly canvas: HTMLCanvasElement;
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;
  private colours = new Float32Array(33);

  constructor(engine: WebGl) {
    this.canvas = engine.canvas;
    this.gl = engine.gl;
    this.program = linked(this.gl, COLOUR);
    onColours(colours => { this.colours = new Float32Array(colours.flatMap(colour => channels(colour).map(channel => channel / 255))); });
  }

  fit(): void { fit(this.canvas, 8192); }

  draw(maze: TextureMaze): void {
    const { gl, program, canvas } = this;
    const { width, height } = maze.setting;
    const { left, top, pixels } = placed(canvas, maze.setting);
    const at = (name: string) => gl.getUniformLocation(program, name);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.useProgram(program);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, maze.textures.before(maze.frame));
    gl.uniform1i(at("cells"), 0);
    gl.uniform4f(at("place"), left, top, pixels, canvas.height);
    gl.uniform3i(at("size"), width, height, maze.rule === "fill" ? 1 : 0);
    gl.uniform3fv(at("colours"), this.colours);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /** Taken before the browser shows and forgets what was drawn. */
  async picture(maze: TextureMaze): Promise<Blob> {
    this.draw(maze);
    return new Promise((done, fail) => this.canvas.toBlob(blob => blob ? done(blob) : fail(new Error("The canvas gives no picture.")), "image/png"));
  }
}
