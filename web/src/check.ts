// The conformance check: small mazes of many seeds and sizes in both forms, each compared with the oracle's.

import { plot, settingOf } from "./automaton";
import { Maze, type Device, type Form } from "./device";
import { oracle, verdictOn } from "./verdict";

const SIZES = [[9, 7], [17, 33], [33, 29], [49, 65], [65, 65]] as const;
const SEEDS = 20;

/** Gives the device's verdict in words; `tell` hears how far it is. */
export async function check(device: Device, tell: (words: string) => void): Promise<string> {
  const faults: string[] = [];
  let done = 0;
  const total = SIZES.length * SEEDS;
  for (const [width, height] of SIZES) {
    for (let seed = 0; seed < SEEDS; seed++) {
      const setting = settingOf(width, height, seed);
      const expected = oracle(setting).cells;
      const maze = new Maze(device, setting);
      for (const form of ["branches", "selects"] satisfies Form[]) {
        maze.begin("grow", plot(setting));
        await maze.finish(form);
        const { word, words } = verdictOn(setting, expected, await maze.cells());
        if (word !== "perfect") faults.push(`${word} (${form}, ${width} by ${height}, seed ${seed}: ${words})`);
      }
      maze.close();
      tell(`checking: ${++done} of ${total} mazes`);
    }
  }
  return faults.length ? `Not conformant: ${faults.length} of ${2 * total}: ${faults[0]}` : `Conformant: ${total} mazes, each in both forms, are the processor's`;
}
