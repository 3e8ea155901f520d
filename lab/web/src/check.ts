// The conformance check: small mazes of many seeds and sizes in both forms, each compared with the oracle's.

import { plot, settingOf } from "./automaton";
import type { Engine, Form, Growing } from "./engine";
import { GRACE, oracle, sha256, verdictOn } from "./verdict";

const SIZES = [[9, 7], [17, 33], [33, 29], [49, 65], [65, 65]] as const;
const SEEDS = 20;
const FORMS = ["branches", "selects"] satisfies Form[];

/** Gives the device's verdict in words, with SHA-256 over all its last cells, maze after maze: the lab's oracle has the same
 *  (lab/src/experiments/maze/tests.rs). It ends with the first size that is not conformant. `tell` hears how far it is. */
export async function check(device: Engine<Growing>, tell: (words: string) => void): Promise<string> {
  const faults: string[] = [];
  const all: Uint32Array<ArrayBuffer>[] = [];
  const total = SIZES.length * SEEDS;
  for (const [width, height] of SIZES) {
    for (let seed = 0; seed < SEEDS; seed++) {
      const setting = settingOf(width, height, seed);
      const { cells: expected, frames } = oracle(setting);
      // Both go to the device before either is waited for; from their end on mazes stand still.
      const found = await Promise.all(FORMS.map(async form => {
        const maze = device.maze(setting);
        maze.begin("grow", plot(setting));
        while (maze.frame < frames + GRACE) maze.advance(64, form);
        const cells = await maze.cells();
        maze.close();
        return { form, cells };
      }));
      for (const { form, cells } of found) {
        const { word, words } = verdictOn(setting, expected, cells);
        if (word !== "perfect") faults.push(`${form}, seed ${seed}: ${word}: ${words}`);
      }
      all.push(found[0]!.cells);
      tell(`checking: ${all.length} of ${total} mazes`);
    }
    if (faults.length) return `Not conformant: ${faults.length} of ${2 * SEEDS} mazes of ${width} by ${height} cells; with ${faults[0]}`;
  }
  const digest = await sha256(joined(all));
  return `Conformant: ${total} mazes, each in both forms, are the processor's, SHA-256 ${digest.slice(0, 16)}`;
}

function joined(parts: Uint32Array[]): Uint32Array<ArrayBuffer> {
  const whole = new Uint32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
