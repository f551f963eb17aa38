// Where everything is: one layout for each open cluster, kept until what is open or shown within it changes.
//
// Values that enter or leave an open cluster do so at ports, on its upper and lower border; edges outside end there.
// What is read nearly everywhere (a mask, a table of angles) is drawn as a stub at each reader.
import dagre from "@dagrejs/dagre";
import { childOf } from "./model.js";

export const NODE_HEIGHT = 42;
const HEADER = 26;
const PAD = 12;
/** What more children of a level read than this is drawn as stubs. */
const MAX_READERS = 7;
/** Beyond so many edges of one level, ranks are found by a faster method. */
const MANY_EDGES = 260;

const context = document.createElement("canvas").getContext("2d");
const widths = new Map();

/** The width of a text in pixels. */
export function widthOf(text, font) {
  const key = `${font}\u0000${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    context.font = font;
    width = context.measureText(text).width;
    if (widths.size > 20000) widths.clear();
    widths.set(key, width);
  }
  return width;
}

export const FONTS = {
  title: "600 12.5px system-ui, -apple-system, 'Segoe UI', sans-serif",
  small: "11px ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
  edge: "10px ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
};

/** The text, cut to a number of characters. */
export function cut(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** What is written in a box: one or two lines. */
export function linesOf(item) {
  if (item.kind === "input") return [cut(item.node.name, 34), cut(item.value || item.kind, 34)];
  if (item.node) return [cut(item.label, 30), cut(item.node.name, 30)];
  const what = item.className ? item.className.split(".").pop() : item.kind;
  return [cut(item.label, 34), `${cut(what, 26)} · ${item.count} node${item.count === 1 ? "" : "s"}`];
}

function sizeOfBox(item) {
  const [first, second] = linesOf(item);
  const text = Math.max(widthOf(first, FONTS.title), widthOf(second, FONTS.small));
  const room = item.isCluster ? 44 : 28;
  return [roundUp(Math.max(70, text + room)), item.isCluster ? NODE_HEIGHT + 4 : NODE_HEIGHT];
}

/** The label of an edge: its one value, or how many there are. */
function labelOf(edges) {
  const values = new Set(edges.map((edge) => edge.from));
  if (values.size > 1) return `${values.size} values`;
  return cut(edges[0].from.value, 28);
}

export class Layouts {
  constructor(isShown) {
    this.isShown = isShown;
    this.cache = new Map();
  }

  /** Forgets the layout of this cluster and of those around it. */
  changed(item) {
    for (let at = item; at; at = at.parent) this.cache.delete(at.id);
  }

  clear() { this.cache.clear(); }

  /** The size of an item, and the layout within, if it is open. */
  of(item) {
    if (!item.isCluster || !item.isOpen) {
      let box = this.cache.get(item.id);
      if (!box || box.children) {
        const [width, height] = sizeOfBox(item);
        box = { width, height, children: null };
        this.cache.set(item.id, box);
      }
      return box;
    }
    let layout = this.cache.get(item.id);
    if (!layout || !layout.children) {
      layout = this.compute(item);
      this.cache.set(item.id, layout);
    }
    return layout;
  }

  compute(around) {
    const children = around.children.filter(this.isShown);
    const boxes = new Map(children.map((child) => [child, this.of(child)]));
    const groups = this.groups(around, boxes);
    // Everything by number: layers that are alike are laid out once.
    const numbers = new Map(children.map((child, i) => [child.id, i]));
    for (const port of groups.ports.values()) numbers.set(port.key, numbers.size);
    const nodes = children.map((child) => [boxes.get(child).width, boxes.get(child).height]);
    const ports = [...groups.ports.values()].map((port) => [numbers.get(port.key), port.isIn]);
    const edges = groups.edges.map((group) => [numbers.get(group.fromKey), numbers.get(group.toKey),
      group.label === "" ? 0 : roundUp(widthOf(group.label, FONTS.edge) + 8)]);
    const key = JSON.stringify([nodes, ports, edges]);
    let placed = known.get(key);
    if (!placed) {
      placed = arrange(nodes, ports, edges);
      if (known.size > 2000) known.clear();
      known.set(key, placed);
    }
    return this.read(around, placed, boxes, numbers, groups);
  }

  /** The edges of a level, joined where they have both ends in common, and the ports that they need. */
  groups(around, boxes) {
    const readers = new Map();
    const pairs = [];
    const ports = new Map();
    const isIn = (edge) => boxes.has(childOf(around, edge.to));
    for (const edge of around.edges) {
      const [from, to] = [childOf(around, edge.from), childOf(around, edge.to)];
      if (boxes.has(from) && boxes.has(to) && from !== to) pairs.push({ edge, from, to });
    }
    // A call that has subgraphs is the end of its edges: nothing enters it.
    if (around.parent) {
      for (const edge of around.entering) {
        if (this.isShownDeep(edge.from) && isIn(edge)) pairs.push({ edge, from: null, to: childOf(around, edge.to) });
      }
      for (const edge of around.leaving) {
        const from = childOf(around, edge.from);
        if (boxes.has(from) && this.isShownDeep(edge.to)) pairs.push({ edge, from, to: null });
      }
    }
    for (const { edge, from, to } of pairs) {
      if (!to) continue;
      const key = from && !isOpen(from) ? from : edge.from;
      if (!readers.has(key)) readers.set(key, new Set());
      readers.get(key).add(to);
    }
    const joined = new Map();
    const stubs = new Map();
    for (const { edge, from, to } of pairs) {
      const source = from && !isOpen(from) ? from : edge.from;
      if (to && readers.get(source).size > MAX_READERS) {
        if (!stubs.has(to)) stubs.set(to, new Map());
        stubs.get(to).set(edge.from, edge);
        continue;
      }
      const fromKey = from ? from.id : `in ${edge.from.id}`;
      const toKey = to ? to.id : `out ${edge.from.id}`;
      // An open cluster has a port for each value.
      const apart = (from && isOpen(from)) || (to && isOpen(to)) ? edge.from.id : "";
      const key = `${fromKey}\u0000${toKey}\u0000${apart}`;
      if (!joined.has(key)) joined.set(key, { from, to, fromKey, toKey, edges: [] });
      joined.get(key).edges.push(edge);
      for (const [port, isInPort] of [[from ? null : fromKey, true], [to ? null : toKey, false]]) {
        if (port && !ports.has(port)) ports.set(port, { key: port, isIn: isInPort, source: edge.from });
      }
    }
    const edges = [...joined.values()];
    for (const group of edges) group.label = group.from && group.to ? labelOf(group.edges) : "";
    return { edges, ports, stubs };
  }

  isShownDeep(item) {
    for (let at = item; at.parent; at = at.parent) if (!this.isShown(at)) return false;
    return true;
  }

  read(around, placed, boxes, numbers, groups) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    const across = (x, width) => {
      left = Math.min(left, x - width / 2);
      right = Math.max(right, x + width / 2);
    };
    for (const [child, box] of boxes) {
      const at = placed.nodes[numbers.get(child.id)];
      across(at.x, box.width);
      top = Math.min(top, at.y - box.height / 2);
      bottom = Math.max(bottom, at.y + box.height / 2);
    }
    for (const edge of placed.edges) {
      for (const point of edge.points) across(point.x, 4);
      if (edge.width > 0) across(edge.x, edge.width);
    }
    if (!Number.isFinite(left) || !Number.isFinite(top)) [left, top, right, bottom] = [0, 0, 40, 10];
    const isRoot = !around.parent;
    const hasPort = (isIn) => [...groups.ports.values()].some((port) => port.isIn === isIn);
    const head = (isRoot ? PAD : HEADER) + (hasPort(true) ? 20 : 4);
    const foot = hasPort(false) ? 22 : PAD;
    const inner = right - left;
    const title = isRoot ? 0 : widthOf(titleOf(around), FONTS.title) + 60;
    const width = roundUp(Math.max(inner + 2 * PAD, title));
    const [dx, dy] = [(width - inner) / 2 - left, head - top];
    const height = bottom - top + head + foot;
    const ports = new Map();
    for (const port of groups.ports.values()) {
      const at = placed.nodes[numbers.get(port.key)];
      const x = Math.min(Math.max(at.x + dx, 8), width - 8);
      ports.set(port.key, { x, y: !port.isIn ? height : isRoot ? 0 : HEADER - 4 });
    }
    const children = [...boxes].map(([item, box]) => {
      const at = placed.nodes[numbers.get(item.id)];
      return { item, x: at.x - box.width / 2 + dx, y: at.y - box.height / 2 + dy, width: box.width, height: box.height };
    });
    const places = new Map(children.map((child) => [child.item, child]));
    const edges = groups.edges.map((group, i) => this.place(group, placed.edges[i], dx, dy, ports, places));
    return { width, height, ports, children, edges, stubs: groups.stubs };
  }

  /** The points of an edge, between the borders or ports of its ends. */
  place(group, placed, dx, dy, ports, places) {
    const points = placed.points.map(({ x, y }) => ({ x: x + dx, y: y + dy }));
    const source = group.edges[0].from.id;
    for (const [item, at, key, own] of [[group.from, 0, `out ${source}`, group.fromKey], [group.to, points.length - 1, `in ${source}`, group.toKey]]) {
      if (!item) {
        points[at] = { ...ports.get(own) };
      } else if (isOpen(item)) {
        const layout = this.of(item);
        const box = places.get(item);
        const port = layout.ports.get(key);
        points[at] = { x: box.x + (port ? port.x : layout.width / 2), y: at === 0 ? box.y + box.height : box.y };
      }
    }
    return { ...group, points, labelAt: placed.width > 0 ? { x: placed.x + dx, y: placed.y + dy } : null };
  }
}

/** Layouts by what they are of. */
const known = new Map();

/** Widths that differ little are made equal, so that layers that differ in numbers of names are alike. */
function roundUp(width) {
  return Math.ceil(width / 12) * 12;
}

/** Places boxes, ports and edges. */
function arrange(nodes, ports, edges) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({
    nodesep: 22, ranksep: 30, edgesep: 12, marginx: 0, marginy: 0,
    ranker: edges.length > MANY_EDGES ? "longest-path" : "network-simplex",
  });
  nodes.forEach(([width, height], i) => graph.setNode(String(i), { width, height }));
  for (const [i, isIn] of ports) {
    graph.setNode(String(i), { width: 8, height: 2 });
    const end = isIn ? "top" : "bottom";
    if (!graph.hasNode(end)) graph.setNode(end, { width: 1, height: 1 });
    // A heavy edge draws a port to the border.
    const [from, to] = isIn ? [end, String(i)] : [String(i), end];
    graph.setEdge(from, to, { weight: 40, minlen: 1, width: 0, height: 0 }, "port");
  }
  edges.forEach(([from, to, width], i) => {
    graph.setEdge(String(from), String(to), { weight: 1, minlen: 1, width, height: width > 0 ? 14 : 0, labelpos: "c" }, `e${i}`);
  });
  dagre.layout(graph);
  return {
    nodes: [...nodes, ...ports].map((_, i) => graph.node(String(i))),
    edges: edges.map(([from, to], i) => graph.edge(String(from), String(to), `e${i}`)),
  };
}

function isOpen(item) {
  return item.isCluster && item.isOpen;
}

/** The title of an open cluster. */
export function titleOf(item) {
  const what = item.node ? item.node.name : item.className ? item.className.split(".").pop() : item.kind === "subgraph" ? "subgraph" : "";
  return what === "" ? item.label : `${item.label} · ${what}`;
}
