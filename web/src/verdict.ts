// What became of a maze on a device: the lab's words (lab/src/experiments/maze/proof.rs).

import { FLOOR, HEAD, RESERVED, plot, live, shortestWay, type Setting } from "./automaton";

export interface Verdict { word: "perfect" | "broken walls" | "stopped growing"; words: string }

const KINDS = ["floor", "wall", "head", "reserved slot", "passage", "dot", "claimed passage", "filled passage"];

/** SHA-256 of cells as little-endian words, in hexadecimal. */
export async function sha256(cells: Uint32Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", cells));
  return [...digest].map(byte => byte.toString(16).padStart(2, "0")).join("");
}

/** The verdict on what a device grew, by the oracle's cells. */
export function verdictOn({ width }: Setting, expected: Uint32Array, found: Uint32Array): Verdict {
  const tell = (index: number) => `the first wrong cell is (${index % width}, ${Math.floor(index / width)}), `
    + `a ${KINDS[found[index]! & 7]} instead of a ${KINDS[expected[index]! & 7]}`;
  const unsettled = found.findIndex(cell => [FLOOR, HEAD, RESERVED].includes(cell & 7));
  if (unsettled >= 0) return { word: "stopped growing", words: tell(unsettled) };
  const wrong = expected.findIndex((cell, index) => cell !== found[index]);
  return wrong >= 0 ? { word: "broken walls", words: tell(wrong) } : { word: "perfect", words: "equal to the oracle's, cell by cell" };
}

/** The oracle's grown maze and the shortest way through it. */
export function oracle(setting: Setting): { cells: Uint32Array<ArrayBuffer>; way: number[] } {
  const { cells } = live("grow", setting, plot(setting));
  const way = shortestWay(setting, cells);
  if (!way) throw new Error("the oracle's maze has no way");
  return { cells, way };
}
