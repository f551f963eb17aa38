// Programs for the browser tests: pages that `oxport view --html` makes, and a browser that may load nothing else.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const workspace = join(here, "../..");
const out = join(here, "out");

/** The command line: `OXPORT`, or what `cargo build --release` made. */
export const oxport = process.env.OXPORT ?? join(workspace, "target/release/oxport");
if (!existsSync(oxport)) throw new Error(`expected the command line at ${oxport}: build it, or set OXPORT`);

export const fixture = (name) => join(workspace, "fixtures/programs", name, "program.pt2");
export const model = (name) => join(here, "models", name);

export function run(...args) {
  mkdirSync(out, { recursive: true });
  return execFileSync(oxport, args, { cwd: out, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** The path of a page of a program. */
export function page(name, program, ...options) {
  const path = join(out, `${name}.html`);
  run("view", program, "--html", path, ...options);
  return path;
}

/** A program as text, in a file. */
export function text(name, content) {
  mkdirSync(out, { recursive: true });
  const path = join(out, name);
  writeFileSync(path, content);
  return path;
}

/** A program that is captured of a Python source. */
export function captured(source, entry, ...options) {
  const path = join(out, `${entry.replace(/\W/g, "_")}.pt2`);
  run("capture", model(source), "--entry", entry, ...options, "-o", path);
  return path;
}

export const DEEP = ["deep.py", "Deep(90)", "--input", "ids: i64[b, n]", "--input", "cos: f32[n, 8]", "--input", "sin: f32[n, 8]",
  "--dim", "b=1..8:2", "--dim", "n=2..64:16"];

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** Opens a page; what it asked for and what went wrong are `tab.requests` and `tab.troubles`. */
export async function open(browser, path, options = {}) {
  const tab = await browser.newPage({ viewport: { width: 1360, height: 850 }, colorScheme: "light", ...options });
  tab.requests = [];
  tab.troubles = [];
  tab.on("console", (message) => ["error", "warning"].includes(message.type()) && tab.troubles.push(message.text()));
  tab.on("pageerror", (error) => tab.troubles.push(String(error.stack)));
  tab.on("dialog", (dialog) => { tab.troubles.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  const address = path.startsWith("http") ? path : pathToFileURL(path).href;
  tab.on("request", (request) => request.url() !== address && !request.url().startsWith("data:") && tab.requests.push(request.url()));
  await tab.goto(address);
  await tab.waitForFunction(() => document.documentElement.dataset.firstDrawing);
  tab.first = Number(await tab.evaluate(() => document.documentElement.dataset.firstDrawing));
  tab.box = (id) => tab.locator(`#graph [data-id="${id}"]`).first();
  tab.ids = () => tab.evaluate(() => [...document.querySelectorAll("#graph .world > g > [data-id]:not(.stub)")].map((g) => g.dataset.id).sort());
  tab.title = () => tab.locator("#panel h2").first().innerText();
  /** Waits until the drawing has caught up. */
  tab.settle = () => tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return tab;
}
