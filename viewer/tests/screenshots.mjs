// The pictures of docs/viewer.md, and the times to the first drawing: `node tests/screenshots.mjs`.
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DEEP, captured, fixture, launch, open, page } from "./pages.mjs";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../docs/viewer");
mkdirSync(folder, { recursive: true });
const RUNS = 5;

async function select(tab, name) {
  await tab.fill("#search", name);
  await tab.press("#search", "Enter");
  await tab.settle();
  await tab.evaluate(() => { document.getElementById("search").value = ""; document.getElementById("search").dispatchEvent(new Event("input")); });
}

const PICTURES = [
  ["llama", page("llama", fixture("llama_block"), "--optimize", "fast", "--measure"), async (tab) => {
    await tab.click("#views button:last-child");
    await select(tab, "scaled_dot_product_attention");
    await tab.keyboard.press("-");
    await tab.keyboard.press("c");
  }],
  ["resnet", page("resnet", fixture("resnet_small")), async (tab) => {
    await select(tab, "4.body");
    await tab.keyboard.press("Enter");
    await select(tab, "batch_norm_1");
    await tab.keyboard.press("c");
  }],
  ["cond", page("cond", fixture("cond")), async (tab) => select(tab, "true_graph_0 linear"), { colorScheme: "dark" }],
  ["deep", page("deep", captured(...DEEP)), async (tab) => {
    for (const cluster of ["blocks", "blocks.0", "blocks.0.attention"]) {
      await select(tab, cluster);
      if (cluster !== "blocks.0.attention") await tab.keyboard.press("Enter");
    }
    await tab.keyboard.press("c");
    await tab.selectOption("#color", "cost");
  }],
];

const browser = await launch();
for (const [name, path, prepare, options] of PICTURES) {
  const times = [];
  for (let i = 0; i < RUNS; i++) {
    const tab = await open(browser, path, options);
    times.push(tab.first);
    if (i + 1 === RUNS) {
      const nodes = await tab.evaluate(() => document.querySelector("#panel .op").textContent);
      await prepare(tab);
      await tab.waitForTimeout(300);
      await tab.screenshot({ path: join(folder, `${name}.png`) });
      console.log(`${name}: ${nodes}; first drawing after ${times.sort((a, b) => a - b)[Math.floor(RUNS / 2)]} ms (${times.join(", ")})`);
      if (tab.troubles.length > 0) console.log(tab.troubles);
    }
    await tab.close();
  }
}
await browser.close();
