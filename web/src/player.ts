// A maze's life on the page: it grows, is compared with the oracle, is solved, is compared again; then the next one.

import { settingOf, type Rule, type Setting } from "./automaton";
import { Maze, type Device, type Form } from "./device";
import type { Display } from "./display";
import type { Answer, Question } from "./oracle.worker";

export type Phase = "growing" | "grown" | "solving" | "solved";
export type Badge = { state: "waiting" | "checking" | "perfect" | "wrong"; words: string; digest: string };

/** What the controls say. */
export interface Wishes {
  cells: number;
  perSecond: number;
  form: Form;
  solver: Exclude<Rule, "grow">;
  again: boolean;
  paused: boolean;
}

/** What the page's address asks for: `?width=65&height=65&seed=7&chance=6554&finish=0`. */
export function settingOfAddress(): Partial<Setting> {
  const asked = new URLSearchParams(location.search);
  const wanted: Partial<Setting> = {};
  for (const name of ["width", "height", "seed", "chance", "finish"] as const) {
    const number = Number.parseInt(asked.get(name) ?? "", 10);
    if (Number.isInteger(number) && number >= 0 && number < 2 ** 32) wanted[name] = number;
  }
  // A finish of 0 would leave nothing to chance; in the address it means none.
  if (wanted.finish === 0) wanted.finish = 2 ** 32 - 1;
  return wanted;
}

const odd = (length: number) => Math.max(5, 2 * Math.floor(length / 2) + 1);

/** Pause before what comes next by itself, in milliseconds. */
const HOLD = 2500;

export class Player {
  maze: Maze;
  phase: Phase = "growing";
  badge: Badge = { state: "waiting", words: "", digest: "" };
  private readonly device: Device;
  private readonly display: Display;
  private readonly canvas: HTMLCanvasElement;
  private readonly wishes: Wishes;
  private readonly tell: () => void;
  private readonly worker = new Worker(new URL("./oracle.worker.ts", import.meta.url), { type: "module" });
  private readonly asked = settingOfAddress();
  private seed: number;
  private due = 0;
  private last = 0;
  private isAsking = false;
  private next: { at: number; act: () => void } | null = null;
  private question = 0;

  constructor(device: Device, display: Display, canvas: HTMLCanvasElement, wishes: Wishes, tell: () => void) {
    this.device = device;
    this.display = display;
    this.canvas = canvas;
    this.wishes = wishes;
    this.tell = tell;
    this.seed = this.asked.seed ?? Math.floor(Math.random() * 2 ** 31);
    this.worker.onmessage = ({ data }: MessageEvent<Answer>) => this.judged(data);
    display.fit();
    this.maze = new Maze(device, this.setting());
    requestAnimationFrame(time => this.turn(time));
  }

  private setting(): Setting {
    const { width, height } = this.canvas;
    const short = Math.min(width, height);
    let [columns, rows] = [width, height].map(length => odd(this.wishes.cells * length / short)) as [number, number];
    while (columns * rows > this.device.mostCells) [columns, rows] = [odd(columns / 2), odd(rows / 2)];
    const setting = { ...settingOf(columns, rows, this.seed), ...this.asked, seed: this.seed };
    return { ...setting, width: odd(setting.width), height: odd(setting.height) };
  }

  /** A new maze, of the next seed unless it is the same one again. */
  grow(isSame = false): void {
    if (!isSame) this.seed = (this.seed + 1) >>> 0;
    this.maze.close();
    this.maze = new Maze(this.device, this.setting());
    this.become("growing");
  }

  /** Solves the maze that is shown; grown it must be. */
  async solve(): Promise<void> {
    if (this.phase === "growing" || this.phase === "solving") return;
    const { maze } = this;
    this.become("solving");
    const cells = await maze.cells();
    if (this.maze !== maze) return;
    // Passages as they were grown: without dots, fillings and trails.
    maze.begin(this.wishes.solver, cells.map(cell => (cell & 7) >= 4 ? 4 : cell));
  }

  private become(phase: Phase): void {
    this.phase = phase;
    this.next = null;
    this.question++;
    this.badge = { state: "waiting", words: phase === "growing" ? "compared when grown" : "compared when solved", digest: "" };
    this.tell();
  }

  private turn(time: number): void {
    requestAnimationFrame(later => this.turn(later));
    this.display.fit();
    const seconds = Math.min(0.1, (time - this.last) / 1000);
    this.last = time;
    if (this.next && time >= this.next.at && !this.wishes.paused) {
      const { act } = this.next;
      this.next = null;
      act();
    }
    const { maze } = this;
    const isMoving = (this.phase === "growing" || (this.phase === "solving" && maze.rule !== "grow")) && !this.wishes.paused && !document.hidden;
    this.due = isMoving ? Math.min(64, this.due + seconds * this.wishes.perSecond) : 0;
    const frames = Math.floor(this.due);
    this.due -= frames;
    if (frames > 0 && !this.isAsking) {
      const encoder = this.device.gpu.createCommandEncoder();
      maze.advance(encoder, frames, this.wishes.form);
      this.device.gpu.queue.submit([encoder.finish()]);
      void this.ask(maze);
    }
    this.display.draw(maze);
  }

  /** Asks the device whether the maze goes on; no frames are made meanwhile, so that they never pile up. */
  private async ask(maze: Maze): Promise<void> {
    this.isAsking = true;
    try {
      const goesOn = await maze.goesOn();
      if (maze === this.maze && !goesOn && (this.phase === "growing" || this.phase === "solving")) await this.ended(maze);
    } catch (error) {
      // A maze that was closed meanwhile has no answer; a lost device is told by itself.
      if (maze === this.maze && !(error instanceof DOMException)) throw error;
    } finally {
      this.isAsking = false;
      this.tell();
    }
  }

  private async ended(maze: Maze): Promise<void> {
    const isGrown = this.phase === "growing";
    this.phase = isGrown ? "grown" : "solved";
    this.badge = { state: "checking", words: "comparing with the processor", digest: "" };
    this.tell();
    const cells = await maze.cells();
    if (maze !== this.maze) return;
    const question: Question = { id: ++this.question, setting: maze.setting, rule: maze.rule, cells };
    this.worker.postMessage(question, [cells.buffer]);
    const act = () => { if (isGrown) void this.solve(); else this.grow(); };
    if (this.wishes.again) this.next = { at: this.last + HOLD, act };
  }

  private judged({ id, digest, verdict }: Answer): void {
    if (id !== this.question) return;
    const isRight = verdict.word === "perfect";
    this.badge = { state: isRight ? "perfect" : "wrong", words: `${verdict.word}: ${verdict.words}`, digest };
    this.tell();
  }
}
