// The drawing: what is within the window, and large enough to be seen, is in the document; nothing else.
//
// Texts of a program become text nodes and attributes only.
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { Model, childOf } from "./model.js";
import { linesOf, titleOf, cut } from "./layout.js";

const SVG = "http://www.w3.org/2000/svg";
/** An open cluster that is narrower on the screen is drawn as if it were closed. */
const MIN_CLUSTER = 70;
/** Below this scale boxes have no second line and edges no labels. */
const FAR = 0.5;
/** A graph that would have to be smaller to be seen whole is shown from its beginning. */
const READABLE = 0.56;
/** Below this scale nodes have no text. */
const VERY_FAR = 0.22;

function make(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

function text(parent, content, attributes) {
  const element = make("text", attributes, parent);
  element.textContent = content;
  return element;
}

/** A smooth line through points, straight where there are two. */
function pathOf(points) {
  const n = points.length;
  if (n < 2) return "";
  const f = (x) => x.toFixed(1);
  let d = `M${f(points[0].x)},${f(points[0].y)}`;
  if (n === 2) {
    const [a, b] = points;
    const bend = (b.y - a.y) / 2;
    return `${d}C${f(a.x)},${f(a.y + bend)} ${f(b.x)},${f(b.y - bend)} ${f(b.x)},${f(b.y)}`;
  }
  for (let i = 1; i < n - 1; i++) {
    const [here, next] = [points[i], points[i + 1]];
    const end = i === n - 2 ? next : { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 };
    d += `Q${f(here.x)},${f(here.y)} ${f(end.x)},${f(end.y)}`;
  }
  return d;
}

export class Scene {
  constructor(svg, layouts, handlers) {
    this.svg = svg;
    this.layouts = layouts;
    this.handlers = handlers;
    this.model = null;
    this.selected = null;
    this.found = new Set();
    this.paint = () => {};
    this.drawn = new Map();
    this.world = make("g", { class: "world" }, svg);
    this.layers = Object.fromEntries(["clusters", "edges", "nodes", "labels"].map((name) => [name, make("g", { class: name }, this.world)]));
    this.transform = zoomIdentity;
    this.zoom = zoom().scaleExtent([0.02, 4])
      .filter((event) => !event.button && (event.type !== "dblclick"))
      .on("zoom", (event) => {
        this.transform = event.transform;
        this.world.setAttribute("transform", event.transform.toString());
        this.ask();
      });
    select(svg).call(this.zoom).on("dblclick.zoom", null);
    svg.addEventListener("click", (event) => this.clicked(event));
    svg.addEventListener("dblclick", (event) => {
      const item = this.itemOf(event.target);
      if (item?.isCluster) this.handlers.toggle(item);
    });
    new ResizeObserver(() => this.ask()).observe(svg);
    this.isAsked = false;
  }

  itemOf(target) {
    const element = target.closest?.("[data-id]");
    return element ? this.model.byId.get(element.dataset.id) ?? null : null;
  }

  clicked(event) {
    if (event.defaultPrevented) return;
    const item = this.itemOf(event.target);
    if (item && event.target.closest(".toggle")) this.handlers.toggle(item);
    else this.handlers.select(item);
  }

  /** Shows another model, or the same one after it was changed. */
  show(model) {
    this.model = model;
    this.root = this.layouts.of(model.root);
    this.clear();
    this.draw();
  }

  clear() {
    for (const element of this.drawn.values()) element.remove();
    this.drawn.clear();
  }

  /** Draws in the next frame. */
  ask() {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      if (this.model) this.draw();
    });
  }

  /** Adds what has come into sight, removes what has gone out of it. */
  draw() {
    const { k, x, y } = this.transform;
    const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
    const margin = 80 / k;
    this.window = { left: -x / k - margin, top: -y / k - margin, right: (width - x) / k + margin, bottom: (height - y) / k + margin };
    this.svg.classList.toggle("far", k < FAR);
    this.svg.classList.toggle("very-far", k < VERY_FAR);
    this.wanted = new Map();
    this.within(this.model.root, this.root, 0, 0, k);
    for (const [key, element] of this.drawn) {
      if (!this.wanted.has(key)) {
        element.remove();
        this.drawn.delete(key);
      }
    }
    for (const [key, build] of this.wanted) {
      if (!this.drawn.has(key)) this.drawn.set(key, build());
    }
    const edge = -x / k + 8 / k;
    for (const element of this.drawn.values()) element.keep?.(edge);
    this.wanted = null;
  }

  isInWindow(left, top, right, bottom) {
    const w = this.window;
    return right >= w.left && left <= w.right && bottom >= w.top && top <= w.bottom;
  }

  within(around, layout, x, y, k) {
    for (const child of layout.children) {
      const [left, top] = [x + child.x, y + child.y];
      if (!this.isInWindow(left, top, left + child.width, top + child.height)) continue;
      const { item } = child;
      const isOpen = item.isCluster && item.isOpen;
      const isTiny = isOpen && child.width * k < MIN_CLUSTER;
      const key = `${isOpen ? (isTiny ? "t" : "o") : "b"} ${item.id}`;
      const box = { left, top, width: child.width, height: child.height };
      if (isOpen && !isTiny) {
        this.wanted.set(key, () => this.frame(item, box));
        this.within(item, this.layouts.of(item), left, top, k);
      } else {
        this.wanted.set(key, () => this.box(item, box, isTiny));
      }
      const stubs = layout.stubs.get(item);
      if (stubs && k >= VERY_FAR) this.wanted.set(`s ${item.id}`, () => this.stub(item, stubs, box));
    }
    layout.edges.forEach((edge, i) => {
      if (!edge.bounds) {
        const [xs, ys] = [edge.points.map((p) => p.x), edge.points.map((p) => p.y)];
        edge.bounds = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
      }
      const [left, top, right, bottom] = edge.bounds;
      if (!this.isInWindow(x + left, y + top, x + right, y + bottom)) return;
      this.wanted.set(`e ${around.id} ${i}`, () => this.edge(edge, x, y));
      if (edge.labelAt && edge.label && k >= FAR) this.wanted.set(`l ${around.id} ${i}`, () => this.label(edge, x, y));
    });
  }

  classesOf(item) {
    const classes = [item.isCluster ? "cluster" : "node", item.kind];
    if (item.node?.change) classes.push("changed", item.node.change.kind);
    else if (item.isCluster && item.changes > 0) classes.push("has-changes");
    if (item === this.selected) classes.push("selected");
    if (this.found.has(item)) classes.push("found");
    return classes.join(" ");
  }

  box(item, { left, top, width, height }, isTiny) {
    const g = make("g", { class: `${this.classesOf(item)}${isTiny ? " tiny" : ""}`, transform: `translate(${left.toFixed(1)},${top.toFixed(1)})` }, this.layers.nodes);
    g.dataset.id = item.id;
    g.setAttribute("role", "button");
    const round = item.kind === "input" || item.kind === "output" ? height / 2 : 7;
    if (item.isCluster && !isTiny) make("rect", { class: "shadow", x: 4, y: 4, width, height, rx: round }, g);
    const rect = make("rect", { class: "box", width, height, rx: round }, g);
    this.paint(item, rect);
    const [first, second] = linesOf(item);
    if (isTiny) {
      // A text that can be read at this scale.
      const size = Math.min(height * 0.5, width / Math.max(6, item.label.length) * 1.5);
      text(g, cut(item.label, 20), { class: "tiny-title", x: width / 2, y: height / 2 + size / 3 }).style.fontSize = `${size}px`;
    } else {
      const room = item.isCluster ? (width + 12) / 2 : width / 2;
      text(g, first, { class: "title", x: room, y: height / 2 - 3 });
      text(g, second, { class: "small", x: room, y: height / 2 + 13 });
      if (item.isCluster) this.toggle(g, 14, height / 2, false);
    }
    this.badge(g, item, width);
    make("title", {}, g).textContent = this.hint(item);
    return g;
  }

  frame(item, { left, top, width, height }) {
    const g = make("g", { class: `${this.classesOf(item)} open`, transform: `translate(${left.toFixed(1)},${top.toFixed(1)})` }, this.layers.clusters);
    g.dataset.id = item.id;
    make("rect", { class: "box", width, height, rx: 8 }, g);
    make("rect", { class: "handle", width, height: 22, rx: 8 }, g);
    // Sign and title stay within the window, as long as the cluster does.
    const head = make("g", { class: "head" }, g);
    const title = cut(titleOf(item), Math.max(6, Math.floor((width - 40) / 7)));
    text(head, title, { class: "title", x: 26, y: 16 });
    this.toggle(head, 13, 11, true);
    g.keep = (edge) => {
      const shift = Math.max(0, Math.min(edge - left, width - 46 - 7.5 * title.length));
      if (shift !== g.shift) head.setAttribute("transform", `translate(${shift.toFixed(1)},0)`);
      g.shift = shift;
    };
    this.badge(g, item, width);
    make("title", {}, g).textContent = this.hint(item);
    // Outer frames lie below inner ones.
    g.remove();
    const after = [...this.layers.clusters.children].find((other) => this.model.byId.get(other.dataset.id)?.depth > item.depth);
    this.layers.clusters.insertBefore(g, after ?? null);
    return g;
  }

  toggle(g, x, y, isOpen) {
    const sign = make("g", { class: "toggle", transform: `translate(${x},${y})` }, g);
    make("rect", { class: "sign", x: -7, y: -7, width: 14, height: 14, rx: 3 }, sign);
    make("path", { d: isOpen ? "M-4,0H4" : "M-4,0H4M0,-4V4" }, sign);
  }

  badge(g, item, width) {
    const worst = item.errors > 0 ? "error" : item.warnings > 0 ? "warning" : null;
    if (!worst) return;
    const badge = make("g", { class: `badge ${worst}`, transform: `translate(${width - 2},2)` }, g);
    make("circle", { r: 8 }, badge);
    text(badge, item.isCluster ? String(Math.min(99, item.errors + item.warnings)) : "!", { y: 4 });
  }

  hint(item) {
    const lines = [item.node ? `${item.node.name} = ${item.op}` : item.path || item.label];
    if (item.className) lines.push(item.className);
    if (item.value) lines.push(item.value);
    const ranges = item.node ? this.model.string(item.node.ranges) : "";
    if (ranges) lines.push(ranges);
    return lines.join("\n");
  }

  isTouched(edge) {
    const item = this.selected;
    if (!item) return "";
    const holds = (other) => other === item || (item.isCluster && !item.node && Model.chain(other).includes(item));
    if (edge.edges.some((e) => holds(e.from) && !holds(e.to))) return " leaving";
    if (edge.edges.some((e) => holds(e.to) && !holds(e.from))) return " entering";
    return "";
  }

  edge(edge, x, y) {
    const g = make("g", { class: `edge${this.isTouched(edge)}`, transform: `translate(${x.toFixed(1)},${y.toFixed(1)})` }, this.layers.edges);
    const d = pathOf(edge.points);
    make("path", { class: "hit", d }, g);
    make("path", { class: "line", d, "marker-end": edge.to ? "url(#arrow)" : "none" }, g);
    const values = [...new Set(edge.edges.map((e) => e.from))];
    const lines = values.slice(0, 12).map((from) => this.hint(from));
    if (values.length > 12) lines.push(`… ${values.length - 12} more`);
    make("title", {}, g).textContent = lines.join("\n");
    return g;
  }

  label(edge, x, y) {
    return text(this.layers.labels, edge.label, {
      class: `edge-label${this.isTouched(edge)}`, x: (x + edge.labelAt.x).toFixed(1), y: (y + edge.labelAt.y + 4).toFixed(1),
    });
  }

  stub(item, stubs, { left, top, width }) {
    const sources = [...stubs.keys()];
    const g = make("g", { class: "stub", transform: `translate(${(left + width - 16).toFixed(1)},${top.toFixed(1)})` }, this.layers.edges);
    g.dataset.id = sources[0].id;
    make("path", { class: "line", d: "M0,-13V0" }, g);
    make("circle", { cy: -14, r: 3.5 }, g);
    make("title", {}, g).textContent = `also reads\n${sources.map((from) => this.hint(from)).join("\n")}`;
    return g;
  }

  /** Draws everything anew: colors or the selection have changed. */
  refresh() {
    this.clear();
    this.draw();
  }

  /** The place of an item on the plane, or of the closed cluster that holds it. */
  placeOf(item) {
    let [x, y] = [0, 0];
    let layout = this.root;
    let around = this.model.root;
    for (;;) {
      const child = childOf(around, item);
      const at = layout.children.find((c) => c.item === child);
      if (!at) return null;
      [x, y] = [x + at.x, y + at.y];
      if (child === item || !child.isOpen) return { x, y, width: at.width, height: at.height };
      [around, layout] = [child, this.layouts.of(child)];
    }
  }

  /** Shows the whole graph. */
  fit() {
    this.fitTo({ x: 0, y: 0, width: this.root.width, height: this.root.height }, 1.05, true);
  }

  /** Shows a place whole; a tall graph from its beginning, at a scale at which it can be read. */
  fitTo(place, most, isFromTop) {
    const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
    let k = Math.min(most, (width - 40) / place.width, (height - 40) / place.height);
    let x = (width - place.width * k) / 2 - place.x * k;
    let y = (height - place.height * k) / 2 - place.y * k;
    if (isFromTop && k < READABLE) {
      k = Math.max(READABLE, Math.min(0.9, (width - 40) / place.width));
      y = place.height * k < height - 40 ? (height - place.height * k) / 2 - place.y * k : 16 - place.y * k;
      // Of a wide graph the middle of what comes first.
      const first = this.root.children.filter((child) => child.y < this.root.height / 4);
      const middle = first.reduce((sum, child) => sum + child.x + child.width / 2, 0) / Math.max(1, first.length);
      x = place.width * k < width - 40 ? (width - place.width * k) / 2 - place.x * k : width / 2 - middle * k;
      x = place.width * k < width - 40 ? x : Math.min(20 - place.x * k, Math.max(x, width - 20 - (place.x + place.width) * k));
    }
    this.move(zoomIdentity.translate(x, y).scale(k));
  }

  /** Moves the window so that the item is well within it. */
  reveal(item, isCentered) {
    const place = this.placeOf(item);
    if (!place) return;
    const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
    let { k, x, y } = this.transform;
    if (k < FAR) k = 0.8;
    const [left, top] = [place.x * k + x, place.y * k + y];
    const isInside = left > 20 && top > 20 && left + Math.min(place.width * k, width / 2) < width - 20
      && top + Math.min(place.height * k, height / 2) < height - 20;
    if (k === this.transform.k && isInside && !isCentered) return;
    x = width / 2 - (place.x + place.width / 2) * k;
    y = place.height * k > height - 80 ? 40 - place.y * k : height / 2 - (place.y + place.height / 2) * k;
    this.move(zoomIdentity.translate(x, y).scale(k));
  }

  move(transform) {
    select(this.svg).call(this.zoom.transform, transform);
  }

  scaleBy(factor) {
    select(this.svg).call(this.zoom.scaleBy, factor);
  }

  /** Keeps a point of the item in its place on the screen while `change` moves it. */
  anchored(item, change) {
    const before = this.placeOf(item);
    change();
    const after = this.placeOf(item);
    if (!before || !after) return;
    const { k, x, y } = this.transform;
    // The middle of the upper border stays.
    const [dx, dy] = [before.x + before.width / 2 - after.x - after.width / 2, before.y - after.y];
    this.move(zoomIdentity.translate(x + dx * k, y + dy * k).scale(k));
  }
}
