// The tree of what can be drawn: clusters (modules, subgraphs, parts of long lists) and nodes, with their edges.
//
// Invariants: an edge is at the one cluster that is around both of its ends (`edges`), and at every cluster that it
// enters (`entering`) or leaves (`leaving`). The id of an item is the same in both views of a program if its modules and
// its name are.

/** No level has more children; longer ones are split into consecutive parts. */
const MAX_CHILDREN = 150;

/** The label of an operator: `aten::add.Tensor` is `add`. */
export function shortOp(op) {
  const [space, rest] = op.includes("::") ? op.split("::", 2) : ["", op];
  const name = rest.split(".")[0];
  return space === "" || space === "aten" || space === "_operator" || space === "higher_order" ? name : `${space}::${name}`;
}

function cluster(id, label, parent) {
  return {
    id, label, parent, children: [], edges: [], entering: [], leaving: [],
    isCluster: true, isOpen: false, kind: "module", path: "", className: "", node: null,
    order: Infinity, count: 0, cost: 0, time: 0, flops: 0, bytes: 0, errors: 0, warnings: 0, changes: 0, depth: parent ? parent.depth + 1 : 0,
  };
}

/** A view of the page with its items. */
export class Model {
  constructor(page, view) {
    this.strings = page.strings;
    this.view = view;
    this.nodes = [];
    this.byId = new Map();
    this.symbols = new Map(view.symbols.map((symbol) => [symbol.name, symbol]));
    this.root = cluster("", page.title, null);
    this.root.kind = "program";
    this.root.isOpen = true;
    this.places = view.graphs.map(() => []);
    this.uncalled = new Map();
    view.graphs.forEach(({ parent }, g) => {
      if (parent && parent[1] === null) this.uncalled.set(parent[0], [...(this.uncalled.get(parent[0]) ?? []), g]);
    });
    if (view.graphs.length > 0) this.addGraph(0, this.root, "");
    this.addDiagnostics();
    this.splitLong(this.root);
    this.addEdges();
    this.sum(this.root);
    this.nodes.sort((a, b) => a.order - b.order);
    this.total = { cost: this.root.cost, time: this.root.time };
  }

  string(at) { return this.strings[at ?? 0]; }

  register(item) {
    this.byId.set(item.id, item);
    if (item.parent) item.parent.children.push(item);
    return item;
  }

  addGraph(at, root, path) {
    const graph = this.view.graphs[at];
    const clusters = [root];
    for (const c of graph.clusters.slice(1)) {
      const parent = clusters[c.parent];
      const item = cluster(`${parent.id}/${c.name}`, c.name, parent);
      Object.assign(item, { path: c.path, className: c.class });
      clusters.push(this.register(item));
    }
    const users = graph.nodes.map(() => []);
    graph.nodes.forEach((node, i) => (node.inputs ?? []).forEach((input) => users[input].push(i)));
    const items = this.places[at];
    graph.nodes.forEach((data, i) => {
      const parent = clusters[data.cluster ?? 0];
      const op = this.string(data.op);
      const subgraphs = data.graphs ?? [];
      const owned = subgraphs.filter((g) => this.view.graphs[g].parent?.[1] === i);
      const item = cluster(`${path}:${data.name}`, "", parent);
      const isName = data.kind === "attr" && users[i].length > 0 && users[i].every((u) => graph.nodes[u].graphs);
      Object.assign(item, {
        isCluster: owned.length > 0, kind: data.kind, node: data, graph: at, index: i, op, subgraphs,
        label: data.kind === "call" ? shortOp(op) : data.kind,
        value: this.string(data.value), order: this.nodes.length, users: [], diagnostics: [],
        // The name of a subgraph is no step: the subgraph itself is drawn.
        isHidden: isName,
        isWeight: data.kind === "input" && /^(parameter|buffer|constant) /.test(data.filled ?? ""),
      });
      if (data.kind === "call" && op.endsWith("::getitem")) {
        const which = data.args?.find(([name]) => this.string(name) === "b" || this.string(name) === "1");
        if (which) item.label = `[${which[1]}]`;
      }
      if (isName) {
        this.byId.set(item.id, item);
      } else {
        this.register(item);
      }
      this.nodes.push(item);
      items.push(item);
      for (const g of owned) {
        const name = this.view.graphs[g].name;
        const inner = cluster(`${item.id}>${name}`, name, item);
        inner.kind = "subgraph";
        this.register(inner);
        this.addGraph(g, inner, path === "" ? name : `${path}.${name}`);
      }
    });
    // What nothing calls is drawn beside what is called.
    for (const g of this.uncalled.get(at) ?? []) {
      const { name } = this.view.graphs[g];
      const inner = cluster(`${root.id}>${name}`, name, root);
      inner.kind = "subgraph";
      this.register(inner);
      this.addGraph(g, inner, path === "" ? name : `${path}.${name}`);
    }
  }

  addDiagnostics() {
    for (const d of this.view.diagnostics) {
      const item = d.node ? this.places[d.node[0]]?.[d.node[1]] : undefined;
      d.item = item ?? null;
      if (item) item.diagnostics.push(d);
    }
  }

  splitLong(item) {
    if (item.children.length > MAX_CHILDREN) {
      const order = (child) => child.isCluster && !child.node ? firstOrder(child) : child.order;
      const all = item.children.slice().sort((a, b) => order(a) - order(b));
      const size = Math.min(MAX_CHILDREN, Math.max(40, Math.ceil(Math.sqrt(all.length))));
      item.children = [];
      for (let i = 0; i < all.length; i += size) {
        const members = all.slice(i, i + size);
        const part = cluster(`${item.id}/#${i}`, `${i + 1} – ${i + members.length}`, item);
        part.kind = "part";
        this.register(part);
        for (const member of members) {
          member.parent = part;
          part.children.push(member);
        }
        deepen(part);
      }
      // A list of parts may be long, too.
      if (item.children.length > MAX_CHILDREN) this.splitLong(item);
    }
    item.children.forEach((child) => this.splitLong(child));
  }

  addEdges() {
    this.view.graphs.forEach((graph, g) => {
      graph.nodes.forEach((node, i) => {
        const to = this.places[g][i];
        for (const input of node.inputs ?? []) {
          const from = this.places[g][input];
          from.users.push(to);
          if (from.isHidden || to.isHidden) continue;
          const edge = { from, to };
          let [a, b] = [from.parent, to.parent];
          while (a !== b) {
            if (a.depth >= b.depth) {
              a.leaving.push(edge);
              a = a.parent;
            } else {
              b.entering.push(edge);
              b = b.parent;
            }
          }
          a.edges.push(edge);
        }
      });
    });
  }

  sum(item) {
    if (item.node) {
      const [cost, flops, bytes] = item.node.cost ?? [0, 0, 0];
      Object.assign(item, { cost, flops, bytes, time: item.node.time ?? 0 });
      item.count = 1;
      item.changes = item.node.change ? 1 : 0;
      for (const d of item.diagnostics) d.severity === "error" ? item.errors++ : item.warnings++;
    }
    for (const child of item.children) {
      this.sum(child);
      for (const key of ["cost", "flops", "bytes", "errors", "warnings", "changes"]) item[key] += child[key];
      // The time of a subgraph's nodes is that of the node that calls it.
      item.time += child.time;
      item.count += child.isWeight ? 0 : child.count;
      item.order = Math.min(item.order, child.order);
    }
  }

  /** Opens clusters, outer ones first, as long as there is not more to see than `budget` boxes. */
  openSome(budget, isShown) {
    let shown = this.root.children.filter(isShown).length;
    let level = [this.root];
    while (level.length > 0) {
      const next = level.flatMap((item) => item.children.filter((child) => child.isCluster));
      next.sort((a, b) => a.count - b.count);
      for (const item of next) {
        // A module of one call says as much when it is closed.
        if (item.count <= 1) continue;
        const more = item.children.filter(isShown).length - 1;
        if (shown + more > budget) continue;
        item.isOpen = true;
        shown += more;
      }
      level = next.filter((item) => item.isOpen);
    }
  }

  /** The items from the outermost cluster to this one. */
  static chain(item) {
    const chain = [];
    for (let at = item; at; at = at.parent) chain.unshift(at);
    return chain;
  }
}

function firstOrder(item) {
  let order = item.order;
  for (const child of item.children) order = Math.min(order, firstOrder(child));
  return order;
}

function deepen(item) {
  for (const child of item.children) {
    child.depth = item.depth + 1;
    deepen(child);
  }
}

/** The child of `around` that holds the item, or is it. */
export function childOf(around, item) {
  let at = item;
  while (at.parent !== around) at = at.parent;
  return at;
}
