// The oracle beside the page's own thread, so that a large maze does not stop the picture.

import { shownWay, type Rule, type Setting } from "./automaton";
import { oracle, sha256, verdictOn, type Verdict } from "./verdict";

/** What a device made, and of which maze. */
export interface Question { id: number; setting: Setting; rule: Rule; cells: Uint32Array<ArrayBuffer> }
export interface Answer { id: number; digest: string; verdict: Verdict }

let last: { key: string; made: ReturnType<typeof oracle> } | null = null;

self.onmessage = async ({ data }: MessageEvent<Question>) => {
  const { id, setting, rule, cells } = data;
  const key = JSON.stringify(setting);
  if (last?.key !== key) last = { key, made: oracle(setting) };
  const { made } = last;
  let verdict: Verdict;
  if (rule === "grow") verdict = verdictOn(setting, made.cells, cells);
  else {
    const shown = shownWay(rule, cells);
    const isShortest = shown.length === made.way.length && shown.every((index, place) => index === made.way[place]);
    verdict = isShortest ? { word: "perfect", words: "the shortest way by breadth-first search" } : { word: "broken walls", words: "this is not the shortest way" };
  }
  self.postMessage({ id, digest: await sha256(cells), verdict } satisfies Answer);
};
