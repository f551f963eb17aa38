// The page: reads the data, and joins the graph, the panel, the search and the keys.
import { Model } from "./model.js";
import { Layouts } from "./layout.js";
import { Scene } from "./scene.js";
import { Panel, h } from "./panel.js";
import { SearchBox } from "./search.js";
import * as numbers from "./numbers.js";

/** As many boxes are open to begin with. */
const FIRST_BOXES = 40;

const find = (id) => document.getElementById(id);
const page = JSON.parse(find("data").textContent);
const state = { view: 0, color: "class", weights: false, selected: null };
const models = page.views.map((view) => new Model(page, view));
const isShown = (item) => !item.isHidden && (state.weights || !item.isWeight);
const layouts = models.map(() => new Layouts(isShown));
const model = () => models[state.view];

const CLASSES = [
  ["product", "matrix products"], ["convolution", "convolutions"], ["attention", "attention"], ["recurrence", "recurrent layers"],
  ["reduction", "reductions, norms"], ["pointwise", "pointwise"], ["move", "copies"], ["call", "views, checks"],
  ["search", "sorting, lookup"], ["transform", "transforms"], ["solve", "factorizations"],
];

/** The color of a box: a class of operators, or a part of the largest cost. */
function paint(item, rect) {
  if (state.color === "class") {
    const name = item.node?.class ?? onlyClass(item);
    if (name) rect.classList.add("of-class", `class-${name}`);
    return;
  }
  const value = item[state.color];
  const most = heat[state.color];
  if (!(value > 0) || !(most > 0)) return;
  // What is hundred times cheaper is nearly white.
  const part = Math.max(0, 1 + Math.log10(value / most) / 2);
  rect.classList.add("hot");
  rect.style.setProperty("--heat", `${Math.round(100 * part)}%`);
}

/** The class of the one call of a cluster. */
function onlyClass(item) {
  if (!item.isCluster || item.count !== 1) return undefined;
  const child = item.children.find((at) => at.count === 1 && !at.isWeight);
  return child && (child.node?.class ?? onlyClass(child));
}
const heat = { cost: 0, time: 0 };

/** The largest cost and time of what is to be seen: of boxes that are not open. */
function measureHeat() {
  const boxes = visible().filter((item) => !(item.isCluster && item.isOpen));
  for (const key of ["cost", "time"]) heat[key] = boxes.reduce((most, item) => Math.max(most, item[key]), 0);
}

/** Draws after what is open or shown has changed. */
function redraw() {
  measureHeat();
  scene.show(model());
  showLegend();
}

const scene = new Scene(find("graph"), layouts[0], { select, toggle });
scene.paint = paint;
const panel = new Panel(find("panel"), {
  select, toggle,
  counterpart: (item) => models.length > 1 && models[1 - state.view].byId.has(item.id),
  isLater: () => state.view === 1,
  switchTo: () => setView(1 - state.view),
});
const searchBox = new SearchBox(find("search"), find("results"), {
  model,
  choose: select,
  found: (items) => {
    // A closed cluster shows that something is found within.
    scene.found = new Set([...items].flatMap((item) => Model.chain(item).slice(1)));
    if (items.size > 400) scene.found = items;
    scene.refresh();
  },
});

function select(item, isQuiet) {
  if (item?.isHidden || (item && !isShown(item))) {
    if (item.isWeight) setWeights(true);
    else item = item.users[0] ?? null;
  }
  state.selected = item;
  scene.selected = item;
  let isMoved = false;
  if (item) {
    const closed = Model.chain(item).slice(0, -1).filter((at) => !at.isOpen);
    for (const at of closed) {
      at.isOpen = true;
      layouts[state.view].changed(at);
      isMoved = true;
    }
  }
  if (isMoved) redraw();
  else scene.refresh();
  if (item && !isQuiet) scene.reveal(item, isMoved);
  panel.show(model(), item);
  find("live").textContent = item ? `${item.node?.name ?? item.label}, ${item.node ? item.op : item.className || item.kind}` : "";
}

function toggle(item) {
  if (!item?.isCluster || !item.parent) return;
  scene.anchored(item, () => {
    item.isOpen = !item.isOpen;
    layouts[state.view].changed(item);
    // What is selected within a closed cluster is no more to be seen.
    if (!item.isOpen && state.selected && state.selected !== item && Model.chain(state.selected).includes(item)) {
      state.selected = scene.selected = item;
    }
    redraw();
  });
  panel.show(model(), state.selected);
}

function setAll(isOpen) {
  for (const item of model().byId.values()) if (item.isCluster && item.parent) item.isOpen = isOpen;
  layouts[state.view].clear();
  if (!isOpen && state.selected) state.selected = scene.selected = Model.chain(state.selected)[1] ?? null;
  redraw();
  scene.fit();
}

function setView(at) {
  if (at === state.view || !models[at]) return;
  const [from, to] = [model(), models[at]];
  for (const item of to.byId.values()) {
    const same = from.byId.get(item.id);
    if (item.isCluster && item.parent && same) item.isOpen = same.isOpen;
  }
  const kept = state.selected ? to.byId.get(state.selected.id) ?? null : null;
  state.view = at;
  layouts[at].clear();
  scene.layouts = layouts[at];
  state.selected = scene.selected = null;
  redraw();
  showView();
  select(kept, kept === null);
  if (!kept) scene.fit();
  if (searchBox.input.value !== "") searchBox.run();
}

function setWeights(isShownNow) {
  state.weights = isShownNow;
  layouts.forEach((layout) => layout.clear());
  find("weights").setAttribute("aria-pressed", String(isShownNow));
  if (!isShownNow && state.selected?.isWeight) select(null);
  redraw();
}

function setColor(color) {
  state.color = color;
  find("color").value = color;
  scene.refresh();
  showLegend();
}

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("oxport-theme", theme);
  } catch {
    // A page of a file may have no storage: the theme is then that of this visit.
  }
}

function showView() {
  document.querySelectorAll("#views button").forEach((button, i) => button.setAttribute("aria-pressed", String(i === state.view)));
  const { view } = model();
  const n = view.diagnostics.length;
  const errors = view.diagnostics.filter((d) => d.severity === "error").length;
  const chip = find("diagnostics");
  chip.hidden = n === 0;
  chip.textContent = `${n} diagnostic${n === 1 ? "" : "s"}`;
  chip.classList.toggle("error", errors > 0);
  [...find("color").options].forEach((option) => { option.disabled = option.value === "time" && !view.is_measured; });
  if (state.color === "time" && !view.is_measured) state.color = "cost";
  find("color").value = state.color;
  showLegend();
}

function showLegend() {
  const rows = [];
  if (state.color === "class") {
    const used = new Set(model().nodes.map((item) => item.node.class));
    for (const [name, label] of CLASSES) {
      if (used.has(name)) rows.push(h("li", {}, h("span", { class: `swatch class-${name}` }), label));
    }
  } else {
    rows.push(h("li", {}, numbers.time(heat[state.color] / 100), h("span", { class: "ramp" }), numbers.time(heat[state.color])));
  }
  const changes = new Set(model().nodes.map((item) => item.node.change?.kind));
  for (const kind of ["added", "changed", "removed"]) {
    if (changes.has(kind)) rows.push(h("li", {}, h("span", { class: `swatch outline ${kind}` }), kind));
  }
  const symbols = model().view.symbols.slice(0, 8).map((s) => h("li", { class: "symbol" }, `${s.name}: ${s.range}`));
  find("legend").replaceChildren(...rows, ...symbols);
}

/** The boxes that can be seen, in the order of the program. */
function visible() {
  const list = [];
  const visit = (around) => {
    for (const child of around.children.filter(isShown).sort((a, b) => a.order - b.order)) {
      list.push(child);
      if (child.isCluster && child.isOpen) visit(child);
    }
  };
  visit(model().root);
  return list;
}

function step(by) {
  const list = visible();
  const at = list.indexOf(state.selected);
  const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : at + by];
  if (next) select(next);
}

function outwards() {
  const item = state.selected;
  if (!item) return;
  if (item.isCluster && item.isOpen) toggle(item);
  else if (item.parent?.parent) select(item.parent);
}

function inwards() {
  const item = state.selected;
  if (!item?.isCluster) return;
  if (!item.isOpen) toggle(item);
  else step(1);
}

const KEYS = [
  [["j", "ArrowDown"], "next box, in the order of the program", () => step(1)],
  [["k", "ArrowUp"], "previous box", () => step(-1)],
  [["l", "ArrowRight"], "open the cluster; go into it", inwards],
  [["h", "ArrowLeft"], "close the cluster; go out of it", outwards],
  [["Enter"], "open or close the cluster", () => toggle(state.selected)],
  [["/"], "search by name, operator, module, value, stack trace", () => searchBox.input.select()],
  [["n"], "next result", () => searchBox.step(1)],
  [["N"], "previous result", () => searchBox.step(-1)],
  [["Escape"], "close help, search, selection", escape],
  [["f"], "fit the graph into the window", () => scene.fit()],
  [["c"], "center what is selected", () => state.selected && scene.reveal(state.selected, true)],
  [["+", "="], "larger", () => scene.scaleBy(1.3)],
  [["-"], "smaller", () => scene.scaleBy(1 / 1.3)],
  [["o"], "open all clusters", () => setAll(true)],
  [["O"], "close all clusters", () => setAll(false)],
  [["b"], "before or after optimization", () => setView(1 - state.view)],
  [["w"], "parameters and buffers", () => setWeights(!state.weights)],
  [["d"], "dark or light", () => setTheme(isDark() ? "light" : "dark")],
  [["?"], "this help", () => find("help").showModal()],
];

function escape() {
  if (searchBox.input.value !== "") searchBox.clear();
  else select(null);
}

function listen() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea") || find("help").open) return;
    // A focused button takes its own keys.
    if (event.key === "Enter" && event.target.matches("button, summary")) return;
    const key = KEYS.find(([keys]) => keys.includes(event.key));
    if (!key) return;
    event.preventDefault();
    key[2]();
  });
  const on = (id, f) => find(id).addEventListener("click", f);
  on("fit", () => scene.fit());
  on("open-all", () => setAll(true));
  on("close-all", () => setAll(false));
  on("weights", () => setWeights(!state.weights));
  on("theme", () => setTheme(isDark() ? "light" : "dark"));
  on("help-button", () => find("help").showModal());
  on("diagnostics", () => select(null));
  on("help-close", () => find("help").close());
  find("color").addEventListener("change", (event) => setColor(event.target.value));
  const rows = KEYS.map(([keys, what]) => h("tr", {}, h("td", {}, ...keys.flatMap((key) => [h("kbd", {}, key.replace("Arrow", "")), " "])), h("td", {}, what)));
  find("keys").replaceChildren(...rows);
  find("views").replaceChildren(...page.views.map((view, i) =>
    h("button", { type: "button", title: `${view.label} (b)`, onclick: () => setView(i) }, view.label)));
  find("views").hidden = page.views.length < 2;
}

function begin() {
  try {
    const theme = localStorage.getItem("oxport-theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch {
    // As in `setTheme`.
  }
  find("producer").textContent = page.producer;
  if (models.length === 0) return;
  models.forEach((each) => each.openSome(FIRST_BOXES, isShown));
  if (model().view.is_measured) state.color = "time";
  listen();
  showView();
  redraw();
  scene.fit();
  panel.show(model(), null);
  // The frame after the first one begins when that was painted.
  requestAnimationFrame(() => requestAnimationFrame(() => {
    document.documentElement.dataset.firstDrawing = String(Math.round(performance.now()));
  }));
}

begin();
