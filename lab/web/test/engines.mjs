// How the page takes devices that fail: one that miscomputes gets its verdict, one that is lost hands its maze to the processor,
// and where there is none the processor does it all. Also what graphics cards get: a canvas of WebGPU's own.

import path from "node:path";
import { badge, expect, folder, judged, launch, open, picture } from "./chromium.mjs";

const KNOWN = "?width=65&height=65&seed=7&chance=6554&finish=0";
const state = page => page.locator("#state").innerText();
const solved = page => page.waitForFunction(() => /: solved/.test(document.getElementById("state").textContent));
const quicken = async page => { for (let press = 0; press < 4; press++) await page.keyboard.press("+"); };

export async function devicesThatFail(browser) {
  for (const [word, right, wrong] of [
    ["broken walls", "opposite(way)) { return WALL; }", "opposite(way)) { return OPEN; }"],
    ["stopped growing", "if (free == 0u) { return cell; }", "if (free != 16u) { return cell; }"],
    ["another maze", "1664525u", "1664529u"],
  ]) await miscomputing(browser, word, right, wrong);
  await slowOracle(browser);
  await lostWhileGrowing(browser);
  await lostAtRest(browser);
  await canvasOfADevice(browser);
}

// A driver that makes something else of the shader.
async function miscomputing(browser, word, right, wrong) {
  const fault = `{
    const make = GPUDevice.prototype.createShaderModule;
    GPUDevice.prototype.createShaderModule = function (descriptor) {
      return make.call(this, { ...descriptor, code: descriptor.code.replaceAll(${JSON.stringify(right)}, ${JSON.stringify(wrong)}) });
    };
  }`;
  const page = await open(browser, word, KNOWN, {}, fault);
  await page.locator("#state").waitFor();
  await quicken(page);
  await judged(page);
  const told = await badge(page).innerText();
  expect(told.startsWith(`✗ ${word}: the first wrong cell is (`), `${word}: the badge says: ${told}`);
  // Its first size tells it.
  await page.locator("#check").click();
  await page.waitForFunction(() => /onformant/.test(document.getElementById("checked").textContent));
  const verdict = await page.locator("#checked").innerText();
  expect(/^Not conformant: \d+ of 40 mazes of 9 by 7 cells; with branches, seed \d+: /.test(verdict), `${word}: ${verdict}`);
  if (word === "broken walls") await page.screenshot({ path: path.join(folder, "broken-walls.png") });
  await page.close();
}

// Nothing follows a maze before its verdict, however long the oracle takes.
async function slowOracle(browser) {
  const slow = `{
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function (data, ...rest) {
      setTimeout(() => postMessage.call(this, data, ...rest), "isDevice" in data ? 3500 : 0);
    };
  }`;
  const page = await open(browser, "slow oracle", "?width=17&height=17&seed=7", {}, slow);
  await judged(page);
  const told = await badge(page).innerText();
  expect(told.includes("equal to the oracle's, cell by cell"), `slow oracle: the badge says: ${told}`);
  await solved(page);
  await page.close();
}

// Keeps the page's device at hand, so that a test can lose it.
const KEEP = `{
  const request = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (...asked) { return window.kept = await request.apply(this, asked); };
}`;

async function lose(page, name) {
  await page.evaluate(() => window.kept.destroy());
  await page.locator("#notice").waitFor();
  const words = await page.locator("#notice").innerText();
  expect(/was lost/.test(words) && /goes on with the same maze/.test(words), `${name}: ${words}`);
  expect(/this processor/.test(await page.locator("#device").textContent()), `${name}: the panel does not name the processor`);
}

// Lost in the midst of growing: the processor ends with the very maze that the device would have made.
async function lostWhileGrowing(browser) {
  const page = await open(browser, "lost", KNOWN, {}, KEEP);
  await page.waitForFunction(() => Number(/frame (\d+)/.exec(document.getElementById("state").textContent)?.[1]) > 10);
  await page.locator("#again").uncheck();
  const seed = /seed \d+/.exec(await state(page))[0];
  await lose(page, "lost");
  expect((await state(page)).includes(seed), `lost: another maze: ${await state(page)}`);
  await judged(page);
  const grown = await badge(page).innerText();
  expect(grown.includes("perfect") && grown.includes("ed957be6b5759e66"), `lost: grown: ${grown}`);
  await page.locator("#solve:enabled").click();
  await solved(page);
  await judged(page);
  const told = await badge(page).innerText();
  expect(told.includes("shortest way"), `lost: ${told}`);
  const { colours } = await picture(page, "lost");
  expect(colours >= 4, `lost: a picture with ${colours} colours`);
  await page.screenshot({ path: path.join(folder, "lost.png") });
  await page.close();
}

// Lost while a grown maze is shown: the same is solved by the processor.
async function lostAtRest(browser) {
  const page = await open(browser, "lost at rest", KNOWN, {}, KEEP);
  await page.locator("#state").waitFor();
  await page.locator("#again").uncheck();
  await quicken(page);
  await judged(page);
  await lose(page, "lost at rest");
  await page.locator("input[value=fill]").check();
  await page.locator("#solve:enabled").click();
  await solved(page);
  await judged(page);
  const told = await badge(page).innerText();
  expect(/seed 7:/.test(await state(page)) && told.includes("shortest way"), `lost at rest: ${told}`);
  await page.close();
}

// A canvas of WebGPU's own, as cards have it: its texture is read, and must be what the page saves. Chromium of Debian 12 loses a
// device in software at its first picture in such a canvas; then the processor must end with the same maze.
async function canvasOfADevice(browser) {
  const read = `{
    let texture = null;
    const { configure, getCurrentTexture } = GPUCanvasContext.prototype;
    GPUCanvasContext.prototype.configure = function (options) {
      window.format = options.format;
      return configure.call(this, { ...options, usage: GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC });
    };
    GPUCanvasContext.prototype.getCurrentTexture = function () { return texture = getCurrentTexture.call(this); };
    const { submit } = GPUQueue.prototype;
    let device;
    const request = GPUAdapter.prototype.requestDevice;
    GPUAdapter.prototype.requestDevice = async function (...asked) { return device = await request.apply(this, asked); };
    GPUQueue.prototype.submit = function (commands) {
      submit.call(this, commands);
      if (!texture || !window.wanted) return;
      const { width, height } = texture, stride = Math.ceil(width * 4 / 256) * 256;
      const landing = device.createBuffer({ size: stride * height, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
      const encoder = device.createCommandEncoder();
      encoder.copyTextureToBuffer({ texture }, { buffer: landing, bytesPerRow: stride }, [width, height]);
      submit.call(this, [encoder.finish()]);
      const { wanted } = window;
      window.wanted = null;
      void landing.mapAsync(GPUMapMode.READ).then(() => {
        const words = new Uint32Array(landing.getMappedRange());
        const isBlueFirst = window.format.startsWith("bgra");
        const pixels = new Uint32Array(width * height);
        for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) {
          const word = words[y * stride / 4 + x];
          pixels[y * width + x] = isBlueFirst ? ((word >> 16) & 255) | (word & 0xff00ff00) | ((word & 255) << 16) : word;
        }
        void crypto.subtle.digest("SHA-256", pixels).then(digest => wanted([...new Uint8Array(digest)].join()));
      });
    };
  }`;
  const page = await open(browser, "canvas", `${KNOWN}&display=canvas`, {}, read);
  await page.locator("#state").waitFor();
  await page.locator("#again").uncheck();
  await quicken(page);
  await judged(page);
  const told = await badge(page).innerText();
  expect(told.includes("perfect") && told.includes("ed957be6b5759e66"), `canvas: ${told}`);
  const isLost = await page.locator("#notice").isVisible();
  console.log(`web: a canvas of WebGPU's own: ${isLost ? "the device was lost, the processor went on" : "compared"}`);
  if (!isLost) {
    const shown = await page.evaluate(() => new Promise(done => { window.wanted = done; }));
    const { digest } = await picture(page, "canvas");
    expect(shown === digest, "canvas: what is shown is not what is saved");
  }
  const { colours } = await picture(page, "canvas");
  expect(colours >= 4, `canvas: a picture with ${colours} colours`);
  await page.close();
}

const WITHOUT_WEBGPU = "--disable-features=WebGPU,WebGPUService";
const SOFTWARE_WEBGL = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

// Without WebGPU the page says so, WebGL does it in the published form, right in both forms and with every precision that this
// device gives 32 bits, and the records are there.
export async function readersWithoutWebGpu() {
  const browser = await launch(WITHOUT_WEBGPU, ...SOFTWARE_WEBGL);
  for (const [name, width, height, colorScheme, key, query] of [
    ["without", 1440, 900, "light", "a", ""], ["without-phone", 390, 844, "dark", "b", ""],
    ["without-mediump", 1280, 800, "dark", "a", "&precision=mediump"], ["without-numbers", 1280, 800, "light", "b", "&random=processor"],
  ]) {
    const page = await open(browser, name, KNOWN + query, { viewport: { width, height }, colorScheme });
    await page.locator("#notice").waitFor();
    const words = await page.locator("#notice").innerText();
    expect(/WebGPU/.test(words) && /by WebGL 2/.test(words) && /Chrome/.test(words), `${name}: ${words}`);
    expect(/WebGL 2.0.*GLSL ES 3/.test(await page.locator("#device").textContent()), `${name}: ${await page.locator("#device").textContent()}`);
    await page.keyboard.press(key);
    await quicken(page);
    await judged(page);
    const grown = await badge(page).innerText();
    expect(grown.includes("equal to the oracle's, cell by cell") && grown.includes("ed957be6b5759e66"), `${name}: ${grown}`);
    for (const solver of ["dots", "fill"]) {
      await page.locator("#again").evaluate(box => { box.checked = false; box.dispatchEvent(new Event("input", { bubbles: true })); });
      await page.locator(`input[value=${solver}]`).evaluate(choice => choice.click());
      await page.locator("#solve:enabled").click();
      await solved(page);
      await judged(page);
      const told = await badge(page).innerText();
      expect(told.includes("shortest way"), `${name}: ${solver}: ${told}`);
    }
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide <= width, `${name}: the page is ${wide} pixels wide`);
    await page.screenshot({ path: path.join(folder, `${name}.png`) });
    if (width === 1440) {
      const { colours } = await picture(page, `${name}-picture`);
      expect(colours >= 4, `${name}: a picture with ${colours} colours`);
      await page.locator("#check").click();
      await page.waitForFunction(() => /onformant/.test(document.getElementById("checked").textContent));
      const verdict = await page.locator("#checked").innerText();
      expect(verdict.startsWith("Conformant: 100 mazes") && verdict.includes("b904040de13f3af3"), `${name}: ${verdict}`);
    }
    await page.keyboard.press("2");
    await page.frameLocator("#report iframe").locator("figure.plot svg").first().waitFor();
    await page.close();
  }
  await lostWebGl(browser);
  await browser.close();
}

// A context that is lost hands its maze to the processor too.
async function lostWebGl(browser) {
  const keep = `{
    const { getContext } = HTMLCanvasElement.prototype;
    HTMLCanvasElement.prototype.getContext = function (...asked) {
      const context = getContext.apply(this, asked);
      if (asked[0] === "webgl2") window.kept = { destroy: () => context.getExtension("WEBGL_lose_context").loseContext() };
      return context;
    };
  }`;
  const page = await open(browser, "without, lost", KNOWN, {}, keep);
  await page.waitForFunction(() => Number(/frame (\d+)/.exec(document.getElementById("state").textContent)?.[1]) > 10);
  await page.locator("#again").uncheck();
  await page.evaluate(() => window.kept.destroy());
  await page.waitForFunction(() => /was lost/.test(document.getElementById("notice").textContent));
  await judged(page);
  const grown = await badge(page).innerText();
  expect(grown.includes("perfect") && grown.includes("ed957be6b5759e66"), `without, lost: ${grown}`);
  await page.close();
}

// Without any device the processor does it all.
export async function readersWithoutDevice() {
  const browser = await launch(WITHOUT_WEBGPU, "--disable-3d-apis");
  const page = await open(browser, "without any", KNOWN, {});
  await page.locator("#notice").waitFor();
  const words = await page.locator("#notice").innerText();
  expect(/WebGPU/.test(words) && /on the processor/.test(words) && /Chrome/.test(words), `without any: ${words}`);
  await quicken(page);
  await judged(page);
  const grown = await badge(page).innerText();
  expect(grown.includes("every room can be reached on one way") && grown.includes("ed957be6b5759e66"), `without any: ${grown}`);
  await page.screenshot({ path: path.join(folder, "without-any.png") });
  await page.close();
  await browser.close();
}
