// Opens the built page in Chromium as readers do (phone and desk, light and dark, keyboard) and fails on what they would meet:
// console errors, a request to another server, a page wider than its window, a control that does nothing, a maze that is
// not the oracle's. How the page takes devices that fail stands in engines.mjs.
//
//   node test/page.mjs FOLDER_OF_THE_PAGE FOLDER_FOR_SCREENSHOTS

import path from "node:path";
import { badge, expect, faults, folder, judged, launch, open, picture, server, standsStill } from "./chromium.mjs";
import { devicesThatFail, readersWithoutDevice, readersWithoutWebGpu } from "./engines.mjs";

const browser = await launch("--enable-unsafe-webgpu");

// The maze whose digest the lab's oracle and a numpy program have too, in both forms, solved by both means.
for (const [form, key] of [["branches", "a"], ["selects", "b"]]) {
  const page = await open(browser, form, "?width=65&height=65&seed=7&chance=6554&finish=0");
  await page.locator("#state").waitFor();
  await page.keyboard.press(key);
  for (let press = 0; press < 4; press++) await page.keyboard.press("+");
  expect(await page.locator(`input[value=${form}]`).isChecked(), `${form}: the key ${key} does not choose it`);
  await judged(page);
  const grown = await badge(page).innerText();
  expect(grown.includes("perfect") && grown.includes("ed957be6b5759e66"), `${form}: grown: ${grown}`);
  for (const solver of ["dots", "fill"]) {
    // By itself it would go on to the next maze.
    await page.locator("#again").uncheck();
    await page.locator(`input[value=${solver}]`).check();
    await page.locator("#solve:enabled").click();
    await page.waitForFunction(() => /: solved/.test(document.getElementById("state").textContent));
    await judged(page);
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
  // A pressed button keeps its name; told both ways it would say the opposite.
  expect(await page.locator("#pause").innerText() === "Pause", "controls: pause changes its name");
  await standsStill(page);
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
  await judged(page);
  await page.waitForFunction(() => /: solved/.test(document.getElementById("state").textContent));
  await page.locator("#again").uncheck();
  await page.locator("details summary").click();
  expect(await page.locator("details p").isVisible(), "controls: the keys do not open");
  await page.locator("#fold").click();
  expect(!await page.locator("#more").isVisible(), "controls: the panel does not fold");
  await page.keyboard.press("h");
  expect(await page.locator("#more").isVisible(), "controls: the panel does not unfold by key");
  await page.locator("#check").click();
  await page.waitForFunction(() => /onformant/.test(document.getElementById("checked").textContent));
  const verdict = await page.locator("#checked").innerText();
  // The lab's oracle has the same digest of all hundred (lab/src/experiments/maze/tests.rs).
  expect(verdict.startsWith("Conformant: 100 mazes") && verdict.includes("b904040de13f3af3"), `controls: ${verdict}`);
  console.log(`web: ${verdict}`);
  await page.locator("#tab-report").click();
  await page.frameLocator("#report iframe").locator("figure.plot svg").first().waitFor();
  expect(!await page.locator("#maze").isVisible(), "controls: the maze stays in the second view");
  await page.screenshot({ path: path.join(folder, "report-desk.png") });
  await page.locator("#tab-report").press("ArrowLeft");
  expect(await page.locator("#maze").isVisible(), "controls: no way back by keyboard");
  await page.close();
}

// The wallpaper: no controls, maze after maze, none while nobody looks, and any key ends it.
{
  const page = await open(browser, "wallpaper", "?width=17&height=17&seed=7&wallpaper", { viewport: { width: 1440, height: 900 } });
  const state = () => page.locator("#state").textContent();
  await page.locator("header").waitFor({ state: "hidden" });
  expect(!await page.locator("#panel").isVisible(), "wallpaper: the panel is there");
  const { width, height } = await page.locator("#picture").boundingBox();
  expect(width === 1440 && height === 900, `wallpaper: ${width} by ${height} of the window`);
  await page.waitForFunction(() => /seed 8:/.test(document.getElementById("state").textContent));
  await page.screenshot({ path: path.join(folder, "wallpaper.png") });
  await page.evaluate(() => { Object.defineProperty(document, "hidden", { configurable: true, get: () => true }); });
  await standsStill(page);
  const still = await state();
  await page.evaluate(() => { delete document.hidden; });
  await page.waitForFunction(was => document.getElementById("state").textContent !== was, still);
  await page.keyboard.press("x");
  await page.locator("#panel").waitFor();
  expect(await page.locator("header").isVisible(), "wallpaper: a key does not end it");
  await page.locator("#wallpaper").click();
  await page.locator("#panel").waitFor({ state: "hidden" });
  await page.mouse.click(100, 100);
  await page.locator("#panel").waitFor();
  await page.close();
}

// As it looks.
for (const [name, width, height, colorScheme] of [["phone-light", 390, 844, "light"], ["phone-dark", 390, 844, "dark"], ["desk-light", 1280, 800, "light"], ["desk-dark", 1280, 800, "dark"]]) {
  const page = await open(browser, name, "?seed=3", { viewport: { width, height }, colorScheme });
  await page.locator("#state").waitFor();
  for (let press = 0; press < 4; press++) await page.keyboard.press("+");
  await page.waitForFunction(() => /: solved/.test(document.getElementById("state").textContent));
  await judged(page);
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
await devicesThatFail(browser);
await browser.close();
await readersWithoutWebGpu();
await readersWithoutDevice();
server.close();

console.log(faults.length ? `web: ${faults.length} faults` : "web: grown, solved, checked and looked at");
process.exit(faults.length ? 1 : 0);
