// Opens a report page in Chromium as readers do (phone and desk, light and dark, keyboard) and fails on console errors, on a
// request to a network, on a page wider than its window, on an empty plot, and on an export that is not what it says.
//
//   node check.mjs PAGE.html FOLDER_FOR_SCREENSHOTS [EXPERIMENT THAT MUST HAVE A RECORD…]

import { chromium } from "playwright-core";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [page_file, folder, ...measured] = process.argv.slice(2);
const address = pathToFileURL(path.resolve(page_file)).href;
const faults = [];
const expect = (holds, words) => { if (!holds) faults.push(words); };

// No sandbox, since continuous integration runs as root; no shared memory, since containers have little.
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, timeout: 90_000,
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});

async function open(name, width, height, colorScheme) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme, acceptDownloads: true });
  page.setDefaultTimeout(300_000);
  page.on("console", message => { if (["error", "warning"].includes(message.type())) faults.push(`${name}: console: ${message.text()}`); });
  page.on("pageerror", error => faults.push(`${name}: ${error}`));
  page.on("request", request => { if (!/^(file|data|blob):/.test(request.url())) faults.push(`${name}: asks a network for ${request.url()}`); });
  await page.goto(address);
  await page.waitForSelector("figure.plot svg");
  return page;
}

for (const [name, width, height, scheme] of [["phone-light", 390, 844, "light"], ["phone-dark", 390, 844, "dark"], ["desk-light", 1440, 900, "light"], ["desk-dark", 1440, 900, "dark"]]) {
  const page = await open(name, width, height, scheme);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(wide <= width, `${name}: the page is ${wide} pixels wide`);
  expect(await page.evaluate(() => document.documentElement.dataset.theme) === scheme, `${name}: not ${scheme}`);
  const empty = await page.$$eval("figure.plot", all => all.filter(figure => !figure.querySelector(".chart svg :is(path, rect, line, circle)")).map(figure => figure.id));
  expect(empty.length === 0, `${name}: empty plots: ${empty}`);
  expect(await page.locator(".card").count() >= 6, `${name}: fewer than six questions`);
  await page.screenshot({ path: path.join(folder, `${name}-first.png`) });
  await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
  await page.close();
}

let page = await open("exports", 1440, 900, "light");
expect(await page.getByText("could not be read").count() === 1, "the damaged record is not told");
for (const name of measured) {
  const card = page.locator(".card", { has: page.locator(`a[href="#${name}"]`) }).locator(".answer");
  expect(/\d/.test(await card.innerText()), `${name}: no number in its answer`);
}
// Chromium drops a download now and then when dozens follow each other. One that was only late is the next attempt's.
async function save(id, kind) {
  const isIt = download => download.suggestedFilename() === `${id}.${kind.toLowerCase()}`;
  for (let attempt = 0; attempt < 12; attempt++) {
    const download = page.waitForEvent("download", { predicate: isIt, timeout: 5000 }).catch(() => null);
    await page.locator(`[id="${id}"]`).getByRole("button", { name: kind }).click();
    const saved = await download;
    if (saved) return saved;
  }
  return null;
}
const figures = await page.$$eval("figure.plot", all => all.map(figure => figure.id));
expect(new Set(figures).size === figures.length, "two plots have one id");
for (const id of figures) {
  for (const kind of ["CSV", "JSON"]) {
    const saved = await save(id, kind);
    if (!saved) { faults.push(`${id}: ${kind} saves nothing`); continue; }
    const text = await readFile(await saved.path(), "utf8");
    const rows = kind === "JSON" ? JSON.parse(text).length : text.trimEnd().split("\r\n").length - 1;
    const told = Number(/\d+/.exec(await page.locator(`[id="${id}"] details summary`).innerText())[0]);
    expect(rows === told && rows > 0, `${id}: ${rows} rows in ${kind}, ${told} in the table`);
  }
}
// By keyboard alone, in a fresh page: the first stop is the way past the questions, the next the colours.
await page.close();
page = await open("keyboard", 1440, 900, "light");
await page.keyboard.press("Tab");
expect(await page.evaluate(() => document.activeElement.className) === "skip", "the first stop of the keyboard is not the skip link");
await page.keyboard.press("Tab");
await page.keyboard.press("Enter");
expect(await page.evaluate(() => document.documentElement.dataset.theme) === "dark", "the colours do not change by keyboard");
const summary = page.locator("figure.plot details summary").first();
await summary.focus();
await page.keyboard.press("Enter");
const opened = page.locator("figure.plot details[open] table").waitFor();
expect(await opened.then(() => true, () => false), "a table does not open by keyboard");
await browser.close();

faults.forEach(words => console.error(`report: ${words}`));
console.log(`report: ${figures.length} plots looked at in four ways, ${2 * figures.length} exports`);
process.exit(faults.length ? 1 : 0);
