// A maze's life on the page: it grows, is compared with the oracle, is solved, is compared again; then the next one.

import { passages, settingOf, type Rule, type Setting } from "./automaton";
import type { Display, Engine, Form, Growing } from "./engine";
import type { Answer, Forecast, Forecasted, Question } from "./oracle.worker";
import { GRACE } from "./verdict";

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
  maze: Growing;
  phase: Phase = "growing";
  badge: Badge = { state: "waiting", words: "", digest: "" };
  private engine: Engine<Growing>;
  private display: Display<Growing>;
  private readonly wishes: Wishes;
  private readonly tell: () => void;
  private worker = this.oracle();
  /** Questions and forecasts that the worker has not answered. */
  private unanswered = 0;
  private readonly asked = settingOfAddress();
  private seed: number;
  private due = 0;
  private last = 0;
  private isAsking = false;
  private next: { at: number; act: () => void } | null = null;
  private question = 0;
  /** After so many frames a maze that still grows has stopped growing. */
  private most = Infinity;

  /** The display must be the engine's own. */
  constructor(engine: Engine<Growing>, display: Display<Growing>, wishes: Wishes, tell: () => void) {
    this.engine = engine;
    this.display = display;
    this.wishes = wishes;
    this.tell = tell;
    this.seed = this.asked.seed ?? Math.floor(Math.random() * 2 ** 31);
    display.fit();
    this.maze = engine.maze(this.setting());
    this.foresee();
    requestAnimationFrame(time => this.turn(time));
  }

  private oracle(): Worker {
    const worker = new Worker(new URL("./oracle.worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Answer | Forecasted>) => {
      this.unanswered--;
      if (!("frames" in data)) this.judged(data);
      else if (data.id === this.question) this.most = data.frames + GRACE;
    };
    return worker;
  }

  private ask(message: Question | Forecast, transfer: Transferable[] = []): void {
    this.unanswered++;
    this.worker.postMessage(message, transfer);
  }

  private setting(): Setting {
    const { width, height } = this.display.canvas;
    const short = Math.min(width, height);
    let [columns, rows] = [width, height].map(length => odd(this.wishes.cells * length / short)) as [number, number];
    const setting = { ...settingOf(columns, rows, this.seed), ...this.asked, seed: this.seed };
    [columns, rows] = [odd(setting.width), odd(setting.height)];
    while (columns * rows > this.engine.mostCells) [columns, rows] = [odd(columns / 2), odd(rows / 2)];
    return { ...setting, width: columns, height: rows };
  }

  /** Goes on with the same maze on another engine, from the frame that it has come to; one too large for it begins anew,
   *  smaller. `resumed` is the maze on that engine. */
  change<Maze extends Growing>(engine: Engine<Maze>, display: Display<Maze>, resumed: (was: Growing) => Maze): void {
    const was = this.maze;
    [this.engine, this.display] = [engine, display as Display<Growing>];
    display.fit();
    this.isAsking = false;
    const { width, height } = was.setting;
    if (width * height > engine.mostCells) return this.grow(true);
    this.maze = resumed(was);
    was.close();
    // What was not answered yet is asked again.
    if (this.badge.state === "checking") {
      this.phase = this.phase === "grown" ? "growing" : "solving";
      this.question++;
    }
    if (this.phase === "solving" && was.rule === "grow") this.phase = "growing";
    this.tell();
  }

  /** What is shown, as PNG. */
  picture(): Promise<Blob> { return this.display.picture(this.maze); }

  /** A new maze, of the next seed unless it is the same one again. */
  grow(isSame = false): void {
    if (!isSame) this.seed = (this.seed + 1) >>> 0;
    this.maze.close();
    this.isAsking = false;
    this.maze = this.engine.maze(this.setting());
    this.become("growing");
    this.foresee();
  }

  private foresee(): void {
    this.most = Infinity;
    // Work for mazes that are no longer shown would pile up in front of this one's.
    if (this.unanswered > 0) {
      this.worker.terminate();
      this.unanswered = 0;
      this.worker = this.oracle();
    }
    if (this.engine.isDevice) this.ask({ id: this.question, setting: this.maze.setting });
  }

  /** Solves the maze that is shown; grown it must be. */
  async solve(): Promise<void> {
    if (this.phase === "growing" || this.phase === "solving") return;
    const { maze } = this;
    this.become("solving");
    let cells: Uint32Array<ArrayBuffer>;
    try {
      cells = await maze.cells();
    } catch (error) {
      // A lost device's maze goes on elsewhere, which solves it when it has been looked at again.
      if (!(error instanceof DOMException)) throw error;
      return;
    }
    if (this.maze !== maze) return;
    maze.begin(this.wishes.solver, passages(cells));
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
      maze.advance(frames, this.wishes.form);
      void this.follow(maze);
    }
    this.display.draw(maze);
  }

  /** Asks the device whether the maze goes on; no frames are made meanwhile, so that they never pile up. */
  private async follow(maze: Growing): Promise<void> {
    this.isAsking = true;
    try {
      const goesOn = await maze.goesOn() && (this.phase !== "growing" || maze.frame < this.most);
      if (maze === this.maze && !goesOn && (this.phase === "growing" || this.phase === "solving")) await this.ended(maze);
    } catch (error) {
      // A maze that was closed meanwhile has no answer; a lost device is told by itself.
      if (maze === this.maze && !(error instanceof DOMException)) throw error;
    } finally {
      if (maze === this.maze) this.isAsking = false;
      this.tell();
    }
  }

  private async ended(maze: Growing): Promise<void> {
    this.phase = this.phase === "growing" ? "grown" : "solved";
    this.badge = { state: "checking", words: "comparing with the processor", digest: "" };
    this.tell();
    const cells = await maze.cells();
    if (maze !== this.maze) return;
    this.ask({ id: ++this.question, setting: maze.setting, rule: maze.rule, isDevice: this.engine.isDevice, cells }, [cells.buffer]);
  }

  private judged({ id, digest, verdict }: Answer): void {
    if (id !== this.question) return;
    const isRight = verdict.word === "perfect";
    const act = this.phase === "grown" ? () => void this.solve() : () => this.grow();
    // What is wrong is neither solved nor followed by the next one: it stays to be seen.
    if (isRight && this.wishes.again) this.next = { at: this.last + HOLD, act };
    this.badge = { state: isRight ? "perfect" : "wrong", words: `${verdict.word}: ${verdict.words}`, digest };
    this.tell();
  }
}
