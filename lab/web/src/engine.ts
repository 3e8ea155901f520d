// What makes a maze's frames: a graphics device, or the processor where there is none or it was lost.

import type { Rule, Setting } from "./automaton";

export type Form = "branches" | "selects";

/** A maze that is made frame by frame somewhere else. */
export interface Growing {
  readonly setting: Setting;
  readonly rule: Rule;
  /** Frames that were asked for. */
  readonly frame: number;
  /** Follows a rule from these cells on. */
  begin(rule: Rule, cells: Uint32Array<ArrayBuffer>): void;
  /** Asks for so many frames, at most 64. */
  advance(frames: number, form: Form): void;
  /** Whether the rule goes on after the last frame that was asked for. */
  goesOn(): Promise<boolean>;
  /** The cells now. */
  cells(): Promise<Uint32Array<ArrayBuffer>>;
  close(): void;
}

export interface Engine<Maze extends Growing> {
  readonly name: string;
  /** Whether this is a graphics device, whose mazes are compared with the processor's. */
  readonly isDevice: boolean;
  readonly mostCells: number;
  /** A maze before its first frame. */
  maze(setting: Setting): Maze;
}

/** Shows an engine's mazes in a canvas. */
export interface Display<Maze extends Growing> {
  readonly canvas: HTMLCanvasElement;
  /** Follows the canvas' size on the page. */
  fit(): void;
  draw(maze: Maze): void;
  /** What is shown, as PNG. */
  picture(maze: Maze): Promise<Blob>;
}
