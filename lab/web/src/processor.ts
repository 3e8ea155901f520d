// The processor as an engine, in a worker of its own: for browsers without WebGPU, and to go on with a maze whose device was
// lost. A maze is made of its setting alone, so it can be made again up to any frame.

import type { Rule, Setting } from "./automaton";
import type { Display, Engine, Growing } from "./engine";
import { channels, ENDS, fit, onColours, OUTSIDE, placed, WAY } from "./look";
import type { Made, Order } from "./processor.worker";

/** More would take too long between two pictures. */
const MOST_CELLS = 200_000;

export class Processor implements Engine<ProcessorMaze> {
  readonly name = "this processor";
  readonly isDevice = false;
  readonly mostCells = MOST_CELLS;

  maze(setting: Setting): ProcessorMaze { return new ProcessorMaze({ setting, rule: "grow", frame: 0 }); }

  /** The maze that another engine had, after as many frames of the same rule. */
  resumed({ setting, rule, frame }: Growing): ProcessorMaze { return new ProcessorMaze({ setting, rule, frame }); }
}

export class ProcessorMaze implements Growing {
  readonly setting: Setting;
  rule: Rule;
  frame: number;
  /** The cells of the last frame that is made, for the picture. */
  shown: Uint32Array<ArrayBuffer> | null = null;
  private readonly worker = new Worker(new URL("./processor.worker.ts", import.meta.url), { type: "module" });
  private readonly waiting: ((made: Made) => void)[] = [];
  private last: Promise<Made>;

  constructor({ setting, rule, frame }: Pick<Growing, "setting" | "rule" | "frame">) {
    this.setting = setting;
    this.rule = rule;
    this.frame = frame;
    this.worker.onmessage = ({ data }: MessageEvent<Made>) => {
      this.shown = data.cells;
      this.waiting.shift()?.(data);
    };
    this.last = this.order({ setting, rule, from: null, frames: frame });
  }

  private order(order: Order): Promise<Made> {
    this.worker.postMessage(order);
    return this.last = new Promise(done => this.waiting.push(done));
  }

  begin(rule: Rule, cells: Uint32Array<ArrayBuffer>): void {
    this.rule = rule;
    this.frame = 0;
    void this.order({ setting: this.setting, rule, from: cells, frames: 0 });
  }

  advance(frames: number): void {
    this.frame += frames;
    void this.order({ frames });
  }

  async goesOn(): Promise<boolean> { return (await this.last).goesOn; }
  async cells(): Promise<Uint32Array<ArrayBuffer>> { return (await this.last).cells.slice(); }
  close(): void { this.worker.terminate(); }
}

export class PlainDisplay implements Display<ProcessorMaze> {
  readonly canvas: HTMLCanvasElement;
  private readonly context: CanvasRenderingContext2D;
  private readonly small = new OffscreenCanvas(1, 1);
  private colours: readonly string[] = [];
  private words = new Uint32Array(0);

  constructor(canvas: HTMLCanvasElement) {
    this.canvas = canvas;
    const context = canvas.getContext("2d");
    if (!context) throw new Error("The canvas can show nothing.");
    this.context = context;
    onColours(colours => {
      this.colours = colours;
      this.words = new Uint32Array(new Uint8ClampedArray(colours.flatMap(colour => [...channels(colour), 255])).buffer);
    });
  }

  fit(): void { fit(this.canvas, 8192); }

  draw(maze: ProcessorMaze): void {
    const { context, small } = this;
    context.fillStyle = this.colours[OUTSIDE]!;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    if (!maze.shown) return;
    const { width, height } = maze.setting;
    if (small.width !== width) small.width = width;
    if (small.height !== height) small.height = height;
    const image = new ImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const [start, goal] = [width + 1, width * (height - 1) - 2];
    maze.shown.forEach((cell, index) => {
      const kind = cell & 7;
      const isWay = (kind >= 4 && (cell & (1 << 12)) !== 0) || (kind === 4 && maze.rule === "fill");
      pixels[index] = this.words[(index === start || index === goal) && kind !== 5 ? ENDS : isWay ? WAY : kind]!;
    });
    small.getContext("2d")!.putImageData(image, 0, 0);
    const { left, top, pixels: side } = placed(this.canvas, maze.setting);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, left, top, width * side, height * side);
  }

  async picture(maze: ProcessorMaze): Promise<Blob> {
    this.draw(maze);
    return new Promise((done, fail) => this.canvas.toBlob(blob => blob ? done(blob) : fail(new Error("The canvas gives no picture.")), "image/png"));
  }
}
