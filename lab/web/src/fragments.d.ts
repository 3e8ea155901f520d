// The types of fragments.js, which is plain JavaScript because the lab serves it without a build.

import type { Rule, Setting } from "./automaton";
import type { Form } from "./engine";

export function linked(gl: WebGL2RenderingContext, fragment: string, vertex?: string): WebGLProgram;
export type Precision = "highp" | "mediump" | "lowp";

export class Fragments {
  constructor(gl: WebGL2RenderingContext, text: string, precision?: Precision);
}

export class Textures {
  constructor(fragments: Fragments, width: number, height: number);
  before(frame: number): WebGLTexture;
  load(cells: Uint32Array, frame?: number): void;
  advance(rule: Rule, form: Form, setting: Setting, first: number, count: number, byProcessor?: boolean): void;
  read(frame: number, rows?: number): Uint32Array<ArrayBuffer>;
  close(): void;
}

export interface Described { name: string; vendor: string; api: string; language: string; largestTexture: number; bits: Record<Precision, number> }
export function described(gl: WebGL2RenderingContext): Described;
