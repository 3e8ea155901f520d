// Makes a maze's frames beside the page's own thread.

import { goesOn, live, passages, plot, step, withChanceOf, type Rule, type Setting } from "./automaton";

/** Begin: a rule from these cells on, or from the rule's own beginning; then so many frames. */
export type Order = { setting: Setting; rule: Rule; from: Uint32Array<ArrayBuffer> | null; frames: number } | { frames: number };
export interface Made { cells: Uint32Array<ArrayBuffer>; goesOn: boolean }

let setting: Setting, rule: Rule, number = 0;
let cells: Uint32Array<ArrayBuffer>;

self.onmessage = ({ data }: MessageEvent<Order>) => {
  if ("rule" in data) {
    rule = data.rule;
    setting = withChanceOf(rule, data.setting);
    number = 0;
    cells = data.from ?? (rule === "grow" ? plot(setting) : passages(live("grow", data.setting, plot(setting)).cells));
  }
  let before = cells;
  for (let frame = 0; frame < data.frames; frame++) {
    before = cells;
    cells = step(rule, setting, number++, before);
  }
  const isOn = data.frames === 0 || goesOn(rule, setting, before, cells);
  self.postMessage({ cells, goesOn: isOn } satisfies Made);
};
