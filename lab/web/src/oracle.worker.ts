// The oracle beside the page's own thread, so that a large maze does not stop the picture.

import type { Rule, Setting } from "./automaton";
import { shownWay } from "./proof";
import { oracle, sha256, verdictAlone, verdictOn, type Verdict } from "./verdict";

/** How many frames will this maze take? */
export interface Forecast { id: number; setting: Setting }
/** What was made, of which maze, and whether by a device. */
export interface Question { id: number; setting: Setting; rule: Rule; isDevice: boolean; cells: Uint32Array<ArrayBuffer> }
export interface Answer { id: number; digest: string; verdict: Verdict }
export interface Forecasted { id: number; frames: number }

let last: { key: string; made: ReturnType<typeof oracle> } | null = null;

function made(setting: Setting): ReturnType<typeof oracle> {
  const key = JSON.stringify(setting);
  if (last?.key !== key) last = { key, made: oracle(setting) };
  return last.made;
}

self.onmessage = async ({ data }: MessageEvent<Question | Forecast>) => {
  if (!("cells" in data)) return self.postMessage({ id: data.id, frames: made(data.setting).frames } satisfies Forecasted);
  const { id, setting, rule, isDevice, cells } = data;
  let verdict: Verdict;
  // Without a device the oracle's own code grew it: to grow it again would say nothing.
  if (rule === "grow") verdict = isDevice ? verdictOn(setting, made(setting).cells, cells) : verdictAlone(setting, cells);
  else {
    const { way } = made(setting);
    const shown = shownWay(rule, cells);
    const isShortest = shown.length === way.length && shown.every((index, place) => index === way[place]);
    verdict = isShortest ? { word: "perfect", words: "the shortest way by breadth-first search" } : { word: "broken walls", words: "this is not the shortest way" };
  }
  self.postMessage({ id, digest: await sha256(cells), verdict } satisfies Answer);
};
