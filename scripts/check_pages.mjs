// The checks of scripts/check_pages.sh. Prints what is wrong with each page, and exits with 1 if anything is.

import { resolve } from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const widths = [1200, 390];
const schemes = ["light", "dark"];

async function violations(page) {
  await page.addScriptTag({ path: axe });
  const result = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return result.violations.map(
    ({ id, help, nodes }) => `${id}: ${help} (${nodes.length}; ${nodes[0].target} ${nodes[0].failureSummary})`);
}

async function overflow(page) {
  const [content, screen] = await page.evaluate(
    () => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  return content > screen ? [`the content is ${content} pixels wide, and the screen ${screen}`] : [];
}

// Sorts every table by every column with Enter, and then with the space bar.
async function sorting(page) {
  const found = [];
  for (const head of await page.locator("table.list thead th").all()) {
    const button = head.locator("button"), name = await head.innerText();
    if ((await button.count()) !== 1) {
      found.push(`the head '${name}' has no button`);
      continue;
    }
    for (const key of ["Enter", "Space"]) {
      const before = await head.getAttribute("aria-sort");
      await button.press(key);
      const after = await head.getAttribute("aria-sort");
      if (!after || after === before) found.push(`${key} does not sort by '${name}'`);
    }
    if ((await head.locator("xpath=..").locator("th[aria-sort]").count()) !== 1)
      found.push(`several columns are sorted beside '${name}'`);
  }
  return found;
}

// Filters every long table by words that no row has, and shows all rows again.
async function filtering(page) {
  const found = [];
  for (const field of await page.locator(".filter input").all()) {
    const rows = field.locator("xpath=../../following-sibling::div[1]").locator("tbody tr");
    const all = await rows.count();
    await field.fill("no row has these words");
    const none = await rows.locator("visible=true").count();
    await field.fill("");
    if (none !== 0 || (await rows.locator("visible=true").count()) !== all)
      found.push("a filter does not hide and show the rows of its table");
  }
  return found;
}

async function check(browser, file) {
  let failed = false;
  for (const colorScheme of schemes)
    for (const width of widths) {
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
      const errors = [];
      page.on("pageerror", (error) => errors.push(`script: ${error.message}`));
      page.on("request", (request) => {
        if (!request.url().startsWith("file:")) errors.push(`loads ${request.url()}`);
      });
      await page.goto(pathToFileURL(resolve(file)).href);
      const found = [...(await violations(page)), ...(await overflow(page))];
      await page.evaluate(() => document.querySelectorAll("details").forEach((part) => (part.open = true)));
      found.push(...(await violations(page)), ...(await overflow(page)));
      if (colorScheme === schemes[0] && width === widths[0])
        found.push(...(await sorting(page)), ...(await filtering(page)));
      found.push(...errors);
      for (const text of found) console.log(`${file}, ${colorScheme}, ${width} pixels: ${text}`);
      failed = failed || found.length > 0;
      await page.close();
    }
  if (!failed) console.log(`${file}: nothing found`);
  return failed;
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
let failed = false;
for (const file of process.argv.slice(2)) failed = (await check(browser, file)) || failed;
await browser.close();
process.exit(failed ? 1 : 0);
