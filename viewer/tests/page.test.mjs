// The page in a browser: see README.md for what it needs.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { assets, outputs } from "../build.mjs";
import { DEEP, captured, fixture, launch, open, oxport, page, text } from "./pages.mjs";

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

/** Opens a page, and sees in the end that nothing was asked for and nothing went wrong. */
async function within(path, work, options) {
  const tab = await open(browser, path, options);
  try {
    await work(tab);
    assert.deepEqual(tab.requests, []);
    assert.deepEqual(tab.troubles, []);
  } finally {
    await tab.close();
  }
}

test("the files that are checked in are what the sources give", async () => {
  for (const [name, text] of Object.entries(await outputs())) {
    assert.ok(existsSync(join(assets, name)) && readFileSync(join(assets, name), "utf8") === text, `${name} differs: npm run build`);
  }
  const lock = readFileSync(new URL("../package-lock.json", import.meta.url), "utf8");
  assert.ok(!/resolved|https?:/.test(lock), "the lock file names a registry");
});

test("the graph is drawn, and loads nothing", () => within(page("mlp", fixture("mlp")), async (tab) => {
  const ids = await tab.ids();
  for (const id of [":output", ":input", "/0"]) assert.ok(ids.includes(id), `${id} in ${ids}`);
  assert.ok(await tab.locator("#graph .edge").count() >= 3);
  assert.ok((await tab.locator("#graph .edge-label").allTextContents()).some((label) => /^f32\[/.test(label)));
  assert.match(await tab.title(), /program\.pt2/);
}));

test("a cluster opens and closes by a click on its sign", () => within(page("llama", fixture("llama_block")), async (tab) => {
  const id = "/model/model";
  const closed = await tab.ids();
  assert.ok(closed.includes(id) && !closed.includes(":arange_3"), closed.join(" "));
  await tab.locator(`#graph [data-id="${id}"] .toggle`).click();
  await tab.settle();
  assert.ok((await tab.ids()).includes(":arange_3"), (await tab.ids()).join(" "));
  assert.equal(await tab.locator(`#graph .open[data-id="${id}"]`).count(), 1);
  await tab.locator(`#graph [data-id="${id}"] .toggle`).click();
  await tab.settle();
  assert.ok(!(await tab.ids()).includes(":arange_3"));
  assert.equal(await tab.locator(`#graph .open[data-id="${id}"]`).count(), 0);
}));

test("the panel tells what a node is", () => within(page("resnet", fixture("resnet_small")), async (tab) => {
  await tab.keyboard.press("/");
  await tab.keyboard.type("batch_norm_1");
  await tab.keyboard.press("Enter");
  await tab.settle();
  assert.equal(await tab.title(), "batch_norm_1");
  const panel = await tab.locator("#panel").innerText();
  for (const part of ["aten::batch_norm", "running_mean", "f32[s31,", "strides", "2 … ∞", "File \"", "BatchNorm2d", "operations", "conv2d_1"]) {
    assert.ok(panel.includes(part), `${part} in ${panel}`);
  }
  await tab.locator("#panel .link", { hasText: /^conv2d_1$/ }).first().click();
  assert.equal(await tab.title(), "conv2d_1");
}));

test("search finds names, operators, modules, values and stack traces", () => within(page("llama", fixture("llama_block")), async (tab) => {
  for (const [query, least, first] of [
    ["scaled_dot_product_attention_1", 1, /^scaled_dot_product_attention_1/], ["aten::linear", 10, /^linear/],
    ["self_attn linear", 8, /./], ["LlamaMLP", 2, /mlp/], ["f32[s23, s27, 48]", 5, /./], ["modeling_llama.py", 20, /./], ["nothing like it", 0, null],
  ]) {
    await tab.fill("#search", query);
    const head = await tab.locator("#results .head").innerText();
    const n = head === "nothing found" ? 0 : Number(head.split(" ")[0]);
    assert.ok(n >= least && (least > 0 || n === 0), `${query}: ${head}`);
    if (first) assert.match(await tab.locator("#results li .name").first().innerText(), first);
  }
  await tab.fill("#search", "linear_3");
  await tab.press("#search", "ArrowDown");
  await tab.press("#search", "Enter");
  await tab.settle();
  assert.equal(await tab.title(), "linear_3");
  assert.ok(await tab.box(":linear_3").isVisible());
}));

test("the keyboard goes from node to node", () => within(page("cond", fixture("cond")), async (tab) => {
  await tab.keyboard.press("j");
  const first = await tab.title();
  await tab.keyboard.press("ArrowDown");
  assert.notEqual(await tab.title(), first);
  await tab.keyboard.press("k");
  assert.equal(await tab.title(), first);
  await tab.fill("#search", "cond_1");
  await tab.press("#search", "Enter");
  const inner = () => tab.ids().then((ids) => ids.filter((id) => id.startsWith(":cond_1>")).length);
  const before = await inner();
  await tab.keyboard.press("Enter");
  await tab.settle();
  const after = await inner();
  assert.ok((before === 0) !== (after === 0), `${before} and ${after} boxes`);
  await tab.keyboard.press("?");
  assert.ok(await tab.locator("#help").isVisible());
  await tab.keyboard.press("Escape");
  assert.ok(!await tab.locator("#help").isVisible());
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("Escape");
  assert.match(await tab.title(), /program\.pt2/);
}));

test("subgraphs are within the node that calls them", () => within(page("cond", fixture("cond")), async (tab) => {
  const ids = await tab.ids();
  for (const id of [":cond", ":cond>true_graph_0", ":cond>false_graph_0", "true_graph_0:linear", "false_graph_0:linear"]) assert.ok(ids.includes(id), `${id} in ${ids}`);
  assert.ok(!ids.includes(":true_graph_0"), "the name of a subgraph is no node");
  const box = async (id) => tab.box(id).locator("rect.box").first().boundingBox();
  const [outer, inner] = [await box(":cond"), await box("true_graph_0:linear")];
  assert.ok(inner.x > outer.x && inner.y > outer.y && inner.x + inner.width < outer.x + outer.width && inner.y + inner.height < outer.y + outer.height);
  await tab.box("true_graph_0:linear").click();
  assert.match(await tab.locator("#panel .path").innerText(), /cond › true_graph_0/);
}));

test("before and after optimization, with the rules", () => within(page("optimized", fixture("llama_block"), "--optimize", "fast", "--measure", "--runs", "2"), async (tab) => {
  assert.equal(await tab.locator("#color").inputValue(), "time");
  await tab.click("#views button:last-child");
  const program = await tab.locator("#panel").innerText();
  for (const part of ["nodes became", "RULES THAT FIRED", "rms-norm", "NODES THAT DIFFER", "SLOWEST NODES", "measured"]) assert.ok(program.includes(part), `${part} in ${program}`);
  await tab.fill("#search", "rms_norm");
  await tab.press("#search", "Enter");
  await tab.settle();
  const panel = await tab.locator("#panel").innerText();
  for (const part of ["aten::rms_norm", "rms-norm", "changed by optimization", "torch.ops.aten.mul.Tensor("]) assert.ok(panel.includes(part), `${part} in ${panel}`);
  const name = await tab.title();
  assert.ok(await tab.locator(`#graph [data-id=":${name}"].changed`).count() === 1);
  await tab.keyboard.press("b");
  await tab.settle();
  assert.equal(await tab.title(), name);
  assert.ok((await tab.locator("#panel").innerText()).includes("aten::mul.Tensor"));
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("o");
  await tab.settle();
  assert.ok(await tab.locator("#graph .removed").count() > 0);
}));

test("costs and times are colors", () => within(page("measured", fixture("resnet_small"), "--measure", "--runs", "2"), async (tab) => {
  for (const color of ["time", "cost"]) {
    await tab.selectOption("#color", color);
    await tab.settle();
    const fills = await tab.evaluate(() => new Set([...document.querySelectorAll("#graph .hot")].map((rect) => getComputedStyle(rect).fill)).size);
    assert.ok(fills > 2, `${fills} colors of ${color}`);
  }
  await tab.selectOption("#color", "class");
  await tab.settle();
  assert.equal(await tab.locator("#graph .hot").count(), 0);
}));

test("diagnostics are at their nodes and in a list", () => {
  const wrong = text("wrong.py", `def forward(self, x: "f32[2, 3]"):
    relu: "f32[2, 3]" = torch.ops.aten.relu.default(x)
    add: "f32[2, 4]" = torch.ops.aten.add.Tensor(relu, x)
    odd: "f32[2, 3]" = torch.ops.aten.no_such_operator.default(add)
    return (odd,)
`);
  return within(page("wrong", wrong), async (tab) => {
    assert.match(await tab.locator("#diagnostics").innerText(), /^\d+ diagnostics?$/);
    assert.ok(await tab.locator('#graph [data-id=":add"] .badge.error').count() === 1);
    assert.ok(await tab.locator('#graph [data-id=":relu"] .badge').count() === 0);
    await tab.locator("#panel .diagnostic .link").first().click();
    assert.ok(["add", "odd"].includes(await tab.title()));
    assert.ok(await tab.locator("#panel .diagnostic.error").count() > 0);
    await tab.click("#diagnostics");
    assert.ok(await tab.locator("#panel .diagnostic").count() >= 2);
  });
});

test("light and dark", async () => {
  const path = page("mlp", fixture("mlp"));
  const back = (tab) => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  let light;
  await within(path, async (tab) => {
    light = await back(tab);
    await tab.keyboard.press("d");
    assert.notEqual(await back(tab), light);
    await tab.click("#theme");
    assert.equal(await back(tab), light);
  });
  await within(path, async (tab) => {
    assert.notEqual(await back(tab), light);
    await tab.click("#theme");
    assert.equal(await back(tab), light);
  }, { colorScheme: "dark" });
});

test("weights are shown when they are asked for", () => within(page("mlp", fixture("mlp")), async (tab) => {
  const weights = () => tab.ids().then((ids) => ids.filter((id) => id.startsWith(":p_")).length);
  assert.equal(await weights(), 0);
  await tab.keyboard.press("w");
  await tab.keyboard.press("o");
  await tab.settle();
  assert.ok(await weights() > 1);
}));

test("no text of a program is markup", () => {
  const evil = "</script><img src=x onerror=alert(1)><svg onload=alert(2)><b>bold</b>";
  const quoted = JSON.stringify(evil).slice(1, -1).replaceAll("'", "\\'");
  const program = text("evil.py", `def forward(self, x: "f32[2, 3]"):
    relu: "f32[2, 3]" = torch.ops.aten.relu.default(x)
    #: relu.stack_trace('File "${evil}", line 1, in ${evil}\\n    ${evil}')
    #: relu.nn_module_stack('L,,${evil};k,${evil},${evil}')
    #: relu.torch_fn('${quoted}')
    #: relu.meta('custom', '{"a": "${evil}"}')
    other: "f32[2, 3]" = torch.ops.evil.call.default(relu, '${evil}')
    return (other,)
`);
  return within(page("evil", program), async (tab) => {
    await tab.keyboard.press("o");
    for (const name of ["relu", "other"]) {
      await tab.fill("#search", name);
      await tab.press("#search", "Enter");
      await tab.settle();
      assert.equal(await tab.title(), name);
      assert.ok((await tab.locator("#panel").innerText()).includes("<img src=x onerror=alert(1)>"), name);
    }
    await tab.fill("#search", "onerror");
    assert.ok(await tab.locator("#results li .name").count() > 0);
    assert.equal(await tab.evaluate(() => document.querySelectorAll("img, b, svg svg, script").length), 2, "the data and the script");
  });
});

test("five thousand nodes stay fluid", () => within(page("deep", captured(...DEEP)), async (tab) => {
  const count = () => tab.evaluate(() => document.querySelectorAll("#graph *").length);
  assert.ok(await count() < 3000, "few clusters are open to begin with");
  const took = (f) => tab.evaluate(async (f) => {
    const start = performance.now();
    document.querySelector(f).click();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - start;
  }, f);
  const opening = await took("#open-all");
  const shown = await count();
  assert.ok(shown < 12000, `${shown} elements of 5,000 nodes: only what is in the window is drawn`);
  // Frames while the graph is dragged and zoomed.
  await tab.mouse.move(500, 400);
  const frames = await tab.evaluate(async () => {
    const times = [];
    const svg = document.getElementById("graph");
    for (let i = 0; i < 40; i++) {
      const start = performance.now();
      svg.dispatchEvent(new WheelEvent("wheel", { deltaY: i < 20 ? 60 : -60, clientX: 500, clientY: 400, bubbles: true, cancelable: true }));
      await new Promise((done) => requestAnimationFrame(done));
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b);
  });
  console.log(`# first drawing ${tab.first} ms, opening all ${Math.round(opening)} ms, median frame ${frames[20].toFixed(1)} ms, slowest ${frames[39].toFixed(1)} ms, ${shown} elements`);
}));

test("a list of five thousand nodes without modules is drawn in parts", () => within(page("flat", captured("flat.py", "Flat(2500)", "--input", "x: f32[4]")), async (tab) => {
  const boxes = (await tab.ids()).length;
  assert.ok(boxes > 10 && boxes <= 150, `${boxes} boxes`);
  await tab.fill("#search", "relu_1234");
  await tab.press("#search", "Enter");
  await tab.settle();
  assert.equal(await tab.title(), "relu_1234");
  assert.ok(await tab.box(":relu_1234").isVisible());
}));

test("the server gives the page to its own address only", async () => {
  const server = spawn(oxport, ["view", fixture("mlp")], { stdio: ["ignore", "pipe", "pipe"] });
  try {
    const address = await new Promise((done, failed) => {
      let printed = "";
      server.stdout.on("data", (chunk) => { printed += chunk; if (printed.includes("\n")) done(printed.trim()); });
      server.on("exit", () => failed(new Error("the server ended")));
    });
    await within(address, async (tab) => assert.match(await tab.title(), /program\.pt2/));
    const refused = await (await browser.newPage()).goto(new URL("/", address).href);
    assert.equal(refused.status(), 403);
  } finally {
    server.kill("SIGINT");
  }
});
