// What became of a maze on a device: the lab's words (lab/src/experiments/maze/proof.rs).

import { isUnsettled, live, plot, type Setting } from "./automaton";
import { isPerfect, shortestWay } from "./proof";

export interface Verdict { word: "perfect" | "broken walls" | "stopped growing" | "another maze"; words: string }

const KINDS = ["floor", "wall", "head", "reserved slot", "passage", "dot", "claimed passage", "filled passage"];

/** SHA-256 of cells as little-endian words, in hexadecimal. */
export async function sha256(cells: Uint32Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", cells));
  return [...digest].map(byte => byte.toString(16).padStart(2, "0")).join("");
}

/** The verdict on what a device grew, by the oracle's cells. */
export function verdictOn(setting: Setting, expected: Uint32Array, found: Uint32Array): Verdict {
  const { width } = setting;
  const tell = (index: number) => `the first wrong cell is (${index % width}, ${Math.floor(index / width)}), `
    + `a ${KINDS[found[index]! & 7]} instead of a ${KINDS[expected[index]! & 7]}`;
  const unsettled = found.findIndex(isUnsettled);
  if (unsettled >= 0) return { word: "stopped growing", words: tell(unsettled) };
  const wrong = expected.findIndex((cell, index) => cell !== found[index]);
  if (wrong < 0) return { word: "perfect", words: "equal to the oracle's, cell by cell" };
  return { word: isPerfect(setting, found) ? "another maze" : "broken walls", words: tell(wrong) };
}

/** The verdict on what the oracle's own code grew, where no device was: equality would say nothing. */
export function verdictAlone(setting: Setting, found: Uint32Array): Verdict {
  const words = "every room can be reached on one way";
  return isPerfect(setting, found) ? { word: "perfect", words } : { word: "broken walls", words: "not " + words };
}

/** A device that has not ended so many frames after the oracle never will. */
export const GRACE = 128;

/** The oracle's grown maze, after how many frames, and the shortest way through it. */
export function oracle(setting: Setting): { cells: Uint32Array<ArrayBuffer>; frames: number; way: number[] } {
  const { cells, frames } = live("grow", setting, plot(setting));
  const way = shortestWay(setting, cells);
  if (!way) throw new Error("the oracle's maze has no way");
  return { cells, frames, way };
}
