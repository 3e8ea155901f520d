// The automaton on this processor: the oracle that the device's maze is compared with. Its rules are those of the lab
// (lab/src/experiments/maze/, which says why they end in a perfect maze); it is written apart from the shader.

export const FLOOR = 0, WALL = 1, HEAD = 2, RESERVED = 3, OPEN = 4, DOT = 5, CLAIMED = 6, FILLED = 7;
export const TRAIL = 1 << 12;
const PARENTAGE = 7 << 9;
const HAS_PARENT = 1 << 11;
const NOBODY = 4;

export type Rule = "grow" | "fill" | "dots";

/** Which maze: sides are odd and at least 5; chance in 65536ths; from frame `finish` on growing leaves nothing to chance. */
export interface Setting { width: number; height: number; seed: number; chance: number; finish: number }

/** What a dot's chance is, where a head's is the setting's. */
export const DOTS_CHANCE = 16384;

/** The usual finish is twice as late as large mazes need: it only sees to it that there is an end. */
export function settingOf(width: number, height: number, seed: number): Setting {
  return { width, height, seed, chance: 656, finish: Math.max(1024, 4 * Math.max(width, height)) };
}

/** Before the first frame: a border of walls, and rooms. */
export function plot({ width, height }: Setting): Uint32Array<ArrayBuffer> {
  const cells = new Uint32Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const isBorder = x === 0 || y === 0 || x === width - 1 || y === height - 1;
      cells[y * width + x] = isBorder ? WALL : x & y & 1 ? OPEN : FLOOR;
    }
  }
  return cells;
}

export const kind = (cell: number) => cell & 7;
const direction = (cell: number) => (cell >> 3) & 3;
const opposite = (side: number) => (side + 2) & 3;
const parent = (cell: number) => (cell & HAS_PARENT ? (cell >> 9) & 3 : NOBODY);
const towards = (what: number, side: number) => what | (side << 3);
export const isPassage = (cell: number) => kind(cell) >= OPEN;

/** PCG4D (Jarzynski, Olano, "Hash Functions for GPU Rendering", JCGT 9(3), 2020); one of its four words. */
function random(x: number, y: number, frame: number, seed: number, word: 0 | 1 | 2): number {
  const v = [x, y, frame, seed].map(value => (Math.imul(value, 1664525) + 1013904223) | 0) as [number, number, number, number];
  const mix = () => {
    v[0] = (v[0] + Math.imul(v[1], v[3])) | 0;
    v[1] = (v[1] + Math.imul(v[2], v[0])) | 0;
    v[2] = (v[2] + Math.imul(v[0], v[1])) | 0;
    v[3] = (v[3] + Math.imul(v[1], v[2])) | 0;
  };
  mix();
  for (let i = 0; i < 4; i++) v[i] = v[i]! ^ (v[i]! >>> 16);
  mix();
  return v[word] >>> 0;
}

/** One of the sides whose bits are set; 0 if there are none. */
function anyOf(sides: number, word: number): number {
  const chosen = [0, 1, 2, 3].filter(side => sides & (1 << side));
  return chosen[((word >>> 16) * chosen.length) >>> 16] ?? 0;
}

/** The first such side from `turn` on; `turn` if there are none. */
function nextOf(sides: number, turn: number): number {
  for (let step = 0; step < 4; step++) if (sides & (1 << ((turn + step) & 3))) return (turn + step) & 3;
  return turn;
}

const STEPS = [[0, -1], [1, 0], [0, 1], [-1, 0]] as const;

/** A frame's view of the cells. */
class Frame {
  readonly setting: Setting;
  readonly cells: Uint32Array;
  readonly number: number;

  constructor(setting: Setting, cells: Uint32Array, number: number) {
    this.setting = setting;
    this.cells = cells;
    this.number = number;
  }

  beside(x: number, y: number, side: number): number {
    const { width, height } = this.setting;
    const [right, down] = STEPS[side]!;
    const [column, row] = [x + right, y + down];
    return column < 0 || row < 0 || column >= width || row >= height ? WALL : this.cells[row * width + column]!;
  }

  sides(x: number, y: number, holds: (cell: number, side: number) => boolean): number {
    let sides = 0;
    for (let side = 0; side < 4; side++) if (holds(this.beside(x, y, side), side)) sides |= 1 << side;
    return sides;
  }

  word(x: number, y: number, word: 0 | 1 | 2): number {
    return random(x, y, this.number, this.setting.seed, word);
  }

  get isFinishing(): boolean { return this.number >= this.setting.finish; }

  choose(sides: number, x: number, y: number, word: 0 | 1): number {
    return this.isFinishing ? nextOf(sides, (this.number >> 1) & 3) : anyOf(sides, this.word(x, y, word));
  }
}

function slot(frame: Frame, x: number, y: number, cell: number): number {
  const forth = x & 1 ? 1 : 2;
  const back = opposite(forth);
  const [first, second] = [frame.beside(x, y, back), frame.beside(x, y, forth)];
  if (kind(cell) === RESERVED) {
    const way = direction(cell);
    const target = way === forth ? second : first;
    return kind(target) !== FLOOR && parent(target) === opposite(way) ? WALL : FLOOR;
  }
  if ((first & 31) === towards(HEAD, forth) && kind(second) === FLOOR) return towards(RESERVED, forth);
  if ((second & 31) === towards(HEAD, back) && kind(first) === FLOOR) return towards(RESERVED, back);
  return kind(first) !== FLOOR && kind(second) !== FLOOR ? OPEN : FLOOR;
}

function pillar(frame: Frame, x: number, y: number, cell: number): number {
  const keep = cell & PARENTAGE;
  if (kind(cell) === FLOOR) {
    const offers = frame.sides(x, y, (other, side) => (other & 31) === towards(RESERVED, opposite(side)));
    if (!offers) return cell;
    const from = frame.choose(offers, x, y, 0);
    const way = frame.choose(15 & ~(1 << from), x, y, 1);
    return towards(HEAD, way) | (1 << (from + 5)) | (from << 9) | HAS_PARENT;
  }
  const free = frame.sides(x, y, other => kind(other) === FLOOR);
  if (kind(cell) === HEAD) {
    const way = direction(cell);
    const tried = ((cell >> 5) & 15) | (1 << way) | (15 & ~free);
    if ((frame.beside(x, y, way) & 31) === towards(RESERVED, way) || tried === 15) return WALL | keep;
    return towards(HEAD, frame.choose(15 & ~tried, x, y, 1)) | (tried << 5) | keep;
  }
  if (!free || (!frame.isFinishing && frame.word(x, y, 2) >>> 16 >= frame.setting.chance)) return cell;
  return towards(HEAD, frame.choose(free, x, y, 1)) | ((15 & ~free) << 5) | keep;
}

function grow(frame: Frame, next: Uint32Array): void {
  const { width, height } = frame.setting;
  const isEven = frame.number % 2 === 0;
  for (let y = isEven ? 1 : 0; y < height - (isEven ? 1 : 0); y += isEven ? 1 : 2) {
    for (let x = isEven ? 1 + (y & 1) : 0; x < width - (isEven ? 1 : 0); x += 2) {
      const cell = frame.cells[y * width + x]!;
      if (isEven && (kind(cell) === FLOOR || kind(cell) === RESERVED)) next[y * width + x] = slot(frame, x, y, cell);
      if (!isEven && kind(cell) <= HEAD) next[y * width + x] = pillar(frame, x, y, cell);
    }
  }
}

function fill(frame: Frame, next: Uint32Array): void {
  const { width, height } = frame.setting;
  frame.cells.forEach((cell, index) => {
    const [x, y] = [index % width, Math.floor(index / width)];
    const isEnd = (x === 1 && y === 1) || (x === width - 2 && y === height - 2);
    if (kind(cell) !== OPEN || isEnd) return;
    const open = [0, 1, 2, 3].filter(side => kind(frame.beside(x, y, side)) === OPEN).length;
    if (open <= 1) next[index] = FILLED;
  });
}

function dots(frame: Frame, next: Uint32Array): void {
  const { width } = frame.setting;
  if (frame.cells[width + 1]! & TRAIL) return;
  frame.cells.forEach((cell, index) => {
    if (!isPassage(cell)) return;
    const [x, y] = [index % width, Math.floor(index / width)];
    const isLed = frame.sides(x, y, (other, side) => (other & TRAIL) !== 0 && parent(other) === opposite(side)) !== 0;
    next[index] = (frame.number % 2 === 0 ? letIn(frame, x, y, cell) : moveOn(frame, x, y, cell)) | (isLed ? TRAIL : 0);
  });
}

function letIn(frame: Frame, x: number, y: number, cell: number): number {
  const coming = frame.sides(x, y, (other, side) => (other & 31) === towards(DOT, opposite(side)));
  if (kind(cell) !== OPEN || !coming) return cell;
  return towards(CLAIMED, anyOf(coming, frame.word(x, y, 0))) | (cell & (PARENTAGE | TRAIL));
}

function moveOn(frame: Frame, x: number, y: number, cell: number): number {
  const { width, height, chance } = frame.setting;
  const keep = cell & (PARENTAGE | TRAIL);
  const way = direction(cell);
  const isStart = x === 1 && y === 1;
  switch (kind(cell)) {
    case CLAIMED: {
      const entered = parent(cell) === NOBODY && !isStart ? keep | (way << 9) | HAS_PARENT : keep;
      return x === width - 2 && y === height - 2 ? OPEN | entered | TRAIL : dot(frame, x, y, entered, 0);
    }
    case DOT:
      if (parent(cell) === way) return FILLED | keep;
      if ((frame.beside(x, y, way) & 31) === towards(CLAIMED, opposite(way))) return OPEN | keep;
      return dot(frame, x, y, keep, 1 << way);
    case OPEN:
      return isStart && frame.word(x, y, 2) >>> 16 < chance ? dot(frame, x, y, keep, 0) : cell;
    default:
      return cell;
  }
}

function dot(frame: Frame, x: number, y: number, entered: number, shunned: number): number {
  const back = parent(entered);
  const ways = frame.sides(x, y, (other, side) => side !== back && isPassage(other) && kind(other) !== FILLED);
  if (!ways && back !== NOBODY) return towards(DOT, back) | entered;
  const fresh = frame.sides(x, y, (other, side) => side !== back && (kind(other) === OPEN || kind(other) === CLAIMED) && parent(other) === NOBODY);
  const choice = fresh & ~shunned || ways & ~shunned || ways;
  return towards(DOT, anyOf(choice, frame.word(x, y, 1))) | entered;
}

const RULES = { grow, fill, dots };

/** The cells after one frame. */
export function step(rule: Rule, setting: Setting, number: number, cells: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const next = cells.slice();
  RULES[rule](new Frame(setting, cells, number), next);
  return next;
}

/** The setting with the chance that this rule wants. */
export function withChanceOf(rule: Rule, setting: Setting): Setting {
  return rule === "dots" ? { ...setting, chance: DOTS_CHANCE } : setting;
}

/** Passages as they were grown: without dots, fillings and trails. */
export function passages(cells: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  return cells.map(cell => isPassage(cell) ? OPEN : cell);
}

/** Whether the rule goes on after this frame. */
export function goesOn(rule: Rule, setting: Setting, before: Uint32Array, after: Uint32Array): boolean {
  switch (rule) {
    case "grow": return after.some(isUnsettled);
    case "fill": return after.some((cell, index) => cell !== before[index]);
    case "dots": return !(after[setting.width + 1]! & TRAIL);
  }
}

/** Nobody has decided yet what becomes of it. */
export function isUnsettled(cell: number): boolean { return kind(cell) === FLOOR || kind(cell) === HEAD || kind(cell) === RESERVED; }

/** Follows a rule to its end. */
export function live(rule: Rule, setting: Setting, cells: Uint32Array<ArrayBuffer>): { cells: Uint32Array<ArrayBuffer>; frames: number } {
  for (let number = 0; ; number++) {
    const next = step(rule, setting, number, cells);
    const isOn = goesOn(rule, setting, cells, next);
    cells = next;
    if (!isOn) return { cells, frames: number + 1 };
  }
}
