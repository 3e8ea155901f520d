// Serves the built page and opens it in Chromium; whatever a reader would meet as a fault is collected: console errors, a request
// to another server, and what the tests themselves expect in vain. The device is SwiftShader, which needs no card.

import { chromium } from "playwright-core";
import { createServer } from "node:http";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";

export const [root, folder] = process.argv.slice(2).map(name => path.resolve(name));
export const faults = [];
export const expect = (holds, words) => { if (!holds) faults.push(words); };

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wgsl": "text/plain" };
export const server = createServer(async (request, response) => {
  const name = decodeURIComponent(new URL(request.url, "http://page").pathname);
  const file = path.join(root, name.endsWith("/") ? `${name}index.html` : name);
  try {
    if (!file.startsWith(root)) throw new Error("outside");
    const body = await readFile(file);
    response.setHeader("content-type", TYPES[path.extname(file)] ?? "application/octet-stream");
    response.end(body);
  } catch {
    response.statusCode = 404;
    response.end("no such file");
  }
}).listen(0, "127.0.0.1");
await new Promise(done => server.once("listening", done));
const address = `http://127.0.0.1:${server.address().port}/`;
await mkdir(folder, { recursive: true });

// No sandbox, since continuous integration runs as root; no shared memory, since containers have little.
export const launch = (...flags) => chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, timeout: 90_000,
  args: ["--no-sandbox", "--disable-dev-shm-usage", ...flags],
});

export async function open(browser, name, query, options = {}, before = null) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...options });
  // What the browser says by itself where there is no device, and where it loses one.
  const isExpected = text => name.startsWith("without") && text === "Failed to create WebGPU Context Provider"
    || name === "canvas" && text.startsWith("A valid external Instance reference no longer exists");
  page.on("console", message => { if (["error", "warning"].includes(message.type()) && !isExpected(message.text())) faults.push(`${name}: console: ${message.text()}`); });
  page.on("pageerror", error => faults.push(`${name}: ${error}`));
  page.on("request", request => { if (!request.url().startsWith(address) && !/^(data|blob):/.test(request.url())) faults.push(`${name}: asks for ${request.url()}`); });
  page.setDefaultTimeout(300_000);
  if (before) await page.addInitScript(before);
  await page.goto(address + query);
  return page;
}

process.on("exit", () => faults.forEach(words => console.error(`web: ${words}`)));
// What was under way may still arrive; a maze that goes on changes all the time.
export const standsStill = page => page.waitForFunction(() => {
  const now = document.getElementById("state").textContent;
  if (window.seen !== now) [window.seen, window.since] = [now, performance.now()];
  return performance.now() - window.since > 500;
});
export const badge = page => page.locator("#badge");
export const judged = page => page.waitForSelector('#badge[data-state="perfect"], #badge[data-state="wrong"]');

// Size, number of colours and SHA-256 of the pixels of a picture that the page saves.
export async function picture(page, name) {
  const saved = page.waitForEvent("download");
  await page.locator("#save").click();
  const file = path.join(folder, `${name}.png`);
  await (await saved).saveAs(file);
  const data = `data:image/png;base64,${(await readFile(file)).toString("base64")}`;
  return page.evaluate(async address => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
    const counts = new Map();
    for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
    return { width: image.width, height: image.height, colours: counts.size, digest: [...new Uint8Array(await crypto.subtle.digest("SHA-256", pixels))].join() };
  }, data);
}
