// Looks at pages in a headless Chromium: a line of JSON in, a line of JSON out.
//   node look.mjs folder-of-node_modules chromium
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [modules, executablePath] = process.argv.slice(2);
const require = createRequire(join(modules, "look.cjs"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({
  executablePath,
  headless: true,
  args: [
    "--no-sandbox",
    "--no-zygote",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
  ],
});

// Runs in the page.
function seen() {
  const text = (id) => document.getElementById(id)?.textContent.trim() ?? "";
  const name = (figure) =>
    figure.getAttribute("aria-label") ??
    (figure.getAttribute("aria-labelledby") ?? "").split(/\s+/).map(text).join(" ");
  const all = (selector) => [...document.querySelectorAll(selector)];
  const handlers = all("*").flatMap((element) =>
    [...element.attributes].map((a) => a.name).filter((a) => a.startsWith("on")),
  );
  return {
    title: document.title,
    scripts: all("script").length,
    handlers: handlers.length,
    foreign: all("img, iframe, object, embed, link, base, form, foreignObject").length,
    links: all("a").map((a) => a.getAttribute("href")),
    figures: all("figure").map((figure) => name(figure).trim()),
    svgs: all("figure svg").length,
    numbers: all("data[value]").map((data) => ({
      path: data.dataset.path ?? null,
      value: data.getAttribute("value"),
      text: data.textContent.trim(),
    })),
    text: document.body.innerText,
    executed: typeof window.executed !== "undefined",
    scrollWidth: document.documentElement.scrollWidth,
    clientWidth: document.documentElement.clientWidth,
    height: document.documentElement.scrollHeight,
  };
}

async function look(asked) {
  const { address, width, height, scheme, screenshot, whole, open, audit } = asked;
  // A site loads its own files, and may take a moment to show what was looked for.
  const { within, wait } = asked;
  const context = await browser.newContext({
    viewport: { width, height: height ?? 900 },
    colorScheme: scheme ?? "light",
  });
  const page = await context.newPage();
  const requests = [];
  const faults = [];
  await page.route("**/*", (route) => {
    const url = route.request().url();
    const own = within !== undefined && url.startsWith(within);
    if (url === address || url.startsWith("data:") || own) return route.continue();
    requests.push(url);
    return route.abort();
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  page.on("dialog", (dialog) => {
    faults.push(`dialog ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(address);
  if (wait) await page.waitForSelector(wait, { timeout: 60_000 });
  if (open) {
    await page.evaluate(() => {
      for (const folded of document.querySelectorAll("details")) folded.open = true;
    });
  }
  const found = await page.evaluate(seen);
  found.violations = [];
  if (audit) {
    await page.evaluate(axe);
    const result = await page.evaluate(() => window.axe.run(document, { preload: false }));
    found.violations = result.violations.map(
      (one) => `${one.id}: ${one.help} (${one.nodes.map((n) => n.target).slice(0, 3)})`,
    );
  }
  if (screenshot) await page.screenshot({ path: screenshot, fullPage: whole ?? false });
  await context.close();
  return { ...found, requests, faults };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = await look(JSON.parse(line));
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
