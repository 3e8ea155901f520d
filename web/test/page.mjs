// Opens the built page in Chromium as readers do (phone and desk, light and dark, keyboard, without WebGPU) and fails on what
// they would meet: console errors, a request to another server, a page wider than its window, a control that does
// nothing, a maze that is not the oracle's. The device is SwiftShader, which needs no card.
//
//   node test/page.mjs FOLDER_OF_THE_PAGE FOLDER_FOR_SCREENSHOTS

import { chromium } from "playwright-core";
import { createServer } from "node:http";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";

const [root, folder] = process.argv.slice(2).map(name => path.resolve(name));
const faults = [];
const expect = (holds, words) => { if (!holds) faults.push(words); };

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wgsl": "text/plain" };
const server = createServer(async (request, response) => {
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
const launch = (...flags) => chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, timeout: 90_000,
  args: ["--no-sandbox", "--disable-dev-shm-usage", ...flags],
});

async function open(browser, name, query, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...options });
  // Where there is no device the browser says so itself.
  const isExpected = text => name === "without" && text === "Failed to create WebGPU Context Provider";
  page.on("console", message => { if (["error", "warning"].includes(message.type()) && !isExpected(message.text())) faults.push(`${name}: console: ${message.text()}`); });
  page.on("pageerror", error => faults.push(`${name}: ${error}`));
  page.on("request", request => { if (!request.url().startsWith(address) && !/^(data|blob):/.test(request.url())) faults.push(`${name}: asks for ${request.url()}`); });
  page.setDefaultTimeout(30_000);
  await page.goto(address + query);
  return page;
}

process.on("exit", () => faults.forEach(words => console.error(`web: ${words}`)));
const badge = page => page.locator("#badge");
const perfect = page => page.waitForSelector('#badge[data-state="perfect"], #badge[data-state="wrong"]');

// Size and number of colours of a picture that the page saves.
async function picture(page, name) {
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
    return { width: image.width, height: image.height, colours: counts.size };
  }, data);
}

const browser = await launch("--enable-unsafe-webgpu");

// The maze whose digest the lab's oracle and a numpy program have too, in both forms, solved by both means.
for (const [form, key] of [["branches", "a"], ["selects", "b"]]) {
  const page = await open(browser, form, "?width=65&height=65&seed=7&chance=6554&finish=0");
  await page.locator("#state").waitFor();
  await page.keyboard.press(key);
  for (let press = 0; press < 4; press++) await page.keyboard.press("+");
  expect(await page.locator(`input[value=${form}]`).isChecked(), `${form}: the key ${key} does not choose it`);
  await perfect(page);
  const grown = await badge(page).innerText();
  expect(grown.includes("perfect") && grown.includes("ed957be6b5759e66"), `${form}: grown: ${grown}`);
  for (const solver of ["dots", "fill"]) {
    // By itself it would go on to the next maze.
    await page.locator("#again").uncheck();
    await page.locator(`input[value=${solver}]`).check();
    await page.locator("#solve:enabled").click();
    await page.waitForFunction(() => /: solved/.test(document.getElementById("state").textContent));
    await perfect(page);
    const solved = await badge(page).innerText();
    expect(solved.includes("shortest way"), `${form}: ${solver}: ${solved}`);
    const { width, height, colours } = await picture(page, `${form}-${solver}`);
    expect(width === 1280 && height === 752 && colours >= 4, `${form}: ${solver}: a picture of ${width} by ${height} with ${colours} colours`);
  }
  await page.close();
}

// Every control does what it says.
{
  const page = await open(browser, "controls", "");
  const state = () => page.locator("#state").innerText();
  await page.locator("#state").waitFor();
  const [, columns, rows] = /^(\d+) by (\d+)/.exec(await state());
  expect(Number(rows) === 65 && Number(columns) > 65, `controls: ${columns} by ${rows} cells do not fill the window`);
  await page.locator("#pause").click();
  expect(await page.locator("#pause").getAttribute("aria-pressed") === "true", "controls: pause does not pause");
  await page.waitForTimeout(300);
  const paused = await state();
  await page.waitForTimeout(300);
  expect(await state() === paused, "controls: a paused maze goes on");
  await page.locator("#pause").click();
  await page.waitForFunction(was => document.getElementById("state").textContent !== was, paused);
  const seed = /seed (\d+)/.exec(await state())[1];
  await page.locator("#grow").click();
  expect(/seed (\d+)/.exec(await state())[1] !== seed, "controls: grow keeps the seed");
  await page.locator("#size").selectOption("33");
  expect(/by 33,/.test(await state()), `controls: size: ${await state()}`);
  await page.locator("body").press("[");
  expect(/by 17,/.test(await state()), `controls: the key [: ${await state()}`);
  await page.locator("#speed").fill("8");
  expect(await page.locator("#rate").innerText() === "all it can", "controls: speed says nothing");
  await perfect(page);
  await page.waitForFunction(() => /: solved/.test(document.getElementById("state").textContent));
  await page.locator("#again").uncheck();
  await page.locator("details summary").click();
  expect(await page.locator("details p").isVisible(), "controls: the keys do not open");
  await page.locator("#fold").click();
  expect(!await page.locator("#more").isVisible(), "controls: the panel does not fold");
  await page.keyboard.press("h");
  expect(await page.locator("#more").isVisible(), "controls: the panel does not unfold by key");
  await page.locator("#check").click();
  await page.waitForFunction(() => /onformant/.test(document.getElementById("checked").textContent), null, { timeout: 100_000 });
  const verdict = await page.locator("#checked").innerText();
  expect(verdict.startsWith("Conformant: 100 mazes"), `controls: ${verdict}`);
  console.log(`web: ${verdict}`);
  await page.locator("#tab-report").click();
  await page.frameLocator("#report iframe").locator("figure.plot svg").first().waitFor();
  expect(!await page.locator("#maze").isVisible(), "controls: the maze stays in the second view");
  await page.screenshot({ path: path.join(folder, "report-desk.png") });
  await page.locator("#tab-report").press("ArrowLeft");
  expect(await page.locator("#maze").isVisible(), "controls: no way back by keyboard");
  await page.close();
}

// As it looks.
for (const [name, width, height, colorScheme] of [["phone-light", 390, 844, "light"], ["phone-dark", 390, 844, "dark"], ["desk-light", 1280, 800, "light"], ["desk-dark", 1280, 800, "dark"]]) {
  const page = await open(browser, name, "?seed=3", { viewport: { width, height }, colorScheme });
  await page.locator("#state").waitFor();
  for (let press = 0; press < 4; press++) await page.keyboard.press("+");
  await page.waitForFunction(() => /: solved/.test(document.getElementById("state").textContent));
  await perfect(page);
  await page.keyboard.press(" ");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(wide <= width, `${name}: the page is ${wide} pixels wide`);
  if (width < 600) {
    await page.screenshot({ path: path.join(folder, `${name}-folded.png`) });
    await page.locator("#fold").click();
  }
  const small = await page.$$eval("button, select, summary", all => all.filter(one => one.offsetParent && one.getBoundingClientRect().height < 24).map(one => one.id || one.textContent));
  expect(small.length === 0, `${name}: too small to touch: ${small}`);
  await picture(page, name);
  await page.screenshot({ path: path.join(folder, `${name}-page.png`) });
  await page.locator("#tab-report").click();
  await page.frameLocator("#report iframe").locator("figure.plot svg").first().waitFor();
  await page.screenshot({ path: path.join(folder, `${name}-report.png`) });
  await page.close();
}
await browser.close();

// Without WebGPU the page says so, and the records are there.
const without = await launch("--disable-features=WebGPU,WebGPUService");
const page = await open(without, "without", "");
await page.locator("#message").waitFor();
const words = await page.locator("#message").innerText();
expect(/needs WebGPU/.test(words) && /Chrome/.test(words), `without: ${words}`);
await page.screenshot({ path: path.join(folder, "without.png") });
await page.keyboard.press("2");
await page.frameLocator("#report iframe").locator("figure.plot svg").first().waitFor();
await without.close();
server.close();

console.log(faults.length ? `web: ${faults.length} faults` : "web: grown, solved, checked and looked at");
process.exit(faults.length ? 1 : 0);
