// The page: opens the device, ties the controls and keys to the player, and says in words what happens.

import "./page.css";
import { check } from "./check";
import { Device } from "./device";
import { DeviceDisplay } from "./display";
import type { Display, Engine, Form, Growing } from "./engine";
import { Player, type Wishes } from "./player";
import { PlainDisplay, Processor } from "./processor";
import { tabs } from "./tabs";
import { wallpaper } from "./wallpaper";
import { TextureDisplay, WebGl } from "./webgl";

const part = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

const SIZES = [17, 33, 65, 129, 257, 513, 1025, 2049];
const SPEEDS = [2, 8, 15, 30, 60, 120, 480, 1920, 3840];

/** Nothing can be shown at all. */
function message(title: string, words: string): void {
  const box = part("message");
  box.querySelector("h1")!.textContent = title;
  box.querySelector("p")!.textContent = words;
  box.hidden = false;
  part("panel").hidden = true;
}

/** Why the processor works, not a device. */
function notice(words: string): void {
  part("notice").textContent = words;
  part("notice").hidden = false;
}

function chosen(name: string): string {
  return document.querySelector<HTMLInputElement>(`input[name=${name}]:checked`)!.value;
}

const canvas = () => part<HTMLCanvasElement>("picture");

function start<Maze extends Growing>(engine: Engine<Maze>, display: Display<Maze>): { player: Player; uses: (engine: Engine<Growing>) => void } {
  const wishes: Wishes = { cells: 65, perSecond: 120, form: "branches", solver: "dots", again: true, paused: false };
  const size = part<HTMLSelectElement>("size");
  size.append(...SIZES.map(cells => new Option(`${cells} cells`, String(cells), cells === wishes.cells, cells === wishes.cells)));
  const player = new Player(engine, display as Display<Growing>, wishes, () => tell());
  part("panel").hidden = false;
  let device: Engine<Growing> | null = null;
  // The processor has one form of the rules, and nothing to be checked with.
  const uses = (engine: Engine<Growing>) => {
    device = engine.isDevice ? engine : null;
    part("device").textContent = `Runs on ${engine.name}.`;
    part<HTMLButtonElement>("check").disabled = !device;
    part<HTMLFieldSetElement>("forms").disabled = !device;
  };
  uses(engine);

  const speed = part<HTMLInputElement>("speed");
  const read = () => {
    wishes.perSecond = SPEEDS[Number(speed.value)]!;
    wishes.form = chosen("form") as Form;
    wishes.solver = chosen("solver") as Wishes["solver"];
    wishes.again = part<HTMLInputElement>("again").checked;
    part("rate").textContent = Number(speed.value) === SPEEDS.length - 1 ? "all it can" : `${wishes.perSecond} frames/s`;
  };
  part("more").addEventListener("input", read);
  read();
  size.addEventListener("change", () => { wishes.cells = Number(size.value); player.grow(); });
  part("grow").addEventListener("click", () => player.grow());
  part("solve").addEventListener("click", () => void player.solve());
  part("pause").addEventListener("click", () => { wishes.paused = !wishes.paused; tell(); });
  part("fold").addEventListener("click", () => { part("more").hidden = !part("more").hidden; tell(); });
  wallpaper(part("wallpaper"), () => {
    part<HTMLInputElement>("again").checked = true;
    wishes.again = true;
    wishes.paused = false;
    // One that was solved and stood still.
    if (player.phase === "solved") player.grow();
    tell();
  });
  part("save").addEventListener("click", () => void save());
  part("check").addEventListener("click", () => void examine());

  async function save(): Promise<void> {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await player.picture());
    const { width, height, seed } = player.maze.setting;
    link.download = `maze-${width}x${height}-${seed}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  async function examine(): Promise<void> {
    if (!device) return;
    const button = part<HTMLButtonElement>("check");
    button.disabled = true;
    const was = wishes.paused;
    wishes.paused = true;
    try {
      part("checked").textContent = await check(device, words => { part("checked").textContent = words; });
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      part("checked").textContent = "Not checked: the device was lost meanwhile.";
    } finally {
      wishes.paused = was;
      button.disabled = !device;
      tell();
    }
  }

  function tell(): void {
    const { phase, badge, maze } = player;
    const { width, height, seed } = maze.setting;
    const how = maze.rule === "grow" ? "grows" : maze.rule === "dots" ? "dots look for the goal" : "dead ends are filled";
    const words = { growing: how, grown: "grown", solving: how, solved: "solved" }[phase];
    part("state").textContent = `${width} by ${height}, seed ${seed}: ${words}, frame ${maze.frame}`;
    const output = part<HTMLOutputElement>("badge");
    const mark = { waiting: "", checking: "… ", perfect: "✓ ", wrong: "✗ " }[badge.state];
    const line = `${mark}${badge.words}${badge.digest ? `, SHA-256 ${badge.digest.slice(0, 16)}` : ""}`;
    if (output.value !== line) output.value = line;
    output.dataset.state = badge.state;
    output.title = badge.digest;
    part<HTMLButtonElement>("solve").disabled = phase === "growing" || phase === "solving";
    part("pause").setAttribute("aria-pressed", String(wishes.paused));
    const fold = part("fold");
    fold.textContent = part("more").hidden ? "More" : "Less";
    fold.setAttribute("aria-expanded", String(!part("more").hidden));
  }

  tell();
  return { player, uses };
}

function keys(show: (index: number) => void): void {
  const press = (id: string) => () => part(id).click();
  const pick = (name: string, value: string) => document.querySelector<HTMLInputElement>(`input[name=${name}][value=${value}]`)!.click();
  const move = (id: string, by: number) => () => {
    const control = part<HTMLInputElement | HTMLSelectElement>(id);
    if (control instanceof HTMLSelectElement) {
      control.selectedIndex = Math.max(0, Math.min(control.length - 1, control.selectedIndex + by));
      control.dispatchEvent(new Event("change", { bubbles: true }));
    } else {
      control.value = String(Number(control.value) + by);
      control.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };
  const acts: Record<string, () => void> = {
    g: press("grow"), s: press("solve"), " ": press("pause"), c: press("check"), p: press("save"), h: press("fold"), w: press("wallpaper"),
    "+": move("speed", 1), "=": move("speed", 1), "-": move("speed", -1), "[": move("size", -1), "]": move("size", 1),
    a: () => pick("form", "branches"), b: () => pick("form", "selects"),
    d: () => pick("solver", chosen("solver") === "dots" ? "fill" : "dots"),
  };
  document.addEventListener("keydown", event => {
    const isTyping = event.target instanceof HTMLSelectElement || (event.target instanceof HTMLInputElement && event.key.startsWith("Arrow"));
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    if (event.key === "1" || event.key === "2") return show(Number(event.key) - 1);
    // Space on a button or a box is that control's own.
    if (event.key === " " && event.target instanceof HTMLElement && event.target.closest("button, input, summary")) return;
    const act = acts[event.key.toLowerCase()];
    if (!act || part("maze").hidden || part("panel").hidden) return;
    event.preventDefault();
    act();
  });
}

keys(tabs());
// A panel that covers half of a phone's picture begins folded.
if (matchMedia("(max-width: 40rem)").matches) part("more").hidden = true;
/** What was opened, or in words why it cannot be. */
async function tried<Opened>(open: () => Promise<Opened | string> | Opened | string): Promise<Opened | string> {
  try {
    return await open();
  } catch (error) {
    return `The graphics device cannot be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The processor goes on with the maze of a device that is lost. */
function takeOver({ player, uses }: ReturnType<typeof start>, reason: string): void {
  // A canvas keeps its first kind of context, so the processor draws into another one.
  canvas().replaceWith(canvas().cloneNode());
  const processor = new Processor();
  player.change(processor, new PlainDisplay(canvas()), was => processor.resumed(was));
  uses(processor);
  notice(`The graphics device was lost (${reason}). The processor goes on with the same maze; load the page again to try the device.`);
}

const BROWSERS = "Chrome and Edge from 113, Safari from 26 and Firefox from 141 have WebGPU on most machines.";

// The address may ask for less than there is: `?engine=webgl`, `?engine=processor`.
try {
  const asked = new URLSearchParams(location.search).get("engine");
  const device = asked ? "The address asks for no WebGPU." : await tried(() => Device.open());
  if (typeof device !== "string") {
    const started = start(device, new DeviceDisplay(device, canvas()));
    void device.gpu.lost.then(({ message: words }) => takeOver(started, words.replace(/\.$/, "") || "its driver did not say why"));
  } else {
    const webgl = asked === "processor" ? "Nor for WebGL." : await tried(() => WebGl.open(canvas()));
    if (typeof webgl === "string") {
      // A canvas that was asked in vain may be of no other use.
      canvas().replaceWith(canvas().cloneNode());
      start(new Processor(), new PlainDisplay(canvas()));
      notice(`${device} ${webgl} The maze grows on the processor instead. ${BROWSERS}`);
    } else {
      const started = start(webgl, new TextureDisplay(webgl));
      notice(`${device} The maze grows by WebGL 2 instead, in fragment shaders as it was published. ${BROWSERS}`);
      webgl.canvas.addEventListener("webglcontextlost", () => takeOver(started, "its driver did not say why"), { once: true });
    }
  }
} catch (error) {
  message("The maze cannot run here", `${error instanceof Error ? error.message : String(error)} A newer browser or driver may help.`);
}
