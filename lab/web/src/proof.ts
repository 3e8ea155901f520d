// What a finished maze must be, and the way through it, by means that have nothing to do with the automaton.

import { kind, isPassage, OPEN, TRAIL, WALL, type Rule, type Setting } from "./automaton";

/** The cell before each on the shortest way from the start, by breadth-first search; -1 where no way leads. */
function search({ width, height }: Setting, cells: Uint32Array): Int32Array {
  const before = new Int32Array(cells.length).fill(-1);
  const start = width + 1;
  const queue = [start];
  before[start] = start;
  for (let i = 0; i < queue.length; i++) {
    const at = queue[i]!;
    // A broken border must not lead out of the maze.
    const [x, y] = [at % width, Math.floor(at / width)];
    for (const [next, isInside] of [[at - width, y > 0], [at + 1, x < width - 1], [at + width, y < height - 1], [at - 1, x > 0]] as const) {
      if (isInside && isPassage(cells[next]!) && before[next]! < 0) {
        before[next] = at;
        queue.push(next);
      }
    }
  }
  return before;
}

/** The shortest way from start to goal, as indices in rising order; null if there is none. */
export function shortestWay(setting: Setting, cells: Uint32Array): number[] | null {
  const { width, height } = setting;
  const before = search(setting, cells);
  const [start, goal] = [width + 1, width * (height - 1) - 2];
  if (before[goal]! < 0) return null;
  const way = [goal];
  while (way.at(-1) !== start) way.push(before[way.at(-1)!]!);
  return way.sort((a, b) => a - b);
}

/** Whether the maze is perfect: border and pillars are walls, and one passage less than there are rooms connects them all. */
export function isPerfect(setting: Setting, cells: Uint32Array): boolean {
  const { width, height } = setting;
  let passages = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const cell = cells[y * width + x]!;
      const isBorder = x === 0 || y === 0 || x === width - 1 || y === height - 1;
      const isWall = kind(cell) === WALL;
      const isRoom = (x & y & 1) === 1;
      if (isBorder || ((x | y) & 1) === 0 ? !isWall : isRoom ? !isPassage(cell) : !isWall && !isPassage(cell)) return false;
      if (((x ^ y) & 1) === 1 && isPassage(cell)) passages++;
    }
  }
  const rooms = (width >> 1) * (height >> 1);
  let reached = 0;
  search(setting, cells).forEach((from, index) => { if (from >= 0 && (index % width) & Math.floor(index / width) & 1) reached++; });
  return reached === rooms && passages === rooms - 1;
}

/** The way that a solution shows. */
export function shownWay(rule: Rule, cells: Uint32Array): number[] {
  const indices = [...cells.keys()];
  return indices.filter(index => rule === "dots" ? cells[index]! & TRAIL : kind(cells[index]!) === OPEN);
}
