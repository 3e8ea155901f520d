// Opens every page of the built site in Chromium, at a phone's and a desktop's width, light and dark. Fails on a link or anchor that
// leads nowhere within the site, on a request to a network, on an error in the console, and on a page wider than its window.
//
//   node check.mjs SITE FOLDER_FOR_SCREENSHOTS

import { chromium } from "playwright-core";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [site, folder] = process.argv.slice(2).map(argument => path.resolve(argument));
const views = [["phone-light", 390, 844, "light"], ["phone-dark", 390, 844, "dark"], ["desktop-light", 1440, 900, "light"], ["desktop-dark", 1440, 900, "dark"]];
const shown = ["index", "docs/start", "docs/folders", "docs/commands", "docs/exit-codes", "docs/json", "docs/formats", "BENCHMARKS"];
const faults = [];

const pages = readdirSync(site, { recursive: true }).map(String)
  .filter(name => name.endsWith(".html") && !/^(404|toc|print)\.html$/.test(name) && name !== "lab/report.html").sort();

// No sandbox, since continuous integration runs as root; no shared memory, since containers have little.
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, timeout: 90_000,
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--allow-file-access-from-files"],
});

const anchors = new Map();
const wanted = [];
for (const [view, width, height, colorScheme] of views) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  let name = "";
  page.on("console", message => { if (message.type() === "error") faults.push(`${view} ${name}: console: ${message.text()}`); });
  page.on("pageerror", error => faults.push(`${view} ${name}: ${error}`));
  page.on("request", request => { if (!/^(file|data|blob):/.test(request.url())) faults.push(`${name}: asks a network for ${request.url()}`); });
  for (name of pages) {
    const address = pathToFileURL(path.join(site, name)).href;
    await page.goto(address);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > width) faults.push(`${view} ${name}: the page is ${wide} pixels wide`);
    if (shown.includes(name.replace(/\.html$/, ""))) {
      await page.screenshot({ path: path.join(folder, `${name.replaceAll("/", "-").replace(".html", "")}-${view}.png`) });
    }
    if (view === views[0][0]) {
      anchors.set(path.join(site, name), new Set(await page.$$eval("[id]", all => all.map(element => element.id))));
      const links = await page.$$eval("a[href], link[href], script[src], img[src]", all => all.map(element => element.href || element.src));
      links.filter(link => link.startsWith("file:")).forEach(link => wanted.push([name, new URL(link)]));
    }
  }
  await page.close();
}
await browser.close();

for (const [name, link] of wanted) {
  const file = fileURLToPath(new URL(link.pathname, "file:"));
  const anchor = decodeURIComponent(link.hash.slice(1));
  if (!existsSync(file)) faults.push(`${name}: ${file} is not there`);
  else if (anchor && anchors.has(file) && !anchors.get(file).has(anchor)) faults.push(`${name}: ${path.relative(site, file)} has no #${anchor}`);
}
if (faults.length > 0) {
  console.error([...new Set(faults)].join("\n"));
  process.exit(1);
}
console.log(`docs: ${pages.length} pages in ${views.length} views, ${wanted.length} links, no fault`);
