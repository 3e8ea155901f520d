// How a maze looks, whoever draws it: colours, and where its cells lie in the canvas.

import type { Setting } from "./automaton";

// Floor, wall, head, reserved, open, dot, claimed, filled, way, ends, outside.
const LIGHT = ["#d5dce6", "#2b3646", "#e07b00", "#f0b060", "#fbfcfe", "#1f6feb", "#8ab8ff", "#b9c3cf", "#d92f5f", "#14844c", "#f4f6f9"];
const DARK = ["#1d2632", "#05080c", "#ffb454", "#a5682a", "#a9b6c6", "#0a4fd0", "#4a86e8", "#3d4856", "#ff4d7d", "#3ddc84", "#0d1117"];

export const WAY = 8, ENDS = 9, OUTSIDE = 10;

/** Hears of the colours now, and whenever the reader's scheme changes. */
export function onColours(take: (colours: readonly string[]) => void): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const tell = () => take(dark.matches ? DARK : LIGHT);
  dark.addEventListener("change", tell);
  tell();
}

/** Red, green and blue, 0 to 255. */
export function channels(colour: string): [number, number, number] {
  return [1, 3, 5].map(at => Number.parseInt(colour.slice(at, at + 2), 16)) as [number, number, number];
}

/** Gives the canvas as many pixels as it has on the page. */
export function fit(canvas: HTMLCanvasElement, most: number): void {
  const scale = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map(length => Math.max(1, Math.min(most, Math.round(length * scale)))) as [number, number];
  if (canvas.width === width && canvas.height === height) return;
  canvas.width = width;
  canvas.height = height;
}

/** Where the maze's corner lies, and how many pixels a cell's side has. */
export function placed(canvas: HTMLCanvasElement, { width, height }: Setting): { left: number; top: number; pixels: number } {
  const exact = Math.min(canvas.width / width, canvas.height / height);
  // Whole pixels where there is room: walls of equal width.
  const pixels = exact >= 2 ? Math.floor(exact) : exact;
  return { left: Math.floor((canvas.width - width * pixels) / 2), top: Math.floor((canvas.height - height * pixels) / 2), pixels };
}
